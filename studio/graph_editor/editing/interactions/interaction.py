"""Gestures: what each of them hears, and which one is going on."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import QPoint, QPointF, Qt, QTimer

from studio.engine.core.errors import StudioError
from studio.engine.core.signal import Signal
from studio.graph_editor.editing.context import CanvasContext, Pointer
from studio.graph_editor.items.marks import PortKey, PortMark
from studio.graph_editor.scene.navigation import Sight
from studio.session.document.state import DocumentState
from studio.session.notices.settling import EDIT

DRAG_PIXELS = 6
"""How far the pointer moves before a press is a drag."""

DRAG_MS = 150
"""How long a button is held before the least movement makes it a drag."""

_EDGE = 20
_PERIOD_MS = 25
_FASTEST = 24
_BRIEFLY_MS = 350


class Interaction:
    """One gesture, from the press of a button to its release.

    A cancelled gesture leaves the document as it was.

    Args:
        gestures: where it begins and ends.
    """

    cursor: Qt.CursorShape | None = None
    scrolls = True
    button = Qt.MouseButton.LeftButton

    def __init__(self, gestures: Gestures) -> None:
        self.gestures = gestures
        self.context = gestures.context

    def move(self, at: Pointer) -> None:
        """The pointer moved, or a modifier key changed while it rested."""

    def release(self, at: Pointer) -> None:
        """The button was released: carry out what was shown."""

    def cancel(self) -> None:
        """Take back what the gesture changed."""

    def key(self, key: int, at: Pointer) -> bool:
        """A key was pressed meanwhile; whether the gesture has a use for it."""
        return False


class Gestures:
    """The gesture going on, if there is one; the view scrolls while it is dragged to its edge.

    Attributes:
        context: what gestures work with.
        current: the gesture going on.
        began: a gesture began.
    """

    def __init__(self, context: CanvasContext) -> None:
        self.context = context
        self.current: Interaction | None = None
        self.began: Signal[[]] = Signal()
        self._sight: Sight | None = None
        self._scroll_by = QPoint()
        self._scrolling = QTimer(context.view)
        self._scrolling.setInterval(_PERIOD_MS)
        self._scrolling.timeout.connect(self._scroll)
        self._briefly = QTimer(context.view)
        self._briefly.setSingleShot(True)
        self._briefly.setInterval(_BRIEFLY_MS)
        self._briefly.timeout.connect(self._hide_ports)

    def begin(self, gesture: Interaction, button: Qt.MouseButton) -> None:
        """A gesture begins with the press of a button."""
        gesture.button = button
        if self.current is None:
            self._sight = self.context.navigation.sight
        self.current = gesture
        self.began.emit()
        if gesture.cursor is not None:
            self.context.view.viewport().setCursor(gesture.cursor)

    def take_over(self, gesture: Interaction) -> None:
        """Another gesture goes on from here, as a press becomes a drag."""
        self.begin(gesture, gesture.button if self.current is None else self.current.button)

    def move(self, at: Pointer) -> None:
        """Hand the gesture where the pointer is; at the edge the view scrolls."""
        if self.current is not None:
            self.current.move(at)
        if self.current is not None and self.current.scrolls:
            self._scroll_near_edge(at.view)

    def follow_view(self) -> None:
        """Hand the gesture the pointer again, after the view moved under it."""
        if self.current is not None:
            self.current.move(self.context.pointer())

    def apply(self, text: str, edit: Callable[[DocumentState], DocumentState]) -> bool:
        """Make an edit while the button is down; the gesture is cancelled where it is refused."""
        document = self.context.document
        try:
            document.apply(text, edit(document.state))
        except StudioError as error:
            self.cancel()
            self.context.studio.fail(error, EDIT)
            return False
        return True

    def end(self) -> None:
        """The gesture is over: its marks and drawings go."""
        context = self.context
        self.current = None
        self._scrolling.stop()
        context.marks.end_gesture()
        context.overlay.clear()
        context.view.viewport().unsetCursor()

    def cancel(self) -> bool:
        """Cancel the gesture; whether there was one. Where it scrolled, the view goes back."""
        gesture = self.current
        if gesture is None:
            return False
        gesture.cancel()
        self.end()
        if gesture.scrolls and self._sight is not None:
            self.context.navigation.restore(self._sight)
        return True

    def show_briefly(self, ports: Mapping[str, Mapping[PortKey, PortMark]]) -> None:
        """Mark ports for a moment after a gesture."""
        self.context.marks.show_ports(ports)
        self._briefly.start()

    def _hide_ports(self) -> None:
        if self.current is None:
            self.context.marks.show_ports({})

    def _scroll_near_edge(self, at: QPointF) -> None:
        room = self.context.view.viewport().rect()
        self._scroll_by = QPoint(_speed(at.x(), room.width()), _speed(at.y(), room.height()))
        if self._scroll_by.isNull():
            self._scrolling.stop()
        elif not self._scrolling.isActive():
            self._scrolling.start()

    def _scroll(self) -> None:
        self.context.navigation.pan(self._scroll_by)
        self.follow_view()


def _speed(at: float, room: int) -> int:
    """How far to pan in one step: the further out, the faster."""
    if at < _EDGE:
        return min(_FASTEST, round((_EDGE - at) / 2))
    if at > room - _EDGE:
        return -min(_FASTEST, round((at - room + _EDGE) / 2))
    return 0
