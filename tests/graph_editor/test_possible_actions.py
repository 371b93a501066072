"""Actions of the canvas are possible where they do something, and say why where they do not."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtWidgets import QMenu

from studio.session.core import entities
from studio.session.document.document import Document
from studio.session.document.edits.comments import add_note
from studio.session.document.edits.removal import delete
from tests.graph_editor.hands import CTRL, NONE, SHIFT, Hands
from tests.graph_editor.text_fields import K
from tests.session.document.networks import chain

NOTHING = "nothing is selected"
OF_THE_SELECTION = {
    "canvas.frame_selection": NOTHING, "graph.frame": NOTHING, "graph.duplicate": NOTHING,
    "edit.copy": NOTHING, "edit.cut": NOTHING, "graph.delete": NOTHING,
    "graph.delete_only": NOTHING, "graph.straighten": NOTHING, "graph.distribute": NOTHING,
    "graph.align_left": NOTHING, "graph.drop_wires": NOTHING,
    "graph.bypass": "no layer is selected", "graph.freeze": "no layer is selected",
    "graph.own_layer": "no layer is selected",
}  # fmt: skip


def menu_on(hands: Hands, at: QPointF) -> dict[str, tuple[bool, str]]:
    """The entries of the menu over a place of the canvas: whether possible, and their tips."""
    hands.press(at, Qt.MouseButton.RightButton)
    hands.release(Qt.MouseButton.RightButton)
    (menu,) = (m for m in hands.canvas.findChildren(QMenu, "canvas_menu") if m.isVisible())
    found = {a.objectName(): (a.isEnabled(), a.toolTip()) for a in menu.actions()}
    menu.close()
    return found


@pytest.mark.slow
def test_nothing_selected_leaves_nothing_to_do_with_the_selection(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    actions = hands.studio.actions
    assert {i: actions.why_not(i) for i in OF_THE_SELECTION} == OF_THE_SELECTION
    before = hands.state
    for action_id in OF_THE_SELECTION:
        assert not actions.trigger(action_id)
    assert hands.state is before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "keys", "refusal"),
    [(K.Key_F, NONE, "canvas.frame_selection"), (K.Key_J, CTRL, "graph.frame")],
    ids=["show", "box"],
)
def test_a_key_for_the_selection_says_that_there_is_none(
    hands: Hands, refusals: list[str], key: Qt.Key, keys: Qt.KeyboardModifier, refusal: str
) -> None:
    hands.open(chain(), zoom=0.8)
    zoom = hands.canvas.navigation.zoom
    hands.key(key, keys)
    assert refusals == [f"{refusal}: {NOTHING}"]
    assert hands.canvas.navigation.zoom == zoom
    assert hands.steps == 0


def test_a_wire_alone_is_shown_and_deleted_and_not_copied(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    wire = next(iter(hands.state.wires()))
    hands.studio.bus.select([entities.wire(*wire)])
    actions = hands.studio.actions
    assert actions.why_not("edit.copy") == "only wires are selected"
    assert actions.why_not("graph.delete") == ""
    hands.key(K.Key_F)
    area = hands.canvas.graph.area_of([wire.source, wire.target])
    shown = hands.canvas.mapToScene(hands.canvas.viewport().rect()).boundingRect()
    assert shown.contains(area)
    hands.key(K.Key_Delete)
    assert wire not in list(hands.state.wires())


def test_data_that_enters_cannot_be_bypassed(hands: Hands, refusals: list[str]) -> None:
    hands.open(chain(), zoom=0.8)
    entering = next(hands.state.layers())
    hands.click(hands.body(entering.id))
    hands.key(K.Key_M)
    assert refusals == [f"graph.bypass: {entering.name} is an input"]
    assert not hands.studio.notices.all


def test_only_layers_with_parameters_are_frozen(hands: Hands, refusals: list[str]) -> None:
    hands.open(chain(), zoom=0.8)
    hands.click(hands.body("re_lu"))
    hands.key(K.Key_F, SHIFT)
    assert refusals == ["graph.freeze: the selection has no parameters"]
    hands.click(hands.body("conv2d"))
    hands.key(K.Key_F, SHIFT)
    assert hands.state.nodes["conv2d"].frozen
    hands.key(K.Key_F, SHIFT)
    assert not hands.state.nodes["conv2d"].frozen


def test_what_takes_several_things_says_how_many(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    actions = hands.studio.actions
    hands.click(hands.body("conv2d"))
    assert actions.why_not("graph.align_left") == "only one item is selected"
    assert actions.why_not("graph.distribute") == "fewer than three items are selected"
    hands.studio.bus.select([entities.node("conv2d"), entities.node("re_lu")])
    assert actions.why_not("graph.align_left") == ""
    assert actions.why_not("graph.straighten") == ""
    assert actions.why_not("graph.distribute") == "fewer than three items are selected"
    hands.key(K.Key_A, CTRL)
    assert actions.why_not("graph.distribute") == ""


def test_straightening_and_dropping_need_a_wire(hands: Hands) -> None:
    hands.open(add_note(chain(), 0, 400, "beside"), zoom=0.8)
    actions = hands.studio.actions
    hands.studio.bus.select([entities.node("note")])
    assert actions.why_not("graph.straighten") == "no layer is selected"
    assert actions.why_not("graph.drop_wires") == "the selection has no wires"
    first = next(hands.state.layers())
    hands.studio.bus.select([entities.node(first.id)])
    assert actions.why_not("graph.straighten") == "the selection has no input wires"
    assert actions.why_not("graph.own_layer") == "it does not share its parameters"


def test_an_empty_canvas_has_nothing_to_select_lay_out_or_walk(hands: Hands) -> None:
    hands.open(Document.new().state)
    actions = hands.studio.actions
    for action_id in ("edit.select_all", "graph.layout_all", "graph.layout_down",
                      "canvas.frame_all", "canvas.walk_left", "canvas.extend_down"):  # fmt: skip
        assert actions.why_not(action_id) == "the canvas is empty", action_id
    assert actions.why_not("canvas.find") == "there is no layer"
    assert actions.why_not("canvas.find_next") == "no search result and nothing selected"


def test_the_menu_over_the_ground_does_not_offer_a_box_around_nothing(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    entries = menu_on(hands, hands.nowhere())
    assert "graph.frame" not in entries
    assert entries["graph.note"][0]
    over = menu_on(hands, hands.body("re_lu"))
    assert over["graph.frame"][0]
    possible, tip = over["graph.freeze"]
    assert not possible
    assert tip.endswith("\nThe selection has no parameters.")


def test_undo_and_redo_say_what_there_is_not(hands: Hands) -> None:
    hands.open(chain())
    actions = hands.studio.actions
    assert actions.why_not("edit.undo") == "there is nothing to undo"
    assert actions.why_not("edit.redo") == "there is nothing to redo"
    hands.studio.document.apply("Delete", delete(hands.state, ["dense"]))
    assert actions.why_not("edit.undo") == ""
    hands.studio.document.undo()
    assert actions.why_not("edit.redo") == ""
