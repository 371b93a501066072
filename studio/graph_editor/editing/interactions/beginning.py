"""Which gesture a press of a mouse button begins, by what is under the pointer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt

from studio.graph_editor.editing.interactions.interaction import Interaction, Pointer
from studio.graph_editor.editing.interactions.knife import Knife
from studio.graph_editor.editing.interactions.marquee import Marquee
from studio.graph_editor.editing.interactions.move_nodes import MoveNodes
from studio.graph_editor.editing.interactions.new_wire import MoveOutputs, NewWire
from studio.graph_editor.editing.interactions.pan import Pan
from studio.graph_editor.editing.interactions.press import Press
from studio.graph_editor.editing.interactions.resize import Resize
from studio.graph_editor.editing.picking import Target
from studio.graph_editor.items.marks import PortKey
from studio.session.compile.selection import Mode
from studio.session.core import entities
from studio.session.document.edits.wires import cut_wires
from studio.session.document.state import Wire

if TYPE_CHECKING:
    from studio.graph_editor.canvas.view import CanvasView


def gesture_for(
    canvas: CanvasView, button: Qt.MouseButton, target: Target, at: Pointer
) -> Interaction | None:
    """The gesture; None where the button has no meaning."""
    if button == Qt.MouseButton.MiddleButton or canvas.is_held(Qt.Key.Key_Space):
        return Pan(canvas, at)
    if button == Qt.MouseButton.RightButton:
        if at.control:
            return Press(canvas, at, None, lambda start: Knife(canvas, start))
        return Press(canvas, at, lambda end: canvas.open_menu(target, end), None)
    if button != Qt.MouseButton.LeftButton:
        return None
    if canvas.is_held(Qt.Key.Key_K):
        return Press(canvas, at, None, lambda start: Knife(canvas, start))
    return _left(canvas, target, at)


def _left(canvas: CanvasView, target: Target, at: Pointer) -> Interaction:
    if target.part == "fix" and target.fix is not None:
        fix, node_id = target.fix.fix, target.node
        return Press(canvas, at, lambda _end: canvas.fixes.apply(node_id, fix), None)
    if target.part == "handle":
        _select_pressed(canvas, target, at)
        return Press(canvas, at, None, lambda start: Resize(canvas, start, target.node))
    if target.part == "port" and target.port is not None:
        return _port(canvas, target.node, target.port, at)
    if target.part == "edge" and target.port is not None:
        key = target.port
        return Press(
            canvas, at, _clicker(canvas, target), lambda _start: _wire(canvas, target.node, key)
        )
    if target.part == "dot" and at.alt:
        return Press(canvas, at, lambda _end: _drop_wires(canvas, target.node, None), None)
    if target.node:
        _select_pressed(canvas, target, at)
        held = target.node
        return Press(canvas, at, _clicker(canvas, target), lambda start: _move(canvas, start, held))
    return Press(canvas, at, _clicker(canvas, target), lambda start: Marquee(canvas, start))


def _port(canvas: CanvasView, node_id: str, key: PortKey, at: Pointer) -> Interaction:
    if at.alt:
        return Press(canvas, at, lambda _end: _drop_wires(canvas, node_id, key), None)
    wires = canvas.document.state.wires_from(node_id)
    if at.control and key.side == "out" and wires:
        return Press(canvas, at, None, lambda _start: MoveOutputs(canvas, node_id))
    return Press(canvas, at, None, lambda _start: _wire(canvas, node_id, key))


def _move(canvas: CanvasView, at: Pointer, held: str) -> MoveNodes:
    """Moves the selection; what is dragged belongs to it, whichever keys are held."""
    entity = entities.node(held)
    if entity not in canvas.bus.selection:
        canvas.bus.select([entity], source=canvas.source, mode="add")
    return MoveNodes(canvas, at, held)


def _wire(canvas: CanvasView, node_id: str, key: PortKey) -> NewWire:
    """A new wire from a port, or the one that ends there, taken off."""
    inputs = canvas.document.state.nodes[node_id].inputs
    if key.side == "in" and key.slot < len(inputs):
        existing = Wire(inputs[key.slot], node_id, key.slot)
        return NewWire(canvas, existing.source, PortKey("out"), existing)
    return NewWire(canvas, node_id, key)


def _drop_wires(canvas: CanvasView, node_id: str, key: PortKey | None) -> None:
    """Remove the wires of a port, or of a dot."""
    state = canvas.document.state
    wires = list(state.wires_from(node_id)) if key is None or key.side == "out" else []
    if key is None or key.side == "in":
        inputs = enumerate(state.nodes[node_id].inputs)
        wires += [
            Wire(source, node_id, slot)
            for slot, source in inputs
            if key is None or slot == key.slot
        ]
    if wires:
        text = f"Disconnect wires of {state.nodes[node_id].name}"
        canvas.apply(text, lambda now: cut_wires(now, wires))


def _select_pressed(canvas: CanvasView, target: Target, at: Pointer) -> None:
    """What is taken hold of becomes the selection, unless it belongs to it."""
    entity = entities.node(target.node)
    if not (at.shift or at.control) and entity not in canvas.bus.selection:
        canvas.bus.select([entity], source=canvas.source)


def _clicker(canvas: CanvasView, target: Target) -> Callable[[Pointer], None]:
    """Selects what was clicked: alone, or with Shift or Ctrl in turn."""

    def click(at: Pointer) -> None:
        entity = target.entity
        many = at.shift or at.control
        if entity is not None:
            mode: Mode = "toggle" if many else "replace"
            canvas.bus.select([entity], source=canvas.source, mode=mode)
        elif not many:
            canvas.bus.clear(canvas.source)

    return click
