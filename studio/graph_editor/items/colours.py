"""Colours, pens and fonts of the canvas, made once for each theme."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor, QFont, QPen
from PySide6.QtWidgets import QApplication

from studio.session.core.theme import FAMILIES, Theme
from studio.session.document.cards.geometry import SMALL_PIXELS, TITLE_PIXELS

WIRE_WIDTH = 1.6
"""At zooms where most wires are in sight this is a thin line, which Qt draws fastest."""

_SHOWN = (*FAMILIES, "operation", "missing", "block")
_PIXELS = {"title": TITLE_PIXELS, "text": 11, "small": SMALL_PIXELS}


class CanvasColours:
    """What the canvas paints with. Pens are cosmetic only where their name says hair.

    Args:
        theme: asked for every role.
    """

    def __init__(self, theme: Theme) -> None:
        self.mode = (theme.mode, theme.high_contrast)
        self.canvas = QColor(theme.colour("canvas"))
        self.grid = QColor(theme.mixed("outline", "canvas", 0.5))
        self.body = QColor(theme.colour("dock"))
        self.raised = QColor(theme.colour("field"))
        self.hover = QColor(theme.colour("hover"))
        self.hairline = QColor(theme.colour("hairline"))
        self.outline = QColor(theme.colour("outline"))
        self.text = QColor(theme.colour("text"))
        self.text2 = QColor(theme.colour("text2"))
        self.text3 = QColor(theme.colour("text3"))
        self.accent = QColor(theme.colour("accent"))
        self.halo = QColor(self.accent)
        self.halo.setAlpha(56)
        self.on_accent = QColor(theme.colour("on_accent"))
        self.ok = QColor(theme.colour("ok"))
        self.warning = QColor(theme.colour("warning"))
        self.error = QColor(theme.colour("error"))
        self.shadow = QColor(theme.colour("shadow"))
        self.shadow.setAlpha(70 if theme.is_dark else 26)
        self.picture = QColor(theme.colour("picture"))
        self.wire = QColor(theme.mixed("outline", "canvas", 0.9))
        self.family = {name: QColor(theme.colour(f"family.{name}")) for name in _SHOWN}
        self.tint = {
            name: QColor(theme.mixed(f"family.{name}", "dock", 0.16 if theme.is_dark else 0.10))
            for name in _SHOWN
        }
        self.block = {
            name: QColor(theme.mixed(f"family.{name}", "dock", 0.34 if theme.is_dark else 0.24))
            for name in _SHOWN
        }
        self.condition = {
            "ok": self.ok,
            "warning": self.warning,
            "error": self.error,
            "waiting": self.text3,
            "unreached": self.text3,
        }
        self._make_fonts()
        self._make_pens()

    def _make_fonts(self) -> None:
        self.title_font = _font("title", QFont.Weight.DemiBold)
        self.text_font = _font("text")
        self.strong_font = _font("text", QFont.Weight.DemiBold)
        self.small_font = _font("small")

    def _make_pens(self) -> None:
        self.wire_pen = _wire_pen(self.wire, WIRE_WIDTH)
        self.wire_hover_pen = _wire_pen(self.text, 2.5)
        self.wire_selected_pen = _wire_pen(self.accent, 3.0)
        self.wire_error_pen = _wire_pen(self.error, 2.5)
        self.wire_waiting_pen = _wire_pen(self.wire, WIRE_WIDTH)
        self.wire_waiting_pen.setDashPattern([3.0, 3.0])
        self.wire_cut_pen = _wire_pen(self.error, 3.0)
        self.wire_target_pen = _wire_pen(self.accent, 4.0)
        self.ghost_pen = _wire_pen(self.accent, 1.5)
        self.ghost_pen.setDashPattern([4.0, 3.0])
        self.nothing = QBrush(Qt.BrushStyle.NoBrush)


SHARED = "shared"
"""The role of the other uses of a layer that is selected or under the pointer."""


def linked_pen(colour: QColor, role: str, width: float) -> QPen:
    """A line in the manner of a role an instruction has for a layer."""
    pen = QPen(colour, width)
    if role == "backward":
        pen.setDashPattern([5.0, 2.5])
    elif role == SHARED:
        pen.setDashPattern([6.0, 2.0, 1.2, 2.0])
    elif role in ("update", "data", "synthetic"):
        pen.setDashPattern([1.2, 2.2])
    return pen


def _wire_pen(colour: QColor, width: float) -> QPen:
    return QPen(
        colour, width, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin
    )


def _font(kind: str, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    found = QFont(QApplication.font())
    found.setPixelSize(_PIXELS[kind])
    found.setWeight(weight)
    return found
