"""Colours, brushes and fonts of the program's views, made once for each theme."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetricsF, QPainter, QPen, QPixmap

from studio.session.listing.colouring import HUES, Band
from studio.session.tensor_view.colours import colour_map
from studio.widgets import theme

_LIT = 0.18
_STRIPE = 6


class Inks:
    """What the painters of listing, tensor map and path draw with."""

    def __init__(self) -> None:
        self.font: QFont = theme.font("mono")
        self.small: QFont = theme.font("small")
        metrics = QFontMetricsF(self.font)
        self.char = metrics.horizontalAdvance("0")
        self.height = metrics.height()
        self.ascent = metrics.ascent()
        self.ground = theme.colour("dock")
        self.heading = theme.colour("field")
        self.text = theme.colour("text")
        self.text2 = theme.colour("text2")
        self.text3 = theme.colour("text3")
        self.accent = theme.colour("accent")
        self.hairline = theme.colour("hairline")
        self.outline = theme.colour("outline")
        self.ok = theme.colour("ok")
        self.warning = theme.colour("warning")
        self.error = theme.colour("error")
        self.selected = theme.mixed("accent", "dock", 0.34)
        self.member = theme.mixed("accent", "dock", 0.10)
        self.added = theme.mixed("ok", "dock", 0.24)
        self.changed = theme.mixed("warning", "dock", 0.16)
        self.removed = theme.mixed("error", "dock", 0.14)
        self.gone = QBrush(_striped(theme.mixed("hairline", "dock", 0.5)))
        self.match = theme.mixed("warning", "dock", 0.38)
        self.register_lit = theme.mixed("accent", "dock", 0.42)
        self.stripes: Mapping[str, QBrush] = {
            "solid": QBrush(theme.mixed("accent", "dock", _LIT)),
            "striped": QBrush(_striped(theme.mixed("accent", "dock", 0.30))),
            "dotted": QBrush(_dotted(theme.mixed("accent", "dock", 0.55))),
        }
        self.stale = QBrush(_striped(theme.mixed("text3", "dock", 0.45)))
        self._links = [theme.colour(f"link.{hue}") for hue in range(HUES)]

    def band(self, band: Band) -> QColor:
        """The colour of one part of a band."""
        if band.heat is not None:
            return heat_colour(band.heat)
        return self.outline if band.hue < 0 else self._links[band.hue % HUES]

    def dashed(self) -> QPen:
        """The pen that marks what is only related."""
        pen = QPen(self.accent, 1.0, Qt.PenStyle.CustomDashLine)
        pen.setDashPattern([3.0, 2.0])
        return pen


def heat_colour(share: float) -> QColor:
    """Cold to hot for 0 to 1, in the colours numbers have everywhere."""
    table = colour_map("sequential")
    red, green, blue = table[round(min(max(share, 0.0), 1.0) * (len(table) - 1))]
    return QColor(int(red), int(green), int(blue))


def _striped(colour: QColor) -> QPixmap:
    """Diagonal stripes that join up from tile to tile."""
    tile = _tile(_STRIPE)
    painter = QPainter(tile)
    painter.setPen(QPen(colour, 1.4))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for shift in (-_STRIPE, 0, _STRIPE):
        painter.drawLine(QPointF(shift - 1, _STRIPE + 1), QPointF(shift + _STRIPE + 1, -1))
    painter.end()
    return tile


def _dotted(colour: QColor) -> QPixmap:
    tile = _tile(_STRIPE)
    painter = QPainter(tile)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.drawEllipse(QPointF(_STRIPE / 2, _STRIPE / 2), 0.9, 0.9)
    painter.end()
    return tile


def _tile(size: int) -> QPixmap:
    tile = QPixmap(size, size)
    tile.fill(Qt.GlobalColor.transparent)
    return tile
