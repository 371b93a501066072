"""The way into a block and out of it: what is seen on it, and that nothing waits for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QImage

from studio.graph_editor.scene.passage import Passage
from studio.session.document.edits.blocks import group
from studio.session.document.edits.places import move
from studio.widgets import theme
from tests.graph_editor.hands import Hands
from tests.session.document.networks import residual


@pytest.fixture
def moving(hands: Hands) -> Iterator[Hands]:
    """A canvas with a block, where things move."""
    hands.open(group(residual(), ["conv2d", "conv2d_1"], "stem"))
    theme.set_reduced_motion(False)
    yield hands
    theme.set_reduced_motion(True)


def passage(hands: Hands) -> Passage:
    return hands.canvas.passage


def held(hands: Hands, share: float) -> QImage:
    """The canvas with so much of the way done, however fast the machine is."""
    assert passage(hands).is_under_way
    passage(hands).put(share)
    return seen(hands)


def seen(hands: Hands) -> QImage:
    return hands.canvas.viewport().grab().toImage()


def likeness(one: QImage, other: QImage, part: QRect) -> float:
    """Share of the spots in a part of two images that look the same."""
    spots = [QPoint(x, y) for x in range(part.left(), part.right(), 3)
             for y in range(part.top(), part.bottom(), 3)]  # fmt: skip
    return sum(one.pixel(spot) == other.pixel(spot) for spot in spots) / len(spots)


def card(hands: Hands) -> QRect:
    area = hands.canvas.graph.nodes["block"].scene_area
    return hands.canvas.viewportTransform().mapRect(area).toRect()


def test_a_card_grows_from_its_place_into_what_is_in_it(moving: Hands) -> None:
    outside, place = seen(moving), card(moving)
    moving.canvas.context.open_block.open("block")
    assert moving.canvas.graph.level == "block"
    assert likeness(outside, held(moving, 0.0), place) > 0.95
    between = held(moving, 0.5)
    passage(moving).finish()
    inside, whole = seen(moving), moving.canvas.viewport().rect()
    assert between not in (outside, inside)
    moving.canvas.context.open_block.leave()
    assert likeness(inside, held(moving, 0.0), whole) > 0.9
    assert likeness(outside, held(moving, 1.0), place) > 0.95
    passage(moving).finish()
    assert likeness(outside, seen(moving), place) > 0.95


def test_it_ends_by_itself(moving: Hands) -> None:
    moving.canvas.context.open_block.open("block")
    assert passage(moving).is_under_way
    moving.qtbot.waitUntil(lambda: not passage(moving).is_under_way, timeout=60_000)


@pytest.mark.parametrize("way", ["key", "press", "wheel", "edit", "leave", "theme"])
def test_any_other_action_ends_it_at_once(moving: Hands, way: str) -> None:
    moving.canvas.context.open_block.open("block")
    assert passage(moving).is_under_way
    if way == "key":
        moving.hold(Qt.Key.Key_Z)
        moving.let_go(Qt.Key.Key_Z)
    elif way == "press":
        moving.click(moving.body("conv2d"))
        assert moving.selected == ["conv2d"]
    elif way == "wheel":
        moving.wheel(1, moving.body("conv2d"))
    elif way == "edit":
        moving.document.apply("Move", move(moving.state, {"conv2d": (0.0, 0.0)}))
    elif way == "theme":
        moving.studio.theme.choose("light")
        moving.studio.theme.choose("dark")
    else:
        moving.canvas.context.open_block.leave()
        # The way back is another one.
        assert moving.canvas.graph.level == ""
        passage(moving).finish()
    assert not passage(moving).is_under_way


def test_esc_on_the_way_in_leads_out_again(moving: Hands) -> None:
    moving.double_click(moving.body("block"))
    assert passage(moving).is_under_way
    moving.key(Qt.Key.Key_Escape)
    assert moving.canvas.graph.level == ""
    assert moving.selected == ["block"]


@pytest.mark.slow
@pytest.mark.parametrize("zoom", [0.31, 0.5, 0.77, 1.0, 1.3])
def test_going_in_and_out_leaves_the_canvas_where_it_was(hands: Hands, zoom: float) -> None:
    hands.open(group(residual(), ["conv2d", "conv2d_1"], "stem"))
    navigation = hands.canvas.navigation
    for place in (QPointF(0, 0), QPointF(103.3, -71.9), QPointF(-5000.5, 333.3)):
        navigation.jump(place, zoom)
        before = hands.canvas.viewportTransform()
        for _ in range(5):
            hands.canvas.context.open_block.open("block")
            hands.canvas.context.open_block.leave()
        assert hands.canvas.viewportTransform() == before


def test_reduced_motion_is_inside_at_once(hands: Hands) -> None:
    hands.open(group(residual(), ["conv2d", "conv2d_1"], "stem"))
    hands.canvas.context.open_block.open("block")
    assert not passage(hands).is_under_way


def test_between_blocks_beside_each_other_there_is_no_way(moving: Hands) -> None:
    state = group(moving.state, ["add"], "end")
    moving.document.apply("Group", state)
    other = next(i for i, node in state.nodes.items() if node.is_block and i != "block")
    moving.canvas.context.open_block.open("block")
    moving.canvas.context.open_block.open(other)
    assert not passage(moving).is_under_way


def test_from_very_far_away_there_is_none(moving: Hands) -> None:
    moving.canvas.navigation.jump(QPointF(0, 0), 0.1)
    moving.canvas.context.open_block.open("block")
    assert not passage(moving).is_under_way
