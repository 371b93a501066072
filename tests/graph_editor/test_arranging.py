"""Arranging by commands: layers slide there, pinned ones stay, the wheel does what is chosen."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication

from studio.graph_editor.items.block_item import BlockItem
from studio.session.document.edits.blocks import add_port, group
from studio.session.document.edits.copies import duplicate
from studio.session.document.edits.layers import add_layer, pin
from studio.session.document.edits.places import move, move_by
from studio.session.document.edits.wires import connect, disconnect
from studio.session.document.levels import ports_in, ports_out
from studio.session.document.state import DocumentState
from studio.widgets import theme
from tests.graph_editor.hands import CTRL, NONE, SHIFT, Hands
from tests.session.document.networks import chain, places, residual

K = Qt.Key
Phase = Qt.ScrollPhase


@pytest.fixture
def motion(hands: Hands) -> Iterator[None]:
    """Things slide, as for everybody who did not ask them not to."""
    theme.set_reduced_motion(False)
    yield
    hands.canvas.sliding.finish()
    theme.set_reduced_motion(True)


def scattered() -> DocumentState:
    state = chain()
    return move(state, {i: (x, 300.0 * (n % 2)) for n, (i, (x, _)) in
                        enumerate(places(state).items())})  # fmt: skip


def drawn(hands: Hands) -> dict[str, tuple[float, float]]:
    items = hands.canvas.graph.nodes.items()
    return {i: (item.pos().x(), item.pos().y()) for i, item in items}


@pytest.mark.slow
@pytest.mark.usefixtures("motion")
def test_layers_slide_to_their_places_in_a_layout(hands: Hands) -> None:
    before = scattered()
    hands.open(before, zoom=0.6)
    hands.key(K.Key_L, SHIFT)
    assert hands.steps == 1
    assert places(hands.state) != places(before)
    assert drawn(hands) == places(before)
    hands.qtbot.waitUntil(lambda: not hands.canvas.sliding.is_under_way)
    assert drawn(hands) == places(hands.state)
    wire = next(iter(hands.canvas.graph.wires.values()))
    start = wire.path().elementAt(0)
    assert QPointF(start.x, start.y) == hands.port(wire.wire.source)


@pytest.mark.usefixtures("motion")
@pytest.mark.parametrize("way", ["undo", "another", "press"])
def test_what_slides_arrives_at_once_when_something_else_happens(hands: Hands, way: str) -> None:
    hands.open(scattered(), zoom=0.6)
    hands.key(K.Key_L, SHIFT)
    assert hands.canvas.sliding.is_under_way
    if way == "undo":
        hands.key(K.Key_Z, CTRL)
    elif way == "another":
        hands.open(chain())
    else:
        hands.press(hands.nowhere())
        hands.release()
    assert not hands.canvas.sliding.is_under_way
    assert drawn(hands) == places(hands.state)


@pytest.mark.slow
def test_reduced_motion_is_at_its_place_at_once(hands: Hands) -> None:
    hands.open(scattered(), zoom=0.6)
    hands.key(K.Key_L, SHIFT)
    assert not hands.canvas.sliding.is_under_way
    assert drawn(hands) == places(hands.state)


@pytest.mark.usefixtures("motion")
def test_what_slides_ends_exactly_where_the_document_has_it(hands: Hands) -> None:
    rough = {i: (x * 1.1 + 0.3, y + 1e6 / 3) for i, (x, y) in places(chain()).items()}
    hands.open(move(chain(), rough), zoom=0.6)
    hands.key(K.Key_L, SHIFT)
    hands.canvas.sliding.finish()
    assert drawn(hands) == places(hands.state)


@pytest.mark.usefixtures("motion")
def test_from_very_far_away_nothing_slides(hands: Hands) -> None:
    hands.open(scattered(), zoom=0.1)
    hands.key(K.Key_L, SHIFT)
    assert not hands.canvas.sliding.is_under_way
    assert drawn(hands) == places(hands.state)


def test_pinned_layer_stays_where_it_is_in_a_layout(hands: Hands) -> None:
    hands.open(scattered(), zoom=0.6)
    before = places(hands.state)
    hands.click(hands.body("max_pooling2d"))
    hands.key(K.Key_P)
    assert hands.state.nodes["max_pooling2d"].pinned
    hands.key(K.Key_L, SHIFT)
    after = places(hands.state)
    assert after["max_pooling2d"] == before["max_pooling2d"]
    assert any(after[i] != before[i] for i in after)
    hands.key(K.Key_P)
    assert hands.state == pin(hands.state, ["max_pooling2d"], False)
    assert not hands.state.nodes["max_pooling2d"].pinned


WHEEL = [
    # what is chosen, by a touchpad, keys held, whether it zooms
    ("automatic", False, NONE, True),
    ("automatic", True, NONE, False),
    ("automatic", True, CTRL, True),
    ("zoom", False, NONE, True),
    ("zoom", True, NONE, True),
    ("scroll", False, NONE, False),
    ("scroll", True, NONE, False),
    ("scroll", False, CTRL, True),
    ("scroll", False, SHIFT, False),
]
NAMES = [f"{chosen}-{'pad' if pad else 'wheel'}-{keys.value}" for chosen, pad, keys, _ in WHEEL]


@pytest.mark.parametrize(("chosen", "pad", "keys", "zooms"), WHEEL, ids=NAMES)
def test_wheel_and_fingers_do_what_the_preference_says(
    hands: Hands, chosen: str, pad: bool, keys: Qt.KeyboardModifier, zooms: bool
) -> None:
    hands.studio.preferences.set("wheel", chosen)
    hands.open(chain(), zoom=0.8)
    zoom, centre = hands.canvas.navigation.zoom, hands.canvas.navigation.centre
    viewport = hands.canvas.viewport()
    at = QPointF(viewport.rect().center())
    pixels, phase = (QPoint(0, -40), Phase.ScrollUpdate) if pad else (QPoint(), Phase.NoScrollPhase)
    event = QWheelEvent(at, QPointF(viewport.mapToGlobal(at.toPoint())), pixels, QPoint(0, -120),
                        Qt.MouseButton.NoButton, keys, phase, False)  # fmt: skip
    QApplication.sendEvent(viewport, event)
    moved = hands.canvas.navigation.centre - centre
    if zooms:
        assert hands.canvas.navigation.zoom == pytest.approx(zoom / 1.1)
    else:
        assert hands.canvas.navigation.zoom == zoom
        across = keys == SHIFT
        assert (moved.x() > 0) == across
        assert (moved.y() > 0) != across


def test_q_brings_a_layer_level_with_the_second_port_of_a_block(hands: Hands):
    state = group(residual(), ["conv2d", "conv2d_1"], "stem")
    state = add_port(disconnect(state, "add", 1), "block", "out").state
    second = ports_out(state, "block")[1].id
    state = connect(disconnect(state, "add", 0), second, "add", check_shapes=False)
    hands.open(move_by(state, ["add"], 0, 37))
    hands.click(hands.body("add"))
    hands.key(Qt.Key.Key_Q)
    assert hands.input("add").y() == hands.port(second).y()


def test_q_brings_a_block_level_by_the_port_that_is_fed(hands: Hands) -> None:
    state = group(residual(), ["conv2d", "conv2d_1"], "stem")
    fed = ports_in(state, "block")[0].id
    state = add_port(disconnect(state, fed, 0), "block", "in").state
    second = ports_in(state, "block")[1].id
    state = connect(state, "input", second, check_shapes=False)
    hands.open(move_by(state, ["block"], 0, 61))
    hands.click(hands.title("block"))
    hands.key(Qt.Key.Key_Q)
    assert hands.input(second).y() == hands.port("input").y()


def test_a_linked_copy_by_keys_hides_nothing_of_its_original(hands: Hands):
    hands.open(group(residual(), ["conv2d", "conv2d_1"], "stem"))
    for _ in range(2):
        hands.click(hands.body("block"))
        hands.key(Qt.Key.Key_D, CTRL | SHIFT)
        hands.canvas.show_all()
    cards = [i for i in hands.canvas.graph.nodes.values() if isinstance(i, BlockItem)]
    assert len(cards) == 3
    areas = [card.scene_area for card in cards]
    assert not any(one.intersects(other) for one, other in combinations(areas, 2))


def linked(hands: Hands) -> None:
    state = group(residual(), ["conv2d", "conv2d_1"], "stem")
    hands.open(duplicate(state, ["block"], linked=True))


def test_a_layer_leaves_a_linked_copy_only_when_that_is_unlinked(hands: Hands) -> None:
    linked(hands)
    before = hands.state
    hands.double_click(hands.body("block"))
    hands.click(hands.body("conv2d_1"))
    hands.studio.actions.trigger("graph.move_out")
    assert hands.state is before
    notice = hands.studio.notices.all[-1]
    assert "would remove conv2d_3 from another linked copy" in notice.text
    assert notice.action is not None
    label, run = notice.action
    assert label == "Unlink and move out"
    run()
    assert hands.state.nodes["conv2d_1"].parent == ""
    assert {node.id for node in hands.state.layers()} == {node.id for node in before.layers()}
    assert hands.document.history.texts == ("Unlink stem and move out of it",)
    assert hands.selected == ["conv2d_1"]
    hands.document.undo()
    assert hands.state == before


def test_what_goes_into_a_linked_copy_is_said_to_be_in_the_others(hands: Hands) -> None:
    linked(hands)
    hands.document.apply("Add", add_layer(hands.state, "ReLU", at=(0.0, 700.0)))
    hands.canvas.show_all()
    hands.drag(hands.title("re_lu"), hands.canvas.graph.nodes["block"].scene_area.center())
    assert hands.state.nodes["re_lu"].parent == "block"
    notice = hands.studio.notices.all[-1]
    assert notice.text == "Added to another linked copy of stem too"
    assert notice.action is not None
    notice.action[1]()
    assert hands.state.nodes["re_lu"].parent == ""
