"""Keys of the canvas: each does what the table says, and nothing while a gesture is open."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QKeyCombination, Qt
from PySide6.QtGui import QContextMenuEvent, QKeySequence
from PySide6.QtWidgets import QApplication, QMenu

from studio.graph_editor.canvas import actions as canvas_actions
from tests.graph_editor.hands import CTRL, NONE, SHIFT, Hands
from tests.graph_editor.text_fields import K
from tests.session.document.networks import chain

CTRL_SHIFT = CTRL | SHIFT

# key, modifiers, the action of the table it carries out
TABLE = [
    (K.Key_Tab, NONE, "canvas.quick_add"),
    (K.Key_Left, NONE, "canvas.walk_left"),
    (K.Key_Right, NONE, "canvas.walk_right"),
    (K.Key_Up, NONE, "canvas.walk_up"),
    (K.Key_Down, NONE, "canvas.walk_down"),
    (K.Key_Left, SHIFT, "canvas.extend_left"),
    (K.Key_Right, SHIFT, "canvas.extend_right"),
    (K.Key_Up, SHIFT, "canvas.extend_up"),
    (K.Key_Down, SHIFT, "canvas.extend_down"),
    (K.Key_Left, CTRL, "graph.nudge_left"),
    (K.Key_Right, CTRL, "graph.nudge_right"),
    (K.Key_Up, CTRL, "graph.nudge_up"),
    (K.Key_Down, CTRL, "graph.nudge_down"),
    (K.Key_Left, CTRL_SHIFT, "graph.align_left"),
    (K.Key_Right, CTRL_SHIFT, "graph.align_right"),
    (K.Key_Up, CTRL_SHIFT, "graph.align_up"),
    (K.Key_Down, CTRL_SHIFT, "graph.align_down"),
    (K.Key_F2, NONE, "graph.rename"),
    (K.Key_Delete, NONE, "graph.delete"),
    (K.Key_Backspace, NONE, "graph.delete"),
    (K.Key_Delete, SHIFT, "graph.delete_only"),
    (K.Key_D, CTRL, "graph.duplicate"),
    (K.Key_D, SHIFT, "graph.duplicate"),
    (K.Key_C, CTRL, "edit.copy"),
    (K.Key_X, CTRL, "edit.cut"),
    (K.Key_A, CTRL, "edit.select_all"),
    (K.Key_F, CTRL, "canvas.find"),
    (K.Key_J, CTRL, "graph.frame"),
    (K.Key_G, CTRL, "graph.group"),
    (K.Key_C, NONE, "graph.note"),
    (K.Key_M, NONE, "graph.bypass"),
    (K.Key_F, SHIFT, "graph.freeze"),
    (K.Key_H, NONE, "graph.collapse"),
    (K.Key_H, SHIFT, "graph.preview"),
    (K.Key_L, NONE, "graph.layout"),
    (K.Key_P, NONE, "graph.pin"),
    (K.Key_L, SHIFT, "graph.layout_all"),
    (K.Key_Q, NONE, "graph.straighten"),
    (K.Key_Q, SHIFT, "graph.distribute"),
    (K.Key_F, NONE, "canvas.frame_selection"),
    (K.Key_Home, NONE, "canvas.frame_all"),
    (K.Key_1, SHIFT, "canvas.frame_all"),
    (K.Key_0, CTRL, "canvas.zoom_100"),
    (K.Key_S, NONE, "graph.switch_type"),
    (K.Key_F3, NONE, "canvas.find_next"),
    (K.Key_F3, SHIFT, "canvas.find_previous"),
]

OF_SEVERAL = ("graph.align", "graph.distribute", "graph.freeze")
"""A rectifier alone has nothing to align with, and no parameters."""

IDS = [f"{action}-{key.name}-{keys.value}" for key, keys, action in TABLE]


@pytest.mark.slow
@pytest.mark.parametrize(("key", "keys", "action"), TABLE, ids=IDS)
def test_key_carries_out_its_action(
    hands: Hands, key: Qt.Key, keys: Qt.KeyboardModifier, action: str
) -> None:
    heard: list[str] = []
    hands.open(chain(), zoom=0.8)
    hands.click(hands.body("re_lu"))
    if action.startswith(OF_SEVERAL):
        hands.key(K.Key_A, CTRL)
    hear = heard.append
    hands.studio.actions.triggered.connect(hear)
    hands.key(key, keys)
    assert heard == [action]


@pytest.mark.slow
@pytest.mark.parametrize("key", [K.Key_M, K.Key_H, K.Key_Delete, K.Key_Tab, K.Key_L, K.Key_S])
def test_key_does_nothing_while_a_gesture_is_open(hands: Hands, key: Qt.Key) -> None:
    hands.open(chain(), zoom=0.8)
    hands.click(hands.body("re_lu"))
    heard: list[str] = []
    hear = heard.append
    hands.studio.actions.triggered.connect(hear)
    hands.carry(hands.port("conv2d"), hands.nowhere())
    hands.key(key)
    assert heard == []
    assert hands.canvas.gestures.current is not None
    assert hands.steps == 0
    hands.key(K.Key_Escape)
    hands.release()


def test_every_key_of_the_canvas_in_the_table_is_tried_above() -> None:
    # Those below have tests of their own; zooming by keys differs between keyboards.
    own = {"edit.paste", "edit.paste_inputs", "graph.repair", "canvas.zoom_in", "canvas.zoom_out",
           "canvas.back", "canvas.forward", "graph.dissolve", "graph.place_again",
           "graph.copy_linked", "graph.unlink", "graph.next_output"}  # fmt: skip
    declared = {
        (QKeySequence(keys).toString(), spec.id)
        for spec in canvas_actions.ACTIONS
        for keys in spec.keys
        if spec.context == "canvas" and spec.id not in own
    }
    tried = {
        (QKeySequence(QKeyCombination(keys, key)).toString(), action) for key, keys, action in TABLE
    }
    assert declared == tried


def test_tapped_space_opens_the_search_and_held_space_does_not(hands: Hands) -> None:
    hands.open(chain())
    hands.hold(K.Key_Space)
    hands.let_go(K.Key_Space)
    assert hands.popup_open
    hands.key(K.Key_Escape)
    hands.hold(K.Key_Space)
    hands.qtbot.wait(230)
    hands.let_go(K.Key_Space)
    assert not hands.popup_open


def test_escape_closes_one_thing_at_a_time(hands: Hands) -> None:
    hands.open(chain())
    hands.click(hands.body("re_lu"))
    hands.key(K.Key_Tab)
    hands.key(K.Key_Escape)
    assert not hands.popup_open
    assert hands.selected == ["re_lu"]
    hands.key(K.Key_Escape)
    assert hands.selected == []


def test_ctrl_tab_leaves_the_canvas(hands: Hands) -> None:
    hands.open(chain())
    hands.key(K.Key_Tab, CTRL)
    assert not hands.canvas.hasFocus()
    assert not hands.popup_open


def test_menu_key_opens_the_menu_of_the_selection(hands: Hands) -> None:
    hands.open(chain())
    hands.click(hands.body("re_lu"))
    place = hands.canvas.viewport().rect().center()
    glob = hands.canvas.viewport().mapToGlobal(place)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, place, glob)
    QApplication.sendEvent(hands.canvas.viewport(), event)
    (menu,) = hands.canvas.findChildren(QMenu, "canvas_menu")
    assert menu.isVisible()
    delete = next(a for a in menu.actions() if a.objectName() == "graph.delete")
    delete.trigger()
    menu.close()
    assert "re_lu" not in hands.state.nodes
