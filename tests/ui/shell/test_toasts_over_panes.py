"""Errors stand over whatever panes are opened, until they are seen."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from studio.ui.shell.window import MainWindow


def in_front(window: MainWindow) -> bool:
    """Whether what is seen in the middle of the toasts belongs to them."""
    toasts = window.toasts
    found: QWidget | None = window.childAt(toasts.geometry().center())
    return found is not None and (found is toasts or toasts.isAncestorOf(found))


@pytest.mark.parametrize(
    "action", ["workspace.train", "workspace.profile", "pane.log", "pane.tensor_view"]
)
def test_an_error_is_not_covered_by_a_pane_that_comes(
    qtbot: QtBot, opened: MainWindow, action: str
) -> None:
    opened.studio.notify("Something is wrong", "error", details="and nobody has seen it")
    qtbot.waitUntil(lambda: in_front(opened))
    assert opened.studio.actions.trigger(action)
    qtbot.waitUntil(lambda: opened.is_ready, timeout=20_000)
    qtbot.waitUntil(lambda: in_front(opened))
