"""The search field on the canvas: what it offers, shows before, and adds."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPointF, Qt

from studio.session.core import entities
from studio.session.document.checks.invariants import broken_rules
from studio.session.document.edits.blocks import group
from studio.session.document.edits.layers import add_layer
from studio.session.document.edits.removal import delete
from studio.session.document.levels import ports_out
from studio.session.document.state import DocumentState, Wire
from tests.graph_editor.hands import Hands
from tests.session.document.networks import chain, net

K = Qt.Key


def remark(hands: Hands) -> str:
    return hands.canvas.searches.popup.remark.text()


def ghosts(hands: Hands) -> tuple[str, ...]:
    return hands.canvas.overlay.ghost.nodes


@pytest.mark.slow
def test_double_click_on_nothing_adds_a_layer_by_itself_there(hands: Hands) -> None:
    hands.open(chain())
    place = hands.nowhere()
    hands.double_click(place)
    assert hands.popup_open
    hands.type("conv")
    hands.key(K.Key_Return)
    assert "conv2d_1" in hands.state.nodes
    assert hands.state.nodes["conv2d_1"].sources == ()
    away = hands.input("conv2d_1") - place
    assert abs(away.x()) + abs(away.y()) < 2


def test_search_stays_inside_a_narrow_canvas(hands: Hands) -> None:
    hands.open(chain())
    canvas = hands.canvas
    canvas.window().resize(320, 600)
    hands.qtbot.waitUntil(lambda: canvas.width() == 320)
    hands.click(hands.body("conv2d"))
    hands.key(K.Key_Tab)
    popup = canvas.searches.popup
    assert popup.isVisible()
    assert canvas.rect().contains(popup.geometry())


def test_row_shows_port_and_shape_and_the_canvas_a_ghost(hands: Hands) -> None:
    hands.open(net("input 8x8x1 > conv 8 3x3 same"))
    hands.click(hands.body("conv2d"))
    hands.key(K.Key_Tab)
    hands.type("maxpool")
    row = hands.canvas.searches.popup.list.entries.rows[0]
    assert (row.title, row.port, row.shape) == ("MaxPooling2D", "into its input", "4\u00d74\u00d78")
    assert ghosts(hands) == ("max_pooling2d",)
    hands.key(K.Key_Escape)
    assert ghosts(hands) == ()
    assert hands.steps == 0


def test_arrows_choose_another_row(hands: Hands) -> None:
    hands.open(chain())
    hands.click(hands.body("dense"))
    hands.key(K.Key_Tab)
    first, second = hands.offered[0], hands.offered[1]
    hands.key(K.Key_Down)
    hands.key(K.Key_Return)
    added = hands.state.nodes[hands.selected[0]]
    assert added.type_name == second != first
    assert hands.steps == 1


def test_click_on_a_row_takes_it(hands: Hands) -> None:
    hands.open(chain())
    hands.click(hands.body("dense"))
    hands.key(K.Key_Tab)
    rows = hands.canvas.searches.popup.list
    hands.type("dropout")
    area = rows.visualRect(rows.entries.at(0))
    hands.qtbot.mouseClick(rows.viewport(), Qt.MouseButton.LeftButton, pos=area.center())
    assert "dense>dropout" in hands.wires


def test_typed_net_is_one_step_with_a_ghost_of_all_of_it(hands: Hands) -> None:
    hands.open(net("input 8x8x1"))
    hands.click(hands.body("input"))
    hands.key(K.Key_Tab)
    hands.type("conv 16 3x3 > relu > pool 2 > flatten > dense 10")
    assert len(ghosts(hands)) == 5
    # 16·(9 + 1) and 144·10 + 10 numbers.
    assert "1\u202f610" in remark(hands)
    hands.key(K.Key_Return)
    assert hands.wires == (
        "input>conv2d conv2d>re_lu re_lu>max_pooling2d max_pooling2d>flatten flatten>dense"
    )
    assert hands.steps == 1
    assert hands.selected == ["dense"]
    assert ghosts(hands) == ()


@pytest.mark.slow
@pytest.mark.parametrize("zoom", [0.5, 0.72, 1.0])
def test_search_does_not_cover_the_ghost_of_a_typed_net(hands: Hands, zoom: float) -> None:
    hands.open(chain(), zoom=zoom)
    hands.click(hands.body("conv2d"))
    hands.key(K.Key_Tab)
    hands.type("relu")
    hands.type(" > conv 32 > pool 2")
    canvas = hands.canvas
    area = canvas.overlay.ghost.area()
    top, bottom = (canvas.view_point(p).y() for p in (area.topLeft(), area.bottomLeft()))
    search = canvas.searches.popup.geometry()
    assert search.top() >= bottom - 1 or search.bottom() <= top + 1


def test_typed_net_is_seen_whole_where_it_has_no_room(hands: Hands) -> None:
    hands.open(net("input 8x8x1"))
    canvas = hands.canvas
    before = canvas.navigation.zoom
    hands.click(hands.body("input"))
    hands.key(K.Key_Tab)
    hands.type("conv 16 3x3 > relu > pool 2 > conv 32 > relu > flatten > dense 64 > dense 10")
    hands.key(K.Key_Return)
    whole = canvas.graph.area_of(list(hands.state.nodes))
    assert whole.width() * before > canvas.viewport().width()
    hands.qtbot.waitUntil(lambda: canvas.navigation.visible.contains(whole))
    assert canvas.navigation.zoom < before


def test_net_that_cannot_be_read_says_where_and_adds_nothing(hands: Hands) -> None:
    hands.open(net("input 8x8x1"))
    hands.click(hands.body("input"))
    hands.key(K.Key_Tab)
    hands.type("conv 16 > flaten")
    said, hint = remark(hands).split("\n")
    assert said.startswith("No layer is called 'flaten'")
    assert hint.startswith("Did you mean")
    hands.key(K.Key_Return)
    assert hands.popup_open
    assert hands.steps == 0


def test_net_that_does_not_fit_says_why_and_can_be_added_all_the_same(hands: Hands) -> None:
    hands.open(net("input 8x8x1"))
    hands.click(hands.body("input"))
    hands.key(K.Key_Tab)
    hands.type("conv 8 20x20 > relu")
    assert remark(hands).startswith("Expected an input of at least 20 rows")
    assert len(ghosts(hands)) == 2
    hands.type(" > flatten")
    hands.key(K.Key_A, Qt.KeyboardModifier.ControlModifier)
    hands.type("conv 8 3x3 > relu")
    assert "parameters" in remark(hands)
    hands.key(K.Key_A, Qt.KeyboardModifier.ControlModifier)
    hands.type("conv 8 20x20")
    hands.key(K.Key_Return)
    assert hands.wires == "input>conv2d"


def test_nothing_found_says_what_may_be_meant(hands: Hands) -> None:
    hands.open(net("input 8x8x1"))
    hands.key(K.Key_Tab)
    hands.type("convx")
    assert hands.offered == []
    assert "Did you mean" in remark(hands)


@pytest.mark.slow
def test_a_layer_that_does_not_fit_here_is_refused_with_the_reason(hands: Hands) -> None:
    hands.open(net("input 2 > dense 3"))
    hands.click(hands.body("input"))
    hands.key(K.Key_Tab)
    hands.type("conv")
    assert hands.offered == []
    assert remark(hands).startswith("Conv2D does not fit here")


def test_search_on_a_selected_wire_inserts(hands: Hands) -> None:
    hands.open(chain(), zoom=0.8)
    hands.studio.bus.select([entities.wire(*Wire("conv2d", "re_lu", 0))])
    hands.key(K.Key_Tab)
    hands.type("batch")
    hands.key(K.Key_Return)
    assert "conv2d>batch_normalization" in hands.wires
    assert "batch_normalization>re_lu" in hands.wires
    assert hands.steps == 1


def three_ends() -> DocumentState:
    """An input with two layers of one width behind it, and one of another."""
    state = net("input 4 > dense 3")
    state = add_layer(state, "Dense", config={"units": 3}, after="input")
    return add_layer(state, "Dense", config={"units": 2}, after="input")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "made", "sources"),
    [
        ("concatenate", "concatenate", ("dense_1", "dense", "dense_2")),
        # Of what does not fit only the rest is joined; what takes one input follows the last.
        ("add", "add", ("dense_1", "dense")),
        ("relu", "re_lu", ("dense",)),
    ],
)
def test_what_is_added_joins_all_selected_layers(
    hands: Hands, typed: str, made: str, sources: tuple[str, ...]
) -> None:
    hands.open(three_ends())
    order = ("dense_1", "dense_2", "dense") if typed != "concatenate" else sources
    for node_id in order:
        hands.click(hands.body(node_id), Qt.KeyboardModifier.ShiftModifier)
    assert hands.selected == list(order)
    hands.key(K.Key_Tab)
    hands.type(typed)
    hands.key(K.Key_Return)
    assert hands.state.nodes[made].sources == sources
    assert hands.steps == 1
    assert broken_rules(hands.state) == ()


def test_what_is_added_joins_layers_and_blocks_that_have_an_output(hands: Hands) -> None:
    state = group(add_layer(three_ends(), "ReLU", after="dense_2"), ["dense_2"], "box")
    state = group(state, ["dense_1"], "closed")
    state = delete(
        state,
        [p.id for p in state.nodes.values() if p.port and p.text == "dense_1" and p.port == "out"],
    )
    (box,) = (node.id for node in state.nodes.values() if node.name == "box")
    (closed,) = (node.id for node in state.nodes.values() if node.name == "closed")
    hands.open(state)
    for node_id in ("dense", box, closed):
        hands.click(hands.body(node_id), Qt.KeyboardModifier.ShiftModifier)
    hands.key(K.Key_Tab)
    hands.type("concatenate")
    hands.key(K.Key_Return)
    (port,) = ports_out(hands.state, box)
    assert hands.state.nodes["concatenate"].sources == ("dense", port.id)
    assert broken_rules(hands.state) == ()


def test_search_closes_when_the_canvas_is_clicked(hands: Hands) -> None:
    hands.open(chain())
    hands.key(K.Key_Tab)
    hands.click(hands.body("dense"))
    assert not hands.popup_open
    assert hands.canvas.hasFocus()


def test_search_stays_inside_the_canvas(hands: Hands) -> None:
    hands.open(chain())
    corner = QPointF(hands.canvas.viewport().rect().bottomRight()) - QPointF(4, 4)
    hands.double_click(hands.canvas.navigation.scene_at(corner))
    popup = hands.canvas.searches.popup
    assert hands.canvas.rect().contains(popup.geometry())


def test_what_was_used_here_comes_first_next_time(hands: Hands) -> None:
    hands.open(chain())
    hands.click(hands.body("dense"))
    hands.key(K.Key_Tab)
    hands.type("softmax")
    hands.key(K.Key_Return)
    hands.document.undo()
    hands.click(hands.body("dense"))
    hands.key(K.Key_Tab)
    assert hands.offered[0] == "Softmax"
    assert hands.studio.palette.recent == ("Softmax",)
