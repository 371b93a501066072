"""The bar over the canvas: the way to the open block, and back."""

from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolButton

from studio.session.document.edits.blocks import group
from tests.graph_editor.hands import LEFT, Hands
from tests.graph_editor.text_fields import K
from tests.session.document.networks import chain, residual


def test_the_bar_names_the_way_and_leads_back(stem: Hands):
    bar = stem.canvas.chrome.breadcrumbs
    assert [button.text() for button in bar.buttons] == ["Model"]
    stem.canvas.context.open_block.open("block_1")
    assert [button.text() for button in bar.buttons] == ["Model", "stem", "inner"]
    QTest.mouseClick(bar.buttons[1], LEFT)
    assert stem.canvas.graph.level == "block"
    assert stem.selected == ["block_1"]
    QTest.mouseClick(bar.buttons[0], LEFT)
    assert stem.canvas.graph.level == ""
    assert [button.text() for button in bar.buttons] == ["Model"]


def test_a_long_way_keeps_its_ends_in_the_bar(hands: Hands):
    state = residual()
    for number in range(8):
        inner = f"block_{number - 1}" if number > 1 else "block" if number else "conv2d"
        state = group(state, [inner], f"a block whose name is long {number}")
    hands.open(state)
    bar = hands.canvas.chrome.breadcrumbs
    hands.canvas.context.open_block.open("block")
    shown = [button.isVisible() for button in bar.buttons]
    assert (len(shown), shown[0], shown[-1]) == (9, True, True)
    assert False in shown
    assert bar.geometry().right() < hands.canvas.viewport().width()
    more = bar.findChild(QToolButton, "breadcrumbs_more")
    assert isinstance(more, QToolButton)
    menu = more.menu()
    assert [each.text() for each in menu.actions()] == [
        button.toolTip() for button, seen in zip(bar.buttons, shown, strict=True) if not seen
    ]

    def take_first() -> None:
        if not menu.isVisible():
            QTimer.singleShot(20, take_first)
            return
        place = menu.actionGeometry(menu.actions()[0]).center()
        hands.qtbot.mouseClick(menu, LEFT, pos=place)

    # The click opens the menu in an event loop of its own.
    QTimer.singleShot(0, take_first)
    QTest.mouseClick(more, LEFT)
    assert hands.canvas.graph.level == "block_7"
    hands.canvas.window().resize(2400, 800)
    hands.canvas.context.open_block.open("block")
    hands.qtbot.waitUntil(lambda: all(b.isVisible() for b in bar.buttons), timeout=60_000)
    assert not more.isVisible()


def test_without_blocks_there_is_no_bar(hands: Hands):
    hands.open(chain())
    assert not hands.canvas.chrome.breadcrumbs.isVisible()
    hands.key(K.Key_Escape)
    assert hands.canvas.graph.level == ""
