"""The ways of wires: around what is in the way, near to a point, across a line."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import pytest
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtWidgets import QApplication

from studio.graph_editor.items.colours import CanvasColours
from studio.graph_editor.items.wire_paths import (
    bridge_path,
    crosses,
    distance,
    meets,
    samples,
    wire_path,
)
from studio.graph_editor.scene.scene import GraphScene
from studio.session.core.theme import Theme
from studio.session.document.change import Change
from studio.session.document.edits.layers import add_layer
from studio.session.document.edits.places import move
from studio.session.document.edits.removal import delete
from studio.session.document.report import Report
from studio.session.document.state import DocumentState, Wire
from tests.session.document.networks import net, residual

STYLES = ("curve", "right-angle", "straight")


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("end", [(300, 80), (60, -40), (-200, 50), (-5, 300), (12, 4)])
def test_path_leads_from_port_to_port(style: str, end: tuple[int, int]) -> None:
    path = wire_path(QPointF(0, 0), QPointF(*end), style, below=400.0)
    assert path.pointAtPercent(0) == QPointF(0, 0)
    last = path.pointAtPercent(1)
    assert math.hypot(last.x() - end[0], last.y() - end[1]) < 1e-6


@pytest.mark.parametrize("style", STYLES)
def test_backward_wire_goes_round_below(style: str) -> None:
    path = wire_path(QPointF(0, 0), QPointF(-300, 20), style, below=180.0)
    points = samples(path)
    assert max(p.y() for p in points) == pytest.approx(180.0)
    assert points[1].x() > 0
    assert points[-2].x() < -300
    # Right angles: away from the rounded corners every stretch is level or upright.
    upright = [(a, b) for a, b in pairwise(points) if math.hypot(a.x() - b.x(), a.y() - b.y()) > 10]
    assert all(abs(a.x() - b.x()) < 1e-6 or abs(a.y() - b.y()) < 1e-6 for a, b in upright)


def test_distance_is_that_of_the_drawn_line() -> None:
    path = wire_path(QPointF(0, 0), QPointF(200, 120), "curve")
    points = samples(path)
    for share in (0.1, 0.37, 0.5, 0.92):
        on = path.pointAtPercent(share)
        assert distance(points, on) < 0.6
    at = QPointF(40, 90)
    exact = min(
        math.hypot(p.x() - at.x(), p.y() - at.y())
        for p in (path.pointAtPercent(i / 2000) for i in range(2001))
    )
    assert distance(points, at) == pytest.approx(exact, abs=0.6)


def test_lines_cross_where_they_do() -> None:
    level = [QPointF(0, 0), QPointF(100, 0)]
    assert crosses(level, [QPointF(50, -10), QPointF(50, 10)])
    assert not crosses(level, [QPointF(150, -10), QPointF(150, 10)])
    assert not crosses(level, [QPointF(50, 5), QPointF(50, 10)])
    assert meets(QPointF(-10, 5), QPointF(30, 5), QRectF(0, 0, 10, 10))
    assert not meets(QPointF(-10, 15), QPointF(30, 15), QRectF(0, 0, 10, 10))


@pytest.mark.parametrize("style", ["curve", "right-angle"])
def test_bridge_keeps_its_height_over_what_is_in_the_way(style: str) -> None:
    path = bridge_path(QPointF(0, 0), QPointF(600, 0), style, -80.0, 100.0, 500.0)
    heights = [p.y() for p in (path.pointAtPercent(i / 200) for i in range(201))
               if 110 < p.x() < 490]  # fmt: skip
    assert heights
    assert all(y == pytest.approx(-80.0, abs=0.5) for y in heights)


def drawn(state: DocumentState, style: str) -> GraphScene:
    made = GraphScene(CanvasColours(Theme("dark")))
    made.show_state(state, Report())
    made.set_wire_style(style)
    return made


@pytest.mark.parametrize("style", ["curve", "right-angle"])
def test_long_wire_does_not_run_through_layers(qapp: QApplication, style: str) -> None:
    state = residual()
    scene = drawn(state, style)
    (long,) = [w for w in state.wires() if w.source == "input" and w.target == "add"]
    path = scene.wires[long].path()
    boxes = [scene.nodes[i].scene_area for i in ("conv2d", "conv2d_1")]
    points = [path.pointAtPercent(i / 300) for i in range(301)]
    assert not any(box.contains(point) for box in boxes for point in points)


def test_moved_layer_takes_only_its_own_wires_along(qapp: QApplication) -> None:
    state = net("input 8x8x1 > conv 8 3x3 > relu > flatten > dense 4")
    scene = drawn(state, "curve")
    before = {wire: item.path() for wire, item in scene.wires.items()}
    after = move(state, {"flatten": (900.0, 300.0)})
    scene.apply(Change.between(state, after))
    changed = {wire for wire, item in scene.wires.items() if item.path() != before[wire]}
    assert changed == {Wire("re_lu", "flatten", 0), Wire("flatten", "dense", 0)}


def test_of_the_wires_of_one_layer_one_carries_the_shape(qapp: QApplication) -> None:
    state = net("input 8x8x1 > conv 8 3x3 same")
    for _ in range(2):
        state = add_layer(state, "ReLU", after="conv2d")
    scene = drawn(state, "curve")
    leaving = [scene.wires[w].chip for w in state.wires_from("conv2d")]
    for chip in leaving:
        chip.show_text("8")
    assert sum(chip.isVisible() for chip in leaving) == 1
    leaving[1].set_forced(True)
    assert leaving[1].isVisible()
    scene.set_zoom(0.5)
    assert not leaving[0].isVisible()


def touched(scene: GraphScene, wire: Wire, node_id: str) -> bool:
    """Whether the wire runs over a layer."""
    path, box = scene.wires[wire].path(), scene.nodes[node_id].scene_area
    return any(box.contains(path.pointAtPercent(i / 300)) for i in range(301))


LONG = Wire("conv2d", "flatten", 0)


def with_room() -> DocumentState:
    """A chain whose one wire is long, and a layer aside of it that is joined to nothing."""
    state = net("input 8x8x1 > conv 8 3x3 > flatten > dense 4")
    state = move(state, {"flatten": (1300.0, 0.0), "dense": (1600.0, 0.0)})
    return add_layer(state, "ReLU", at=(700.0, 600.0))


@pytest.mark.parametrize("style", ["curve", "right-angle"])
def test_wire_gives_way_to_a_layer_that_comes_and_returns_when_it_goes(
    qapp: QApplication, style: str
) -> None:
    state = with_room()
    scene = drawn(state, style)
    straight = scene.wires[LONG].path()
    among = move(state, {"re_lu": (700.0, 0.0)})
    scene.apply(Change.between(state, among))
    assert not touched(scene, LONG, "re_lu")
    detour = scene.wires[LONG].path()
    assert detour != straight
    for after in (state, delete(among, ["re_lu"])):
        scene.apply(Change.between(among, after))
        assert scene.wires[LONG].path() == straight
        scene.apply(Change.between(after, among))
        assert scene.wires[LONG].path() == detour


@pytest.mark.slow
def test_wire_takes_the_side_that_became_free(qapp: QApplication) -> None:
    state = add_layer(move(with_room(), {"re_lu": (700.0, 8.0)}), "ReLU", at=(700.0, -60.0))
    scene = drawn(state, "curve")
    below = scene.wires[LONG].path()
    # What goes lies beside the way that was taken, not on it.
    assert not below.boundingRect().intersects(scene.nodes["re_lu_1"].scene_area)
    after = delete(state, ["re_lu_1"])
    scene.apply(Change.between(state, after))
    assert scene.wires[LONG].path() == drawn(after, "curve").wires[LONG].path() != below


@pytest.mark.slow
def test_ways_are_those_of_a_drawing_made_at_once(qapp: QApplication) -> None:
    generator = random.Random(7)
    state = residual()
    scene = drawn(state, "curve")
    ids = [node.id for node in state.layers()]
    for _ in range(150):
        before = state
        place = (generator.randrange(0, 1400, 8), generator.randrange(-120, 240, 8))
        state = move(state, {generator.choice(ids): place})
        scene.apply(Change.between(before, state))
        fresh = drawn(state, "curve")
        assert all(item.path() == fresh.wires[w].path() for w, item in scene.wires.items())
