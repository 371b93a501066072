"""Pens and brushes of curves: colour by role, pattern by run, strength by what they show."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPen

from studio.session.runs.curves_display import LineStyle
from studio.widgets import theme

GHOST = 64
"""Strength of a raw line behind its smoothed one, of 255."""

BAND = 50
"""Strength of the band of a curve that is a mean, of 255."""

_PATTERNS: tuple[tuple[float, ...], ...] = ((), (6.0, 3.0), (1.5, 2.5), (7.0, 2.5, 1.5, 2.5))


def colour(style: LineStyle, alpha: int = 255) -> QColor:
    """The colour of a curve."""
    return theme.colour(f"series.{style.series}", alpha)


def thin(colour: QColor, ratio: float, style: Qt.PenStyle = Qt.PenStyle.SolidLine) -> QPen:
    """The pen of a line that tells no values, one device-independent pixel wide.

    Args:
        colour: its colour.
        ratio: device pixels to one of them.
        style: its pattern.
    """
    made = QPen(colour, ratio, style)
    made.setCosmetic(True)
    return made


def pen(
    style: LineStyle, width: float = 1.0, *, ghost: bool = False, raised: bool = False,
    ratio: float = 1.0,
) -> QPen:  # fmt: skip
    """The pen of a curve.

    Args:
        style: the curve's.
        width: in device-independent pixels.
        ghost: it lies faintly behind another.
        raised: the pointer is on its name.
        ratio: device pixels to one of them, which Qt leaves to us where a pen has one width
            whatever the axes are.
    """
    alpha = GHOST * 2 if ghost and raised else GHOST if ghost else 255
    made = QPen(colour(style, alpha), ratio * (width + (1.5 if raised and not ghost else 0.0)))
    made.setCosmetic(True)
    if style.dash and not ghost:
        made.setStyle(Qt.PenStyle.CustomDashLine)
        made.setDashPattern(list(_PATTERNS[style.dash]))
    made.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    return made
