"""Keys that walk: along wires, from match to match, through the selection and back."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QToolButton

from studio.session.core import entities
from tests.graph_editor.hands import CTRL, SHIFT, Hands
from tests.graph_editor.text_fields import K
from tests.session.document.networks import chain, net


def test_arrows_walk_along_wires_and_shift_extends(hands: Hands) -> None:
    hands.open(chain())
    hands.key(K.Key_Right)
    assert hands.selected == ["input"]
    hands.key(K.Key_Right)
    hands.key(K.Key_Right)
    assert hands.selected == ["re_lu"]
    hands.key(K.Key_Right, SHIFT)
    assert hands.selected == ["re_lu", "max_pooling2d"]
    hands.key(K.Key_Left)
    assert hands.selected == ["re_lu"]


def test_find_walks_from_match_to_match(hands: Hands) -> None:
    hands.open(net("input 8x8x1 > conv 8 3x3 > relu > conv 8 3x3 > relu > flatten"), zoom=0.8)
    hands.key(K.Key_F, CTRL)
    hands.type("conv")
    bar = hands.canvas.chrome.find_bar
    assert bar.isVisible()
    assert set(bar.found) == {"conv2d", "conv2d_1"}
    first = hands.selected
    hands.key(K.Key_Return)
    assert hands.selected != first
    hands.key(K.Key_Return)
    assert hands.selected == first
    hands.key(K.Key_Escape)
    assert not bar.isVisible()
    assert hands.canvas.hasFocus()


@pytest.mark.slow
def test_the_find_bar_stays_inside_a_narrow_canvas(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    hands.key(K.Key_F, CTRL)
    bar, window = hands.canvas.chrome.find_bar, hands.canvas.window()
    hands.qtbot.waitUntil(bar.isVisible)
    wide = bar.width()
    for width in (320, 900):
        window.resize(width, 500)
        hands.qtbot.waitUntil(lambda width=width: hands.canvas.width() == width)
        assert hands.canvas.rect().contains(bar.geometry())
        assert bar.field.width() >= 80
        assert all(bar.rect().contains(each.geometry()) for each in bar.findChildren(QToolButton))
    assert bar.width() == wide


def test_found_layers_that_are_gone_are_not_gone_to(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    hands.key(K.Key_F, CTRL)
    hands.type("conv2d")
    assert hands.selected == ["conv2d"]
    hands.key(K.Key_Escape)
    hands.open(net("input 4 > dense 3 > dense 2"))
    hands.click(hands.body("dense"))
    hands.key(K.Key_F3)
    assert [entity.key for entity in hands.studio.bus.selection.entities] == ["dense"]


def test_after_a_search_the_selection_can_still_be_walked(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    hands.key(K.Key_F, CTRL)
    hands.type("conv2d")
    hands.key(K.Key_Escape)
    hands.click(hands.body("re_lu"))
    hands.click(hands.body("dense"), CTRL)
    hands.key(K.Key_F3)
    assert sorted(hands.selected) == ["dense", "re_lu"]


def test_keys_return_from_where_another_view_led(hands: Hands) -> None:
    hands.open(chain(), zoom=1.0)
    hands.canvas.navigation.look_at(hands.canvas.graph.area_of(["input"]).center())
    before = hands.canvas.navigation.centre
    hands.studio.bus.select([entities.node("dense")], source="listing")
    after = hands.canvas.navigation.centre
    assert after != before
    hands.key(K.Key_Left, Qt.KeyboardModifier.AltModifier)
    assert abs(hands.canvas.navigation.centre.x() - before.x()) < 2
    hands.key(K.Key_Right, Qt.KeyboardModifier.AltModifier)
    assert abs(hands.canvas.navigation.centre.x() - after.x()) < 2


def test_f3_walks_through_the_selection(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    hands.click(hands.body("conv2d"))
    hands.click(hands.body("dense"), SHIFT)
    hands.key(K.Key_F3)
    selection = hands.studio.bus.selection
    assert selection.primary == entities.node("conv2d")
    assert hands.selected == ["conv2d", "dense"]
