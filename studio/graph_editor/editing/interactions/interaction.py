"""The base of all gestures: what the canvas hands to the one that is going on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QPointF, Qt

if TYPE_CHECKING:
    from studio.graph_editor.canvas.view import CanvasView

DRAG_PIXELS = 6
"""How far the pointer moves before a press is a drag."""

DRAG_MS = 150
"""How long a button is held before the least movement makes it a drag."""

_NONE = Qt.KeyboardModifier.NoModifier


class Pointer(NamedTuple):
    """Where the pointer is, and which keys are held with it."""

    scene: QPointF
    view: QPointF
    modifiers: Qt.KeyboardModifier = _NONE

    def has(self, modifier: Qt.KeyboardModifier) -> bool:
        """Whether a modifier key is held."""
        return bool(self.modifiers & modifier)

    @property
    def shift(self) -> bool:
        """Whether Shift is held."""
        return self.has(Qt.KeyboardModifier.ShiftModifier)

    @property
    def control(self) -> bool:
        """Whether Ctrl is held."""
        return self.has(Qt.KeyboardModifier.ControlModifier)

    @property
    def alt(self) -> bool:
        """Whether Alt is held."""
        return self.has(Qt.KeyboardModifier.AltModifier)


class Interaction:
    """One gesture, from the press of a button to its release.

    The canvas makes it, hands it what happens, and forgets it when it ends. A gesture that is
    called off leaves the document as it was.

    Args:
        canvas: where it happens.
    """

    cursor: Qt.CursorShape | None = None
    scrolls = True
    button = Qt.MouseButton.LeftButton

    def __init__(self, canvas: CanvasView) -> None:
        self.canvas = canvas

    def move(self, at: Pointer) -> None:
        """The pointer moved, or a modifier key changed while it rested."""

    def release(self, at: Pointer) -> None:
        """The button was released: carry out what was shown."""

    def cancel(self) -> None:
        """Call the gesture off."""

    def key(self, key: int, at: Pointer) -> bool:
        """A key was pressed meanwhile; whether the gesture has a use for it."""
        return False
