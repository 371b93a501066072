"""Dragging layers: they follow the pointer, and may be dropped into a wire or a block."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt

from studio.engine.core.errors import GraphError, StudioError
from studio.graph_editor.editing.context import Pointer
from studio.graph_editor.editing.interactions.interaction import Gestures, Interaction
from studio.graph_editor.items.block_item import BlockItem
from studio.session.document.cards.geometry import GRID
from studio.session.document.edits.block_places import move_to_level
from studio.session.document.edits.comments import inside_frame
from studio.session.document.edits.insertion import (
    Push,
    can_insert,
    free_ends,
    insert_on_wire,
)
from studio.session.document.edits.places import frames_around, move
from studio.session.document.levels import copies_of
from studio.session.document.state import DocumentState, Wire
from studio.session.notices.settling import UNDO

INSERT_REACH = 16.0
"""How near a wire must be, on the screen, for what is dragged to go into it."""


class MoveNodes(Interaction):
    """Moves the selection; one step of the history, however long the way.

    Over the card of a block it goes into the block. T turns round which way neighbours make room;
    with Alt it goes into no wire and no block.

    Args:
        gestures: where it begins and ends.
        at: where the button was pressed.
        held: the thing that was taken hold of.
    """

    cursor = Qt.CursorShape.ClosedHandCursor

    def __init__(self, gestures: Gestures, at: Pointer, held: str) -> None:
        super().__init__(gestures)
        state = self.context.document.state
        self._before = state
        self._start = at.scene
        self._held = held
        self._chosen = [i for i in self.context.selected_ids() if i in state.nodes] or [held]
        moved = dict.fromkeys(self._chosen)
        for node_id in self._chosen:
            if state.nodes[node_id].kind == "frame":
                moved.update(dict.fromkeys(inside_frame(state, node_id)))
        self._from = {i: (state.nodes[i].x, state.nodes[i].y) for i in moved}
        self._push: Push = "right"
        self._wire: Wire | None = None
        self._block = ""
        self._fitting: dict[Wire, bool] = {}
        self._fits = _has_free_ends(state, self._chosen)
        count = len(self._chosen)
        name = state.nodes[held].name
        self._text = f"Move {name}" if count == 1 else f"Move {count} items"
        self.context.document.begin_gesture(self._text)

    def move(self, at: Pointer) -> None:
        """Follow the pointer, in steps of the grid, and look for a wire to go into."""
        by = at.scene - self._start
        own_x, own_y = self._from[self._held]
        dx = _snapped(own_x + by.x()) - own_x
        dy = _snapped(own_y + by.y()) - own_y
        places = {i: (x + dx, y + dy) for i, (x, y) in self._from.items()}
        if not self.gestures.apply(self._text, lambda state: move(state, places)):
            return
        self._show_block("" if at.alt else self._block_at(at.scene), at)
        fits = self._fits and not at.alt and not self._block
        self._show_wire(self._nearest(at.scene) if fits else None)

    def key(self, key: int, at: Pointer) -> bool:
        """T makes the neighbours on the other side give way."""
        if key != Qt.Key.Key_T:
            return False
        self._push = "left" if self._push == "right" else "right"
        self._say(at)
        return True

    def release(self, at: Pointer) -> None:
        """Stay there, or go into the wire."""
        document, wire = self.context.document, None if at.alt else self._wire
        text = self._text
        block = "" if at.alt else self._block
        if block:
            self._enter(block)
            return
        if wire is not None:
            state = document.state
            ends = f"{state.nodes[wire.source].name} → {state.nodes[wire.target].name}"
            text = f"Insert {state.nodes[self._held].name} on {ends}"
            document.apply(text, insert_on_wire(state, self._chosen, wire, push=self._push))
        # What was dragged until its middle is outside has left its frame.
        held = frames_around(self._before, document.state, may_leave=wire is None)
        document.apply(text, held)
        document.commit_gesture(text)
        self.gestures.end()

    def cancel(self) -> None:
        self.context.document.cancel_gesture()

    def _enter(self, block: str) -> None:
        """Put what is dragged into a block, as one step; where that is refused it goes back."""
        document = self.context.document
        name = self._before.nodes[block].name
        try:
            made = move_to_level(self._before, self._chosen, block)
        except StudioError as error:
            document.cancel_gesture()
            self.gestures.end()
            self.context.studio.fail(error)
            return
        text = f"{self._text} into {name}"
        document.apply(text, made)
        document.commit_gesture(text)
        self.gestures.end()
        self.context.select([block])
        self._tell_of_copies(block)

    def _tell_of_copies(self, block: str) -> None:
        """Say where else layers were added: what goes into a linked copy is in all of them."""
        document, studio = self.context.document, self.context.studio
        if any(node.id not in self._before.nodes for node in document.state.layers()):
            count = len(copies_of(document.state, block)) - 1
            them = "another linked copy" if count == 1 else f"{count} other linked copies"
            said = f"Added to {them} of {document.state.nodes[block].name} too"
            studio.notify(said, "info", ("Undo", document.undo), about=UNDO)

    def _block_at(self, at: QPointF) -> str:
        """The block whose card the pointer is over, if it is not dragged itself."""
        area = QRectF(at.x() - 1, at.y() - 1, 2, 2)
        cards = (
            item.node.id
            for item in self.context.graph.nodes_near(area)
            if isinstance(item, BlockItem) and item.holds(at) and item.node.id not in self._from
        )
        return next(cards, "")

    def _show_block(self, block: str, at: Pointer) -> None:
        name = self._before.nodes[block].name if block else ""
        if block or self._block:
            self.context.overlay.show_tip(f"Move into {name}" if block else "", at.view)
        if block != self._block:
            self._block = block
            self.context.marks.show_caught([block] if block else [])

    def _nearest(self, at: QPointF) -> Wire | None:
        """The nearest wire within reach of the pointer or of the middle of what is dragged."""
        graph, zoom = self.context.graph, self.context.navigation.zoom
        middle = graph.area_of(self._chosen).center()
        reach = INSERT_REACH / zoom
        found: list[tuple[float, Wire]] = []
        for place in (at, middle):
            for wire, away in graph.wires_within(place, reach):
                found.append((away, wire))
        for _, wire in sorted(found):
            if wire not in self._fitting:
                # Only places change while it is dragged.
                state = self.context.document.state
                self._fitting[wire] = not can_insert(state, self._chosen, wire)
            if self._fitting[wire]:
                return wire
        return None

    def _show_wire(self, wire: Wire | None) -> None:
        if wire != self._wire:
            self._wire = wire
            self.context.marks.show_wires({} if wire is None else {wire: "target"})

    def _say(self, at: Pointer) -> None:
        side = "downstream" if self._push == "right" else "upstream"
        self.context.overlay.show_tip(f"Move layers {side} to make room", at.view)


def _has_free_ends(state: DocumentState, chosen: list[str]) -> bool:
    try:
        free_ends(state, chosen)
    except GraphError:
        return False
    return True


def _snapped(value: float) -> float:
    return round(value / GRID) * GRID
