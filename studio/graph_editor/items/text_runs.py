"""Text laid out once as runs of glyphs, which are drawn at any zoom without a new layout.

Qt lays a static text out again whenever the zoom has changed since it was drawn last. For a canvas
full of layers that takes longer than everything else in a frame.
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
    """A line of text: its upper left corner, font and colour."""

    place: QPointF
    text: str
    font: QFont
    colour: QColor


class TextRun(NamedTuple):
    """Glyphs of one font and colour with their positions, and the texts that begin with them."""

    run: QGlyphRun
    colour: QColor
    texts: tuple[PlacedText, ...] = ()


class _Piece(NamedTuple):
    """The glyphs of a text that come from one font; a text may need several fonts."""

    font_key: str
    font: QRawFont
    indexes: tuple[int, ...]
    places: tuple[tuple[float, float], ...]


def text_runs(texts: Iterable[PlacedText]) -> tuple[TextRun, ...]:
    """Several texts as runs, one for each font and colour."""
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
        TextRun(
            _run(fonts[key], indexes[key], places[key]), colours[key], tuple(whole.get(key, ()))
        )
        for key in fonts
    )


def draw_text_runs(painter: QPainter, runs: Iterable[TextRun]) -> None:
    """Draw runs; a file that keeps text as text (SVG) gets the texts instead."""
    as_text = painter.paintEngine().type() != QPaintEngine.Type.Raster
    for each in runs:
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


def shortened(text: str, font: QFont, room: float) -> str:
    """A text without its end, where there is not room for all of it."""
    return metrics_of(font.key()).elidedText(text, Qt.TextElideMode.ElideRight, room)


@lru_cache(maxsize=64)
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
