"""What lies over the canvas and keeps its place: map, find bar, what an empty canvas shows."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter

from studio.graph_editor.view.empty_canvas import EmptyCanvas
from studio.graph_editor.view.find_bar import FindBar
from studio.graph_editor.view.fix_offers import FixOffers
from studio.graph_editor.view.graph_view import GraphView
from studio.graph_editor.view.minimap import Minimap
from studio.graph_editor.view.navigation import Navigation
from studio.graph_editor.view.scene import GraphScene
from studio.ui.kit import binding
from studio.ui.models.actions import ActionRegistry
from studio.ui.models.preferences import Preferences
from studio.ui.models.selection import SelectionBus

_MARGIN = 12


class Chrome:
    """Makes them, shows them when they are of use, puts them where they belong.

    Args:
        canvas: what they lie over.
        graph: the drawing.
        fixes: repairs, which nothing covers.
        navigation: where the canvas looks.
        bus: the one selection.
        preferences: whether the map is wanted.
        actions: what the button of an empty canvas does, and which keys are the window's.
    """

    def __init__(
        self,
        canvas: GraphView,
        graph: GraphScene,
        fixes: FixOffers,
        navigation: Navigation,
        bus: SelectionBus,
        preferences: Preferences,
        actions: ActionRegistry,
    ) -> None:
        self._canvas = canvas
        self._graph = graph
        self._fixes = fixes
        self._preferences = preferences
        self.minimap = Minimap(graph, navigation)
        self.find_bar = FindBar(graph, bus, navigation, actions, canvas)
        self.empty = EmptyCanvas(lambda: actions.trigger("canvas.quick_add"), canvas)
        self._deliveries = [
            binding.connect(canvas, signal, self._changed)
            for signal in (graph.redrawn, graph.ghosts_changed, navigation.moved, fixes.changed)
        ]
        self._deliveries.append(binding.connect(canvas, navigation.zoomed, self._zoomed))
        self._deliveries.append(binding.connect(canvas, preferences.changed, self._preferred))

    def arrange(self) -> None:
        """Put everything where it belongs, after the canvas got another size."""
        room = self._canvas.rect()
        bar = self.find_bar
        bar.fit(room.width() - 2 * _MARGIN)
        bar.move(room.width() - bar.width() - _MARGIN, _MARGIN)
        self._changed()

    def paint(self, painter: QPainter) -> None:
        """Draw the map, or what an empty canvas shows, where there is any."""
        if self.empty.is_shown:
            self.empty.paint(painter, self._room())
        if self.minimap.is_shown:
            self.minimap.paint(painter, self._canvas.devicePixelRatioF())

    def scrolled(self, dx: int, dy: int) -> None:
        """What was painted went along: paint the map where it is, and what it left behind."""
        area, viewport = self.minimap.area, self._canvas.viewport()
        if not area.isEmpty():
            viewport.update(area)
            viewport.update(area.translated(dx, dy))
        if self.empty.is_shown:
            viewport.update()

    def takes(self, at: QPointF) -> bool:
        """Whether a place of the viewport is on the map."""
        return self.minimap.holds(at)

    def _changed(self) -> None:
        viewport, before = self._canvas.viewport(), self.minimap.area
        taken = self._fixes.keep_within(self._room(), self._canvas.view_point)
        wanted = self._preferences.flag("minimap")
        if self.minimap.place(viewport.rect(), wanted=wanted, taken=taken):
            viewport.update(before)
        viewport.update(self.minimap.area)
        is_empty = not self._graph.nodes and not self._graph.ghosts
        if self.empty.place(self._room(), shown=is_empty):
            viewport.update()

    def _room(self) -> QRectF:
        return QRectF(self._canvas.viewport().rect())

    def _zoomed(self, _zoom: float) -> None:
        self._changed()

    def _preferred(self, _name: str) -> None:
        self._changed()
