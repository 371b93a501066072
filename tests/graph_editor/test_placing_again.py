"""Placing a layer again with the same weights: by key, menu and search; marks on every use."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPointF, Qt

from studio.graph_editor.items.colours import SHARED
from studio.session.document.checks.invariants import broken_rules
from studio.session.document.edits.blocks import group
from studio.session.document.edits.layers import add_layer
from studio.session.document.edits.places import move
from studio.session.document.edits.sharing import place_again
from studio.session.document.levels import all_blocks
from studio.session.document.state import DocumentState
from tests.graph_editor.hands import ALT, CTRL, RIGHT, Hands
from tests.session.document.networks import net

K = Qt.Key


def two_inputs() -> DocumentState:
    state = net("input 4 > dense 4 > relu")
    state = add_layer(state, "Input", config={"shape": [4]}, at=(0.0, 240.0))
    return state


def uses(state: DocumentState) -> dict[str, tuple[str, ...]]:
    return {node.id: node.sources for node in state.layers() if state.uses_of(node.id)}


def test_a_key_and_a_click_on_a_layer_place_another_use_behind_it(hands: Hands) -> None:
    hands.open(two_inputs())
    hands.click(hands.body("dense"))
    steps = hands.steps
    hands.key(K.Key_D, ALT)
    hands.move(hands.body("input_1"), buttons=Qt.MouseButton.NoButton)
    assert hands.canvas.overlay.ghost.nodes == ("dense_1",)
    assert hands.steps == steps
    hands.click(hands.body("input_1"))
    assert uses(hands.state) == {"dense": ("input",), "dense_1": ("input_1",)}
    assert (hands.steps, hands.document.history.undo_text) == (steps + 1, "Place dense again")
    assert hands.selected == ["dense_1"]
    assert hands.canvas.gestures.current is None
    hands.key(K.Key_Z, CTRL)
    assert uses(hands.state) == {}
    hands.key(K.Key_Y, CTRL)
    assert uses(hands.state) == {"dense": ("input",), "dense_1": ("input_1",)}


def test_a_click_on_a_wire_inserts_it_and_on_nothing_leaves_it_alone(hands: Hands) -> None:
    hands.open(two_inputs())
    hands.click(hands.body("dense"))
    hands.key(K.Key_D, ALT)
    hands.click(hands.middle("dense", "re_lu"))
    assert hands.state.nodes["re_lu"].sources == ("dense_1",)
    assert hands.state.nodes["dense_1"].shares == "dense"
    hands.click(hands.body("dense"))
    hands.key(K.Key_D, ALT)
    at = hands.nowhere()
    hands.click(at)
    node = hands.state.nodes["dense_2"]
    assert (node.shares, node.inputs) == ("dense", ())
    assert abs(node.x - at.x()) < 200
    assert abs(node.y - at.y()) < 40


def test_escape_places_nothing_and_enter_places_it_where_it_is_shown(hands: Hands) -> None:
    hands.open(two_inputs())
    hands.click(hands.body("dense"))
    steps = hands.steps
    hands.key(K.Key_D, ALT)
    hands.move(hands.nowhere(), buttons=Qt.MouseButton.NoButton)
    hands.key(K.Key_Escape)
    assert (hands.steps, hands.canvas.overlay.ghost.nodes) == (steps, ())
    hands.key(K.Key_D, ALT)
    hands.key(K.Key_Return)
    assert len(uses(hands.state)) == 2


@pytest.mark.parametrize(
    ("target", "why"), [("input", "an input has no weights"), ("re_lu", "has no parameters")]
)
def test_what_has_no_weights_is_refused_with_the_reason(
    hands: Hands, refusals: list[str], target: str, why: str
) -> None:
    hands.open(two_inputs())
    hands.click(hands.body(target))
    hands.key(K.Key_D, ALT)
    assert hands.canvas.gestures.current is None
    assert why in refusals[-1]


def test_the_menu_offers_it(hands: Hands) -> None:
    hands.open(two_inputs())
    hands.click(hands.body("dense"), button=RIGHT)
    menu = hands.canvas.findChild(object, "canvas_menu")
    action = next(a for a in menu.actions() if a.text().startswith("Place again"))
    action.trigger()
    menu.close()
    hands.click(hands.body("input_1"))
    assert uses(hands.state)["dense_1"] == ("input_1",)


def test_the_search_places_a_layer_of_the_document_again(hands: Hands) -> None:
    hands.open(two_inputs())
    hands.click(hands.body("input_1"))
    hands.key(K.Key_Tab)
    hands.type("same we")
    assert hands.offered == ["dense, same weights"]
    hands.key(K.Key_Return)
    assert uses(hands.state) == {"dense": ("input",), "dense_1": ("input_1",)}


def test_every_use_is_marked_and_one_lights_the_others(hands: Hands) -> None:
    state = place_again(two_inputs(), "dense", after="input_1")
    hands.open(move(state, {"dense_1": (400.0, 240.0)}))
    items = hands.canvas.graph.nodes
    assert [items[i].card.uses for i in ("dense", "dense_1", "re_lu")] == [2, 2, 0]
    hands.move(hands.body("dense"), buttons=Qt.MouseButton.NoButton)
    assert items["dense_1"].marks.linked == SHARED
    hands.move(hands.nowhere(), buttons=Qt.MouseButton.NoButton)
    assert items["dense_1"].marks.linked == ""
    hands.click(hands.body("dense_1"))
    assert (items["dense"].marks.linked, items["dense_1"].marks.linked) == (SHARED, "")
    hands.studio.actions.trigger("graph.own_layer")
    assert [items[i].card.uses for i in ("dense", "dense_1")] == [0, 0]
    assert items["dense"].marks.linked == ""


@pytest.mark.slow
def test_a_layer_deleted_meanwhile_is_no_longer_placed(hands: Hands) -> None:
    hands.open(two_inputs())
    hands.click(hands.body("dense"))
    hands.key(K.Key_D, ALT)
    hands.document.undo()
    hands.document.apply("Delete", DocumentState())
    hands.click(QPointF(0.0, 0.0))
    assert hands.canvas.gestures.current is None
    assert not hands.state.nodes


def test_a_use_in_a_closed_block_lights_the_block_and_a_copy_its_copies(hands: Hands) -> None:
    state = place_again(two_inputs(), "dense", after="input_1")
    hands.open(group(move(state, {"dense_1": (400.0, 240.0)}), ["dense_1"], "inner"))
    items, block = hands.canvas.graph.nodes, next(all_blocks(hands.state)).id
    hands.click(hands.body("dense"))
    assert items[block].marks.linked == SHARED
    hands.click(hands.nowhere())
    assert items[block].marks.linked == ""


def test_a_layer_is_placed_again_in_the_block_that_is_open(hands: Hands) -> None:
    hands.open(group(two_inputs(), ["dense", "re_lu"], "inner"))
    block = next(all_blocks(hands.state)).id
    hands.canvas.context.open_block.open(block)
    hands.canvas.show_all()
    hands.click(hands.body("dense"))
    hands.key(K.Key_D, ALT)
    hands.click(hands.nowhere())
    node = hands.state.nodes["dense_1"]
    assert (node.parent, node.shares) == (block, "dense")
    assert broken_rules(hands.state) == ()
