"""A canvas in a window with all keys working, and hands to work on it with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QLineEdit, QMainWindow, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from studio.graph_editor.canvas.view import CanvasView
from studio.session.core.action_table import AnyAction
from studio.session.document.edits.blocks import group
from studio.session.studio import Studio
from studio.ui.shell.commands.qt_actions import WindowActions
from studio.widgets import theme
from tests.graph_editor.hands import Hands
from tests.session.document.networks import nested_blocks, residual
from tests.ui.fixtures import (
    dark,
    no_hanging_dialogs,
    nothing_left_behind,
    qapp_args,
    qtbot,
    scheduler,
    shown,
    studio,
)

__all__ = [
    "dark",
    "hands",
    "inside",
    "no_hanging_dialogs",
    "nothing_left_behind",
    "qapp_args",
    "qtbot",
    "refusals",
    "scheduler",
    "stem",
    "studio",
]


@pytest.fixture
def refusals() -> list[str]:
    """Why actions could not be done, in order."""
    return []


@pytest.fixture
def hands(studio: Studio, qtbot: QtBot, refusals: list[str]) -> Iterator[Hands]:
    """Hands on the canvas of an empty document."""
    theme.set_reduced_motion(True)
    window = QMainWindow()
    window.resize(1200, 800)
    body = QWidget()
    column = QVBoxLayout(body)
    column.setContentsMargins(0, 0, 0, 0)
    canvas = CanvasView(studio)
    other = QLineEdit()
    other.setObjectName("text_beside")
    column.addWidget(canvas, 1)
    column.addWidget(other)
    window.setCentralWidget(body)

    def refused(spec: AnyAction, reason: str) -> None:
        refusals.append(f"{spec.id}: {reason}")

    window_actions = WindowActions(studio.actions, window, refused)
    assert window_actions.all()
    shown(qtbot, window)
    canvas.setFocus()
    qtbot.waitUntil(canvas.hasFocus)
    yield Hands(qtbot, canvas, studio)
    canvas.gestures.cancel()
    theme.set_reduced_motion(False)
    window.close()
    window.deleteLater()


@pytest.fixture
def stem(hands: Hands) -> Hands:
    """A canvas with two nested blocks."""
    hands.open(nested_blocks())
    return hands


@pytest.fixture
def inside(hands: Hands) -> Hands:
    """A canvas with the block of two convolutions open."""
    hands.open(group(residual(), ["conv2d", "conv2d_1"], "stem"))
    hands.double_click(hands.body("block"))
    assert hands.canvas.graph.level == "block"
    return hands
