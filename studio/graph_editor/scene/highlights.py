"""What is marked on the canvas: by the selection, the pointer and the gesture going on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from studio.engine.core.signal import Signal
from studio.engine.layers.graph import Port
from studio.graph_editor.items.colours import SHARED
from studio.graph_editor.items.marks import Marks, PortKey, PortMark
from studio.graph_editor.scene.scene import GraphScene
from studio.session.compile.selection import Selection
from studio.session.core import entities
from studio.session.core.entities import Entity
from studio.session.document.state import Wire


class Highlights:
    """Marks of all layers and wires, from the selection, the pointer and the gesture going on.

    Args:
        scene: whose items are marked.
    """

    def __init__(self, scene: GraphScene) -> None:
        self.changed: Signal[[]] = Signal()
        self._scene = scene
        self._selected: dict[str, bool] = {}
        self._wires_selected: frozenset[Wire] = frozenset()
        self._hovered: Entity | None = None
        self._linked: Mapping[str, str] = {}
        self._uses: frozenset[str] = frozenset()
        self._caught: frozenset[str] = frozenset()
        self._let_go: frozenset[str] = frozenset()
        self._dimmed: frozenset[str] = frozenset()
        self._ports: Mapping[str, Mapping[PortKey, PortMark]] = {}
        self._wires: Mapping[Wire, str] = {}
        self._chosen: Port | None = None

    def show_selection(self, selection: Selection) -> None:
        """Mark the selected layers and wires."""
        before = {*self._selected}
        primary = selection.primary
        keys = selection.of_kind("node")
        self._selected = {
            key: primary is not None and (primary.kind, primary.key) == ("node", key)
            for key in keys
        }
        wires = (e for e in selection.entities if e.kind == "wire")
        self._wires_selected = frozenset(Wire(*entities.wire_ends(e)) for e in wires)
        self._show_nodes(before | {*self._selected})
        self._show_wires()

    def show_hover(self, entity: Entity | None, linked: Mapping[str, str]) -> None:
        """Mark what the pointer is over, and the layers that belong to it with their roles."""
        before = {*self._linked, *self._node_of(self._hovered)}
        self._hovered, self._linked = entity, linked
        self._show_nodes(before | {*linked, *self._node_of(entity)})
        self._show_wires()

    def show_uses(self, uses: Iterable[str]) -> None:
        """Mark the other uses of shared layers that are selected or under the pointer."""
        before = self._uses
        self._uses = frozenset(uses)
        if self._uses != before:
            self._show_nodes(before | self._uses)

    def show_caught(self, caught: Iterable[str], let_go: Iterable[str] = ()) -> None:
        """Mark what a marquee would add to the selection, and what it would take out."""
        before = self._caught | self._let_go
        self._caught, self._let_go = frozenset(caught), frozenset(let_go)
        self._show_nodes(before | self._caught | self._let_go)

    def show_ports(
        self, ports: Mapping[str, Mapping[PortKey, PortMark]], dimmed: Iterable[str] = ()
    ) -> None:
        """Mark ports, and dim layers that refuse what is dragged."""
        before = {*self._ports, *self._dimmed}
        self._ports, self._dimmed = ports, frozenset(dimmed)
        self._show_nodes(before | {*self._ports} | self._dimmed)

    def show_chosen(self, output: Port | None) -> None:
        """Mark the output that keys and menu act on; None for no choice."""
        before, self._chosen = self._chosen, output
        self._show_nodes({port.node for port in (before, output) if port is not None})

    def show_wires(self, wires: Mapping[Wire, str]) -> None:
        """Mark wires that would be cut, or where something would be inserted."""
        self._wires = wires
        self._show_wires()

    def end_gesture(self) -> None:
        """Forget what a gesture marked."""
        self.show_caught(())
        self.show_ports({})
        self.show_wires({})

    def refresh(self) -> None:
        """Show all marks again, after items were replaced."""
        self._show_nodes(self._scene.nodes)
        self._show_wires()

    def of(self, node_id: str) -> Marks:
        """The marks of one layer."""
        selected = self._selected.get(node_id)
        if node_id in self._let_go:
            selected = None
        return Marks(
            selected="" if selected is None else "primary" if selected else "other",
            hovered=node_id in self._node_of(self._hovered),
            linked=self._linked.get(node_id, SHARED if node_id in self._uses else ""),
            caught=node_id in self._caught,
            dimmed=node_id in self._dimmed,
            ports=self._ports.get(node_id) or self._chosen_of(node_id),
        )

    def _chosen_of(self, node_id: str) -> Mapping[PortKey, PortMark]:
        if self._chosen is None or self._chosen.node != node_id:
            return {}
        return {PortKey("out", self._chosen.output): "chosen"}

    def _show_nodes(self, node_ids: Iterable[str]) -> None:
        for node_id in node_ids:
            item = self._scene.nodes.get(node_id)
            if item is not None:
                item.show_marks(self.of(node_id))
        self.changed.emit()

    def _show_wires(self) -> None:
        hovered = None
        if self._hovered is not None and self._hovered.kind == "wire":
            hovered = Wire(*entities.wire_ends(self._hovered))
        for wire, item in self._scene.wires.items():
            marked = self._wires.get(wire, "")
            if not marked and wire == hovered:
                marked = "hover"
            if not marked and wire in self._wires_selected:
                marked = "selected"
            item.mark(marked)

    @staticmethod
    def _node_of(entity: Entity | None) -> tuple[str, ...]:
        return (entity.key,) if entity is not None and entity.kind == "node" else ()
