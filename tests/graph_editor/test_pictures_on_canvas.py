"""What the canvas paints, looked at pixel by pixel where that says something."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QImage

from studio.graph_editor.items.node_paint import picture_area
from studio.graph_editor.items.node_picture import NodePicture
from studio.session.core import entities
from studio.session.document.cards.card import card_of
from studio.session.document.cards.lines import card_lines, value_text
from studio.session.document.edits.layers import bypass, set_preview
from studio.session.preview.preview import Preview
from tests.graph_editor.hands import Hands
from tests.session.document.networks import chain, net


def seen(hands: Hands) -> QImage:
    return hands.canvas.viewport().grab().toImage()


def colour_at(hands: Hands, at: QPointF) -> str:
    place = hands.canvas.view_point(at).toPoint()
    return seen(hands).pixelColor(place).name()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["dark", "light"])
@pytest.mark.parametrize("zoom", [0.12, 0.3, 1.0])
def test_layer_shows_its_family_at_every_zoom(hands: Hands, mode: str, zoom: float) -> None:
    hands.studio.theme.choose(mode)
    hands.open(chain(), zoom=zoom)
    area = hands.canvas.graph.area_of(["conv2d"])
    found = colour_at(hands, QPointF(area.center().x(), area.top() + (2 if zoom == 1.0 else 4)))
    wanted = QColor(hands.studio.theme.colour("family.linear"))
    away = [
        abs(a - b) for a, b in zip(QColor(found).getRgb()[:3], wanted.getRgb()[:3], strict=True)
    ]
    assert max(away) <= 12


@pytest.mark.parametrize("mode", ["dark", "light"])
def test_canvas_has_the_theme_s_ground_with_dots(hands: Hands, mode: str) -> None:
    hands.studio.theme.choose(mode)
    hands.open(chain())
    place = hands.canvas.view_point(hands.nowhere()).toPoint()
    part = seen(hands).copy(place.x(), place.y(), 60, 60)
    colours = [part.pixelColor(x, y).name().upper() for x in range(60) for y in range(60)]
    ground = hands.studio.theme.colour("canvas").upper()
    assert colours.count(ground) > 3500
    assert 2 <= len(colours) - colours.count(ground) <= 40


def test_bypassed_layer_is_an_outline(hands: Hands) -> None:
    state = net("input 8x8x1 > conv 8 3x3 same > relu > flatten")
    hands.open(bypass(state, ["re_lu"]))
    area = hands.canvas.graph.area_of(["re_lu"])
    inside = QPointF(area.center().x() + 30, area.top() + 3)
    assert colour_at(hands, inside).upper() == hands.studio.theme.colour("canvas").upper()


@pytest.mark.parametrize("mode", ["dark", "light"])
def test_preview_is_painted_in_its_room_and_fades_when_stale(
    hands: Hands, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    hands.studio.theme.choose(mode)
    hands.open(set_preview(chain(), ["conv2d"], "thumbnail"))
    rgba = np.zeros((6, 12, 4), np.uint8)
    rgba[..., 0] = rgba[..., 3] = 255
    stale = False
    monkeypatch.setattr(
        hands.studio.previews, "picture", lambda _node: Preview(rgba, stale, "0 … 1")
    )
    item = hands.canvas.graph.nodes["conv2d"]
    room = picture_area(item.card, item.area).translated(item.pos())
    hands.canvas.graph.refresh_pictures(["conv2d"])
    fresh = QColor(colour_at(hands, room.center()))
    assert fresh.getRgb()[:3] == (255, 0, 0)
    corner = QColor(colour_at(hands, room.topLeft() + QPointF(6, 6)))
    assert corner.name().upper() == hands.studio.theme.colour("picture").upper()
    stale = True
    hands.canvas.graph.refresh_pictures(["conv2d"])
    faded = QColor(colour_at(hands, room.center()))
    assert 80 < faded.red() < 200
    picture = hands.canvas.pictures.picture("conv2d")
    assert isinstance(picture, NodePicture)
    assert (picture.image.width(), picture.image.height()) == (12, 6)


@pytest.mark.slow
def test_previews_are_asked_for_what_is_in_sight_and_near(hands: Hands) -> None:
    asked: list[set[str]] = []
    previews = hands.studio.previews

    def note(node_ids: object) -> None:
        asked.append({port.node for port in node_ids})  # type: ignore[attr-defined]

    previews.want = note  # type: ignore[method-assign,assignment]
    hands.open(set_preview(chain(), ["input", "conv2d", "dense"], "thumbnail"), zoom=1.5)
    hands.canvas.navigation.look_at(hands.canvas.graph.area_of(["conv2d"]).center())
    hands.qtbot.waitUntil(lambda: bool(asked) and asked[-1] == {"input", "conv2d"})
    hands.canvas.navigation.zoom_to(0.3)
    hands.qtbot.waitUntil(lambda: asked[-1] == set())
    hands.canvas.navigation.zoom_to(1.5)
    hands.qtbot.waitUntil(lambda: asked[-1] == {"input", "conv2d"})
    hands.studio.preferences.set("previews", False)
    hands.qtbot.waitUntil(lambda: asked[-1] == set())


def test_card_says_what_matters_of_a_layer(hands: Hands) -> None:
    hands.open(net("input 8x8x1 > conv 8 3x3 same relu > flatten > dense 10"))
    card = card_of(hands.state, hands.document.report, "conv2d")
    assert [(line.label, line.value) for line in card.lines] == [
        ("filters", "8"), ("kernel size", "3 \u00d7 3"), ("activation", "relu"),
    ]  # fmt: skip
    assert (card.shape, card.parameters, card.condition) == ("8\u00d78\u00d78", "80", "ok")
    assert (card.inputs, card.filled, card.has_output) == (1, 1, True)
    assert card_of(hands.state, hands.document.report, "dense").is_output
    assert len(card_lines(hands.state.nodes["input"])) == 1
    assert [value_text(v) for v in (None, True, 0.25, [2, 3])] == [
        "none",
        "yes",
        "0.25",
        "2 \u00d7 3",
    ]


@pytest.mark.slow
def test_size_of_a_layer_holds_what_it_shows(hands: Hands) -> None:
    hands.open(set_preview(chain(), ["conv2d"], "full"))
    item = hands.canvas.graph.nodes["conv2d"]
    room = picture_area(item.card, item.area)
    assert QRectF(item.area).contains(room)
    assert room.height() > 140


def test_with_nothing_selected_every_layer_steps_its_preview(hands: Hands) -> None:
    hands.open(chain())
    hands.studio.preferences.set("previews", False)
    hands.studio.bus.clear()
    hands.studio.actions.trigger("graph.preview")
    nodes = list(hands.document.state.layers())
    assert {node.preview for node in nodes} == {"thumbnail"}
    assert hands.studio.preferences.flag("previews")
    hands.studio.bus.select((entities.node(nodes[0].id),), source="test")
    hands.studio.actions.trigger("graph.preview")
    assert [node.preview for node in hands.document.state.layers()].count("full") == 1
    hands.document.undo()
    hands.document.undo()
    assert {node.preview for node in hands.document.state.layers()} == {"shape"}
