"""The texts of a layer's card, cut to fit and laid out once, until the card changes."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QStaticText

from studio.graph_editor.model.cards import NodeCard
from studio.graph_editor.model.geometry import (
    COLLAPSED_HEIGHT,
    LINE_HEIGHT,
    NODE_WIDTH,
    TITLE_HEIGHT,
)
from studio.graph_editor.view.colours import CanvasColours

SIDE = 10.0
"""Space left free at the sides."""

TEXT_LEFT = 32.0
FOOTER_HEIGHT = 22.0
UNKNOWN = "\u2013"
_FAR_PIXELS = 27


class PlacedText(NamedTuple):
    """A line of text, where it stands and what it is drawn with."""

    place: QPointF
    text: QStaticText
    font: QFont
    colour: QColor


def card_texts(card: NodeCard, colours: CanvasColours, height: float) -> list[PlacedText]:
    """Everything written on a layer that is seen from near."""
    room = NODE_WIDTH - TEXT_LEFT - 24
    faint = card.node.bypassed or card.condition == "unreached"
    title_colour = colours.text2 if faint else colours.text
    signs = card.node.frozen + card.node.pinned
    beside = room + 12 - 16 * signs
    if card.node.collapsed:
        line = _line(card.title, colours.title_font, room - 18 * signs)
        top = (COLLAPSED_HEIGHT - _height(colours.title_font)) / 2 + 1
        return [PlacedText(QPointF(TEXT_LEFT, top), line, colours.title_font, title_colour)]
    found = [
        PlacedText(
            QPointF(TEXT_LEFT, 6), _line(card.title, colours.title_font, room),
            colours.title_font, title_colour,
        ),
        PlacedText(
            QPointF(TEXT_LEFT, 22), _line(card.subtitle, colours.small_font, beside),
            colours.small_font, colours.text3,
        ),
    ]  # fmt: skip
    found += _lines(card, colours)
    if card.node.preview != "off":
        found += _footer(card, colours, height)
    return found


def far_text(card: NodeCard, colours: CanvasColours, height: float) -> PlacedText:
    """The title in letters that can be read from afar."""
    font = QFont(colours.title_font)
    font.setPixelSize(_FAR_PIXELS)
    cut = _metrics(font.key()).elidedText(card.title, Qt.TextElideMode.ElideMiddle, NODE_WIDTH - 8)
    text = _plain(cut)
    text.prepare(font=font)
    left = (NODE_WIDTH - text.size().width()) / 2
    return PlacedText(QPointF(left, (height - _height(font)) / 2), text, font, colours.text)


def _lines(card: NodeCard, colours: CanvasColours) -> list[PlacedText]:
    found = []
    metrics = _metrics(colours.text_font.key())
    for number, line in enumerate(card.lines):
        top = TITLE_HEIGHT + 3 + number * LINE_HEIGHT + (LINE_HEIGHT - metrics.height()) / 2
        label = _line(line.label, colours.text_font, NODE_WIDTH * 0.55)
        value = _line(line.value, colours.text_font, NODE_WIDTH * 0.55)
        width = value.size().width()
        found.append(PlacedText(QPointF(SIDE, top), label, colours.text_font, colours.text3))
        place = QPointF(NODE_WIDTH - SIDE - width, top)
        found.append(PlacedText(place, value, colours.text_font, colours.text))
    return found


def _footer(card: NodeCard, colours: CanvasColours, height: float) -> list[PlacedText]:
    font = colours.text_font
    top = height - FOOTER_HEIGHT + (FOOTER_HEIGHT - _height(font)) / 2
    found = [PlacedText(QPointF(SIDE, top), _plain(card.shape or UNKNOWN), font, colours.text2)]
    if card.parameters:
        small = colours.small_font
        count = _plain(f"{card.parameters} params")
        count.prepare(font=small)
        place = QPointF(NODE_WIDTH - SIDE - _width(count, small), top + 1)
        found.append(PlacedText(place, count, small, colours.text3))
    return found


def _line(text: str, font: QFont, room: float) -> QStaticText:
    cut = _metrics(font.key()).elidedText(text, Qt.TextElideMode.ElideMiddle, room)
    made = _plain(cut)
    made.prepare(font=font)
    return made


def _plain(text: str) -> QStaticText:
    made = QStaticText(text)
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setPerformanceHint(QStaticText.PerformanceHint.AggressiveCaching)
    return made


def _width(text: QStaticText, font: QFont) -> float:
    return _metrics(font.key()).horizontalAdvance(text.text())


def _height(font: QFont) -> float:
    return _metrics(font.key()).height()


@lru_cache(maxsize=16)
def _metrics(key: str) -> QFontMetricsF:
    font = QFont()
    font.fromString(key)
    return QFontMetricsF(font)
