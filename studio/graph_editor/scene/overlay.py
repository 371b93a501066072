"""What a gesture draws over the graph: rectangle, cutting line, loose wire, ghosts, a tip."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QGraphicsPathItem, QGraphicsRectItem, QLabel, QWidget

from studio.engine.core.signal import Signal
from studio.graph_editor.items.colours import CanvasColours
from studio.graph_editor.items.items import OVER_LEVEL
from studio.graph_editor.scene.ghost import Ghost
from studio.graph_editor.scene.scene import GraphScene
from studio.session.document.report import Report
from studio.session.document.state import DocumentState

_TIP_AWAY = QPoint(16, 18)


class Overlay:
    """Drawings of the gesture going on; `clear` takes all of them away.

    Args:
        scene: what they are drawn over.
        parent: the canvas, where tips appear.
        colours: what they are painted with.
    """

    def __init__(self, scene: GraphScene, parent: QWidget, colours: CanvasColours) -> None:
        self.changed: Signal[[]] = Signal()
        self._scene = scene
        self._parent = parent
        self._colours = colours
        self._band = QGraphicsRectItem()
        self._line = QGraphicsPathItem()
        self._wires = QGraphicsPathItem()
        for item in (self._band, self._line, self._wires):
            item.setZValue(OVER_LEVEL)
            item.setVisible(False)
            scene.addItem(item)
        self.ghost = Ghost(scene)
        self.tip = QLabel(parent)
        self.tip.setObjectName("canvas_tip")
        self.tip.setTextFormat(Qt.TextFormat.PlainText)
        self.tip.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.tip.hide()
        self.show_colours(colours)

    def show_colours(self, colours: CanvasColours) -> None:
        """Paint with other colours."""
        self._colours = colours
        fill = QColor(colours.accent)
        fill.setAlpha(32)
        self._band.setBrush(QBrush(fill))
        self.tip.setFont(colours.text_font)
        self.tip.setStyleSheet(
            f"background: {colours.raised.name()}; color: {colours.text.name()};"
            f"border: 1px solid {colours.outline.name()}; border-radius: 4px; padding: 3px 6px;"
        )

    def show_band(self, area: QRectF) -> None:
        """Show the rectangle of a marquee."""
        self._band.setPen(self._thin_pen(self._colours.accent, 1.0))
        self._band.setRect(area)
        self._band.setVisible(True)
        self.changed.emit()

    def show_cut(self, line: Sequence[QPointF]) -> None:
        """Show the line of the knife."""
        path = QPainterPath(line[0])
        for point in line[1:]:
            path.lineTo(point)
        self._line.setPen(self._thin_pen(self._colours.error, 2.0, Qt.PenStyle.DashLine))
        self._line.setPath(path)
        self._line.setVisible(True)
        self.changed.emit()

    def show_wires(self, paths: Sequence[QPainterPath], *, refused: bool = False) -> None:
        """Show wires that are being drawn; red where they are refused."""
        whole = QPainterPath()
        for path in paths:
            whole.addPath(path)
        colour = self._colours.error if refused else self._colours.accent
        pen = QPen(colour, 2.5, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap)
        self._wires.setPen(pen)
        self._wires.setPath(whole)
        self._wires.setVisible(bool(paths))
        self.changed.emit()

    def show_ghost(self, before: DocumentState, after: DocumentState, report: Report) -> None:
        """Show what the document would become."""
        self.ghost.show(before, after, report, self._colours)
        self.changed.emit()

    def hide_ghost(self) -> None:
        self.ghost.clear()
        self.changed.emit()

    def show_tip(self, text: str, at: QPointF) -> None:
        """Say something beside the pointer; nothing for an empty text."""
        self.tip.setVisible(bool(text))
        if not text:
            return
        self.tip.setText(text)
        self.tip.adjustSize()
        room = self._parent.rect()
        place = at.toPoint() + _TIP_AWAY
        place.setX(max(0, min(place.x(), room.width() - self.tip.width() - 4)))
        if place.y() + self.tip.height() > room.height():
            place.setY(int(at.y()) - self.tip.height() - 8)
        self.tip.move(place)
        self.tip.raise_()

    def paint_far(self, painter: QPainter) -> None:
        """Draw what is shown where the graph is one picture, in the graph's coordinates."""
        painter.setPen(self._band.pen())
        painter.setBrush(self._band.brush())
        if self._band.isVisible():
            painter.drawRect(self._band.rect())
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for item in (self._line, self._wires):
            if item.isVisible():
                painter.setPen(item.pen())
                painter.drawPath(item.path())
        self.ghost.paint_far(painter)

    def _thin_pen(
        self, colour: QColor, width: float, style: Qt.PenStyle = Qt.PenStyle.SolidLine
    ) -> QPen:
        """A pen as wide at every zoom, and on every screen: Qt counts such widths in its pixels."""
        pen = QPen(colour, width * self._parent.devicePixelRatioF(), style)
        pen.setCosmetic(True)
        return pen

    def clear(self) -> None:
        """Take everything away."""
        for item in (self._band, self._line, self._wires):
            item.setVisible(False)
        self.ghost.clear()
        self.tip.hide()
        self.changed.emit()
