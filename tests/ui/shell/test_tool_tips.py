"""Tool tips of the window read as sentences: each line begins with a capital, without blanks."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QToolButton, QWidget
from pytestqt.qtbot import QtBot

from studio.session.document.edits.layers import set_options
from studio.session.document.edits.removal import delete
from studio.ui.shell.bars.status_bar import FactButton
from studio.ui.shell.docks.panes import PANES
from studio.ui.shell.window import MainWindow

STATES = {"as opened": "Graph valid", "with a problem": "1 problem", "without layers": "No layers"}


def _tips(window: MainWindow, kind: type[QWidget]) -> list[str]:
    """Of all but the path of the selection, whose tips begin with names."""
    found = [each for each in window.findChildren(kind) if each.toolTip()]
    return [each.toolTip() for each in found if not each.objectName().startswith("path_bar.")]


def _told_badly(tips: list[str]) -> list[str]:
    def is_bad(line: str) -> bool:
        return line != line.strip() or line[:1].islower()

    return [tip for tip in tips if any(map(is_bad, tip.split("\n")))]


@pytest.mark.parametrize("state", STATES)
def test_buttons_and_facts_have_tips_that_are_sentences(
    qtbot: QtBot, opened: MainWindow, state: str
) -> None:
    studio = opened.studio
    qtbot.waitUntil(lambda: studio.compilation.result is not None, timeout=60_000)
    document = studio.document
    nodes = list(document.state.nodes)
    if state == "with a problem":
        document.apply("Bad", set_options(document.state, nodes[0], {"shape": [3]}))
    elif state == "without layers":
        document.apply("Delete", delete(document.state, nodes))
    text = opened.status.button("validity").text
    qtbot.waitUntil(lambda: text().strip() == STATES[state], timeout=60_000)
    for pane in PANES:
        opened.docks.show(pane.id)
    qtbot.waitUntil(lambda: opened.is_ready, timeout=60_000)
    tips = [*_tips(opened, QToolButton), *_tips(opened, FactButton)]
    assert len(tips) > 30
    assert _told_badly(tips) == []
