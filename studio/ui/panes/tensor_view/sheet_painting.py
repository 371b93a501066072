"""Paints what a tensor view shows: cells, bars or a number, and over them what is pointed at."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPainter, QPen, QPolygonF

from studio.session.tensor_view.colours import (
    GROUND,
    NAN,
    OVER,
    PLUS,
    STRIPE,
    UNDER,
    ColourRange,
    palette,
)
from studio.session.tensor_view.layout import Kind, SheetLayout
from studio.session.tensor_view.picture import Bar, CellMark, Picture, short_number
from studio.widgets import theme

_BASE = 6.0
"""Pixels left under the bars."""


def ground(kind: Kind | None) -> QColor:
    """The background of a view, in a colour that no cell has."""
    return theme.colour("canvas" if kind in (None, "bars", "number") else "picture")


def ground_between_cells() -> tuple[int, int, int]:
    """Red, green and blue of the ground of cells, where no cell is."""
    found = theme.colour("picture")
    return found.red(), found.green(), found.blue()


def special_colour(kind: int) -> QColor:
    """The colour of a mark."""
    red, green, blue, _ = palette("sequential")[kind].tolist()
    return QColor(red, green, blue)


def paint_cells(painter: QPainter, picture: Picture) -> None:
    """The coloured cells, their marks and their numbers."""
    sheet_layout = picture.sheet_layout
    height, width = picture.rows, picture.columns
    if not height or not width:
        return
    pixels = picture.pixels
    image = QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_RGBA8888)
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
    painter.drawImage(
        QRectF(
            sheet_layout.left,
            sheet_layout.top,
            width * sheet_layout.cell,
            height * sheet_layout.cell,
        ),
        image,
    )
    for mark in picture.marks():
        _paint_mark(painter, sheet_layout, mark)
    if picture.has_numbers:
        _paint_numbers(painter, picture)


def _paint_mark(painter: QPainter, sheet_layout: SheetLayout, mark: CellMark) -> None:
    cell = sheet_layout.cell
    box = QRectF(
        sheet_layout.left + mark.column * cell, sheet_layout.top + mark.row * cell, cell, cell
    )
    painter.setPen(Qt.PenStyle.NoPen)
    if mark.kind == NAN:
        _hatch(painter, box)
        return
    painter.setBrush(special_colour(mark.kind))
    if mark.kind in (UNDER, OVER):
        corner = [box.topLeft(), box.topLeft() + QPointF(cell / 2, 0),
                  box.topLeft() + QPointF(0, cell / 2)]  # fmt: skip
        painter.drawPolygon(QPolygonF(corner))
        return
    _paint_wedge(painter, box, mark.kind)


def _paint_wedge(painter: QPainter, box: QRectF, kind: int) -> None:
    """Infinity: a wedge towards its side, on a background with enough contrast in every theme."""
    painter.fillRect(box, special_colour(GROUND))
    tip, base = (box.top(), box.bottom()) if kind == PLUS else (box.bottom(), box.top())
    wedge = [QPointF(box.center().x(), tip), QPointF(box.left(), base), QPointF(box.right(), base)]
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(special_colour(kind))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.drawPolygon(QPolygonF(wedge))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


def _hatch(painter: QPainter, box: QRectF) -> None:
    painter.save()
    painter.setClipRect(box, Qt.ClipOperation.IntersectClip)
    painter.fillRect(box, special_colour(NAN))
    painter.setPen(QPen(special_colour(STRIPE), 1))
    step = 4.0
    at = box.left() - box.height()
    while at < box.right():
        painter.drawLine(QPointF(at, box.bottom()), QPointF(at + box.height(), box.top()))
        at += step
    painter.restore()


def _paint_numbers(painter: QPainter, picture: Picture) -> None:
    sheet_layout = picture.sheet_layout
    font = theme.font("numbers")
    font.setPixelSize(max(8, int(sheet_layout.cell * 0.3)))
    painter.setFont(font)
    metrics = QFontMetricsF(font)
    rows, columns = sheet_layout.cells
    for tile in range(sheet_layout.tiles):
        left, top = sheet_layout.tile_at(tile)
        for row in range(rows):
            for column in range(columns):
                text = next(
                    (
                        found
                        for digits in (3, 2, 1, 0)
                        if metrics.horizontalAdvance(
                            found := picture.number_at(tile, row, column, digits)
                        )
                        <= sheet_layout.cell - 2
                    ),
                    "\N{HORIZONTAL ELLIPSIS}",
                )
                box = QRectF(
                    left + column * sheet_layout.cell,
                    top + row * sheet_layout.cell,
                    sheet_layout.cell,
                    sheet_layout.cell,
                )
                if text.endswith("Inf"):
                    continue  # The wedge says it, and would hide it.
                painter.setPen(_readable_on(picture, box))
                painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)


def _readable_on(picture: Picture, box: QRectF) -> QColor:
    """Black or white, whichever can be read on the cell."""
    sheet_layout = picture.sheet_layout
    row = int((box.center().y() - sheet_layout.top) / sheet_layout.cell)
    column = int((box.center().x() - sheet_layout.left) / sheet_layout.cell)
    red, green, blue, _ = picture.pixels[row, column].tolist()
    return QColor("black" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "white")


def paint_pick(painter: QPainter, sheet_layout: SheetLayout, index: tuple[int, ...] | None) -> None:
    """A frame round the cell that is pointed at."""
    place = None if index is None else sheet_layout.sheet.place(index)
    if place is None:
        return
    tile, row, column, _ = place
    down, across = sheet_layout.sheet.block
    left, top = sheet_layout.tile_at(tile)
    cell = sheet_layout.cell
    box = QRectF(left + column // across * cell, top + row // down * cell, cell, cell)
    grown = box.adjusted(-1.5, -1.5, 1.5, 1.5)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor("black"), 3))
    painter.drawRect(grown)
    painter.setPen(QPen(QColor("white"), 1))
    painter.drawRect(grown)


def paint_bars(
    painter: QPainter, bars: Sequence[Bar], sheet_layout: SheetLayout, colours: ColourRange,
    height: float, index: tuple[int, ...] | None,
) -> None:  # fmt: skip
    """A vector as bars from zero; NaN is hatched over the whole height, infinity over its half."""
    low, high = min(colours.low, 0.0), max(colours.high, 0.0)
    reach = (high - low) or 1.0

    def level(value: float) -> float:
        share = (min(max(value, low), high) - low) / reach
        return height - _BASE - share * (height - 2 * _BASE)

    wide = sheet_layout.cell
    zero = level(0.0)
    colour = theme.colour("series.0")
    painter.setPen(Qt.PenStyle.NoPen)
    for number, bar in enumerate(bars):
        left = number * wide
        width = max(1.0, wide - (1.0 if wide >= 4 else 0.0))
        if bar.kind:
            _paint_bad_bar(painter, QRectF(left, 0, width, height), bar.kind)
            continue
        ends = (level(max(bar.high, 0.0)), level(min(bar.low, 0.0)))
        painter.fillRect(QRectF(left, ends[0], width, max(1.0, ends[1] - ends[0])), colour)
        if bar.high > high:
            painter.fillRect(QRectF(left, 0, width, _BASE / 2), special_colour(OVER))
        if bar.low < low:
            painter.fillRect(QRectF(left, height - _BASE / 2, width, _BASE / 2),
                             special_colour(UNDER))  # fmt: skip
    painter.setPen(QPen(theme.colour("outline"), 1))
    painter.drawLine(QPointF(0, zero), QPointF(len(bars) * wide, zero))
    place = None if index is None else sheet_layout.sheet.place(index)
    if place is not None:
        at = place[2] // sheet_layout.sheet.block[1] * wide
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(theme.colour("accent"), 2))
        painter.drawRect(QRectF(at, 1, max(2.0, wide), height - 2))


def _paint_bad_bar(painter: QPainter, box: QRectF, kind: int) -> None:
    if kind == NAN:
        _hatch(painter, box)
        return
    half = box.height() / 2
    top = box.top() if kind == PLUS else box.top() + half
    _paint_wedge(painter, QRectF(box.left(), top, box.width(), half), kind)


def paint_number(
    painter: QPainter, box: QRectF, value: object, history: Sequence[tuple[int, float]]
) -> None:
    """A single number, large, with its course over the last steps under it."""
    font = theme.font("large")
    font.setPixelSize(max(12, min(48, int(box.height() / 4))))
    painter.setFont(font)
    painter.setPen(theme.colour("text"))
    upper = QRectF(box.left(), box.top(), box.width(), box.height() * 0.6)
    text = "" if value is None else short_number(value, 5)
    painter.drawText(upper, Qt.AlignmentFlag.AlignCenter, text)
    points = [(step, number) for step, number in history if math.isfinite(number)]
    if len(points) < 2:
        return
    lower = QRectF(box.left() + 12, box.top() + box.height() * 0.62, box.width() - 24,
                   box.height() * 0.3)  # fmt: skip
    low, high = min(n for _, n in points), max(n for _, n in points)
    first, last = points[0][0], points[-1][0]
    line = QPolygonF(
        [
            QPointF(
                lower.left() + (step - first) / max(1, last - first) * lower.width(),
                lower.bottom() - (number - low) / ((high - low) or 1.0) * lower.height(),
            )
            for step, number in points
        ]
    )
    painter.setPen(QPen(theme.colour("series.0"), 1))
    painter.drawPolyline(line)


def paint_badge(painter: QPainter, text: str, box: QRectF, *, stale: bool) -> None:
    """Mode and moment in the corner, on a ground of its own."""
    painter.setFont(theme.font("small"))
    metrics = QFontMetricsF(painter.font())
    text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, box.width() - 24)
    width = metrics.horizontalAdvance(text) + 12
    place = QRectF(box.right() - width - 4, box.top() + 4, width, metrics.height() + 4)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.colour("dock", 220))
    painter.drawRoundedRect(place, 3, 3)
    painter.setPen(theme.colour("warning" if stale else "text2"))
    painter.drawText(place, Qt.AlignmentFlag.AlignCenter, text)
