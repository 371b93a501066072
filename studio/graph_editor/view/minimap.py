"""The whole graph small in a corner, with the part in sight; it goes where it is clicked."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen, QPixmap, QWheelEvent
from PySide6.QtWidgets import QWidget

from studio.graph_editor.view.navigation import Navigation
from studio.graph_editor.view.overview import paint_small
from studio.graph_editor.view.scene import GraphScene
from studio.ui.kit import binding, theme

SIZE = QSize(200, 132)
_PAD = 8.0
_AROUND = 60.0


class Minimap(QWidget):
    """Shows where the canvas looks.

    A click or a drag looks there, the wheel zooms in the same steps as on the canvas.

    Args:
        graph: the drawing.
        navigation: where the canvas looks.
        parent: the canvas.
    """

    def __init__(self, graph: GraphScene, navigation: Navigation, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("minimap")
        self.setAccessibleName("Map of the graph")
        self.setToolTip("Click or drag to look elsewhere; the wheel zooms")
        self.setFixedSize(SIZE)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._graph = graph
        self._navigation = navigation
        self._picture: QPixmap | None = None
        self._content = QRectF()
        binding.refresh(self, self._redraw, graph.redrawn, rate=10.0)
        binding.connect(self, navigation.moved, self.update)
        binding.connect(self, navigation.zoomed, self._zoomed)
        binding.connect(self, theme.changed, self._redraw)

    def is_needed(self) -> bool:
        """Whether part of the graph is out of sight."""
        content = self._graph.content_area()
        return not content.isEmpty() and not self._navigation.visible.contains(content)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        event.accept()
        self._look(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        event.accept()
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._look(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        event.accept()

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.accept()
        turn = event.angleDelta().y() or event.angleDelta().x()
        self._navigation.wheel(turn)

    def paintEvent(self, event: QPaintEvent) -> None:
        ratio = self.devicePixelRatioF()
        if self._picture is None:
            self._picture = self._drawn(ratio)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.colour("hairline"), 1))
        painter.setBrush(theme.colour("dock", 235))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 8, 8)
        painter.drawPixmap(QPointF(0, 0), self._picture)
        seen = self._to_map(self._navigation.visible).intersected(
            QRectF(self.rect()).adjusted(3, 3, -3, -3)
        )
        fill = QColor(theme.colour("accent", 36))
        painter.setBrush(fill)
        painter.setPen(QPen(theme.colour("accent"), 1.5))
        painter.drawRoundedRect(seen, 3, 3)
        painter.end()

    def _redraw(self) -> None:
        self._picture = None
        self.update()

    def _zoomed(self, _zoom: float) -> None:
        self.update()

    def _look(self, event: QMouseEvent) -> None:
        self._navigation.look_at(self._to_graph(event.position()))

    def _scale(self) -> float:
        area = self._content
        room = QRectF(self.rect()).adjusted(_PAD, _PAD, -_PAD, -_PAD)
        return min(room.width() / max(area.width(), 1.0), room.height() / max(area.height(), 1.0))

    def _to_map(self, area: QRectF) -> QRectF:
        scale, middle = self._scale(), QRectF(self.rect()).center()
        corner = middle + (area.topLeft() - self._content.center()) * scale
        return QRectF(corner.x(), corner.y(), area.width() * scale, area.height() * scale)

    def _to_graph(self, at: QPointF) -> QPointF:
        return self._content.center() + (at - QRectF(self.rect()).center()) / self._scale()

    def _drawn(self, ratio: float) -> QPixmap:
        content = self._graph.content_area()
        self._content = content.adjusted(-_AROUND, -_AROUND, _AROUND, _AROUND)
        picture = QPixmap(self.size() * ratio)
        picture.setDevicePixelRatio(ratio)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        painter.translate(QRectF(self.rect()).center())
        painter.scale(self._scale(), self._scale())
        painter.translate(-self._content.center())
        paint_small(painter, self._graph, self._graph.colours)
        painter.end()
        return picture
