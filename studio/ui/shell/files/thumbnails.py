"""A graph as a small picture, for the welcome page and the list of recent projects."""

from __future__ import annotations

from PySide6.QtCore import QBuffer, QIODevice, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QImage, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from studio.session.document.cards.families import family_of
from studio.session.document.cards.geometry import Box, box_of
from studio.session.document.state import DocumentState
from studio.widgets import binding, theme

SIZE = QSize(200, 88)
_MARGIN = 12.0
_LARGEST = 0.42


def paint_graph(painter: QPainter, state: DocumentState, area: QRectF) -> None:
    """Draw the layers of a state as blocks of their families' colours, and the wires."""
    boxes = {key: box_of(node) for key, node in state.nodes.items() if node.flows}
    if not boxes:
        return
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    _look_at(painter, list(boxes.values()), area)
    painter.setPen(QPen(theme.colour("outline"), 7))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for wire in state.wires():
        if wire.source in boxes and wire.target in boxes:
            painter.drawPath(_curve(boxes[wire.source], boxes[wire.target]))
    painter.setPen(Qt.PenStyle.NoPen)
    for key, box in boxes.items():
        node = state.nodes[key]
        rect = QRectF(box.x, box.y, box.width, box.height)
        family = f"family.{family_of(node.type_name)}" if node.is_layer else "outline"
        painter.setBrush(theme.mixed(family, "dock", 0.45))
        painter.drawRoundedRect(rect, 10, 10)
        painter.setBrush(theme.colour(family))
        painter.drawRoundedRect(QRectF(box.x, box.y, box.width, 16), 8, 8)
    painter.restore()


def thumbnail(state: DocumentState) -> bytes:
    """A small PNG of a state, on nothing, so that it fits on any ground."""
    image = QImage(SIZE * 2, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    paint_graph(painter, state, QRectF(image.rect()))
    painter.end()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]
    return bytes(buffer.data().data())


class GraphPicture(QWidget):
    """The small picture of a state."""

    def __init__(self, state: DocumentState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self.setFixedSize(SIZE)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        binding.connect(self, theme.changed, self.update)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("canvas"))
        painter.drawRoundedRect(QRectF(self.rect()), 4, 4)
        paint_graph(painter, self._state, QRectF(self.rect()))
        painter.end()


def _look_at(painter: QPainter, boxes: list[Box], area: QRectF) -> None:
    left, top = min(b.x for b in boxes), min(b.y for b in boxes)
    width = max(b.right for b in boxes) - left
    height = max(b.bottom for b in boxes) - top
    room = area.adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN)
    across = min(room.width() / width, _LARGEST)
    # Long chains are drawn taller than they are, so that their layers can be told apart.
    down = min(room.height() / height, _LARGEST, across * 3)
    painter.translate(area.center())
    painter.scale(across, down)
    painter.translate(-(left + width / 2), -(top + height / 2))


def _curve(source: Box, target: Box) -> QPainterPath:
    start = QPointF(source.right, source.y + source.height / 2)
    end = QPointF(target.x, target.y + target.height / 2)
    reach = max(30.0, abs(end.x() - start.x()) / 2)
    path = QPainterPath(start)
    path.cubicTo(start + QPointF(reach, 0), end - QPointF(reach, 0), end)
    return path
