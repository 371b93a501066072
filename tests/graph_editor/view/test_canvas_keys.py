"""Keys of the canvas: each does what the table says, and nothing in a field of text."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QKeyCombination, QPointF, Qt
from PySide6.QtGui import QAction, QContextMenuEvent, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu, QToolButton

from studio.graph_editor.model.document import Document
from studio.graph_editor.model.edits.places import move
from studio.ui.models import entities, graph_actions
from studio.ui.models.actions import ActionSpec
from tests.graph_editor.model.networks import chain, net, places
from tests.graph_editor.view.hands import CTRL, NONE, SHIFT, Hands

CTRL_SHIFT = CTRL | SHIFT
K = Qt.Key

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
IDS = [f"{action}-{key.name}-{keys.value}" for key, keys, action in TABLE]


@pytest.mark.parametrize(("key", "keys", "action"), TABLE, ids=IDS)
def test_key_carries_out_its_action(
    hands: Hands, key: Qt.Key, keys: Qt.KeyboardModifier, action: str
) -> None:
    heard: list[str] = []
    hands.open(chain(), zoom=0.8)
    hands.click(hands.body("re_lu"))
    hear = heard.append
    hands.studio.actions.triggered.connect(hear)
    hands.key(key, keys)
    assert heard == [action]


LETTERS = [K.Key_C, K.Key_M, K.Key_H, K.Key_L, K.Key_Q, K.Key_F, K.Key_S, K.Key_K, K.Key_Z,
           K.Key_T, K.Key_Space, K.Key_Delete, K.Key_Backspace, K.Key_Home, K.Key_Left]  # fmt: skip


def open_search(hands: Hands) -> QLineEdit:
    hands.key(K.Key_Tab)
    return hands.canvas.searches.popup.field


def open_find(hands: Hands) -> QLineEdit:
    hands.key(K.Key_F, CTRL)
    return hands.canvas.chrome.find_bar.field


def open_rename(hands: Hands) -> QLineEdit:
    hands.key(K.Key_F2)
    field = hands.canvas.writing.field.field
    assert isinstance(field, QLineEdit)
    return field


def beside(hands: Hands) -> QLineEdit:
    field = hands.canvas.window().findChild(QLineEdit, "text_beside")
    assert isinstance(field, QLineEdit)
    field.setFocus()
    return field


@pytest.mark.parametrize("field", [open_search, open_find, open_rename, beside])
@pytest.mark.parametrize("key", LETTERS, ids=[key.name for key in LETTERS])
def test_key_does_nothing_to_the_graph_in_a_text_field(
    hands: Hands, key: Qt.Key, field: Callable[[Hands], QLineEdit]
) -> None:
    hands.open(chain(), zoom=0.8)
    hands.click(hands.body("re_lu"))
    opened = field(hands)
    assert opened.hasFocus()
    heard: list[str] = []
    hear = heard.append
    hands.studio.actions.triggered.connect(hear)
    before, zoom = hands.state.content_hash, hands.canvas.navigation.zoom
    hands.key(key)
    assert heard == []
    assert hands.state.content_hash == before
    assert hands.steps == 0
    assert hands.canvas.navigation.zoom == zoom
    assert opened.hasFocus()


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
    assert hands.canvas.gesture is not None
    assert hands.steps == 0
    hands.key(K.Key_Escape)
    hands.release()


def test_every_key_of_the_canvas_in_the_table_is_tried_above() -> None:
    # Those below have tests of their own; zooming by keys differs between keyboards.
    own = {"edit.paste", "edit.paste_inputs", "graph.repair", "canvas.zoom_in", "canvas.zoom_out",
           "graph.edit_options", "canvas.back", "canvas.forward"}  # fmt: skip
    declared = {
        (QKeySequence(keys).toString(), spec.id)
        for spec in graph_actions.ACTIONS
        for keys in spec.keys
        if spec.context == "canvas" and spec.id not in own
    }
    tried = {
        (QKeySequence(QKeyCombination(keys, key)).toString(), action) for key, keys, action in TABLE
    }
    assert declared == tried


# -- what the keys do -----------------------------------------------------------------------------


def test_ten_layers_by_keyboard_only_are_ten_steps(hands: Hands) -> None:
    words = ["input", "conv", "relu", "conv", "relu", "maxpool", "flatten", "dense", "dropout",
             "softmax"]  # fmt: skip
    for number, word in enumerate(words, 1):
        hands.key(K.Key_Tab)
        assert hands.popup_field.hasFocus()
        hands.type(word)
        hands.key(K.Key_Return)
        assert hands.steps == number
        assert hands.canvas.hasFocus()
    assert hands.wires == (
        "input>conv2d conv2d>re_lu re_lu>conv2d_1 conv2d_1>re_lu_1 re_lu_1>max_pooling2d "
        "max_pooling2d>flatten flatten>dense dense>dropout dropout>softmax"
    )
    for _ in words:
        hands.key(K.Key_Z, CTRL)
    assert not hands.state.nodes


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


def test_nudges_become_one_step_of_eight_pixels_each(hands: Hands) -> None:
    hands.open(chain())
    hands.click(hands.body("re_lu"))
    x, y = places(hands.state)["re_lu"]
    for _ in range(3):
        hands.key(K.Key_Right, CTRL)
    hands.key(K.Key_Down, CTRL)
    assert places(hands.state)["re_lu"] == (x + 24, y + 8)
    assert hands.steps == 1


def test_align_brings_edges_to_one_line(hands: Hands) -> None:
    hands.open(move(chain(), {"re_lu": (450.0, 70.0), "flatten": (900.0, -40.0)}), zoom=0.6)
    hands.key(K.Key_A, CTRL)
    hands.key(K.Key_Up, CTRL | SHIFT)
    assert {y for _, y in places(hands.state).values()} == {-40.0}
    assert hands.steps == 1


def test_delete_heals_and_offers_undo(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    hands.click(hands.body("re_lu"))
    hands.key(K.Key_Delete)
    assert "conv2d>max_pooling2d" in hands.wires
    notice = hands.studio.notices.all[-1]
    assert notice.text == "Deleted 1 layer, re-joined 1 wire"
    assert notice.action is not None
    assert notice.action[0] == "Undo"
    notice.action[1]()
    assert "re_lu" in hands.state.nodes
    hands.click(hands.body("re_lu"))
    hands.key(K.Key_Delete, SHIFT)
    assert "conv2d>max_pooling2d" not in hands.wires


def test_undo_offered_for_a_deletion_takes_back_nothing_else(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    hands.click(hands.body("re_lu"))
    hands.key(K.Key_Delete)
    notice = hands.studio.notices.all[-1]
    hands.click(hands.body("dense"))
    hands.key(K.Key_Right, CTRL)
    now = hands.state
    assert notice.action is not None
    notice.action[1]()
    assert hands.state is now
    assert "other steps" in hands.studio.notices.all[-1].text
    hands.key(K.Key_Z, CTRL)
    notice.action[1]()
    assert hands.state == chain()


def test_rename_in_place(hands: Hands) -> None:
    hands.open(chain())
    hands.click(hands.body("conv2d"))
    hands.key(K.Key_F2)
    hands.type("stem")
    hands.key(K.Key_Return)
    assert hands.state.nodes["conv2d"].name == "stem"
    assert hands.canvas.hasFocus()
    assert hands.steps == 1
    hands.key(K.Key_F2)
    hands.type("other")
    hands.key(K.Key_Escape)
    assert hands.state.nodes["conv2d"].name == "stem"


def test_double_click_on_the_title_renames(hands: Hands) -> None:
    hands.open(chain())
    hands.double_click(hands.title("conv2d"))
    assert hands.canvas.writing.field.is_open
    hands.type("first")
    hands.key(K.Key_Return)
    assert hands.state.nodes["conv2d"].name == "first"


def test_name_that_is_taken_is_refused_and_can_be_put_right(hands: Hands) -> None:
    hands.open(chain())
    hands.click(hands.body("conv2d"))
    hands.key(K.Key_F2)
    hands.type("dense")
    hands.key(K.Key_Return)
    assert hands.canvas.writing.field.is_open
    assert "taken" in hands.studio.notices.all[-1].text
    hands.type("_in")
    hands.key(K.Key_Return)
    assert hands.state.nodes["conv2d"].name == "dense_in"


def test_switch_type_keeps_wires(hands: Hands) -> None:
    hands.open(chain())
    hands.click(hands.body("max_pooling2d"))
    hands.key(K.Key_S)
    hands.type("average")
    hands.key(K.Key_Return)
    node = hands.state.nodes["max_pooling2d"]
    assert node.type_name == "AveragePooling2D"
    assert "re_lu>max_pooling2d max_pooling2d>flatten" in hands.wires
    assert hands.steps == 1


def test_copy_and_paste_between_documents(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    hands.click(hands.body("conv2d"))
    hands.click(hands.body("re_lu"), SHIFT)
    hands.key(K.Key_C, CTRL)
    assert '"conv2d"' in QGuiApplication.clipboard().text()
    hands.open(net("input 8x8x1"))
    hands.key(K.Key_V, CTRL)
    assert hands.wires == "conv2d>re_lu"
    assert hands.selected == ["conv2d", "re_lu"]
    assert hands.steps == 1


def test_pasting_something_else_is_refused_with_a_sentence(hands: Hands) -> None:
    hands.open(chain())
    QGuiApplication.clipboard().setText("{broken")
    hands.key(K.Key_V, CTRL)
    assert hands.studio.notices.all[-1].severity == "error"
    assert hands.steps == 0


def test_paste_keeping_inputs_feeds_the_copies(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    hands.click(hands.body("re_lu"))
    hands.key(K.Key_C, CTRL)
    hands.key(K.Key_V, CTRL_SHIFT)
    assert "conv2d>re_lu_1" in hands.wires


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


def test_bypass_freeze_and_collapse_show_on_the_card(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    hands.click(hands.body("re_lu"))
    hands.keys(K.Key_M, K.Key_H)
    hands.click(hands.body("conv2d"))
    hands.key(K.Key_F, SHIFT)
    nodes = hands.state.nodes
    assert (nodes["re_lu"].bypassed, nodes["re_lu"].collapsed) == (True, True)
    assert nodes["conv2d"].frozen
    assert hands.canvas.graph.nodes["re_lu"].card.node.bypassed
    assert hands.canvas.graph.nodes["re_lu"].area.height() == 28
    assert hands.steps == 3


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


def test_note_opens_a_field_to_write_in(hands: Hands) -> None:
    hands.open(chain())
    hands.key(K.Key_C)
    hands.type("warm up first")
    hands.key(K.Key_Return, CTRL)
    assert hands.state.nodes["note"].text == "warm up first"
    assert hands.steps == 2


def test_what_is_written_goes_with_what_it_was_written_in(hands: Hands) -> None:
    hands.open(chain())
    hands.key(K.Key_C)
    hands.type("warm up first")
    hands.document.undo()
    assert not hands.canvas.writing.field.is_open
    assert hands.state == chain()
    assert not hands.studio.notices.all


def test_frame_goes_around_the_selection(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    hands.click(hands.body("conv2d"))
    hands.key(K.Key_J, CTRL)
    hands.type("stem")
    hands.key(K.Key_Return)
    frame = hands.canvas.graph.nodes["frame"].scene_area
    assert frame.contains(hands.canvas.graph.nodes["conv2d"].scene_area)
    assert hands.state.nodes["frame"].text == "stem"


def test_layout_of_everything_is_one_step(hands: Hands) -> None:
    hands.open(move(chain(), {"re_lu": (0.0, 500.0)}), zoom=0.6)
    hands.key(K.Key_L, SHIFT)
    assert hands.steps == 1
    xs = [x for x, _ in places(hands.state).values()]
    assert xs == sorted(xs)


def test_action_that_needs_a_selection_says_so(hands: Hands, refusals: list[str]) -> None:
    hands.open(chain())
    hands.key(K.Key_M)
    assert refusals == ["graph.bypass: no layer is selected"]
    hands.studio.bus.select([entities.node("re_lu")])
    hands.key(K.Key_M)
    assert hands.state.nodes["re_lu"].bypassed


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


def test_document_that_may_only_be_looked_at_says_so_and_stays(hands: Hands) -> None:
    hands.studio.replace(Document(chain(), read_only="saved by a newer version"))
    hands.canvas.show_all()
    before = hands.state.content_hash
    hands.drag(hands.body("re_lu"), hands.body("re_lu") + QPointF(90, 90))
    assert hands.canvas.gesture is None
    assert hands.studio.notices.all[-1].text.endswith("saved by a newer version")
    hands.drag(hands.port("conv2d"), hands.input("dense"))
    hands.click(hands.body("re_lu"))
    hands.keys(K.Key_Delete, K.Key_M)
    hands.key(K.Key_Tab)
    hands.type("relu")
    hands.key(K.Key_Return)
    assert hands.state.content_hash == before


@pytest.mark.parametrize("field", [open_search, open_find, open_rename])
def test_keys_of_the_window_work_while_something_is_written(
    hands: Hands, field: Callable[[Hands], QLineEdit]
) -> None:
    hands.open(chain(), zoom=0.8)
    hands.click(hands.body("re_lu"))
    opened = field(hands)
    heard: list[str] = []
    action = QAction(opened.window())
    action.setShortcut(QKeySequence("Ctrl+S"))
    action.triggered.connect(lambda: heard.append("saved"))
    opened.window().addAction(action)
    hands.studio.actions.declare([ActionSpec("test.save", "Save", "Save.", ("Ctrl+S",))])
    hands.key(K.Key_S, CTRL)
    assert heard == ["saved"]
    hands.key(K.Key_D, CTRL)
    assert set(hands.state.nodes) == set(chain().nodes)


def test_undo_in_a_field_is_that_of_the_text(hands: Hands) -> None:
    hands.open(chain())
    hands.click(hands.body("re_lu"))
    hands.key(K.Key_H)
    hands.key(K.Key_Tab)
    hands.type("con")
    hands.key(K.Key_Z, CTRL)
    assert hands.popup_field.text() != "con"
    assert hands.steps == 1
