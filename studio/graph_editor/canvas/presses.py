"""Which gesture a press of a mouse button begins, by what is under the pointer."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPointF, Qt

from studio.engine.layers.graph import Port
from studio.graph_editor.editing.context import CANVAS, Pointer
from studio.graph_editor.editing.fix_offers import FixOffers
from studio.graph_editor.editing.interactions.interaction import Gestures, Interaction
from studio.graph_editor.editing.interactions.knife import Knife
from studio.graph_editor.editing.interactions.marquee import Marquee
from studio.graph_editor.editing.interactions.move_nodes import MoveNodes
from studio.graph_editor.editing.interactions.new_wire import MoveOutputs, NewWire
from studio.graph_editor.editing.interactions.pan import Pan
from studio.graph_editor.editing.interactions.press import Press
from studio.graph_editor.editing.interactions.resize import Resize
from studio.graph_editor.editing.picking import Target
from studio.graph_editor.items.block_item import PortItem
from studio.graph_editor.items.marks import PortKey
from studio.graph_editor.items.node_paint import PORT
from studio.session.compile.selection import Mode
from studio.session.core import entities
from studio.session.document.edits.wires import cut_wires

_AROUND_DOT = 2.0


class Presses:
    """Makes the gesture for a press.

    Args:
        gestures: where gestures begin and end.
        fixes: repairs that can be clicked.
        add_at: asks what to add at a point, connected to a port of a layer.
        open_menu: shows the context menu of a target.
    """

    def __init__(
        self,
        gestures: Gestures,
        fixes: FixOffers,
        add_at: Callable[[QPointF, str, PortKey], object],
        open_menu: Callable[[Target, Pointer], object],
    ) -> None:
        self._gestures = gestures
        self._context = gestures.context
        self._fixes = fixes
        self._add_at = add_at
        self._open_menu = open_menu

    def gesture_for(
        self, button: Qt.MouseButton, target: Target, at: Pointer, held: frozenset[int]
    ) -> Interaction | None:
        """The gesture; None where the button has no meaning.

        Args:
            button: what was pressed.
            target: what is under the pointer.
            at: where the pointer is.
            held: the keys that are held down: Space pans, K cuts.
        """
        gestures = self._gestures
        if button == Qt.MouseButton.MiddleButton or Qt.Key.Key_Space in held:
            return Pan(gestures, at)
        if button == Qt.MouseButton.RightButton:
            if at.control:
                return self._knife(at)
            return Press(gestures, at, lambda end: self._open_menu(target, end), None)
        if button != Qt.MouseButton.LeftButton:
            return None
        return self._knife(at) if Qt.Key.Key_K in held else self._left(target, at)

    def _knife(self, at: Pointer) -> Press:
        return Press(self._gestures, at, None, lambda start: Knife(self._gestures, start))

    def _left(self, target: Target, at: Pointer) -> Press:
        gestures = self._gestures
        if target.part == "fix" and target.fix is not None:
            fix, node_id = target.fix.fix, target.node
            return Press(gestures, at, lambda _end: self._fixes.apply(node_id, fix), None)
        if target.part == "handle":
            self._select_pressed(target, at)
            return Press(gestures, at, None, lambda start: Resize(gestures, start, target.node))
        if target.part == "port" and target.port is not None:
            return self._port(target, target.port, at)
        if target.part == "edge" and target.port is not None:
            key = target.port
            return Press(
                gestures, at, self._clicker(target), lambda _start: self._wire(target.node, key)
            )
        if target.part == "dot" and at.alt:
            return Press(gestures, at, lambda _end: self._drop_wires(target.node, None), None)
        if target.node:
            self._select_pressed(target, at)
            return Press(
                gestures, at, self._clicker(target), lambda start: self._move(start, target.node)
            )
        return Press(gestures, at, self._clicker(target), lambda start: Marquee(gestures, start))

    def _port(self, target: Target, key: PortKey, at: Pointer) -> Press:
        gestures, node_id = self._gestures, target.node
        if at.alt:
            return Press(gestures, at, lambda _end: self._drop_wires(node_id, key), None)
        click, card = self._chooser(node_id, key), self._card_beside_dot(node_id, key, at)
        if click is None and card:
            click = self._clicker(Target("body", card))
        wires = self._context.document.state.wires_from(Port(node_id, key.slot))
        if at.control and key.side == "out" and wires:
            return Press(gestures, at, click, lambda _start: MoveOutputs(gestures, node_id, key))
        return Press(gestures, at, click, lambda _start: self._wire(node_id, key))

    def _card_beside_dot(self, node_id: str, key: PortKey, at: Pointer) -> str:
        """The card a point is on that is near enough to a port to draw a wire, but not its dot."""
        item = self._context.graph.nodes[node_id]
        away = at.scene - item.port_place(key)
        if max(abs(away.x()), abs(away.y())) <= PORT + _AROUND_DOT:
            return ""
        card = item.block if isinstance(item, PortItem) else item
        return card.node.id if card.holds(at.scene) else ""

    def _chooser(self, node_id: str, key: PortKey) -> Callable[[Pointer], None] | None:
        """Selects a layer for one of its several outputs; None for other ports."""
        context = self._context
        if key.side == "in" or context.outputs_of(node_id) == 1:
            return None

        def choose(_at: Pointer) -> None:
            context.select([node_id])
            context.choose_output(Port(node_id, key.slot))

        return choose

    def _move(self, at: Pointer, held: str) -> MoveNodes:
        """Moves the selection; what is dragged joins it, whatever keys are held."""
        entity, bus = entities.node(held), self._context.bus
        if entity not in bus.selection:
            bus.select([entity], source=CANVAS, mode="add")
        return MoveNodes(self._gestures, at, held)

    def _wire(self, node_id: str, key: PortKey) -> NewWire:
        """A new wire from a port, or the one that ends there, taken off."""
        wires = self._context.document.state.wires_into(node_id)
        if key.side == "in" and key.slot < len(wires):
            existing = wires[key.slot]
            source, out = existing.source, PortKey("out", existing.output)
            return NewWire(self._gestures, source, out, self._add_at, existing)
        return NewWire(self._gestures, node_id, key, self._add_at)

    def _drop_wires(self, node_id: str, key: PortKey | None) -> None:
        """Remove the wires of a port, or of a dot."""
        state = self._context.document.state
        leaving = state.wires_from(node_id)
        wires = [w for w in leaving if key is None or key == PortKey("out", w.output)]
        coming = state.wires_into(node_id)
        wires += [w for w in coming if key is None or key == PortKey("in", w.slot)]
        if wires:
            text = f"Disconnect wires of {state.nodes[node_id].name}"
            self._context.apply(text, lambda now: cut_wires(now, wires))

    def _select_pressed(self, target: Target, at: Pointer) -> None:
        """Select what was pressed, unless it belongs to the selection."""
        is_selected = entities.node(target.node) in self._context.bus.selection
        if not (at.shift or at.control or is_selected):
            self._context.select([target.node])

    def _clicker(self, target: Target) -> Callable[[Pointer], None]:
        """Selects what was clicked: alone, or with Shift or Ctrl in turn."""
        bus = self._context.bus

        def click(at: Pointer) -> None:
            entity = target.entity
            many = at.shift or at.control
            if entity is not None:
                mode: Mode = "toggle" if many else "replace"
                bus.select([entity], source=CANVAS, mode=mode)
            elif not many:
                bus.clear(CANVAS)

        return click
