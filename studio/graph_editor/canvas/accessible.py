"""The canvas for screen readers: a list with one named item for each layer and each wire.

Qt itself shows them only the viewport, whatever a scene holds.
"""

from __future__ import annotations

import weakref
from abc import abstractmethod

import shiboken6
from PySide6.QtCore import QObject, QPoint, QRect, QRectF
from PySide6.QtGui import (
    QAccessible,
    QAccessibleEvent,
    QAccessibleInterface,
    QAccessibleObject,
    QWindow,
)

from studio.graph_editor.editing.context import CanvasContext
from studio.graph_editor.editing.picking import WIRE_REACH, pick_wire
from studio.session.core import entities
from studio.session.core.entities import Entity
from studio.session.document.finding.outline import accessible_text, accessible_wire_text
from studio.session.document.flow import flow_of
from studio.session.document.levels import path_of
from studio.session.document.state import Wire


class AccessibleThing(QAccessibleInterface):
    """Something on the canvas.

    Args:
        context: the canvas it is drawn on.
        entity: what it is, as the selection knows it.
    """

    def __init__(self, context: CanvasContext, entity: Entity) -> None:
        super().__init__()
        self._context = context
        self._view = context.view
        self.entity = entity

    @abstractmethod
    def is_there(self) -> bool:
        """Whether the canvas still shows it."""

    @abstractmethod
    def name(self) -> str:
        """Its accessible name."""

    @abstractmethod
    def area(self) -> QRectF:
        """Where it is on the canvas."""

    def isValid(self) -> bool:
        return shiboken6.isValid(self._view) and self.is_there()

    def object(self) -> QObject | None:  # type: ignore[override]
        return None

    def window(self) -> QWindow | None:  # type: ignore[override]
        return self._view.window().windowHandle()

    def parent(self) -> QAccessibleInterface:
        return QAccessible.queryAccessibleInterface(self._view)

    def child(self, index: int) -> QAccessibleInterface | None:  # type: ignore[override]
        return None

    def childAt(self, x: int, y: int) -> QAccessibleInterface | None:  # type: ignore[override]
        return None

    def childCount(self) -> int:
        return 0

    def indexOfChild(self, child: QAccessibleInterface) -> int:
        return -1

    def role(self) -> QAccessible.Role:
        return QAccessible.Role.ListItem

    def rect(self) -> QRect:
        seen = self._view.viewportTransform().mapRect(self.area()).toRect()
        corner = self._view.viewport().mapToGlobal(seen.topLeft())
        return QRect(corner, seen.size())

    def text(self, kind: QAccessible.Text) -> str:
        return self.name() if kind == QAccessible.Text.Name and self.isValid() else ""

    def setText(self, kind: QAccessible.Text, text: str) -> None:
        return

    def state(self) -> QAccessible.State:
        made = QAccessible.State()
        made.selectable = True
        made.focusable = True
        selection = self._context.bus.drawn
        made.selected = self.entity in selection
        made.focused = self.entity == selection.primary and self._view.hasFocus()
        return made


class AccessibleLayer(AccessibleThing):
    """One layer, note or frame.

    Args:
        context: the canvas it is drawn on.
        node_id: its id.
    """

    def __init__(self, context: CanvasContext, node_id: str) -> None:
        super().__init__(context, entities.node(node_id))
        self.node_id = node_id

    def is_there(self) -> bool:
        return self.node_id in self._context.graph.nodes

    def name(self) -> str:
        graph = self._context.graph
        said = accessible_text(graph.state, graph.report, self.node_id)
        chosen = self._context.bus.acting_output
        if chosen is not None and chosen.node == self.node_id:
            said = f"Output {chosen.output} chosen, {said}"
        return said

    def area(self) -> QRectF:
        return self._context.graph.area_of([self.node_id])


class AccessibleWire(AccessibleThing):
    """One wire, from a layer or bend to the next.

    Args:
        context: the canvas it is drawn on.
        wire: which.
    """

    def __init__(self, context: CanvasContext, wire: Wire) -> None:
        super().__init__(context, entities.wire(*wire))
        self.wire = wire

    def is_there(self) -> bool:
        return self.wire in self._context.graph.wires

    def name(self) -> str:
        graph = self._context.graph
        return accessible_wire_text(graph.state, graph.report, self.wire)

    def area(self) -> QRectF:
        return self._context.graph.wires[self.wire].sceneBoundingRect()


class AccessibleCanvas(QAccessibleObject):
    """The canvas as a list: its layers in running order, notes and frames, then the wires.

    Args:
        context: the canvas it stands for.
    """

    def __init__(self, context: CanvasContext) -> None:
        super().__init__(context.view)
        self._context = context
        self._view = context.view
        self._things: dict[Entity, AccessibleThing] = {}

    def thing(self, what: str | Wire) -> AccessibleThing:
        """The item of a layer, by its id, or of a wire."""
        entity = _entity(what)
        found = self._things.get(entity)
        if found is None:
            if isinstance(what, str):
                found = AccessibleLayer(self._context, what)
            else:
                found = AccessibleWire(self._context, what)
            self._things[entity] = found
        return found

    def forget_gone(self) -> None:
        """What the canvas shows no more is not spoken of any more."""
        for entity, gone in tuple(self._things.items()):
            if not gone.is_there():
                del self._things[entity]
                # Readers may still hold it, so it is Qt that has to end it.
                QAccessible.deleteAccessibleInterface(QAccessible.uniqueId(gone))

    def parent(self) -> QAccessibleInterface:
        above = self._view.parentWidget() or self._view.window()
        return QAccessible.queryAccessibleInterface(above)

    def child(self, index: int) -> QAccessibleInterface | None:  # type: ignore[override]
        spoken = self._spoken()
        return self.thing(spoken[index]) if 0 <= index < len(spoken) else None

    def childAt(self, x: int, y: int) -> QAccessibleInterface | None:  # type: ignore[override]
        view, graph = self._view, self._context.graph
        at = view.mapToScene(view.viewport().mapFromGlobal(QPoint(x, y)))
        for node_id in self._running():
            if graph.area_of([node_id]).contains(at):
                return self.thing(node_id)
        found = pick_wire(graph, at, WIRE_REACH / view.viewportTransform().m11())
        if found is not None and found.wire is not None:
            return self.thing(found.wire)
        lying = (i for i in self._lying() if graph.area_of([i]).contains(at))
        return next((self.thing(node_id) for node_id in lying), None)

    def childCount(self) -> int:
        return len(self._spoken())

    def indexOfChild(self, child: QAccessibleInterface) -> int:
        # The wires are many: an item is made only of what is asked for.
        spoken = [_entity(what) for what in self._spoken()]
        if not isinstance(child, AccessibleThing) or child.entity not in spoken:
            return -1
        return spoken.index(child.entity)

    def focusChild(self) -> QAccessibleInterface | None:  # type: ignore[override]
        primary, graph = self._context.bus.drawn.primary, self._context.graph
        if primary is None:
            return None
        if primary.kind == "wire":
            wire = Wire(*entities.wire_ends(primary))
            return self.thing(wire) if wire in graph.wires else None
        return self.thing(primary.key) if primary.key in graph.nodes else None

    def role(self) -> QAccessible.Role:
        return QAccessible.Role.List

    def state(self) -> QAccessible.State:
        made = QAccessible.State()
        made.focusable = True
        made.focused = self._view.hasFocus()
        made.multiSelectable = True
        return made

    def text(self, kind: QAccessible.Text) -> str:
        if kind == QAccessible.Text.Name:
            graph = self._context.graph
            if graph.level:
                count = len(self._running())
                inside = path_of(graph.state, graph.level)
                return f"Inside of block {inside}, {count} item{'' if count == 1 else 's'}"
            count = sum(1 for _ in graph.state.layers())
            return f"Canvas, {count} layer{'' if count == 1 else 's'}"
        return ""

    def window(self) -> QWindow | None:  # type: ignore[override]
        return self._view.window().windowHandle()

    def _spoken(self) -> list[str | Wire]:
        """What is spoken of; bends of wires are not, only the wires between them."""
        drawn = self._context.graph.wires
        wires = (wire for wire in self._context.graph.state.wires() if wire in drawn)
        return [*self._running(), *self._lying(), *wires]

    def _running(self) -> list[str]:
        state, shown = self._context.graph.state, self._context.graph.seen
        order = flow_of(shown).order
        return [i for i in order if shown.nodes[i].is_layer or state.nodes[i].port]

    def _lying(self) -> list[str]:
        """Notes and frames."""
        return [i for i, node in self._context.graph.seen.nodes.items() if not node.flows]


def _entity(what: str | Wire) -> Entity:
    return entities.node(what) if isinstance(what, str) else entities.wire(*what)


class _Factory:
    """Makes the interface of a canvas when a reader first asks for it."""

    def __init__(self) -> None:
        self.made: weakref.WeakKeyDictionary[QObject, AccessibleCanvas] = (
            weakref.WeakKeyDictionary()
        )
        self.installed = False

    def __call__(self, _name: str, asked: QObject | None) -> QAccessibleInterface | None:
        context = getattr(asked, "context", None)
        if asked is None or not isinstance(context, CanvasContext):
            return None
        found = self.made.get(asked)
        if found is None:
            found = self.made[asked] = AccessibleCanvas(context)
        return found


_factory = _Factory()


def install() -> None:
    """Have readers find the layers and wires of every canvas; once for the application."""
    if not _factory.installed:
        _factory.installed = True
        QAccessible.installFactory(_factory)


def changed(context: CanvasContext) -> None:
    """Layers or wires may have left the canvas."""
    made = _factory.made.get(context.view)
    if made is not None and shiboken6.isValid(made):
        made.forget_gone()


def primary_changed(context: CanvasContext) -> None:
    """Another layer, wire or output is the one that keys act on: readers say so."""
    made = _factory.made.get(context.view)
    if made is None or not shiboken6.isValid(made) or not context.view.hasFocus():
        return
    thing = made.focusChild()
    if thing is not None:
        QAccessible.updateAccessibility(QAccessibleEvent(thing, QAccessible.Event.Focus))
