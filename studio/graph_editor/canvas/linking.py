"""Ties the canvas to the one selection: marks what is hovered or selected in any view."""

from __future__ import annotations

from collections.abc import Iterable

from studio.graph_editor.editing.context import CANVAS, CanvasContext
from studio.session.compile.provenance import Provenance
from studio.session.compile.selection import Selection
from studio.session.core import entities
from studio.session.core.entities import Entity
from studio.session.document.levels import copies_of, shown_at


class Linking:
    """Hears the selection bus for the canvas.

    Args:
        context: what it works with.
    """

    def __init__(self, context: CanvasContext) -> None:
        self._context = context
        self._bus = context.bus
        self._marks = context.marks
        self._bus.hovered.connect(self._hovered)
        self._bus.selected.connect(self._selected)
        self._bus.revealed.connect(self._revealed)

    def refresh(self) -> None:
        """Mark everything again, after the drawing or the program changed."""
        self._marks.show_selection(self._bus.drawn)
        self._hovered(self._bus.hover_entity, CANVAS)

    def _hovered(self, entity: Entity | None, _source: str) -> None:
        provenance = self._context.studio.compilation.provenance
        self._marks.show_hover(entity, roles_of(entity, provenance))
        self._show_uses()

    def _selected(self, _selection: Selection, source: str) -> None:
        found = self._bus.drawn
        self._marks.show_selection(found)
        self._show_uses()
        primary = found.primary
        if source != CANVAS and primary is not None and primary.kind == "node":
            self._reveal([primary.key])

    def _show_uses(self) -> None:
        """Mark the other uses of what is selected or under the pointer, and copies of blocks.

        A use in a block that is not open is marked at the block.
        """
        state, hovered = self._context.document.state, self._bus.hover_entity
        meant = set(self._bus.drawn.of_kind("node"))
        meant |= {hovered.key} if hovered is not None and hovered.kind == "node" else set()
        blocks = [i for i in meant if i in state.nodes and state.nodes[i].is_block]
        others = {use for i in meant for use in state.uses_of(i)}
        others |= {copy for i in blocks for copy in copies_of(state, i)}
        level = self._context.open_block.id
        self._marks.show_uses({shown_at(state, i, level) for i in others - meant} - meant)

    def _revealed(self, entity: Entity, _source: str) -> None:
        found = self._bus.as_drawn(Selection((entity,), entity))
        self._reveal(found.of_kind("node"))

    def _reveal(self, node_ids: Iterable[str]) -> None:
        """Scroll to layers that are out of sight."""
        node_ids = list(node_ids)
        navigation = self._context.navigation
        before = navigation.place
        self._context.open_block.show(node_ids)
        entered = navigation.level != before.level
        if entered:
            navigation.remember(before)
        area = self._context.graph.area_of(node_ids)
        if not area.isEmpty():
            navigation.reveal(area, remember=not entered)


def roles_of(entity: Entity | None, provenance: Provenance | None) -> dict[str, str]:
    """The layers an instruction, tensor or kernel belongs to, and as what."""
    if entity is None or provenance is None or not provenance.exists(entity):
        return {}
    if entity.kind == "tensor":
        name, is_gradient = entities.tensor_name(entity)
        owner = provenance.node_of_tensor(name)
        return {owner: "backward" if is_gradient else "forward"} if owner else {}
    key = entities.kernel_parts(entity)[0] if entity.kind == "kernel" else entity.key
    index = provenance.index_of(key) if entity.kind in ("instruction", "kernel") else None
    return {} if index is None else {each.owner: each.role for each in provenance.nodes_of(index)}
