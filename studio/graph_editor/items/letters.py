"""Text as letters in their places: laid out once, drawn at any zoom without being laid out again.

Qt lays a static text out again whenever the zoom differs from that of its last drawing, which
for a canvas full of layers takes longer than everything else of a frame.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QGlyphRun,
    QPaintEngine,
    QPainter,
    QRawFont,
    QTextLayout,
)

_ORIGIN = QPointF(0, 0)


class PlacedText(NamedTuple):
    """A line of text, where its upper left corner stands and what it is drawn with."""

    place: QPointF
    text: str
    font: QFont
    colour: QColor


class Letters(NamedTuple):
    """Letters of one font and colour, each in its place, and the texts that begin with them."""

    run: QGlyphRun
    colour: QColor
    texts: tuple[PlacedText, ...] = ()


class _Piece(NamedTuple):
    """The letters of a text that come from one font: a text may need several."""

    font_key: str
    font: QRawFont
    indexes: tuple[int, ...]
    places: tuple[tuple[float, float], ...]


def letters_of(texts: Iterable[PlacedText]) -> tuple[Letters, ...]:
    """The letters of several texts, as few runs as their fonts and colours allow."""
    fonts: dict[tuple[str, int], QRawFont] = {}
    colours: dict[tuple[str, int], QColor] = {}
    indexes: dict[tuple[str, int], list[int]] = {}
    places: dict[tuple[str, int], list[QPointF]] = {}
    whole: dict[tuple[str, int], list[PlacedText]] = {}
    for text in texts:
        left, top = text.place.x(), text.place.y()
        for number, piece in enumerate(_pieces(text.text, text.font.key())):
            key = piece.font_key, text.colour.rgba()
            fonts[key], colours[key] = piece.font, text.colour
            indexes.setdefault(key, []).extend(piece.indexes)
            places.setdefault(key, []).extend(QPointF(left + x, top + y) for x, y in piece.places)
            if number == 0:
                whole.setdefault(key, []).append(text)
    return tuple(
        Letters(
            _run(fonts[key], indexes[key], places[key]), colours[key], tuple(whole.get(key, ()))
        )
        for key in fonts
    )


def draw_letters(painter: QPainter, letters: Iterable[Letters]) -> None:
    """Draw letters; into files, which keep text as text, the texts themselves."""
    as_text = painter.paintEngine().type() != QPaintEngine.Type.Raster
    for each in letters:
        painter.setPen(each.colour)
        if not as_text:
            painter.drawGlyphRun(_ORIGIN, each.run)
            continue
        for text in each.texts:
            painter.setFont(text.font)
            ascent = metrics_of(text.font.key()).ascent()
            painter.drawText(text.place + QPointF(0, ascent), text.text)


def text_width(text: str, font: QFont) -> float:
    """How wide a text is."""
    return metrics_of(font.key()).horizontalAdvance(text)


def text_height(font: QFont) -> float:
    """How high a line is."""
    return metrics_of(font.key()).height()


def cut_text(text: str, font: QFont, room: float) -> str:
    """A text without its middle, where there is not room for all of it."""
    return metrics_of(font.key()).elidedText(text, Qt.TextElideMode.ElideMiddle, room)


@lru_cache(maxsize=32)
def metrics_of(key: str) -> QFontMetricsF:
    """Measures of a font, by its key."""
    return QFontMetricsF(_font(key))


def _font(key: str) -> QFont:
    font = QFont()
    font.fromString(key)
    return font


def _run(font: QRawFont, indexes: list[int], places: list[QPointF]) -> QGlyphRun:
    run = QGlyphRun()
    run.setRawFont(font)
    run.setGlyphIndexes(indexes)
    run.setPositions(places)
    return run


@lru_cache(maxsize=8192)
def _pieces(text: str, font_key: str) -> tuple[_Piece, ...]:
    layout = QTextLayout(text, _font(font_key))
    layout.beginLayout()
    layout.createLine()
    layout.endLayout()
    return tuple(
        _Piece(
            f"{font_key} {run.rawFont().familyName()} {run.rawFont().styleName()}",
            run.rawFont(),
            tuple(run.glyphIndexes()),
            tuple((at.x(), at.y()) for at in run.positions()),
        )
        for run in layout.glyphRuns()
    )
