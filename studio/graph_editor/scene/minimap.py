"""The whole graph small in a corner, with the part in sight.

It is painted on the canvas itself: a widget lying over it would keep Qt from scrolling what is
painted already.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPen, QPixmap

from studio.graph_editor.scene.navigation import Navigation
from studio.graph_editor.scene.overview import paint_small
from studio.graph_editor.scene.scene import GraphScene
from studio.session.document.cards.geometry import Box
from studio.session.document.finding.minimap import GraphMap, graph_map
from studio.widgets import theme

SIZE = QSize(200, 132)
MARGIN = 12
_PAD = 8.0


class Minimap:
    """Where the canvas looks, as a picture to click on.

    Args:
        graph: the drawing.
        navigation: where the canvas looks.
    """

    def __init__(self, graph: GraphScene, navigation: Navigation) -> None:
        self.area = QRect()
        self._graph = graph
        self._navigation = navigation
        self._map: GraphMap | None = None
        self._picture: QPixmap | None = None
        graph.redrawn.connect(self.forget)
        theme.changed.connect(self.forget)

    def place(self, room: QRect, *, wanted: bool, taken: Sequence[QRectF] = ()) -> bool:
        """Take a corner of a viewport, if a map is wanted and of use there; whether it moved.

        Args:
            room: the viewport.
            wanted: whether the user wants a map.
            taken: what must not be covered; without a free corner there is no map.
        """
        before = self.area
        roomy = room.width() > 3 * SIZE.width() and room.height() > 2 * SIZE.height()
        self.area = QRect()
        if wanted and roomy and self.is_needed():
            left, right = room.left() + MARGIN, room.right() - SIZE.width() - MARGIN
            top, bottom = room.top() + MARGIN, room.bottom() - SIZE.height() - MARGIN
            for corner in (QPoint(right, bottom), QPoint(left, bottom), QPoint(left, top)):
                area = QRect(corner, SIZE)
                if not any(area.intersects(each.toAlignedRect()) for each in taken):
                    self.area = area
                    break
        return self.area != before

    @property
    def is_shown(self) -> bool:
        """Whether there is a map at the moment."""
        return not self.area.isEmpty()

    def is_needed(self) -> bool:
        """Whether part of the graph is out of sight."""
        content = self._graph.content_area()
        return not content.isEmpty() and not self._navigation.visible.contains(content)

    def holds(self, at: QPointF) -> bool:
        """Whether a place of the viewport is on the map."""
        return self.area.contains(at.toPoint())

    def look(self, at: QPointF) -> None:
        """Look at what lies at a place of the map."""
        shown = self._shown()
        if shown is not None:
            own = at - QPointF(self.area.topLeft()) - QPointF(_PAD, _PAD)
            self._navigation.look_at(QPointF(*shown.to_canvas(own.x(), own.y(), *_room())))

    def grip(self, at: QPointF) -> QPointF:
        """How far a place is from the middle of the frame; null beside the frame."""
        shown = self._shown()
        frame = QRectF() if shown is None else self.seen_area(shown)
        return at - frame.center() if frame.contains(at) else QPointF()

    def forget(self) -> None:
        """Draw the graph again when the map is next painted."""
        self._picture = self._map = None

    def paint(self, painter: QPainter, ratio: float) -> None:
        """Draw the map."""
        shown = self._shown()
        if shown is None:
            return
        if self._picture is None:
            self._picture = self._drawn(shown, ratio)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.drawPixmap(self.area.topLeft(), self._picture)
        ground = QRectF(self.area).adjusted(0.5, 0.5, -0.5, -0.5)
        seen = self.seen_area(shown).intersected(ground.adjusted(2, 2, -2, -2))
        painter.setBrush(theme.colour("accent", 36))
        painter.setPen(QPen(theme.colour("accent"), 1.5))
        painter.drawRoundedRect(seen, 3, 3)

    def seen_area(self, shown: GraphMap) -> QRectF:
        """Where the part in sight lies on the viewport's map."""
        seen = self._navigation.visible
        box = Box(seen.x(), seen.y(), seen.width(), seen.height())
        found = shown.to_map(box, *_room())
        corner = QPointF(self.area.topLeft()) + QPointF(_PAD + found.x, _PAD + found.y)
        return QRectF(corner.x(), corner.y(), found.width, found.height)

    def _shown(self) -> GraphMap | None:
        if self._map is None:
            self._map = graph_map(self._graph.state, self._graph.report, self._graph.level)
        return self._map

    def _drawn(self, shown: GraphMap, ratio: float) -> QPixmap:
        picture = QPixmap(SIZE * ratio)
        picture.setDevicePixelRatio(ratio)
        picture.fill(Qt.GlobalColor.transparent)
        corner = shown.to_map(shown.area, *_room())
        painter = QPainter(picture)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.colour("hairline"), 1))
        painter.setBrush(theme.colour("dock", 235))
        painter.drawRoundedRect(QRectF(0.5, 0.5, SIZE.width() - 1, SIZE.height() - 1), 8, 8)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.translate(_PAD + corner.x, _PAD + corner.y)
        scale = shown.scale(*_room())
        painter.scale(scale, scale)
        painter.translate(-shown.area.x, -shown.area.y)
        paint_small(painter, self._graph, self._graph.colours)
        painter.end()
        return picture


def _room() -> tuple[float, float]:
    return SIZE.width() - 2 * _PAD, SIZE.height() - 2 * _PAD
