"""The canvas for screen readers: a list with one named item for each layer.

Qt itself shows them only the viewport, whatever a scene holds.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import QObject, QRect
from PySide6.QtGui import (
    QAccessible,
    QAccessibleEvent,
    QAccessibleInterface,
    QAccessibleObject,
    QWindow,
)

from studio.graph_editor.model.flow import flow_of
from studio.graph_editor.model.outline import accessible_text

if TYPE_CHECKING:
    from studio.graph_editor.view.canvas import CanvasView


class AccessibleLayer(QAccessibleInterface):
    """One layer, note or frame.

    Args:
        canvas: what it is drawn on.
        node_id: its id.
    """

    def __init__(self, canvas: CanvasView, node_id: str) -> None:
        super().__init__()
        self._canvas = canvas
        self.node_id = node_id

    def isValid(self) -> bool:
        return shiboken6.isValid(self._canvas) and self.node_id in self._canvas.graph.nodes

    def object(self) -> QObject | None:  # type: ignore[override]
        return None

    def window(self) -> QWindow | None:  # type: ignore[override]
        return self._canvas.window().windowHandle()

    def parent(self) -> QAccessibleInterface:
        return QAccessible.queryAccessibleInterface(self._canvas)

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
        canvas = self._canvas
        area = canvas.graph.area_of([self.node_id])
        seen = canvas.viewportTransform().mapRect(area).toRect()
        corner = canvas.viewport().mapToGlobal(seen.topLeft())
        return QRect(corner, seen.size())

    def text(self, kind: QAccessible.Text) -> str:
        if kind != QAccessible.Text.Name or not self.isValid():
            return ""
        graph = self._canvas.graph
        return accessible_text(graph.state, graph.report, self.node_id)

    def setText(self, kind: QAccessible.Text, text: str) -> None:
        return

    def state(self) -> QAccessible.State:
        made = QAccessible.State()
        made.selectable = True
        made.focusable = True
        made.selected = self.node_id in self._canvas.selected_ids()
        primary = self._canvas.bus.selection.primary
        is_current = primary is not None and primary.key == self.node_id
        made.focused = is_current and self._canvas.hasFocus()
        return made


class AccessibleCanvas(QAccessibleObject):
    """The canvas as a list of its layers in running order, then notes and frames.

    Args:
        canvas: what it stands for.
    """

    def __init__(self, canvas: CanvasView) -> None:
        super().__init__(canvas)
        self._canvas = canvas
        self._layers: dict[str, AccessibleLayer] = {}

    def layer(self, node_id: str) -> AccessibleLayer:
        """The item of a layer."""
        found = self._layers.get(node_id)
        if found is None:
            found = self._layers[node_id] = AccessibleLayer(self._canvas, node_id)
        return found

    def forget(self, node_ids: Iterable[str]) -> None:
        """Layers that are gone are not spoken of any more."""
        for node_id in node_ids:
            gone = self._layers.pop(node_id, None)
            if gone is not None:
                # Readers may still hold it, so it is Qt that has to end it.
                QAccessible.deleteAccessibleInterface(QAccessible.uniqueId(gone))

    def parent(self) -> QAccessibleInterface:
        above = self._canvas.parentWidget() or self._canvas.window()
        return QAccessible.queryAccessibleInterface(above)

    def child(self, index: int) -> QAccessibleInterface | None:  # type: ignore[override]
        ids = self._ids()
        return self.layer(ids[index]) if 0 <= index < len(ids) else None

    def childAt(self, x: int, y: int) -> QAccessibleInterface | None:  # type: ignore[override]
        found = (self.layer(node_id) for node_id in self._ids())
        return next((each for each in found if each.rect().contains(x, y)), None)

    def childCount(self) -> int:
        return len(self._ids())

    def indexOfChild(self, child: QAccessibleInterface) -> int:
        ids = self._ids()
        return ids.index(child.node_id) if isinstance(child, AccessibleLayer) else -1

    def focusChild(self) -> QAccessibleInterface | None:  # type: ignore[override]
        primary = self._canvas.bus.selection.primary
        known = primary is not None and primary.key in self._canvas.graph.nodes
        return self.layer(primary.key) if primary is not None and known else None

    def role(self) -> QAccessible.Role:
        return QAccessible.Role.List

    def state(self) -> QAccessible.State:
        made = QAccessible.State()
        made.focusable = True
        made.focused = self._canvas.hasFocus()
        made.multiSelectable = True
        return made

    def text(self, kind: QAccessible.Text) -> str:
        if kind == QAccessible.Text.Name:
            count = sum(1 for _ in self._canvas.graph.state.layers())
            return f"Canvas, {count} layer{'' if count == 1 else 's'}"
        return ""

    def window(self) -> QWindow | None:  # type: ignore[override]
        return self._canvas.window().windowHandle()

    def _ids(self) -> list[str]:
        """What is spoken of, in running order; bends of wires are not."""
        state = self._canvas.graph.state
        running = [i for i in flow_of(state).order if state.nodes[i].is_layer]
        return [*running, *(i for i, node in state.nodes.items() if not node.flows)]


class _Factory:
    """Makes the interface of a canvas when a reader first asks for it."""

    def __init__(self) -> None:
        self.made: weakref.WeakKeyDictionary[QObject, AccessibleCanvas] = (
            weakref.WeakKeyDictionary()
        )
        self.installed = False

    def __call__(self, _name: str, asked: QObject | None) -> QAccessibleInterface | None:
        if asked is None or not getattr(asked, "speaks_of_layers", False):
            return None
        found = self.made.get(asked)
        if found is None:
            found = self.made[asked] = AccessibleCanvas(asked)  # type: ignore[arg-type]
        return found


_factory = _Factory()


def install() -> None:
    """Have readers find the layers of every canvas; once for the application."""
    if not _factory.installed:
        _factory.installed = True
        QAccessible.installFactory(_factory)


def nodes_gone(canvas: CanvasView, node_ids: Iterable[str]) -> None:
    """Layers left the canvas."""
    made = _factory.made.get(canvas)
    if made is not None and shiboken6.isValid(made):
        made.forget(node_ids)


def primary_changed(canvas: CanvasView) -> None:
    """Another layer is the one that keys act on: readers say so."""
    made = _factory.made.get(canvas)
    if made is None or not shiboken6.isValid(made) or not canvas.hasFocus():
        return
    layer = made.focusChild()
    if layer is not None:
        QAccessible.updateAccessibility(QAccessibleEvent(layer, QAccessible.Event.Focus))
