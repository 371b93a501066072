"""Wires drawn by hand: where they end, what is asked, what can be undone."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPointF, Qt

from studio.graph_editor.items.marks import PortKey
from studio.session.document.edits.layers import add_layer
from studio.session.document.edits.places import move
from studio.session.document.edits.wires import disconnect
from studio.session.document.state import DocumentState
from tests.graph_editor.hands import ALT, CTRL, NONE, SHIFT, Hands
from tests.session.document.networks import net


def bench() -> DocumentState:
    """input, conv2d fed by it, re_lu and dense by themselves, flatten fed by conv2d."""
    state = net("input 8x8x1 > conv 8 3x3")
    state = add_layer(state, "ReLU", at=(500.0, 0.0))
    state = add_layer(state, "Flatten", after="conv2d", at=(500.0, 200.0))
    state = add_layer(state, "Dense", at=(0.0, 200.0))
    return add_layer(state, "Conv2D", at=(760.0, 200.0))


BENCH_WIRES = "input>conv2d conv2d>flatten"


def near_miss(hands: Hands) -> QPointF:
    """A place beside the free input of re_lu: beyond snapping, within the reach of a miss."""
    return hands.input("re_lu") + QPointF(-20, -10)


def ends(hands: Hands, start: str) -> dict[str, QPointF]:
    """The places a wire is released at, by name, for a wire that begins as told."""
    port = hands.port("re_lu") if start == "in" else hands.input("re_lu")
    miss = port + QPointF(20, -10) if start == "in" else near_miss(hands)
    return {"port": port, "body": hands.body("re_lu"), "miss": miss, "empty": hands.nowhere()}


# start, end, the wires afterwards, whether the search opens; each also with Shift held.
TABLE = [
    ("out", "port", "input>conv2d conv2d>re_lu conv2d>flatten", False),
    ("out", "body", "input>conv2d conv2d>re_lu conv2d>flatten", False),
    ("out", "miss", BENCH_WIRES, False),
    ("out", "empty", BENCH_WIRES, True),
    ("in", "port", "input>conv2d conv2d>flatten re_lu>conv2d_1", False),
    ("in", "body", "input>conv2d conv2d>flatten re_lu>conv2d_1", False),
    ("in", "miss", BENCH_WIRES, False),
    ("in", "empty", BENCH_WIRES, True),
    ("existing", "port", "input>conv2d conv2d>re_lu", False),
    ("existing", "body", "input>conv2d conv2d>re_lu", False),
    ("existing", "miss", BENCH_WIRES, False),
    ("existing", "empty", "input>conv2d", False),
]


def begin(hands: Hands, start: str) -> QPointF:
    if start == "out":
        return hands.port("conv2d")
    return hands.input("conv2d_1" if start == "in" else "flatten")


@pytest.mark.slow
@pytest.mark.parametrize("shift", [False, True], ids=["plain", "shift"])
@pytest.mark.parametrize(("start", "end", "after", "searches"), TABLE)
def test_released_wire_connects_springs_back_or_asks(
    hands: Hands, start: str, end: str, after: str, searches: bool, shift: bool
) -> None:
    hands.open(bench(), zoom=0.9)
    before = hands.wires
    assert before == BENCH_WIRES
    hands.drag(begin(hands, start), ends(hands, start)[end], end_keys=SHIFT if shift else NONE)
    expected = before if shift else after
    assert hands.wires == expected
    assert hands.popup_open == (searches and not shift)
    assert hands.steps == (expected != before)
    if hands.popup_open:
        hands.key(Qt.Key.Key_Escape)
        assert not hands.popup_open
        assert hands.steps == 0
    if hands.steps:
        hands.document.undo()
        assert hands.wires == before


@pytest.mark.slow
@pytest.mark.parametrize(("choice", "shift", "asks"), [
    ("always", False, True), ("always", True, False), ("with shift", False, False),
    ("with shift", True, True), ("never", False, False), ("never", True, False),
])  # fmt: skip
def test_search_on_release_follows_the_preference(
    hands: Hands, choice: str, shift: bool, asks: bool
) -> None:
    hands.studio.preferences.set("search_on_release", choice)
    hands.open(bench())
    hands.drag(hands.port("conv2d"), hands.nowhere(), end_keys=SHIFT if shift else NONE)
    assert hands.popup_open == asks


def test_wire_snaps_to_a_port_at_any_zoom(hands: Hands) -> None:
    for zoom in (0.4, 1.0, 2.0):
        hands.open(bench(), zoom=zoom, at=QPointF(450, 60))
        place = hands.input("re_lu") + QPointF(-12 / zoom, 0)
        hands.drag(hands.port("conv2d"), place)
        assert "conv2d>re_lu" in hands.wires


def test_wire_that_would_close_a_loop_is_refused_with_the_reason(hands: Hands) -> None:
    hands.open(bench())
    hands.carry(hands.port("flatten"), hands.body("conv2d"))
    assert "loop" in hands.canvas.overlay.tip.text()
    assert hands.canvas.overlay.tip.isVisible()
    assert hands.canvas.graph.nodes["conv2d"].opacity() == pytest.approx(0.35)
    assert hands.canvas.graph.nodes["re_lu"].opacity() == 1.0
    hands.release()
    assert hands.wires == BENCH_WIRES
    assert hands.canvas.graph.nodes["conv2d"].opacity() == 1.0


def test_layer_of_another_rank_is_dimmed_and_says_why(hands: Hands) -> None:
    hands.open(bench())
    hands.carry(hands.port("flatten"), hands.input("conv2d_1"))
    assert "[height, width, channels]" in hands.canvas.overlay.tip.text()
    hands.release()
    assert hands.wires == BENCH_WIRES
    assert not hands.popup_open


def test_input_that_is_taken_changes_its_source(hands: Hands) -> None:
    hands.open(bench())
    hands.drag(hands.port("input"), hands.input("flatten"))
    assert hands.wires == "input>conv2d input>flatten"
    assert hands.steps == 1


@pytest.mark.slow
def test_missed_port_shows_itself_for_a_moment(hands: Hands) -> None:
    hands.open(bench())
    hands.drag(hands.port("conv2d"), near_miss(hands))
    marks = hands.canvas.graph.nodes["re_lu"].marks
    assert marks.ports == {PortKey("in"): "blink"}
    hands.qtbot.waitUntil(lambda: not hands.canvas.graph.nodes["re_lu"].marks.ports)


def test_search_from_a_port_connects_and_puts_the_port_under_the_pointer(hands: Hands) -> None:
    hands.open(bench())
    place = hands.nowhere()
    hands.drag(hands.port("conv2d"), place)
    hands.type("maxpool")
    hands.key(Qt.Key.Key_Return)
    assert "conv2d>max_pooling2d" in hands.wires
    away = hands.input("max_pooling2d") - place
    assert abs(away.x()) + abs(away.y()) < 2
    assert hands.steps == 1
    assert hands.selected == ["max_pooling2d"]


def test_search_from_an_input_feeds_it(hands: Hands) -> None:
    hands.open(bench())
    place = hands.nowhere()
    hands.drag(hands.input("dense"), place)
    hands.type("flatten")
    hands.key(Qt.Key.Key_Return)
    assert "flatten_1>dense" in hands.wires
    away = hands.port("flatten_1") - place
    assert abs(away.x()) + abs(away.y()) < 2
    assert hands.steps == 1


def test_search_from_a_port_offers_only_what_can_be_connected(hands: Hands) -> None:
    hands.open(bench())
    hands.drag(hands.port("flatten"), hands.nowhere())
    assert "Dense" in hands.offered
    assert "Conv2D" not in hands.offered
    assert "Input" not in hands.offered


def test_drag_from_the_edge_of_a_layer_draws_a_wire(hands: Hands) -> None:
    hands.open(bench())
    area = hands.canvas.graph.nodes["conv2d"].scene_area
    hands.drag(QPointF(area.right() - 3, area.bottom() - 20), hands.input("re_lu"))
    assert "conv2d>re_lu" in hands.wires


def test_alt_click_on_a_port_drops_its_wires(hands: Hands) -> None:
    state = bench()
    hands.open(state)
    hands.click(hands.port("conv2d"), ALT)
    assert hands.wires == "input>conv2d"
    hands.click(hands.input("conv2d"), ALT)
    assert hands.wires == ""
    assert hands.steps == 2


@pytest.mark.slow
def test_ctrl_drag_from_an_output_moves_all_its_wires(hands: Hands) -> None:
    state = bench()
    state = move(disconnect(state, "conv2d", 0), {"conv2d_1": (260.0, 400.0)})
    hands.open(state, zoom=0.8)
    hands.drag(hands.port("conv2d"), hands.port("conv2d_1"), CTRL)
    assert hands.wires == "conv2d_1>flatten"
    assert hands.steps == 1


@pytest.mark.slow
def test_escape_calls_a_wire_off_and_another_press_clears_the_selection(hands: Hands) -> None:
    hands.open(bench())
    hands.click(hands.body("re_lu"))
    hands.carry(hands.port("conv2d"), hands.nowhere())
    hands.key(Qt.Key.Key_Escape)
    assert hands.canvas.gestures.current is None
    hands.release()
    assert not hands.popup_open
    assert hands.selected == ["re_lu"]
    hands.key(Qt.Key.Key_Escape)
    assert hands.selected == []


def test_undo_during_a_gesture_calls_it_off_first(hands: Hands) -> None:
    hands.open(bench())
    hands.drag(hands.port("conv2d"), hands.input("re_lu"))
    assert hands.steps == 1
    hands.carry(hands.port("conv2d"), hands.nowhere())
    hands.key(Qt.Key.Key_Z, CTRL)
    assert hands.canvas.gestures.current is None
    assert hands.steps == 1
    hands.key(Qt.Key.Key_Z, CTRL)
    assert hands.steps == 0


def test_existing_wire_put_back_on_its_input_changes_nothing(hands: Hands) -> None:
    hands.open(bench())
    start = hands.input("flatten")
    hands.carry(start, hands.nowhere())
    hands.move(start)
    hands.release()
    assert hands.wires == BENCH_WIRES
    assert hands.steps == 0


@pytest.mark.parametrize("way", ["edge", "wheel"])
def test_a_cancelled_wire_leaves_the_view_where_it_was(hands: Hands, way: str) -> None:
    hands.open(bench(), zoom=0.9)
    navigation = hands.canvas.navigation
    before = navigation.sight
    hands.carry(hands.port("conv2d"), hands.nowhere())
    if way == "wheel":
        hands.wheel(-3)
    else:
        room = hands.canvas.viewport().rect()
        hands.move(hands.canvas.mapToScene(room.right() + 30, room.center().y()))
    hands.qtbot.waitUntil(lambda: navigation.sight != before)
    hands.key(Qt.Key.Key_Escape)
    assert hands.canvas.gestures.current is None
    assert navigation.sight == before
    assert hands.wires == BENCH_WIRES
    hands.release()
    assert navigation.sight == before
