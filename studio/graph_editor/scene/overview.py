"""The whole graph as one picture, for when it is seen from very far away."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPixmap

from studio.graph_editor.items.colours import CanvasColours
from studio.graph_editor.items.items import FrameItem, NoteItem
from studio.graph_editor.items.node_paint import paint_plain_outline
from studio.graph_editor.scene.scene import GraphScene

OVERVIEW_ZOOM = 0.15
"""Below this zoom the canvas shows the picture."""

_MARGIN = 40.0
_MOST_PIXELS = 4096


class Overview:
    """Makes the picture when it is asked for, and again after the drawing changed.

    Args:
        graph: the drawing.
    """

    def __init__(self, graph: GraphScene) -> None:
        self._graph = graph
        self._picture: QPixmap | None = None
        self._area = QRectF()
        graph.redrawn.connect(self.forget)

    def forget(self) -> None:
        """Draw the picture again when it is next needed."""
        self._picture = None

    def paint(self, painter: QPainter, part: QRectF, ratio: float) -> None:
        """Draw the part of the graph that is asked for, in the graph's own coordinates."""
        if self._picture is None:
            self._picture = self._made(OVERVIEW_ZOOM * ratio)
        part = part.intersected(self._area)
        if part.isEmpty():
            return
        scale = self._picture.width() / self._area.width()
        source = QRectF(
            (part.x() - self._area.x()) * scale, (part.y() - self._area.y()) * scale,
            part.width() * scale, part.height() * scale,
        )  # fmt: skip
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawPixmap(part, self._picture, source)

    def _made(self, scale: float) -> QPixmap:
        self._area = self._graph.content_area().adjusted(-_MARGIN, -_MARGIN, _MARGIN, _MARGIN)
        longest = max(self._area.width(), self._area.height(), 1.0)
        scale = min(scale, _MOST_PIXELS / longest)
        picture = QPixmap(
            max(1, round(self._area.width() * scale)), max(1, round(self._area.height() * scale))
        )
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        painter.scale(picture.width() / self._area.width(), picture.height() / self._area.height())
        painter.translate(-self._area.topLeft())
        paint_small(painter, self._graph, self._graph.colours)
        painter.end()
        return picture


def paint_small(painter: QPainter, graph: GraphScene, colours: CanvasColours) -> None:
    """Everything as plain blocks and lines."""
    for item in graph.nodes.values():
        if isinstance(item, FrameItem):
            painter.fillRect(item.scene_area, colours.raised)
    pen = colours.wire_pen
    painter.setPen(pen)
    for wire in graph.wires.values():
        painter.drawPath(wire.path())
    for item in graph.nodes.values():
        if isinstance(item, NoteItem):
            painter.fillRect(item.scene_area, colours.hover)
        elif not isinstance(item, FrameItem):
            wrong = item.card.condition == "error"
            colour = colours.error if wrong else colours.family[item.card.family]
            painter.fillRect(item.scene_area, colour)


def paint_marks(painter: QPainter, graph: GraphScene, zoom: float) -> None:
    """The outlines of what is selected, hovered or caught, over the picture."""
    for item in graph.nodes.values():
        marks = item.marks
        if marks.selected or marks.hovered or marks.caught or marks.linked:
            paint_plain_outline(painter, item.card, item.scene_area, graph.colours, marks, zoom)
