"""A view of the drawing at any zoom: painted as cheaply as the zoom allows, scrolled, framed."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QPolygonF, QResizeEvent
from PySide6.QtWidgets import QFrame, QGraphicsView, QWidget

from studio.graph_editor.items.colours import CanvasColours
from studio.graph_editor.items.node_paint import FINE, READABLE
from studio.graph_editor.scene.highlights import Highlights
from studio.graph_editor.scene.navigation import Navigation
from studio.graph_editor.scene.overlay import Overlay
from studio.graph_editor.scene.overview import OVERVIEW_ZOOM, Overview, paint_marks
from studio.graph_editor.scene.passage import Passage
from studio.graph_editor.scene.scene import GraphScene
from studio.widgets import theme

_ROOM = 100_000.0
_SETTLED_MS = 120
"""So long after the last turn of the wheel everything is drawn finely again."""
_STEP = 24.0
_LEAST_PIXELS = 20.0
_BATCH = 16


class GraphView(QGraphicsView):
    """Shows a drawing with its marks, and what gestures draw over it.

    Args:
        parent: owner.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._is_ready = False
        self.graph = GraphScene(CanvasColours(theme.current()), parent=self)
        self.setScene(self.graph)
        self._set_up()
        self.navigation = Navigation(self, lambda: theme.duration(1) == 0)
        self.marks = Highlights(self.graph)
        self.overlay = Overlay(self.graph, self, self.graph.colours)
        self._overview = Overview(self.graph)
        self.passage = Passage(self)
        self._turning = QTimer(self)
        self._turning.setSingleShot(True)
        self._turning.setInterval(_SETTLED_MS)
        self._turning.timeout.connect(self._settled)
        self.navigation.zoomed.connect(self._zoomed)
        self.navigation.turned.connect(self._turned)
        for signal in (self.graph.redrawn, self.marks.changed, self.overlay.changed):
            signal.connect(self._changed)
        self._is_ready = True

    def _set_up(self) -> None:
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.SmartViewportUpdate)
        self.setTransformationAnchor(QGraphicsView.ViewportAnchor.NoAnchor)
        self.setResizeAnchor(QGraphicsView.ViewportAnchor.NoAnchor)
        self.setOptimizationFlag(QGraphicsView.OptimizationFlag.DontAdjustForAntialiasing)
        self.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSceneRect(-_ROOM, -_ROOM, 2 * _ROOM, 2 * _ROOM)
        self.setMouseTracking(True)
        self.viewport().setMouseTracking(True)
        # The ground covers all of it, so nothing has to be wiped first.
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAcceptDrops(True)

    def show_all(self) -> None:
        """Bring the whole graph into sight."""
        self.navigation.show_whole(self.graph.content_area())

    def show_beginning(self) -> None:
        """Bring the whole graph into sight if it can be read then, or else where it begins."""
        self.navigation.begin(self.graph.content_area(), READABLE)

    def keep_in_sight(self) -> None:
        """Show the same again after the graph or the canvas got another size."""
        if self.navigation.keeps == "beginning":
            self.show_beginning()
        elif self.navigation.keeps == "all":
            self.show_all()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._is_ready:
            self.keep_in_sight()

    def view_point(self, at: QPointF) -> QPointF:
        """Where a point of the graph is seen."""
        return self.viewportTransform().map(at)

    def paint_over(self, painter: QPainter) -> None:
        """Draw what lies over the graph and keeps its place in the view."""

    def drawBackground(self, painter: QPainter, rect: QRectF | QRect) -> None:
        paint_ground(painter, QRectF(rect), self.navigation.zoom, self.graph.colours)

    def paintEvent(self, event: QPaintEvent) -> None:
        far, passing = self._is_far, self.passage.is_under_way
        if not far and not passing:
            super().paintEvent(event)
        painter = QPainter(self.viewport())
        painter.setClipRegion(event.region())
        if passing:
            self._paint_ground(painter)
            painter.resetTransform()
            self.passage.paint(painter)
        elif far:
            self._paint_far(painter)
        self.paint_over(painter)
        painter.end()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        super().scrollContentsBy(dx, dy)
        # Qt repaints where it painted an item last. Scrolling moves that place, but with the next
        # painting Qt corrects it only for items near the rectangle around all that is painted:
        # for those in the strip that came into sight. Two corners make it everything in sight.
        area = self.viewport().rect()
        for corner in (area.topLeft(), area.bottomRight()):
            self.viewport().update(QRect(corner, QSize(1, 1)))

    def _paint_ground(self, painter: QPainter) -> QRectF:
        """Paint the ground in the graph's coordinates, which are kept; the area in sight."""
        painter.setWorldTransform(self.viewportTransform())
        back, _ = self.viewportTransform().inverted()
        part = back.mapRect(QRectF(self.viewport().rect()))
        paint_ground(painter, part, self.navigation.zoom, self.graph.colours)
        return part

    def _paint_far(self, painter: QPainter) -> None:
        part = self._paint_ground(painter)
        self._overview.paint(painter, part, self.devicePixelRatioF())
        paint_marks(painter, self.graph, self.navigation.zoom)
        self.overlay.paint_far(painter)
        painter.resetTransform()

    @property
    def is_turning(self) -> bool:
        """Whether the wheel is zooming: wires are drawn coarsely then, for speed."""
        return self._turning.isActive()

    @property
    def _is_far(self) -> bool:
        return self.navigation.zoom < OVERVIEW_ZOOM

    def _changed(self) -> None:
        # Qt repaints where it painted an item last, and here it painted none: the graph is one
        # picture. So all of it is painted.
        if self._is_far:
            self.viewport().update()

    def _turned(self) -> None:
        self._turning.start()

    def _settled(self) -> None:
        self._refine()
        self.viewport().update()

    def _zoomed(self, zoom: float) -> None:
        self._refine()
        self.graph.set_zoom(zoom)

    def _refine(self) -> None:
        fine = self.navigation.zoom >= FINE and not self.is_turning
        self.setRenderHint(QPainter.RenderHint.Antialiasing, fine)


def paint_ground(painter: QPainter, area: QRectF, zoom: float, colours: CanvasColours) -> None:
    """Fill an area of the canvas and set the dots that lie in it."""
    painter.fillRect(area, colours.canvas)
    step = _STEP
    while step * zoom < _LEAST_PIXELS:
        step *= 2
    left = _below(area.left(), step)
    top = _below(area.top(), step)
    # Rounded up, so that a few sets of dots serve every zoom.
    columns = _rounded(int((area.right() - left) / step) + 1)
    rows = _rounded(int((area.bottom() - top) / step) + 1)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    pen = QPen(colours.grid, (2.0 if zoom >= 1.5 else 1.0) * painter.device().devicePixelRatio())
    pen.setCosmetic(True)
    pen.setCapStyle(Qt.PenCapStyle.SquareCap)
    painter.setPen(pen)
    painter.translate(left, top)
    painter.drawPoints(_dots(columns, rows, step))
    painter.restore()


def _below(value: float, step: float) -> float:
    return (value // step) * step


def _rounded(count: int) -> int:
    return -(-count // _BATCH) * _BATCH


@lru_cache(maxsize=32)
def _dots(columns: int, rows: int, step: float) -> QPolygonF:
    return QPolygonF([QPointF(c * step, r * step) for r in range(rows) for c in range(columns)])
