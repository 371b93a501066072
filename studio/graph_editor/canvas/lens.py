"""A magnified look at what flows where the pointer is, for as long as its key is held."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from studio.engine.layers.graph import Port
from studio.graph_editor.editing.picking import Target
from studio.graph_editor.items.node_picture import draw_picture
from studio.graph_editor.scene.node_pictures import NodePictures
from studio.graph_editor.scene.scene import GraphScene
from studio.session.document.cards.lines import shape_label
from studio.widgets import binding, theme

_SIZE = QSize(260, 290)
_CAPTION = 42.0
_AWAY = QPointF(20, 20)


class Lens(QWidget):
    """Shows the preview of the output that the pointer is over: a port's, a wire's or a card's.

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
        self._port: Port | None = None
        self._kept = False
        binding.connect(self, pictures.changed, self.update)
        self.hide()

    @property
    def port(self) -> Port | None:
        """The output that is shown."""
        return self._port if self.isVisible() else None

    def show_at(self, target: Target, at: QPointF) -> None:
        """Show what flows at a place."""
        port = self._port_of(target)
        item = self._graph.nodes.get(port.node)
        if self._kept or item is None or not item.node.flows:
            return
        self._port = port
        self._pictures.look_at(port)
        parent = self.parentWidget()
        place = at + _AWAY
        if parent is not None:
            place.setX(min(place.x(), parent.width() - self.width() - 4))
            place.setY(min(place.y(), parent.height() - self.height() - 4))
        self.move(place.toPoint())
        self.show()
        self.raise_()
        self.update()

    def _port_of(self, target: Target) -> Port:
        if target.wire is not None:
            return target.wire.port
        if target.part == "port" and target.port is not None and target.port.side == "out":
            return Port(target.node, target.port.slot)
        return self._pictures.output_of(target.node)

    def put_away(self) -> None:
        """Show nothing any more, unless it was pinned."""
        if not self._kept:
            self._port = None
            self._pictures.look_at(None)
            self.hide()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        event.accept()
        self._kept = not self._kept
        self.put_away()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        port = self._port
        item = None if port is None else self._graph.nodes.get(port.node)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.colour("accent" if self._kept else "outline"), 1.5))
        painter.setBrush(theme.colour("dock"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 8, 8)
        if item is not None and port is not None:
            self._paint_picture(painter, port)
            caption = QRectF(10, self.height() - _CAPTION, self.width() - 20, _CAPTION - 4)
            painter.setPen(theme.colour("text"))
            painter.setFont(theme.font("ui"))
            flags = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
            which = f"Output {port.output}" if item.card.outputs > 1 else "Output"
            painter.drawText(caption, flags, f"{which} of {item.card.title}")
            painter.setPen(theme.colour("text2"))
            painter.setFont(theme.font("numbers"))
            flags = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom)
            picture = self._pictures.picture_at(port)
            found = self._graph.report.status(port.node).shape_at(port.output)
            shape = "shape unknown" if found is None else shape_label(found)
            said = [shape, picture.text if picture else ""]
            painter.drawText(caption, flags, "  ".join(part for part in said if part))
        painter.end()

    def _paint_picture(self, painter: QPainter, port: Port) -> None:
        area = QRectF(10, 10, self.width() - 20, self.height() - _CAPTION - 14)
        picture = self._pictures.picture_at(port)
        ground = theme.colour("canvas") if picture is None else self._graph.colours.picture
        painter.fillRect(area, ground)
        if picture is not None:
            draw_picture(painter, picture, area)
            return
        painter.setPen(theme.colour("text3"))
        painter.setFont(theme.font("ui"))
        painter.drawText(area, Qt.AlignmentFlag.AlignCenter, "No image yet")
