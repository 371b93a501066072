"""Text laid out once looks as Qt's own text does, at every zoom; and what is drawn coarsely."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QImage, QPainter
from PySide6.QtWidgets import QApplication

from studio.graph_editor.items.node_text import SIDE, beside, footer_texts
from studio.graph_editor.items.text_runs import (
    PlacedText,
    cut_text,
    draw_text_runs,
    text_runs,
    text_width,
)
from studio.session.document.cards.card import NodeCard
from studio.session.document.cards.geometry import NODE_WIDTH
from studio.session.document.cards.lines import CardLine, shape_label
from studio.session.document.state import CanvasNode
from tests.graph_editor.hands import Hands
from tests.session.document.networks import chain

WHITE, RED = QColor("white"), QColor("red")


def font(pixels: int) -> QFont:
    made = QFont(QApplication.font())
    made.setPixelSize(pixels)
    return made


def picture(draw: object, zoom: float) -> np.ndarray:
    image = QImage(480, 160, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.black)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.scale(zoom, zoom)
    draw(painter)  # type: ignore[operator]
    painter.end()
    found = np.frombuffer(image.constBits(), np.uint8).reshape(160, 480, 4)
    return found[:, :, :3].astype(np.float64)


@pytest.mark.slow
@pytest.mark.parametrize("zoom", [0.6, 1.0, 1.37, 2.0])
@pytest.mark.parametrize(
    "text",
    ["max_pooling2d", "28\u00d728\u00d716", "Größe 3", "字 mixed a"],
    ids=["name", "shape", "umlauts", "two fonts"],
)
def test_letters_are_where_qt_s_own_text_has_them(
    qapp: QApplication, text: str, zoom: float
) -> None:
    placed = PlacedText(QPointF(20, 10), text, font(13), WHITE)
    runs = text_runs([placed])

    def reference(painter: QPainter) -> None:
        painter.setFont(placed.font)
        painter.setPen(WHITE)
        area = QRectF(20, 10, 400, 60)
        painter.drawText(area, int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop), text)

    own = picture(lambda painter: draw_text_runs(painter, runs), zoom)
    other = picture(reference, zoom)
    assert other.sum() > 0
    assert own.sum() == pytest.approx(other.sum(), rel=0.05)
    for axis in (0, 1):
        # The middle of what is drawn, to a pixel.
        weights = [image.sum(axis=(axis, 2)) for image in (own, other)]
        middles = [np.average(np.arange(len(w)), weights=w) for w in weights]
        assert abs(middles[0] - middles[1]) < 1.0


def test_texts_of_one_font_and_colour_are_drawn_at_once(qapp: QApplication) -> None:
    texts = [PlacedText(QPointF(0, 20 * n), "filters", font(11), WHITE) for n in range(3)]
    assert len(text_runs(texts)) == 1
    assert len(text_runs([*texts, texts[0]._replace(colour=RED)])) == 2
    assert len(text_runs([*texts, texts[0]._replace(font=font(13))])) == 2
    assert text_runs([texts[0]._replace(text="")]) == ()


def test_cut_text_fits_and_says_that_it_is_cut(qapp: QApplication) -> None:
    cut = cut_text("a_very_long_name_of_a_layer", font(13), 90.0)
    assert text_width(cut, font(13)) <= 90.0
    assert "…" in cut
    assert cut_text("short", font(13), 90.0) == "short"


@pytest.mark.slow
@pytest.mark.parametrize("value", ["16", "104 \u00d7 104 \u00d7 1", "a value much too long for it"])
def test_an_option_and_its_value_do_not_meet(qapp: QApplication, value: str) -> None:
    small = font(11)
    line = CardLine("target_shape", "target shape", value)
    label, shown = beside(line, small, NODE_WIDTH)
    assert text_width(label, small) + text_width(shown, small) <= NODE_WIDTH - 2 * SIDE
    assert label.startswith("ta")
    if len(value) < 20:
        assert shown.replace(" ", "") == value.replace(" ", "")


@pytest.mark.parametrize(
    ("shape", "parameters", "ends"),
    [
        ((26, 26, 16), "160", " params"),
        ((224, 224, 64), "36\u2009928", "928"),
        ((1024, 1024, 512, 3), "14\u2009400\u2009040\u2009000", ""),
        ((1024,) * 6, "160", ""),
    ],
)
def test_a_shape_and_the_number_of_parameters_do_not_meet(
    qapp: QApplication, shape: tuple[int, ...], parameters: str, ends: str
) -> None:
    usual, small = font(12), font(11)
    card = NodeCard(CanvasNode("conv", "layer"), shape=shape_label(shape), parameters=parameters)
    shown, count = footer_texts(card, usual, small, NODE_WIDTH)
    assert text_width(shown, usual) + text_width(count, small) <= NODE_WIDTH - 2 * SIDE
    assert count.endswith(ends)
    assert bool(count) == bool(ends)
    assert shown == shape_label(shape) or "…" in shown


def test_wires_are_drawn_finely_again_when_the_wheel_rests(hands: Hands) -> None:
    smooth = QPainter.RenderHint.Antialiasing
    hands.open(chain(), zoom=1.0)
    assert hands.canvas.renderHints() & smooth
    hands.wheel(1, hands.body("re_lu"))
    assert hands.canvas.is_turning
    assert not hands.canvas.renderHints() & smooth
    hands.qtbot.waitUntil(lambda: not hands.canvas.is_turning)
    assert hands.canvas.renderHints() & smooth
    hands.canvas.navigation.zoom_to(0.3)
    assert not hands.canvas.renderHints() & smooth
