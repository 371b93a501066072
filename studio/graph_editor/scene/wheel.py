"""What turning the wheel means on the canvas: zoom, or scroll for those who chose that."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QWheelEvent

_PIXELS_A_DEGREE = 0.5
"""Pixels for an eighth of a degree, so that a notch of the wheel moves by sixty."""


def scroll_of(event: QWheelEvent, wanted: str) -> QPoint | None:
    """How far to scroll; None where the event zooms.

    Args:
        event: what the wheel, or two fingers on a touchpad, did.
        wanted: the preference: ``zoom``, ``scroll``, or ``automatic``, which scrolls for touchpads
            as far as they can be told from wheels.
    """
    touchpad = event.phase() != Qt.ScrollPhase.NoScrollPhase and not event.pixelDelta().isNull()
    scrolls = wanted == "scroll" or (wanted == "automatic" and touchpad)
    if not scrolls or event.modifiers() & Qt.KeyboardModifier.ControlModifier:
        return None
    by = event.pixelDelta() if touchpad else event.angleDelta() * _PIXELS_A_DEGREE
    if event.modifiers() & Qt.KeyboardModifier.ShiftModifier and not by.x():
        return QPoint(by.y(), 0)
    return by
