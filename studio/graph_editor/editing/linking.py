"""Ties the canvas to the one selection: marks what is hovered or selected in any view."""

from __future__ import annotations

from collections.abc import Callable

from studio.graph_editor.scene.mark_book import MarkBook
from studio.graph_editor.scene.navigation import Navigation
from studio.graph_editor.scene.scene import GraphScene
from studio.session.compile.provenance import Provenance
from studio.session.compile.selection import Selection, SelectionBus
from studio.session.core import entities
from studio.session.core.entities import Entity

CANVAS = "canvas"
"""The canvas's name on the selection bus."""


class Linking:
    """Hears the selection bus for the canvas.

    Args:
        bus: the one selection.
        provenance: what the compiler knows of layers and instructions, while there is a program.
        graph: the drawing.
        marks: what is marked on it.
        navigation: scrolls to what was selected elsewhere and is out of sight.
    """

    def __init__(
        self,
        bus: SelectionBus,
        provenance: Callable[[], Provenance | None],
        graph: GraphScene,
        marks: MarkBook,
        navigation: Navigation,
    ) -> None:
        self._bus = bus
        self._provenance = provenance
        self._graph = graph
        self._marks = marks
        self._navigation = navigation
        bus.hovered.connect(self._hovered)
        bus.selected.connect(self._selected)
        bus.revealed.connect(self._revealed)

    def refresh(self) -> None:
        """Mark everything anew, after the drawing or the program changed."""
        self._marks.show_selection(self._bus.drawn)
        self._hovered(self._bus.hover_entity, CANVAS)

    def _hovered(self, entity: Entity | None, _source: str) -> None:
        self._marks.show_hover(entity, roles_of(entity, self._provenance()))

    def _selected(self, _selection: Selection, source: str) -> None:
        found = self._bus.drawn
        self._marks.show_selection(found)
        primary = found.primary
        if source != CANVAS and primary is not None and primary.kind == "node":
            area = self._graph.area_of([primary.key])
            if not area.isEmpty():
                self._navigation.reveal(area, remember=True)

    def _revealed(self, entity: Entity, _source: str) -> None:
        found = self._bus.as_drawn(Selection((entity,), entity))
        area = self._graph.area_of(found.of_kind("node"))
        if not area.isEmpty():
            self._navigation.reveal(area, remember=True)


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
