"""Hands on a canvas: real events of mouse and keyboard, at places of the graph."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QKeyEvent,
    QMouseEvent,
    QWheelEvent,
)
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit
from pytestqt.qtbot import QtBot

from studio.graph_editor.canvas.view import CanvasView
from studio.graph_editor.items.marks import PortKey
from studio.session.document.document import Document
from studio.session.document.state import DocumentState, Wire
from studio.session.studio import Studio
from tests.session.document.networks import wires

NONE = Qt.KeyboardModifier.NoModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier
CTRL = Qt.KeyboardModifier.ControlModifier
ALT = Qt.KeyboardModifier.AltModifier
LEFT, RIGHT, MIDDLE = (
    Qt.MouseButton.LeftButton,
    Qt.MouseButton.RightButton,
    Qt.MouseButton.MiddleButton,
)
OUT = PortKey("out")
STEPS = 4


class Hands:
    """Works on a canvas as a person does.

    Args:
        qtbot: waits.
        canvas: what is worked on.
        studio: its models.
    """

    def __init__(self, qtbot: QtBot, canvas: CanvasView, studio: Studio) -> None:
        self.qtbot = qtbot
        self.canvas = canvas
        self.studio = studio
        self._at = QPointF(5, 5)

    # -- the document -----------------------------------------------------------------------------

    def open(self, state: DocumentState, *, zoom: float = 1.0, at: QPointF | None = None) -> None:
        """Open a document and look at it at a zoom."""
        self.studio.replace(Document(state))
        self.canvas.show_all()
        self.canvas.navigation.zoom_to(zoom)
        if at is not None:
            self.canvas.navigation.look_at(at)
        self.canvas.setFocus()

    @property
    def document(self) -> Document:
        return self.studio.document

    @property
    def state(self) -> DocumentState:
        return self.document.state

    @property
    def wires(self) -> str:
        return wires(self.state)

    @property
    def steps(self) -> int:
        """How many steps can be undone."""
        return self.document.history.position

    @property
    def selected(self) -> list[str]:
        return self.canvas.context.selected_ids()

    # -- places -----------------------------------------------------------------------------------

    def port(self, node: str, key: PortKey = OUT) -> QPointF:
        return self.canvas.graph.port_place(node, key)

    def input(self, node: str, slot: int = 0) -> QPointF:
        return self.port(node, PortKey("in", slot))

    def body(self, node: str) -> QPointF:
        """A place on a layer away from title and edges."""
        area = self.canvas.graph.nodes[node].scene_area
        return QPointF(area.center().x(), area.bottom() - 8)

    def title(self, node: str) -> QPointF:
        area = self.canvas.graph.nodes[node].scene_area
        return QPointF(area.center().x(), area.top() + 12)

    def middle(self, source: str, target: str, slot: int = 0) -> QPointF:
        return self.canvas.graph.wires[Wire(source, target, slot)].middle()

    def nowhere(self) -> QPointF:
        """A place of the graph in sight with nothing near it."""
        area = self.canvas.graph.content_area()
        return QPointF(area.center().x(), area.bottom() + 120)

    # -- mouse ------------------------------------------------------------------------------------

    def press(self, at: QPointF, button: Qt.MouseButton = LEFT,
              keys: Qt.KeyboardModifier = NONE) -> None:  # fmt: skip
        self.move(at, keys, Qt.MouseButton.NoButton)
        self._send(QEvent.Type.MouseButtonPress, button, button, keys)

    def move(self, at: QPointF, keys: Qt.KeyboardModifier = NONE,
             buttons: Qt.MouseButton = LEFT) -> None:  # fmt: skip
        self._at = self.canvas.view_point(at)
        self._send(QEvent.Type.MouseMove, Qt.MouseButton.NoButton, buttons, keys)

    def release(self, button: Qt.MouseButton = LEFT, keys: Qt.KeyboardModifier = NONE) -> None:
        self._send(QEvent.Type.MouseButtonRelease, button, Qt.MouseButton.NoButton, keys)

    def click(self, at: QPointF, keys: Qt.KeyboardModifier = NONE,
              button: Qt.MouseButton = LEFT) -> None:  # fmt: skip
        self.press(at, button, keys)
        self.release(button, keys)

    def double_click(self, at: QPointF) -> None:
        self.click(at)
        self._send(QEvent.Type.MouseButtonDblClick, LEFT, LEFT, NONE)
        self.release()

    def carry(self, start: QPointF, end: QPointF, keys: Qt.KeyboardModifier = NONE,
              button: Qt.MouseButton = LEFT) -> None:  # fmt: skip
        """Press at one place and move to another, in several steps, without letting go."""
        self.press(start, button, keys)
        for step in range(1, STEPS + 1):
            self.move(start + (end - start) * (step / STEPS), keys, button)

    def drag(self, start: QPointF, end: QPointF, keys: Qt.KeyboardModifier = NONE,
             button: Qt.MouseButton = LEFT,
             end_keys: Qt.KeyboardModifier | None = None) -> None:  # fmt: skip
        self.carry(start, end, keys, button)
        self.release(button, keys if end_keys is None else end_keys)

    def wheel(self, notches: int, at: QPointF | None = None) -> None:
        place = self.canvas.view_point(at) if at is not None else self._at
        glob = QPointF(self.canvas.viewport().mapToGlobal(place.toPoint()))
        turn, phase = QPoint(0, 120 * notches), Qt.ScrollPhase.NoScrollPhase
        none = Qt.MouseButton.NoButton
        event = QWheelEvent(place, glob, QPoint(), turn, none, NONE, phase, False)
        QApplication.sendEvent(self.canvas.viewport(), event)

    def _send(self, kind: QEvent.Type, button: Qt.MouseButton, buttons: Qt.MouseButton,
              keys: Qt.KeyboardModifier) -> None:  # fmt: skip
        viewport = self.canvas.viewport()
        glob = QPointF(viewport.mapToGlobal(self._at.toPoint()))
        QApplication.sendEvent(viewport, QMouseEvent(kind, self._at, glob, button, buttons, keys))

    # -- keyboard ---------------------------------------------------------------------------------

    def key(self, key: Qt.Key, keys: Qt.KeyboardModifier = NONE) -> None:
        """Type a key where the focus is."""
        QTest.keyClick(self.focus, key, keys)

    def keys(self, *keys: Qt.Key) -> None:
        for key in keys:
            self.key(key)

    def type(self, text: str) -> None:
        QTest.keyClicks(self.focus, text)

    def hold(self, key: Qt.Key) -> None:
        self._key_event(QEvent.Type.KeyPress, key)

    def let_go(self, key: Qt.Key) -> None:
        self._key_event(QEvent.Type.KeyRelease, key)

    @property
    def focus(self) -> object:
        return QApplication.focusWidget() or self.canvas

    def _key_event(self, kind: QEvent.Type, key: Qt.Key) -> None:
        QApplication.sendEvent(self.focus, QKeyEvent(kind, key, NONE))

    # -- what is open -----------------------------------------------------------------------------

    @property
    def popup_open(self) -> bool:
        return self.canvas.searches.popup.is_open

    @property
    def popup_field(self) -> QLineEdit:
        return self.canvas.searches.popup.field

    @property
    def offered(self) -> Sequence[str]:
        """The titles in the search list."""
        return [row.title for row in self.canvas.searches.popup.list.entries.rows]


class Carrier:
    """Carries something over the canvas by real drag events."""

    def __init__(self, hands: Hands, data: QMimeData) -> None:
        self.hands = hands
        self.data = data
        self._send(QDragEnterEvent, QPoint(5, 5))

    def over(self, at: QPointF, keys: Qt.KeyboardModifier = NONE) -> bool:
        return self._send(QDragMoveEvent, self.hands.canvas.view_point(at).toPoint(), keys)

    def drop(self, at: QPointF, keys: Qt.KeyboardModifier = NONE) -> None:
        self.over(at, keys)
        place = self.hands.canvas.view_point(at)
        event = QDropEvent(place, Qt.DropAction.CopyAction, self.data,
                           Qt.MouseButton.LeftButton, keys)  # fmt: skip
        QApplication.sendEvent(self.hands.canvas.viewport(), event)
        assert event.isAccepted()

    def leave(self) -> None:
        QApplication.sendEvent(self.hands.canvas.viewport(), QDragLeaveEvent())

    def _send(self, kind: type, at: QPoint, keys: Qt.KeyboardModifier = NONE) -> bool:
        event: QEvent = kind(at, Qt.DropAction.CopyAction, self.data,
                             Qt.MouseButton.LeftButton, keys)  # fmt: skip
        QApplication.sendEvent(self.hands.canvas.viewport(), event)
        return event.isAccepted()
