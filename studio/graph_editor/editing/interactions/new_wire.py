"""Drawing a wire: from a port, from a layer's edge, or an existing one taken off its input."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPointF, Qt

from studio.engine.layers.graph import Port
from studio.graph_editor.editing.context import Pointer
from studio.graph_editor.editing.interactions.interaction import Gestures, Interaction
from studio.graph_editor.editing.interactions.wire_end import WireEnd, WireEnds
from studio.graph_editor.items.marks import PortKey
from studio.graph_editor.items.wire_paths import loose_path
from studio.session.document.edits.link_offers import (
    link_offer,
    linked,
    offers_from,
    offers_into,
    offers_to_move,
)
from studio.session.document.edits.wires import disconnect, move_outputs
from studio.session.document.state import DocumentState, Wire


class NewWire(Interaction):
    """A wire from a port to where the pointer is.

    Released at a port or on a layer it connects; just beside a port it springs back; on empty
    canvas it asks what to add there. With Shift held nothing happens, or it asks, by preference.

    Args:
        gestures: where it begins and ends.
        node_id: the layer or dot it begins at.
        key: the port it begins at.
        add_at: asks what to add at a point, connected to a port of a layer.
        existing: a wire that was taken off its input, to end elsewhere.
    """

    cursor = Qt.CursorShape.CrossCursor

    def __init__(
        self,
        gestures: Gestures,
        node_id: str,
        key: PortKey,
        add_at: Callable[[QPointF, str, PortKey], object],
        existing: Wire | None = None,
    ) -> None:
        super().__init__(gestures)
        self.node_id = node_id
        self.port = key
        self._add_at = add_at
        self._existing = existing
        graph = self.context.graph
        self._base = self.context.document.state
        if existing is not None:
            self._base = disconnect(self._base, existing.target, existing.slot)
            graph.wires[existing].setOpacity(0.0)
            graph.wires[existing].chip.setOpacity(0.0)
        self._start = graph.port_place(node_id, key)
        if self.forward:
            self._ends = WireEnds(graph, "in", offers_from(self._base, self._output(key)))
        else:
            slot = key.slot if key.slot < len(self._base.nodes[node_id].inputs) else None
            self._ends = WireEnds(graph, "out", offers_into(self._base, node_id, slot))
        self._end = WireEnd()
        self._shown: WireEnd | None = None

    def _output(self, key: PortKey, node_id: str = "") -> Port:
        """The output a port stands for, of the layer it begins at unless another is named."""
        return Port(node_id or self.node_id, key.slot)

    @property
    def forward(self) -> bool:
        """Whether it leads from an output to an input."""
        return self.port.side == "out"

    def move(self, at: Pointer) -> None:
        """Lead the wire to the pointer, or to the port it snaps to."""
        self._end = self._found(at)
        end, overlay = self._end, self.context.overlay
        place = at.scene
        if end.place == "port" and end.port is not None and end.offer.accepted:
            place = self.context.graph.port_place(end.node, end.port)
        style = self.context.graph.wire_style
        refused = end.place in ("port", "body") and not end.offer.accepted
        overlay.show_wires([loose_path(self._start, place, style, self.forward)], refused=refused)
        overlay.show_tip(end.offer.reason if end.place in ("port", "body") else "", at.view)
        if end != self._shown:
            self._shown = end
            self.context.marks.show_ports(*self._ends.marks(end))

    def release(self, at: Pointer) -> None:
        """Connect, spring back, disconnect, or ask what to add."""
        end = self._found(at)
        searching = self._asks_on_release(shift=at.shift)
        self._restore()
        self.gestures.end()
        if at.shift and not (end.place == "empty" and searching):
            return
        if end.place == "miss" or (end.place == "port" and not end.offer.accepted):
            self._blink(end)
        elif end.place in ("port", "body"):
            self._connect(end)
        elif end.place == "empty" and self._existing is not None:
            self._disconnect()
        elif end.place == "empty" and searching:
            self._add_at(at.scene, self.node_id, self.port)

    def cancel(self) -> None:
        self._restore()

    def _found(self, at: Pointer) -> WireEnd:
        """Where the pointer is; a port that is taken says whether its wire may be replaced."""
        end = self._ends.at(at.scene, self.context.navigation.zoom)
        if end.place != "port" or end.port is None:
            return end
        if not self.forward:
            if end.port.slot:
                source = self._output(end.port, end.node)
                wired = self._base.nodes[self.node_id].inputs
                slot = self.port.slot if self.port.slot < len(wired) else None
                return end._replace(offer=link_offer(self._base, source, self.node_id, slot))
            return end
        if end.port.slot < len(self._base.nodes[end.node].inputs):
            offer = link_offer(self._base, self._output(self.port), end.node, end.port.slot)
            return end._replace(offer=offer)
        return end

    def _connect(self, end: WireEnd) -> None:
        if not end.offer.accepted:
            return
        source, target = self._output(self.port), end.node
        if not self.forward:
            source, target = self._output(end.port or PortKey("out"), end.node), self.node_id
        made = linked(self._base, source, target, end.offer)
        self.context.apply(f"Connect {_ends_text(made, source.node, target)}", lambda _state: made)

    def _disconnect(self) -> None:
        wire, made = self._existing, self._base
        if wire is not None:
            text = _ends_text(made, wire.source, wire.target)
            self.context.apply(f"Disconnect {text}", lambda _state: made)

    def _blink(self, end: WireEnd) -> None:
        """The port that was missed shows itself for a moment."""
        self.gestures.show_briefly(self._ends.marks(end, blink=True)[0])

    def _asks_on_release(self, *, shift: bool) -> bool:
        """Whether a wire dropped on empty canvas asks what to add, by preference."""
        wanted = self.context.studio.preferences.text("search_on_release")
        return not shift if wanted == "always" else shift and wanted == "with shift"

    def _restore(self) -> None:
        item = None if self._existing is None else self.context.graph.wires.get(self._existing)
        if item is not None:
            item.setOpacity(1.0)
            item.chip.setOpacity(1.0)


class MoveOutputs(Interaction):
    """All wires of an output are led to another output.

    Args:
        gestures: where it begins and ends.
        node_id: the layer whose wires they are.
        key: the output they leave.
    """

    cursor = Qt.CursorShape.CrossCursor

    def __init__(self, gestures: Gestures, node_id: str, key: PortKey) -> None:
        super().__init__(gestures)
        self._port = Port(node_id, key.slot)
        state = self.context.document.state
        self._places: list[QPointF] = [
            self.context.graph.port_place(wire.target, PortKey("in", wire.slot))
            for wire in state.wires_from(self._port)
        ]
        self._ends = WireEnds(self.context.graph, "out", offers_to_move(state, self._port))

    def move(self, at: Pointer) -> None:
        """Lead all the wires from where the pointer is."""
        end = self._ends.at(at.scene, self.context.navigation.zoom)
        style = self.context.graph.wire_style
        paths = [loose_path(at.scene, place, style, forward=True) for place in self._places]
        refused = end.place in ("port", "body") and not end.offer.accepted
        self.context.overlay.show_wires(paths, refused=refused)
        self.context.overlay.show_tip(
            end.offer.reason if end.place in ("port", "body") else "", at.view
        )
        self.context.marks.show_ports(*self._ends.marks(end))

    def release(self, at: Pointer) -> None:
        """Move them, if the layer there takes their place."""
        end = self._ends.at(at.scene, self.context.navigation.zoom)
        self.gestures.end()
        if end.place in ("port", "body") and end.offer.accepted and not at.shift:
            source, to = self._port, Port(end.node, end.port.slot if end.port else 0)
            text = f"Move wires of {self.context.document.state.nodes[source.node].name}"
            self.context.apply(text, lambda state: move_outputs(state, source, to))


def _ends_text(state: DocumentState, source: str, target: str) -> str:
    return f"{state.nodes[source].name} → {state.nodes[target].name}"
