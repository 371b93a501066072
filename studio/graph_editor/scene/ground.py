"""The ground of the canvas: its colour and a grid of dots that keeps about the same density."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen, QPolygonF

from studio.graph_editor.items.colours import CanvasColours

_STEP = 24.0
_LEAST_PIXELS = 20.0
_BATCH = 16


def paint_ground(painter: QPainter, area: QRectF, zoom: float, colours: CanvasColours) -> None:
    """Fill an area of the canvas and set the dots that lie in it."""
    painter.fillRect(area, colours.canvas)
    step = _STEP
    while step * zoom < _LEAST_PIXELS:
        step *= 2
    left = _below(area.left(), step)
    top = _below(area.top(), step)
    # Rounded up, so that a few sets of dots serve every zoom.
    columns = _rounded(int((area.right() - left) / step) + 1)
    rows = _rounded(int((area.bottom() - top) / step) + 1)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    pen = QPen(colours.grid, (2.0 if zoom >= 1.5 else 1.0) * painter.device().devicePixelRatio())
    pen.setCosmetic(True)
    pen.setCapStyle(Qt.PenCapStyle.SquareCap)
    painter.setPen(pen)
    painter.translate(left, top)
    painter.drawPoints(_dots(columns, rows, step))
    painter.restore()


def _below(value: float, step: float) -> float:
    return (value // step) * step


def _rounded(count: int) -> int:
    return -(-count // _BATCH) * _BATCH


@lru_cache(maxsize=32)
def _dots(columns: int, rows: int, step: float) -> QPolygonF:
    return QPolygonF([QPointF(c * step, r * step) for r in range(rows) for c in range(columns)])
