"""A magnified look at what flows where the pointer is, for as long as its key is held."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from studio.graph_editor.editing.picking import Target
from studio.graph_editor.items.node_picture import draw_picture
from studio.graph_editor.scene.node_pictures import NodePictures
from studio.graph_editor.scene.scene import GraphScene
from studio.widgets import binding, theme

_SIZE = QSize(260, 290)
_CAPTION = 42.0
_AWAY = QPointF(20, 20)


class Lens(QWidget):
    """Shows the preview of what feeds the wire, or of the layer, under the pointer.

    A click while the key is held keeps it; another click puts it away.

    Args:
        graph: the drawing.
        pictures: the previews.
        parent: the canvas.
    """

    def __init__(self, graph: GraphScene, pictures: NodePictures, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("lens")
        self.setAccessibleName("Magnified tensor")
        self.setFixedSize(_SIZE)
        self._graph = graph
        self._pictures = pictures
        self._node = ""
        self._kept = False
        binding.connect(self, pictures.changed, self.update)
        self.hide()

    @property
    def node(self) -> str:
        """The layer whose output is shown; empty for none."""
        return self._node if self.isVisible() else ""

    def show_at(self, target: Target, at: QPointF) -> None:
        """Show what flows at a place."""
        node = target.wire.source if target.wire is not None else target.node
        item = self._graph.nodes.get(node)
        if self._kept or item is None or not item.node.flows:
            return
        self._node = node
        self._pictures.look_at(node)
        parent = self.parentWidget()
        place = at + _AWAY
        if parent is not None:
            place.setX(min(place.x(), parent.width() - self.width() - 4))
            place.setY(min(place.y(), parent.height() - self.height() - 4))
        self.move(place.toPoint())
        self.show()
        self.raise_()
        self.update()

    def put_away(self) -> None:
        """Show nothing any more, unless it was pinned."""
        if not self._kept:
            self._node = ""
            self._pictures.look_at("")
            self.hide()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        event.accept()
        self._kept = not self._kept
        self.put_away()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        item = self._graph.nodes.get(self._node)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.colour("accent" if self._kept else "outline"), 1.5))
        painter.setBrush(theme.colour("dock"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 8, 8)
        if item is not None:
            self._paint_picture(painter)
            caption = QRectF(10, self.height() - _CAPTION, self.width() - 20, _CAPTION - 4)
            painter.setPen(theme.colour("text"))
            painter.setFont(theme.font("ui"))
            flags = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
            painter.drawText(caption, flags, f"Output of {item.card.title}")
            painter.setPen(theme.colour("text2"))
            painter.setFont(theme.font("numbers"))
            flags = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom)
            picture = self._pictures.picture(self._node)
            said = [item.card.shape or "shape unknown", picture.text if picture else ""]
            painter.drawText(caption, flags, "  ".join(part for part in said if part))
        painter.end()

    def _paint_picture(self, painter: QPainter) -> None:
        area = QRectF(10, 10, self.width() - 20, self.height() - _CAPTION - 14)
        picture = self._pictures.picture(self._node)
        ground = theme.colour("canvas") if picture is None else self._graph.colours.picture
        painter.fillRect(area, ground)
        if picture is not None:
            draw_picture(painter, picture, area)
            return
        painter.setPen(theme.colour("text3"))
        painter.setFont(theme.font("ui"))
        painter.drawText(area, Qt.AlignmentFlag.AlignCenter, "No image yet")
