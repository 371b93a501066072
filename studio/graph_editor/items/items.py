"""The base of everything drawn on the canvas, and the plain kinds: dots, notes and frames."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from studio.graph_editor.items.colours import CanvasColours, linked_pen
from studio.graph_editor.items.marks import NO_MARKS, Marks, PortKey
from studio.session.document.cards.card import NodeCard
from studio.session.document.cards.geometry import DOT_SIZE, node_size
from studio.session.document.state import CanvasNode

FRAME_LEVEL, WIRE_LEVEL, NOTE_LEVEL, NODE_LEVEL, LIFTED_LEVEL, OVER_LEVEL = 0, 10, 20, 30, 40, 50
"""What is drawn over what."""

HANDLE = 16.0
"""Side of the corner a note or frame is resized by."""

DIMMED = 0.35
FADED = 0.1
"""Opacity of an item while its ghost is shown elsewhere."""

_MARGIN = 20.0


class CanvasItem(QGraphicsItem):
    """One thing of the document on the canvas; it shows its card and its marks.

    Args:
        card: what it shows.
        colours: what it paints with.
    """

    level = NODE_LEVEL

    def __init__(self, card: NodeCard, colours: CanvasColours) -> None:
        super().__init__()
        self.card = card
        self.colours = colours
        self.marks: Marks = NO_MARKS
        self._is_faded = False
        self.setZValue(self.level)
        self.area = self._area()
        self._bounds = self._around(self.area)
        self.setPos(card.node.x, card.node.y)

    @property
    def node(self) -> CanvasNode:
        return self.card.node

    @property
    def scene_area(self) -> QRectF:
        """Its area in scene coordinates."""
        return self.area.translated(self.pos())

    def show_card(self, card: NodeCard) -> bool:
        """Show another card; whether ports or size are elsewhere now."""
        if card == self.card:
            return False
        before = self.card
        moved = (card.node.x, card.node.y) != (before.node.x, before.node.y)
        self.card = card
        if moved:
            self.setPos(card.node.x, card.node.y)
        area = self._area()
        resized, around = area != self.area, self._around(area)
        if resized or around != self._bounds:
            self.prepareGeometryChange()
            self.area, self._bounds = area, around
        self.card_changed()
        self.update()
        return moved or resized or (before.inputs, before.outputs) != (card.inputs, card.outputs)

    def show_marks(self, marks: Marks) -> None:
        """Show other marks."""
        if marks != self.marks:
            self.marks = marks
            self._choose_opacity()
            self.update()

    def fade(self, faded: bool) -> None:
        """Draw it faintly, while a ghost shows what it would become."""
        self._is_faded = faded
        self._choose_opacity()

    def show_colours(self, colours: CanvasColours) -> None:
        """Paint with other colours."""
        self.colours = colours
        self.card_changed()
        self.update()

    def card_changed(self) -> None:
        """Drop what was made from card and colours; it is made again when drawn."""

    def _choose_opacity(self) -> None:
        self.setOpacity(FADED if self._is_faded else DIMMED if self.marks.dimmed else 1.0)

    def spots(self) -> dict[PortKey, QPointF]:
        """Positions of the ports in the item's coordinates."""
        return {}

    def room_beside_outputs(self) -> float:
        """How far what stands beside the outputs reaches from the edge."""
        return 0.0

    def port_place(self, key: PortKey) -> QPointF:
        """Where a port is on the canvas."""
        return self.pos() + self.spots().get(key, self.area.center())

    def holds(self, at: QPointF) -> bool:
        """Whether a point of the canvas is on it."""
        return self.scene_area.contains(at)

    def _around(self, area: QRectF) -> QRectF:
        """Room for rings and tabs too."""
        return area.adjusted(-_MARGIN, -_MARGIN, _MARGIN, _MARGIN)

    def boundingRect(self) -> QRectF:
        return self._bounds

    def _area(self) -> QRectF:
        width, height = node_size(self.card.node)
        return QRectF(0, 0, width, height)


class DotItem(CanvasItem):
    """A bend of a wire."""

    def spots(self) -> dict[PortKey, QPointF]:
        """In and out are the middle."""
        return {PortKey("in"): QPointF(0, 0), PortKey("out"): QPointF(0, 0)}

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        marks, colours = self.marks, self.colours
        radius = DOT_SIZE / 2 - 1
        painter.setPen(QPen(colours.canvas, 1.5))
        painter.setBrush(colours.text2 if marks.hovered else colours.outline)
        if marks.ports:
            painter.setBrush(colours.accent)
            radius += 2 if "snap" in marks.ports.values() else 1
        painter.drawEllipse(QPointF(0, 0), radius, radius)
        if marks.selected or marks.caught or marks.linked:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(linked_pen(colours.accent, marks.linked, 2.0))
            painter.drawEllipse(QPointF(0, 0), DOT_SIZE / 2 + 3, DOT_SIZE / 2 + 3)

    def holds(self, at: QPointF) -> bool:
        """The area that takes the mouse is 4 px larger than the dot."""
        return self.scene_area.adjusted(-4, -4, 4, 4).contains(at)

    def _area(self) -> QRectF:
        return QRectF(-DOT_SIZE / 2, -DOT_SIZE / 2, DOT_SIZE, DOT_SIZE)


class CommentItem(CanvasItem):
    """What notes and frames have in common: a text, and a corner to resize them by."""

    def handle(self) -> QRectF:
        """The corner they are resized by, on the canvas."""
        area = self.scene_area
        corner = area.bottomRight()
        return QRectF(corner.x() - HANDLE, corner.y() - HANDLE, HANDLE, HANDLE)

    def paint_handle(self, painter: QPainter, colour: QColor) -> None:
        """Two short lines across the corner."""
        corner = self.area.bottomRight()
        painter.setPen(QPen(colour, 1.2))
        for away in (5.0, 9.0):
            painter.drawLine(corner - QPointF(away, 3), corner - QPointF(3, away))

    def text_area(self) -> QRectF:
        """Where the text stands, about the item's own origin."""
        return self.area.adjusted(10, 8, -10, -8)


class NoteItem(CommentItem):
    """A note: a text on the canvas."""

    level = NOTE_LEVEL

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        colours, marks = self.colours, self.marks
        painter.setPen(_outline(colours, marks))
        painter.setBrush(colours.raised)
        painter.drawRoundedRect(self.area, 4, 4)
        text = self.card.title or "Double-click to edit"
        painter.setPen(colours.text if self.card.title else colours.text3)
        painter.setFont(colours.text_font)
        flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap
        painter.drawText(self.text_area(), int(flags), text)
        self.paint_handle(painter, colours.text3)


class FrameItem(CommentItem):
    """A frame behind other things, with a heading; it is held by its heading and its border."""

    level = FRAME_LEVEL
    HEADING = 26.0
    BORDER = 8.0

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        colours, marks = self.colours, self.marks
        ground = QColor(colours.outline)
        ground.setAlpha(28)
        painter.setPen(_outline(colours, marks))
        painter.setBrush(ground)
        painter.drawRoundedRect(self.area, 10, 10)
        painter.setPen(colours.text2)
        painter.setFont(colours.title_font)
        room = self.text_area()
        text = painter.fontMetrics().elidedText(
            self.card.title or "Frame", Qt.TextElideMode.ElideRight, int(room.width())
        )
        flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(room, int(flags), text)
        self.paint_handle(painter, colours.text3)

    def text_area(self) -> QRectF:
        """The heading."""
        return QRectF(12, 2, self.area.width() - 24, self.HEADING)

    def holds(self, at: QPointF) -> bool:
        """Only heading and border take the mouse, so that what lies inside can be reached."""
        area = self.scene_area
        inner = area.adjusted(self.BORDER, self.HEADING, -self.BORDER, -self.BORDER)
        return area.contains(at) and (not inner.contains(at) or self.handle().contains(at))


def _outline(colours: CanvasColours, marks: Marks) -> QPen:
    if marks.selected:
        return QPen(colours.accent, 2.5 if marks.selected == "primary" else 1.5)
    if marks.caught:
        return QPen(colours.accent, 1.5, Qt.PenStyle.DashLine)
    return QPen(colours.outline if marks.hovered else colours.hairline, 1.2)
