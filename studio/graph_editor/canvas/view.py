"""The canvas: shows the drawing of a document and forwards what hands do on it to gestures."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import (
    QContextMenuEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QNativeGestureEvent,
    QPainter,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication, QToolTip, QWidget

from studio.engine.core.errors import StudioError
from studio.graph_editor.canvas import accessible
from studio.graph_editor.canvas.commands import CanvasCommands
from studio.graph_editor.canvas.graph_view import GraphView
from studio.graph_editor.canvas.keys import CanvasKeys
from studio.graph_editor.canvas.menu import entries_for, open_canvas_menu
from studio.graph_editor.editing.fix_offers import FixOffers
from studio.graph_editor.editing.interactions.beginning import gesture_for
from studio.graph_editor.editing.interactions.drop_layer import Drops
from studio.graph_editor.editing.interactions.interaction import Interaction, Pointer
from studio.graph_editor.editing.interactions.look_around import LookAround
from studio.graph_editor.editing.linking import CANVAS, Linking
from studio.graph_editor.editing.picking import EMPTY, Target, pick
from studio.graph_editor.editing.writing import Writing
from studio.graph_editor.items.items import CommentItem
from studio.graph_editor.items.marks import PortKey
from studio.graph_editor.scene.chrome import Chrome
from studio.graph_editor.scene.edge_scrolling import EdgeScrolling
from studio.graph_editor.scene.following import Following
from studio.graph_editor.scene.held_keys import HeldKeys
from studio.graph_editor.scene.hovering import Hovering
from studio.graph_editor.scene.lens import Lens
from studio.graph_editor.scene.node_pictures import NodePictures
from studio.graph_editor.scene.searches import Searches
from studio.graph_editor.scene.sliding import Sliding
from studio.graph_editor.scene.wheel import scroll_of
from studio.session.compile.selection import SelectionBus
from studio.session.core import entities
from studio.session.document.document import Document
from studio.session.document.edits.wires import add_dot
from studio.session.document.state import DocumentState, Wire
from studio.session.notices.settling import EDIT
from studio.session.studio import Studio
from studio.widgets import contexts

_MODIFIERS = (Qt.Key.Key_Shift, Qt.Key.Key_Control, Qt.Key.Key_Alt, Qt.Key.Key_Meta)


class CanvasView(GraphView):
    """The drawing of the open document, at any zoom.

    Args:
        studio: the models of the window.
        parent: owner.
    """

    source = CANVAS
    speaks_of_layers = True
    _is_made = False

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("canvas")
        self.setAccessibleName("Canvas")
        self.studio = studio
        self.fixes = FixOffers(self.graph, self.overlay, lambda: self.document, studio.fail)
        self.hovering = Hovering(self.bus, self.graph, self.fixes, self.viewport())
        self.linking = Linking(
            self.bus, lambda: studio.compilation.provenance, self.graph, self.marks, self.navigation
        )
        self._held = HeldKeys()
        self._gesture: Interaction | None = None
        self._pointer = QPointF()
        self._edges = EdgeScrolling(self)
        self.sliding = Sliding(self.graph, lambda: self.navigation.zoom, self)
        self.searches: Searches = Searches(self)
        self.writing: Writing = Writing(self)
        self.keys = CanvasKeys(self)
        self.pictures = NodePictures(
            studio.previews, studio.preferences, self.graph, self.navigation, self
        )
        self.graph.use_pictures(self.pictures.picture)
        self.lens = Lens(self.graph, self.pictures, self)
        self.chrome: Chrome = Chrome(
            self, self.graph, self.fixes, self.navigation, self.bus, studio.preferences,
            studio.actions,
        )  # fmt: skip
        self.drops = Drops(self)
        self.commands = CanvasCommands(self)
        self._following = Following(self)
        contexts.register("canvas", self)
        accessible.install()
        self._is_made = True

    # -- what it shows --------------------------------------------------------------------------

    @property
    def document(self) -> Document:
        """The document that is open."""
        return self.studio.document

    @property
    def bus(self) -> SelectionBus:
        """The one selection."""
        return self.studio.bus

    def selected_ids(self) -> list[str]:
        """The selected layers, dots, notes and frames that exist, in the order of selection."""
        nodes = self.document.state.nodes
        return [key for key in self.bus.drawn.of_kind("node") if key in nodes]

    def apply(self, text: str, edit: Callable[[DocumentState], DocumentState]) -> bool:
        """Make an edit as one step; tells the user why where it is refused. Whether it was made."""
        try:
            change = self.document.apply(text, edit(self.document.state))
        except StudioError as error:
            self.studio.fail(error, EDIT)
            return False
        return not change.is_empty

    def apply_in_gesture(self, text: str, edit: Callable[[DocumentState], DocumentState]) -> bool:
        """Make an edit while a button is down; the gesture ends where it is refused."""
        try:
            self.document.apply(text, edit(self.document.state))
        except StudioError as error:
            self.cancel_gesture()
            self.studio.fail(error, EDIT)
            return False
        return True

    # -- gestures -------------------------------------------------------------------------------

    @property
    def gesture(self) -> Interaction | None:
        """The gesture going on."""
        return self._gesture

    def is_held(self, key: int) -> bool:
        """Whether a key with a meaning while it is held is down."""
        return key in self._held

    def take_over(self, gesture: Interaction) -> None:
        """A gesture goes on from here, in place of the one before."""
        if self._gesture is not None:
            gesture.button = self._gesture.button
        self._gesture = gesture
        self.hovering.leave()
        if gesture.cursor is not None:
            self.viewport().setCursor(gesture.cursor)

    def end_gesture(self) -> None:
        """The gesture is over: its marks and drawings go."""
        self._gesture = None
        self._edges.stop()
        self.marks.end_gesture()
        self.overlay.clear()
        self.viewport().unsetCursor()

    def cancel_gesture(self) -> bool:
        """Call the gesture off; whether there was one."""
        gesture = self._gesture
        if gesture is None:
            return False
        gesture.cancel()
        self.end_gesture()
        return True

    def end_blink(self) -> None:
        """A port that showed itself for a moment is as before."""
        if self._gesture is None:
            self.marks.show_ports({})

    def repeat_move(self) -> None:
        """What is dragged follows the pointer after the ground moved under it."""
        if self._gesture is not None:
            self._gesture.move(self.pointer())

    def pointer(self) -> Pointer:
        """Where the pointer is, and the modifier keys."""
        return self.pointer_at(self._pointer, QApplication.keyboardModifiers())

    def searches_on_release(self, *, shift: bool) -> bool:
        """Whether a wire dropped on nothing asks what to add."""
        wanted = self.studio.preferences.text("search_on_release")
        return not shift if wanted == "always" else shift and wanted == "with shift"

    def pointer_or_middle(self) -> QPointF:
        """Where the pointer is, or the middle of the canvas when it is elsewhere."""
        if self.viewport().rect().contains(self._pointer.toPoint()) and self.underMouse():
            return self._pointer
        return QPointF(self.viewport().rect().center())

    def paste_place(self) -> QPointF:
        """The point of the graph where new things go."""
        return self.navigation.scene_at(self.pointer_or_middle())

    def search_at(self, at: QPointF, node_id: str, key: PortKey) -> None:
        """Ask what to add at the end of a wire that was dropped on nothing."""
        self.searches.add_from_port(at, node_id, key)

    def leave_by_keys(self, *, backward: bool) -> bool:
        """Give the focus to the widget before or behind; whether there is one."""
        return super().focusNextPrevChild(not backward)

    def open_menu(self, target: Target, at: Pointer) -> None:
        """Show what can be done with what was clicked; it becomes the selection."""
        entity = target.entity
        if entity is not None and entity not in self.bus.selection:
            self.bus.select([entity], source=self.source)
        item = self.graph.nodes.get(target.node)
        entries = entries_for(target, is_comment=isinstance(item, CommentItem))
        place = self.viewport().mapToGlobal(at.view.toPoint())
        open_canvas_menu(self.studio.actions, entries, place, self)

    def arrange(self, text: str, edit: Callable[[DocumentState], DocumentState]) -> bool:
        """Make an edit of places as `apply` does; what it moves slides there."""
        before = {i: (node.x, node.y) for i, node in self.document.state.nodes.items()}
        made = self.apply(text, edit)
        if made:
            self.sliding.begin(before)
        return made

    def _menu_by_keys(self) -> None:
        """The menu of the selection, beside it."""
        chosen = self.selected_ids()
        area = self.graph.area_of(chosen)
        seen = QPointF(self.viewport().rect().center())
        if not area.isEmpty():
            seen = self.view_point(area.center())
        target = Target("body", chosen[-1]) if chosen else EMPTY
        self.open_menu(target, Pointer(self.navigation.scene_at(seen), seen))

    def _double_click(self, target: Target, at: Pointer) -> None:
        item = self.graph.nodes.get(target.node)
        if target.wire is not None:
            self._add_dot(target.wire, at.scene)
        elif target.part == "title" or isinstance(item, CommentItem):
            self.writing.write(target.node)
        elif target.part == "empty":
            self.searches.add_at(at.scene)
        elif target.part == "body":
            self.studio.actions.trigger("graph.edit_options")

    def _add_dot(self, wire: Wire, at: QPointF) -> None:
        before = set(self.document.state.nodes)
        if self.apply("Bend a wire", lambda state: add_dot(state, wire, at.x(), at.y())):
            made = [i for i in self.document.state.nodes if i not in before]
            self.bus.select([entities.node(i) for i in made], source=self.source)

    def pointer_at(self, place: QPointF, modifiers: Qt.KeyboardModifier) -> Pointer:
        """A place of the viewport as gestures take it; it is where the pointer is from now on."""
        self._pointer = place
        return Pointer(self.navigation.scene_at(place), place, modifiers)

    def target_at(self, at: Pointer) -> Target:
        """What is under a place."""
        return pick(self.graph, at.scene, self.viewportTransform())

    # -- hands ----------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        at = self.pointer_at(event.position(), event.modifiers())
        event.accept()
        if self._gesture is not None:
            return
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        self.navigation.stop()
        self.sliding.finish()
        self._held.use()
        on_map = event.button() == Qt.MouseButton.LeftButton and self.chrome.takes(at.view)
        gesture: Interaction | None
        if on_map:
            gesture = LookAround(self, at)
        else:
            gesture = gesture_for(self, event.button(), self.target_at(at), at)
        if gesture is not None:
            gesture.button = event.button()
            self.take_over(gesture)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = self.pointer_at(event.position(), event.modifiers())
        event.accept()
        if self._gesture is None:
            self.hovering.over(EMPTY if self.chrome.takes(at.view) else self.target_at(at))
            if self.is_held(Qt.Key.Key_Z):
                self.keys.held(Qt.Key.Key_Z)
            return
        self._gesture.move(at)
        if self._gesture is not None and self._gesture.scrolls:
            self._edges.follow(at.view)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        at = self.pointer_at(event.position(), event.modifiers())
        event.accept()
        if self._gesture is not None and self._gesture.button == event.button():
            self._gesture.release(at)
            self.hovering.over(self.target_at(at))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        at = self.pointer_at(event.position(), event.modifiers())
        event.accept()
        if event.button() == Qt.MouseButton.LeftButton and self._gesture is None:
            self._double_click(self.target_at(at), at)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.accept()
        on_map = self.chrome.takes(event.position())
        by = scroll_of(event, self.studio.preferences.text("wheel"))
        if by is not None and not on_map:
            self.navigation.pan(by)
        else:
            # With Alt held, some platforms turn the wheel's direction sideways.
            turn = event.angleDelta().y() or event.angleDelta().x()
            self.navigation.wheel(turn, None if on_map else event.position())
        self.repeat_move()

    def leaveEvent(self, event: QEvent) -> None:
        if self._gesture is None:
            self.hovering.leave()
        super().leaveEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        # The mouse's menu comes when its button is released: before that it may become a cut.
        event.accept()
        if event.reason() != QContextMenuEvent.Reason.Mouse and self._gesture is None:
            self._menu_by_keys()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        self.drops.enter(event)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        self.drops.move(event)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.drops.leave(event)

    def dropEvent(self, event: QDropEvent) -> None:
        self.drops.drop(event)

    # -- keys -----------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        event.accept()
        key = event.key()
        if self._gesture is not None:
            self._key_in_gesture(event)
        elif self._held.press(key) if not event.isAutoRepeat() else key in self._held:
            self.keys.held(key)
        elif not self.keys.key(event):
            event.ignore()

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if event.isAutoRepeat():
            return
        if self._gesture is not None and event.key() in _MODIFIERS:
            self._gesture.move(self.pointer_at(self._pointer, event.modifiers()))
        if self._held.release(event.key()):
            self.keys.tapped(event.key())
        self.keys.released(event.key())

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._held.clear()
        self.keys.released(Qt.Key.Key_Z)
        super().focusOutEvent(event)

    def focusNextPrevChild(self, next: bool) -> bool:  # noqa: A002
        return False

    def event(self, event: QEvent) -> bool:
        # While a button is down keys belong to the gesture; held keys never are shortcuts.
        if (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.ShortcutOverride
            and (
                self._gesture is not None
                or event.key() in self._held
                or self.keys.wants(event.key())
            )
        ):
            event.accept()
            return True
        return super().event(event)

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QNativeGestureEvent):
            if event.gestureType() == Qt.NativeGestureType.ZoomNativeGesture:
                zoom = self.navigation.zoom * (1 + event.value())
                self.navigation.zoom_to(zoom, event.position())
                return True
        elif event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.hovering.tip(), self.viewport())
            return True
        return super().viewportEvent(event)

    def _key_in_gesture(self, event: QKeyEvent) -> None:
        gesture, key = self._gesture, event.key()
        if gesture is None:
            return
        undo = event.modifiers() & Qt.KeyboardModifier.ControlModifier and key == Qt.Key.Key_Z
        if key == Qt.Key.Key_Escape or undo:
            self.cancel_gesture()
        elif key in _MODIFIERS:
            gesture.move(self.pointer_at(self._pointer, event.modifiers()))
        else:
            gesture.key(key, self.pointer())

    # -- what lies over the graph ---------------------------------------------------------------

    def paint_over(self, painter: QPainter) -> None:
        """Draw the map, or what an empty canvas shows."""
        self.chrome.paint(painter)

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        super().scrollContentsBy(dx, dy)
        if self._is_made:
            self.chrome.scrolled(dx, dy)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.chrome.arrange()
