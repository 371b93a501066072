"""The canvas: shows the drawing of a document and forwards what hands do on it to gestures."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, Qt, QTimer
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
from PySide6.QtWidgets import QToolTip, QWidget

from studio.engine.layers.graph import Port
from studio.graph_editor.canvas import accessible
from studio.graph_editor.canvas.chrome import Chrome
from studio.graph_editor.canvas.commands import CanvasCommands
from studio.graph_editor.canvas.hovering import Hovering
from studio.graph_editor.canvas.keys import CanvasKeys
from studio.graph_editor.canvas.lens import Lens
from studio.graph_editor.canvas.linking import Linking
from studio.graph_editor.canvas.menu import entries_for, open_canvas_menu
from studio.graph_editor.canvas.presses import Presses
from studio.graph_editor.editing.context import CANVAS, CanvasContext, Pointer
from studio.graph_editor.editing.fix_offers import FixOffers
from studio.graph_editor.editing.inline_editor import InlineEditor
from studio.graph_editor.editing.interactions.drop_layer import Drops
from studio.graph_editor.editing.interactions.interaction import Gestures, Interaction
from studio.graph_editor.editing.interactions.pan import LookAround
from studio.graph_editor.editing.picking import EMPTY, Target
from studio.graph_editor.editing.searches import Searches
from studio.graph_editor.items.block_item import AnchorItem, BlockItem, PortItem
from studio.graph_editor.items.colours import CanvasColours
from studio.graph_editor.items.items import CommentItem
from studio.graph_editor.scene.graph_view import GraphView
from studio.graph_editor.scene.navigation import scroll_of
from studio.graph_editor.scene.node_pictures import NodePictures
from studio.graph_editor.scene.sliding import Sliding
from studio.session.compile.selection import Selection
from studio.session.document.change import Change
from studio.session.document.document import Document
from studio.session.document.edits.wires import add_dot
from studio.session.document.levels import TOP
from studio.session.document.state import Wire
from studio.session.studio import Studio
from studio.widgets import binding, contexts, theme

_FEW = 40
"""So many things are laid out again at once when the canvas gets another size."""
_GROWING_MS = 30
"""More are, so long after the canvas got its last size."""
_MODIFIERS = (Qt.Key.Key_Shift, Qt.Key.Key_Control, Qt.Key.Key_Alt, Qt.Key.Key_Meta)


class CanvasView(GraphView):
    """The drawing of the open document, at any zoom.

    Args:
        studio: the models of the window.
        parent: owner.
    """

    _is_made = False

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.context: CanvasContext = CanvasContext(self, studio)
        self.studio = studio
        self.setObjectName("canvas")
        self.setAccessibleName("Canvas")
        self.gestures = Gestures(self.context)
        self.fixes = FixOffers(self.context)
        self.hovering = Hovering(self.context, self.fixes)
        self.gestures.began.connect(self.hovering.leave)
        self.linking = Linking(self.context)
        self.sliding = Sliding(self.graph, lambda: self.navigation.zoom, self)
        self.searches: Searches = Searches(self.context)
        self.inline_editor: InlineEditor = InlineEditor(self.context)
        self.pictures = NodePictures(
            studio.previews, studio.preferences, studio.bus, self.graph, self.navigation, self
        )
        self.graph.use_pictures(self.pictures.picture)
        self.lens = Lens(self.graph, self.pictures, self)
        self.chrome: Chrome = Chrome(self.context, self.fixes)
        self.keys = CanvasKeys(
            self.context, self.hovering, self.fixes, self.lens, self.searches.popup,
            self.chrome.find_bar,
        )  # fmt: skip
        self.presses = Presses(
            self.gestures, self.fixes, self.searches.add_from_port, self._open_menu
        )
        self.drops = Drops(self.context)
        self.commands: CanvasCommands = CanvasCommands(self)
        self._deliveries: list[binding.Delivery] = []
        self._is_touched = False
        self._growing = QTimer(self)
        self._growing.setSingleShot(True)
        self._growing.setInterval(_GROWING_MS)
        self._growing.timeout.connect(self._grown)
        self._follow()
        contexts.register("canvas", self)
        accessible.install()
        self._is_made = True

    # -- what it shows --------------------------------------------------------------------------

    def _follow(self) -> None:
        """Keep in step with the document, its checks, the program, theme and preferences."""
        studio = self.studio
        binding.connect(self, studio.document_replaced, self._document_replaced)
        binding.connect(self, studio.compilation.changed, self.linking.refresh)
        binding.connect(self, studio.culprit.changed, self._show_report)
        binding.connect(self, studio.preferences.changed, self._preferred)
        binding.connect(self, theme.changed, self._themed)
        binding.connect(self, studio.bus.selected, self._selected)
        binding.connect(self, studio.bus.output_chosen, self._output_chosen)
        binding.connect(self, self.context.open_block.leaving, self._level_leaves)
        binding.connect(self, self.graph.level_changed, self._level_changed)
        self.graph.set_wire_style(studio.preferences.text("wire_style"))
        self._document_replaced(studio.document)

    def _document_replaced(self, document: Document) -> None:
        self.gestures.cancel()
        self._is_touched = False
        # What is asked or typed is about the document before.
        self.searches.popup.close_search()
        self.inline_editor.close(keep=False)
        self.sliding.finish()
        for delivery in self._deliveries:
            delivery.stop()
        self._deliveries = [
            binding.connect(self, document.changed, self._document_changed),
            binding.connect(self, document.report_changed, self._report_changed),
            binding.connect(self, document.history.changed, self._history_changed),
        ]
        self.context.open_block.forget()
        document.open_block = TOP
        self.graph.show_state(document.state, self.studio.culprit.report)
        accessible.changed(self.context)
        self.linking.refresh()
        self.fixes.ask()
        self._begin()

    def _begin(self) -> None:
        """Show a document that was opened: laid out for the canvas where its file has no places."""
        self.studio.document.lay_out_for(self.navigation.room)
        self.show_beginning()

    @property
    def is_growing(self) -> bool:
        """Whether the canvas just got another size, and a network may be laid out for it."""
        return self._growing.isActive()

    def _grown(self) -> None:
        """Lay out again what was laid out for another size, as long as no one worked on it."""
        if self.navigation.keeps and not self._is_touched:
            self.studio.document.lay_out_for(self.navigation.room)
        self.keep_in_sight()

    def _document_changed(self, change: Change) -> None:
        self.sliding.finish()
        self.graph.apply(change, is_final=not self.context.document.history.is_gesture_open)
        accessible.changed(self.context)
        self.fixes.place()
        if change.added or change.removed:
            self.inline_editor.forget(change.removed)
            self.linking.refresh()
        self.studio.actions.refresh("edit.undo", "edit.redo")

    def _history_changed(self) -> None:
        if not self.context.document.history.is_gesture_open:
            self.graph.settle_wires()

    def _level_leaves(self) -> None:
        self.gestures.cancel()
        self.searches.popup.close_search()
        self.inline_editor.close(keep=True)
        self.sliding.finish()

    def _level_changed(self) -> None:
        self.context.document.open_block = self.graph.level
        accessible.changed(self.context)
        self.hovering.leave()
        self.linking.refresh()
        self.fixes.ask()

    def _report_changed(self) -> None:
        self._show_report()
        self.fixes.ask()

    def _show_report(self) -> None:
        self.graph.show_report(self.studio.culprit.report)

    def _selected(self, _selection: Selection, _source: str) -> None:
        self.context.selection_changed()
        accessible.primary_changed(self.context)

    def _output_chosen(self, _node_id: str) -> None:
        accessible.primary_changed(self.context)

    def _preferred(self, name: str) -> None:
        if name == "wire_style":
            self.graph.set_wire_style(self.studio.preferences.text(name))

    def _themed(self) -> None:
        colours = CanvasColours(theme.current())
        self.passage.finish()
        self.graph.show_colours(colours)
        self.overlay.show_colours(colours)
        self.fixes.show_colours()
        self.viewport().update()

    # -- menu and double click ------------------------------------------------------------------

    def _open_menu(self, target: Target, at: Pointer) -> None:
        """Show what can be done with what was clicked; it becomes the selection."""
        entity = target.entity
        if entity is not None and entity not in self.context.bus.selection:
            self.context.bus.select([entity], source=CANVAS)
        if target.part == "port" and target.port is not None and target.port.side == "out":
            self.context.choose_output(Port(target.node, target.port.slot))
        item = self.graph.nodes.get(target.node)
        entries = entries_for(
            target,
            is_comment=isinstance(item, CommentItem),
            is_block=isinstance(item, BlockItem),
            is_port=isinstance(item, AnchorItem | PortItem),
            in_block=bool(self.graph.level),
        )
        place = self.viewport().mapToGlobal(at.view.toPoint())
        open_canvas_menu(self.studio.actions, entries, place, self)

    def _menu_by_keys(self) -> None:
        """The menu of the selection, beside it."""
        chosen = self.context.selected_ids()
        area = self.graph.area_of(chosen)
        seen = QPointF(self.viewport().rect().center())
        if not area.isEmpty():
            seen = self.view_point(area.center())
        target = Target("body", chosen[-1]) if chosen else EMPTY
        self._open_menu(target, Pointer(self.navigation.scene_at(seen), seen))

    def _double_click(self, target: Target, at: Pointer) -> None:
        item = self.graph.nodes.get(target.node)
        if target.wire is not None:
            self._add_dot(target.wire, at.scene)
        elif target.part == "title" or isinstance(item, CommentItem):
            self.inline_editor.edit(target.node)
        elif target.part == "empty":
            self.searches.add_at(at.scene)
        elif isinstance(item, BlockItem):
            self.commands.blocks.enter()
        elif target.part == "body":
            self.studio.actions.trigger("graph.edit_options")

    def _add_dot(self, wire: Wire, at: QPointF) -> None:
        context = self.context
        before = set(context.document.state.nodes)
        if context.apply("Bend a wire", lambda state: add_dot(state, wire, at.x(), at.y())):
            context.select(i for i in context.document.state.nodes if i not in before)

    # -- mouse and drops ------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        at = self.context.pointer_at(event.position(), event.modifiers())
        event.accept()
        self._is_touched = True
        if self.gestures.current is not None:
            return
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        self.navigation.stop()
        self.sliding.finish()
        self.passage.finish()
        self.keys.use()
        button = event.button()
        gesture: Interaction | None
        if button == Qt.MouseButton.LeftButton and self.chrome.takes(at.view):
            gesture = LookAround(self.gestures, at, self.chrome.minimap)
        else:
            target = self.context.target_at(at)
            gesture = self.presses.gesture_for(button, target, at, self.keys.held)
        if gesture is not None:
            self.gestures.begin(gesture, button)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = self.context.pointer_at(event.position(), event.modifiers())
        event.accept()
        if self.gestures.current is not None:
            self.gestures.move(at)
            return
        self.hovering.over(EMPTY if self.chrome.takes(at.view) else self.context.target_at(at))
        self.keys.pointer_moved()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        at = self.context.pointer_at(event.position(), event.modifiers())
        event.accept()
        gesture = self.gestures.current
        if gesture is not None and gesture.button == event.button():
            gesture.release(at)
            self.hovering.over(self.context.target_at(at))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        at = self.context.pointer_at(event.position(), event.modifiers())
        event.accept()
        if event.button() == Qt.MouseButton.LeftButton and self.gestures.current is None:
            self._double_click(self.context.target_at(at), at)

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
        self.gestures.follow_view()

    def leaveEvent(self, event: QEvent) -> None:
        if self.gestures.current is None:
            self.hovering.leave()
        super().leaveEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        # The mouse's menu comes when its button is released: before that it may become a cut.
        event.accept()
        if event.reason() != QContextMenuEvent.Reason.Mouse and self.gestures.current is None:
            self._menu_by_keys()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        self.passage.finish()
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
        self._is_touched = True
        self.passage.finish()
        gesture, key = self.gestures.current, event.key()
        control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if gesture is not None:
            if key == Qt.Key.Key_Escape or (control and key == Qt.Key.Key_Z):
                self.gestures.cancel()
            elif key in _MODIFIERS:
                gesture.move(self.context.pointer(event.modifiers()))
            else:
                gesture.key(key, self.context.pointer())
        elif control and key in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
            # Plain Tab adds a layer, so this is how the keyboard leaves the canvas.
            backward = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            if not super().focusNextPrevChild(not backward):
                event.ignore()
        elif not self.keys.press(event):
            event.ignore()

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if event.isAutoRepeat():
            return
        gesture = self.gestures.current
        if gesture is not None and event.key() in _MODIFIERS:
            gesture.move(self.context.pointer(event.modifiers()))
        self.keys.release(event.key(), in_gesture=self.gestures.current is not None)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.keys.release_all()
        super().focusOutEvent(event)

    def focusNextPrevChild(self, next: bool) -> bool:  # noqa: A002
        return False

    def event(self, event: QEvent) -> bool:
        # While a button is down keys belong to the gesture; held keys never are shortcuts.
        if (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.ShortcutOverride
            and (self.gestures.current is not None or self.keys.wants(event.key()))
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
        self.passage.finish()
        self.chrome.arrange()
        if not self._is_made or not self.studio.document.is_laid_out_freely:
            return
        if len(self.studio.document.state.nodes) <= _FEW:
            self._grown()
        else:
            self._growing.start()
