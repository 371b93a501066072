"""Dragging from the palette: a ghost of true size, where it would go and what it gives.

Over a wire it goes into the wire, on a layer behind it, elsewhere it stands by itself. A block goes
into a wire only if it has one input and one output.
"""

from __future__ import annotations

from abc import abstractmethod

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent

from studio.engine.core.errors import StudioError
from studio.engine.layers.graph import Port
from studio.graph_editor.editing.adding import block_in, layer_in
from studio.graph_editor.editing.context import CanvasContext, Pointer
from studio.graph_editor.editing.interactions.move_nodes import INSERT_REACH
from studio.session.document.adding.preview import first_message, preview_chain, preview_edit
from studio.session.document.adding.published_blocks import can_place, place_block
from studio.session.document.adding.quick_add import NOWHERE, Place, add_at_place, added_text
from studio.session.document.cards.geometry import GRID, NODE_WIDTH, TITLE_HEIGHT
from studio.session.document.cards.lines import shape_label
from studio.session.document.checks.lengths import shown_type
from studio.session.document.checks.validation import validate
from studio.session.document.edits.chains import Chained, NewLayer
from studio.session.document.finding.outline import feeder_text
from studio.session.document.levels import ports_in
from studio.session.document.state import Wire
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
        self._carried: Carried | None = None

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


class Carried:
    """Something of the palette carried over the canvas.

    Args:
        context: what it works with.
    """

    def __init__(self, context: CanvasContext) -> None:
        self._context = context
        self._shown: tuple[Place, tuple[float, float] | None] | None = None

    @abstractmethod
    def made(self, place: Place, corner: tuple[float, float] | None) -> Chained:
        """The document with it at a place, and what was added; StudioError where it cannot go."""

    @abstractmethod
    def fits_on(self, wire: Wire) -> bool:
        """Whether it may go into a wire."""

    @abstractmethod
    def words(self, made: Chained, place: Place) -> str:
        """What it would become there."""

    @abstractmethod
    def added(self, made: Chained, place: Place) -> str:
        """The name of the step that adds it."""

    def took(self, place: Place) -> None:
        """It was added."""

    def move(self, at: Pointer) -> None:
        """Show where it would go and what it would change."""
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
            made = self.made(place, corner)
        except StudioError as error:
            context.overlay.hide_ghost()
            context.overlay.show_tip(error.message, at.view)
            return
        context.overlay.show_ghost(
            state, made.state, validate(made.state, context.document.data_facts)
        )
        below = context.view.view_point(context.overlay.ghost.area().bottomLeft()) - _TIP_AWAY
        context.overlay.show_tip(self.words(made, place), below)

    def drop(self, at: Pointer) -> None:
        """Add it there, as one step, and select it."""
        place = self._place(at)
        corner = _corner(at.scene, place)
        self.leave()
        context = self._context
        try:
            made = self.made(place, corner)
            context.document.apply(self.added(made, place), made.state)
        except StudioError as error:
            context.studio.fail(error, EDIT)
            return
        self.took(place)
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
                if self.fits_on(wire):
                    return Place(wire=wire)
        target = self._context.target_at(at)
        node = state.nodes.get(target.node)
        if node is not None and node.flows and not node.port and target.part != "fix":
            return Place(source=node.id)
        return NOWHERE


class DropLayer(Carried):
    """A layer carried over the canvas.

    Args:
        context: what it works with.
        layer: what is carried.
    """

    def __init__(self, context: CanvasContext, layer: NewLayer) -> None:
        super().__init__(context)
        self._layer = layer

    def made(self, place: Place, corner: tuple[float, float] | None) -> Chained:
        document = self._context.document
        return add_at_place(document.state, [self._layer], place, corner, document.open_block)

    def fits_on(self, wire: Wire) -> bool:
        state = self._context.document.state
        return not preview_chain(state, [self._layer], wire=wire).message

    def words(self, made: Chained, place: Place) -> str:
        """The shape it gives, and over a wire what changes in the whole network."""
        before, after, node_id = self._context.document.state, made.state, made.ids[0]
        found, name = shown_type(after, Port(node_id)), after.nodes[node_id].name
        parts = [f"{name} {shape_label(found.sample)}" if found is not None else name]
        if place.wire is not None:
            ghost = preview_chain(before, [self._layer], wire=place.wire)
            parts += [ghost.text] if ghost.text else []
        message = first_message(after, [node_id])
        return " · ".join([*parts, message] if message else parts)

    def added(self, made: Chained, place: Place) -> str:
        return added_text([self._layer], made)

    def took(self, place: Place) -> None:
        """Remember it for the palette and the search."""
        studio = self._context.studio
        studio.palette.used(self._layer.type_name, self._layer.config)
        studio.quick_add.took(studio.document.state, self._layer.type_name, place)


class DropBlock(Carried):
    """A published block carried over the canvas.

    Args:
        context: what it works with.
        text: the block.
    """

    def __init__(self, context: CanvasContext, text: str) -> None:
        super().__init__(context)
        self._text = text
        self._fitting: dict[Wire, bool] = {}

    def made(self, place: Place, corner: tuple[float, float] | None) -> Chained:
        document = self._context.document
        made = place_block(document.state, self._text, place, corner, document.open_block)
        return Chained(made.state, (made.block,))

    def fits_on(self, wire: Wire) -> bool:
        if wire not in self._fitting:
            # The document does not change while something is carried.
            state = self._context.document.state
            self._fitting[wire] = can_place(state, self._text, Place(wire=wire))
        return self._fitting[wire]

    def words(self, made: Chained, place: Place) -> str:
        """What feeds it, and what changes in the whole network."""
        parts = [made.state.nodes[made.ids[0]].name]
        sources = [feeder_text(made.state, port) for dot in ports_in(made.state, made.ids[0])
                   for port in dot.inputs]  # fmt: skip
        parts += [f"after {sources[0]}"] if sources else []
        text = preview_edit(self._context.document.state, made.state).text
        return " · ".join([*parts, text] if text else parts)

    def added(self, made: Chained, place: Place) -> str:
        return f"Add {made.state.nodes[made.ids[0]].name}"


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
