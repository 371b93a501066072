"""A network that is opened is seen whole and can be read, at any size of the canvas."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QFontMetricsF

from studio.graph_editor.items.node_item import NodeItem
from studio.graph_editor.items.node_paint import NEAR, READABLE
from studio.graph_editor.items.node_text import card_texts, readable_pixels, readable_texts
from studio.graph_editor.items.wire_paths import meets
from studio.samples import sample_names, sample_root
from studio.session.document.arrange.layered import layout
from studio.session.document.cards.geometry import box_of
from studio.session.document.document import Document
from studio.session.document.edits.layers import rename
from studio.session.document.edits.places import move
from tests.graph_editor.hands import MIDDLE, SHIFT, Hands
from tests.session.document.arrange.test_layered_layout import random_graph
from tests.session.document.networks import chain, places

SIZES = {
    "usual": QSize(760, 480),
    "wide": QSize(1100, 420),
    "square": QSize(640, 640),
    "tall": QSize(420, 900),
    "large": QSize(1700, 1000),
}


def sample(name: str) -> Document:
    return Document.open(sample_root() / name / f"{name}.glassbox")


def resize(hands: Hands, size: QSize) -> None:
    """Give the canvas a size, and wait until it has it and has settled."""
    window = hands.canvas.window()
    beside = window.size() - hands.canvas.size()
    window.resize(size + beside)
    hands.qtbot.waitUntil(lambda: hands.canvas.size() == size)
    settle(hands)


def settle(hands: Hands) -> None:
    hands.qtbot.waitUntil(lambda: not hands.canvas.is_growing)


def is_whole(hands: Hands) -> bool:
    return hands.canvas.navigation.visible.contains(hands.canvas.graph.content_area())


def cards(hands: Hands) -> list[NodeItem]:
    return [item for item in hands.canvas.graph.nodes.values() if isinstance(item, NodeItem)]


def texts(item: NodeItem, zoom: float) -> list[tuple[str, float]]:
    """What is written on a card at a zoom, with the height of the letters on the screen."""
    if zoom >= NEAR:
        runs = card_texts(item.card, item.colours, item.area)
    else:
        runs = readable_texts(item.card, item.colours, item.area, readable_pixels(zoom))
    return [(text.text, text.font.pixelSize() * zoom) for run in runs for text in run.texts]


def wires_behind_cards(hands: Hands) -> list[tuple[str, str, str]]:
    found = []
    for wire, item in hands.canvas.graph.wires.items():
        for card in cards(hands):
            area = card.scene_area.adjusted(2, 2, -2, -2)
            if any(meets(one, other, area) for one, other in pairwise(item.points())):
                found.append((wire.source, wire.target, card.node.id))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES.values(), ids=list(SIZES))
@pytest.mark.parametrize("name", sample_names())
def test_a_sample_is_seen_whole_with_names_and_shapes(hands: Hands, name: str, size: QSize) -> None:
    resize(hands, size)
    hands.studio.replace(sample(name))
    settle(hands)
    zoom = hands.canvas.navigation.zoom
    assert is_whole(hands)
    assert zoom >= READABLE
    for item in cards(hands):
        written = texts(item, zoom)
        least = 8.0 if zoom >= NEAR else 9.0 if zoom > 0.55 else 6.9
        assert min(pixels for _, pixels in written) >= least
        joined = "".join(text for text, _ in written)
        assert item.card.title in joined
        assert item.card.shape in joined
        assert "\u2026" not in joined
    assert wires_behind_cards(hands) == []
    assert not hands.document.dirty
    assert hands.steps == 0


@pytest.mark.slow
def test_the_digits_show_everything_on_a_usual_canvas(hands: Hands) -> None:
    resize(hands, SIZES["usual"])
    hands.studio.replace(sample("digits-cnn"))
    settle(hands)
    assert hands.canvas.navigation.zoom == pytest.approx(1.0)
    chips = [wire.chip for wire in hands.canvas.graph.wires.values()]
    assert all(chip.isVisible() for chip in chips)
    areas = [chip.sceneBoundingRect() for chip in chips]
    visible = hands.canvas.navigation.visible
    for area in areas:
        assert visible.contains(area)
        assert not any(area.intersects(card.scene_area) for card in cards(hands))


@pytest.mark.slow
def test_the_layout_follows_the_canvas_until_someone_works_on_it(hands: Hands) -> None:
    resize(hands, SIZES["wide"])
    hands.studio.replace(sample("digits-cnn"))
    settle(hands)
    wide = places(hands.state)
    resize(hands, SIZES["tall"])
    tall = places(hands.state)
    assert tall != wide
    assert is_whole(hands)
    assert not hands.document.dirty
    hands.click(hands.body("pool"))
    resize(hands, SIZES["wide"])
    assert places(hands.state) == tall
    assert is_whole(hands)
    hands.drag(hands.title("pool"), hands.title("pool") + QPointF(30, 200))
    moved = places(hands.state)
    assert moved != tall
    resize(hands, SIZES["tall"])
    assert places(hands.state) == moved


@pytest.mark.slow
@pytest.mark.parametrize("way", ["wheel", "pan", "keys"])
def test_the_view_stays_when_the_user_has_chosen_it(hands: Hands, way: str) -> None:
    resize(hands, SIZES["usual"])
    hands.studio.replace(sample("digits-cnn"))
    settle(hands)
    hands.canvas.setFocus()
    if way == "wheel":
        hands.wheel(1)
    elif way == "pan":
        at = hands.nowhere()
        hands.press(at, button=MIDDLE)
        hands.move(at + QPointF(90, 40), buttons=MIDDLE)
        hands.release(MIDDLE)
    else:
        hands.studio.actions.trigger("canvas.zoom_in")
    before, zoom = places(hands.state), hands.canvas.navigation.zoom
    corner = hands.canvas.navigation.scene_at(QPointF(0, 0))
    resize(hands, SIZES["tall"])
    assert hands.canvas.navigation.zoom == zoom
    away = hands.canvas.navigation.scene_at(QPointF(0, 0)) - corner
    assert abs(away.x()) + abs(away.y()) < 3
    assert places(hands.state) == before


def test_after_home_the_whole_graph_is_kept_in_sight(hands: Hands) -> None:
    hands.open(chain(), zoom=2.0)
    hands.key(Qt.Key.Key_Home)
    assert is_whole(hands)
    resize(hands, SIZES["tall"])
    assert is_whole(hands)
    resize(hands, SIZES["wide"])
    assert is_whole(hands)


def test_places_of_a_file_stay_whatever_the_canvas_is(hands: Hands, tmp_path: Path) -> None:
    Document(move(chain(), {"dense": (33.0, 477.0)})).save(tmp_path / "own.glassbox")
    document = Document.open(tmp_path / "own.glassbox")
    before = places(document.state)
    hands.studio.replace(document)
    for size in (SIZES["usual"], SIZES["wide"]):
        resize(hands, size)
        assert places(hands.state) == before
        assert is_whole(hands)
    assert not hands.document.dirty


@pytest.mark.slow
def test_a_large_graph_begins_at_its_upper_left_corner(hands: Hands) -> None:
    resize(hands, SIZES["usual"])
    hands.studio.replace(Document(layout(random_graph(3, 120))))
    settle(hands)
    area, seen = hands.canvas.graph.content_area(), hands.canvas.navigation.visible
    assert hands.canvas.navigation.zoom >= READABLE
    assert seen.contains(area.topLeft())
    assert not seen.contains(area)


def test_laying_everything_out_fits_the_canvas(hands: Hands) -> None:
    resize(hands, SIZES["tall"])
    hands.studio.replace(Document(chain()))
    settle(hands)
    hands.canvas.setFocus()
    narrow = hands.canvas.navigation.zoom
    hands.key(Qt.Key.Key_L, SHIFT)
    assert hands.steps == 1
    assert is_whole(hands)
    assert hands.canvas.navigation.zoom > narrow
    assert wires_behind_cards(hands) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 7, 23])
@pytest.mark.parametrize("size", [SIZES["usual"], SIZES["tall"]], ids=["usual", "tall"])
def test_wires_lead_past_the_layers_of_any_wrapped_network(
    hands: Hands, seed: int, size: QSize
) -> None:
    resize(hands, size)
    hands.studio.replace(
        Document(layout(random_graph(seed, 18), room=hands.canvas.navigation.room))
    )
    settle(hands)
    assert wires_behind_cards(hands) == []


@pytest.mark.slow
def test_wires_of_different_outputs_run_side_by_side(hands: Hands) -> None:
    resize(hands, SIZES["tall"])
    hands.studio.replace(sample("digits-resnet"))
    settle(hands)
    levels: dict[float, list[tuple[str, float, float]]] = {}
    for wire, item in hands.canvas.graph.wires.items():
        for one, other in pairwise(item.points()):
            if one.y() == other.y() and abs(one.x() - other.x()) > 60:
                span = sorted((one.x(), other.x()))
                levels.setdefault(round(one.y()), []).append((wire.source, *span))
    for spans in levels.values():
        for number, (source, first, last) in enumerate(spans):
            for other, begin, end in spans[number + 1 :]:
                assert source == other or last <= begin or end <= first


def test_the_name_of_a_long_layer_is_cut_at_its_end_and_whole_in_the_tip(hands: Hands) -> None:
    name = "the_name_that_is_longer_than_any_card_is_ever_going_to_be"
    hands.open(rename(chain(), "conv2d", name))
    item = hands.canvas.graph.nodes["conv2d"]
    assert isinstance(item, NodeItem)
    title = texts(item, 1.0)[0][0]
    assert title.endswith("\u2026")
    assert name.startswith(title[:-1])
    assert QFontMetricsF(item.colours.title_font).horizontalAdvance(title) <= item.area.width() - 50
    hands.move(hands.body("conv2d"))
    assert name in hands.canvas.hovering.tip()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["GlobalAveragePooling2D", "BatchNormalization", "MaxPooling2D"])
def test_usual_names_and_types_fit_their_cards(hands: Hands, kind: str) -> None:
    hands.open(chain())
    hands.click(hands.body("re_lu"))
    hands.key(Qt.Key.Key_Tab)
    hands.type(kind)
    hands.key(Qt.Key.Key_Return)
    made = next(node for node in hands.state.nodes.values() if node.type_name == kind)
    item = hands.canvas.graph.nodes[made.id]
    assert isinstance(item, NodeItem)
    written = [text for text, _ in texts(item, 1.0)]
    assert made.name in written
    assert kind in written
    boxes = [box_of(node) for node in hands.state.nodes.values()]
    assert not any(a.overlaps(b) for n, a in enumerate(boxes) for b in boxes[n + 1 :])


@pytest.mark.slow
def test_nothing_breaks_on_a_canvas_without_room(hands: Hands) -> None:
    hands.studio.replace(sample("digits-resnet"))
    hands.canvas.resize(20, 12)
    settle(hands)
    assert hands.canvas.navigation.zoom >= READABLE
    assert wires_behind_cards(hands) == []
