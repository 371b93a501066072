"""Dragging from the palette: a ghost of true size, where it would go and what it gives.

Over a wire a layer goes into the wire, on a layer behind it, elsewhere it stands by itself. A block
stands by itself everywhere.
"""

from __future__ import annotations

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent

from studio.engine.core.errors import StudioError
from studio.graph_editor.editing.adding import block_in, layer_in
from studio.graph_editor.editing.context import CanvasContext, Pointer
from studio.graph_editor.editing.interactions.move_nodes import INSERT_REACH
from studio.session.document.adding.preview import first_message, preview_chain
from studio.session.document.adding.published_blocks import Placed, place_block
from studio.session.document.adding.quick_add import NOWHERE, Place, add_at_place, added_text
from studio.session.document.cards.geometry import GRID, NODE_WIDTH, TITLE_HEIGHT
from studio.session.document.cards.lines import shape_label
from studio.session.document.checks.validation import validate
from studio.session.document.edits.chains import NewLayer
from studio.session.document.flow import flow_of
from studio.session.document.state import DocumentState
from studio.session.notices.settling import EDIT

_TIP_AWAY = QPointF(16, 10)
"""So that the tip stands under the ghost and not on it."""


class Drops:
    """Handles the drag events of a canvas.

    Args:
        context: what it works with.
    """

    def __init__(self, context: CanvasContext) -> None:
        self._context = context
        self._carried: DropLayer | DropBlock | None = None

    def enter(self, event: QDragEnterEvent) -> None:
        """A drag enters the canvas; the window may accept what is ignored here."""
        layer, block = layer_in(event.mimeData()), block_in(event.mimeData())
        if layer is not None:
            self._carried = DropLayer(self._context, layer)
        elif block:
            self._carried = DropBlock(self._context, block)
        else:
            event.ignore()
            return
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()

    def move(self, event: QDragMoveEvent) -> None:
        if self._carried is None:
            event.ignore()
            return
        self._carried.move(self._context.pointer_at(event.position(), event.modifiers()))
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()

    def leave(self, event: QDragLeaveEvent) -> None:
        carried, self._carried = self._carried, None
        if carried is not None:
            carried.leave()
        event.accept()

    def drop(self, event: QDropEvent) -> None:
        carried, self._carried = self._carried, None
        if carried is None:
            event.ignore()
            return
        carried.drop(self._context.pointer_at(event.position(), event.modifiers()))
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()


class DropLayer:
    """A layer carried over the canvas.

    Args:
        context: what it works with.
        layer: what is carried.
    """

    def __init__(self, context: CanvasContext, layer: NewLayer) -> None:
        self._context = context
        self._layer = layer
        self._shown: tuple[Place, tuple[float, float] | None] | None = None

    def move(self, at: Pointer) -> None:
        """Show where the layer would go and what it would change."""
        place = self._place(at)
        corner = _corner(at.scene, place)
        if (place, corner) == self._shown:
            return
        self._shown = place, corner
        context = self._context
        state = context.document.state
        context.marks.show_wires({} if place.wire is None else {place.wire: "target"})
        context.marks.show_caught([place.before] if place.source else [])
        try:
            made = add_at_place(state, [self._layer], place, corner, context.document.open_block)
        except StudioError as error:
            context.overlay.hide_ghost()
            context.overlay.show_tip(error.message, at.view)
            return
        context.overlay.show_ghost(
            state, made.state, validate(made.state, context.document.data_facts)
        )
        below = context.view.view_point(context.overlay.ghost.area().bottomLeft()) - _TIP_AWAY
        context.overlay.show_tip(self._words(state, made.state, made.ids[0], place), below)

    def drop(self, at: Pointer) -> None:
        """Add it there, as one step, and select it."""
        place = self._place(at)
        corner = _corner(at.scene, place)
        self.leave()
        context = self._context
        document = context.document
        try:
            made = add_at_place(document.state, [self._layer], place, corner, document.open_block)
            document.apply(added_text([self._layer], made), made.state)
        except StudioError as error:
            context.studio.fail(error, EDIT)
            return
        context.studio.palette.used(self._layer.type_name)
        context.studio.quick_add.took(document.state, self._layer.type_name, place)
        context.select(made.ids[:1])
        context.view.setFocus()

    def leave(self) -> None:
        """The drag left the canvas: remove what it showed."""
        self._shown = None
        self._context.marks.end_gesture()
        self._context.overlay.clear()

    def _place(self, at: Pointer) -> Place:
        graph, state = self._context.graph, self._context.document.state
        reach = INSERT_REACH / self._context.navigation.zoom
        if not at.alt:
            for wire, _ in graph.wires_within(at.scene, reach):
                place = Place(wire=wire)
                if not preview_chain(state, [self._layer], wire=wire).message:
                    return place
        target = self._context.target_at(at)
        node = state.nodes.get(target.node)
        if node is not None and node.flows and not node.port and target.part != "fix":
            return Place(source=node.id)
        return NOWHERE

    def _words(
        self, before: DocumentState, after: DocumentState, node_id: str, place: Place
    ) -> str:
        """The shape it gives, and over a wire what changes in the whole network."""
        shape, name = flow_of(after).shape(node_id), after.nodes[node_id].name
        parts = [f"{name} {shape_label(shape)}" if shape is not None else name]
        if place.wire is not None:
            ghost = preview_chain(before, [self._layer], wire=place.wire)
            parts += [ghost.text] if ghost.text else []
        message = first_message(after, [node_id])
        return " · ".join([*parts, message] if message else parts)


class DropBlock:
    """A published block carried over the canvas.

    Args:
        context: what it works with.
        text: the block.
    """

    def __init__(self, context: CanvasContext, text: str) -> None:
        self._context = context
        self._text = text
        self._shown: tuple[float, float] | None = None

    def move(self, at: Pointer) -> None:
        """Show where the block would stand."""
        corner, context = _corner_at(at.scene), self._context
        if corner == self._shown:
            return
        self._shown = corner
        try:
            after = self._placed(corner).state
        except StudioError as error:
            context.overlay.hide_ghost()
            context.overlay.show_tip(error.message, at.view)
            return
        report = validate(after, context.document.data_facts)
        context.overlay.show_ghost(context.document.state, after, report)

    def drop(self, at: Pointer) -> None:
        """Place it there, as one step, and select it."""
        context = self._context
        self.leave()
        try:
            made = self._placed(_corner_at(at.scene))
            name = made.state.nodes[made.block].name
            context.document.apply(f"Add {name}", made.state)
        except StudioError as error:
            context.studio.fail(error, EDIT)
            return
        context.select([made.block])
        context.view.setFocus()

    def leave(self) -> None:
        """The drag left the canvas: remove what it showed."""
        self._shown = None
        self._context.overlay.clear()

    def _placed(self, corner: tuple[float, float]) -> Placed:
        document = self._context.document
        return place_block(document.state, self._text, NOWHERE, corner, document.open_block)


def _corner(at: QPointF, place: Place) -> tuple[float, float] | None:
    """Where the layer stands: held by the middle of its title, on the grid.

    Over another layer it would cover that: it gets a place beside it.
    """
    if place.source:
        return None
    return _corner_at(at)


def _corner_at(at: QPointF) -> tuple[float, float]:
    left, top = at.x() - NODE_WIDTH / 2, at.y() - TITLE_HEIGHT / 2
    return round(left / GRID) * GRID, round(top / GRID) * GRID
