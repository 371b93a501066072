"""A block on the canvas: its card, the ports at its edges, and its own ports seen from inside."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QPainter, QPen
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from studio.graph_editor.items.colours import CanvasColours, linked_pen
from studio.graph_editor.items.items import NODE_LEVEL, CanvasItem
from studio.graph_editor.items.marks import PortKey
from studio.graph_editor.items.node_item import NodeItem
from studio.graph_editor.items.node_paint import PORT
from studio.graph_editor.items.node_text import FOOTER_HEIGHT
from studio.graph_editor.items.text_runs import cut_text, text_height, text_width
from studio.session.document.cards.card import NodeCard
from studio.session.document.cards.geometry import (
    ANCHOR_HEIGHT,
    ANCHOR_WIDTH,
    BLOCK_PORT_STEP,
    BLOCK_PORTS_TOP,
)

_REACH = 9.0
"""Half the side of a port's own area."""

_NAME_LEFT = 10.0


class BlockItem(NodeItem):
    """A block seen from outside: one card. Its ports are items of their own, at its edges."""

    def spots(self) -> dict[PortKey, QPointF]:
        """None of its own: wires end at the items of its ports."""
        return {}

    @property
    def ports(self) -> tuple[str, ...]:
        """Ids of its ports."""
        return tuple(port for port, _ in (*self.card.ports_in, *self.card.ports_out))

    def show_card(self, card: NodeCard) -> bool:
        before = self.ports
        return super().show_card(card) or before != self.ports

    def port_offset(self, node_id: str) -> QPointF:
        """Where one of its ports lies, from its upper left corner."""
        for ports, x in ((self.card.ports_in, 0.0), (self.card.ports_out, self.area.width())):
            for row, (port_id, _) in enumerate(ports):
                if port_id == node_id:
                    return QPointF(x, self._row(row, len(ports)))
        return self.area.center()

    def paint_near(self, painter: QPainter) -> None:
        super().paint_near(painter)
        if self.card.node.collapsed:
            return
        painter.setFont(self.colours.text_font)
        painter.setPen(self.colours.text2)
        sides = (self.card.ports_in, self.card.ports_out)
        for ports, other, on_right in ((*sides, False), (*sides[::-1], True)):
            for row, (_, name) in enumerate(ports):
                self._paint_name(painter, name, self._row(row, len(ports)), on_right=on_right,
                                 is_alone=row >= len(other))  # fmt: skip

    def _paint_name(
        self, painter: QPainter, name: str, middle: float, *, on_right: bool, is_alone: bool
    ) -> None:
        """The name of a port beside it; alone in its row it may take all of it."""
        font, width = self.colours.text_font, self.area.width() - 2 * _NAME_LEFT
        room = width if is_alone else width / 2 - 4
        text = cut_text(name, font, room)
        left = self.area.width() - _NAME_LEFT - text_width(text, font) if on_right else _NAME_LEFT
        height = text_height(font)
        place = QRectF(left, middle - height / 2, room + 4, height)
        painter.drawText(place, int(Qt.AlignmentFlag.AlignVCenter), text)

    def _row(self, row: int, count: int) -> float:
        """Height of the middle of a row; more rows than there is room for lie closer."""
        height = self.area.height()
        if self.card.node.collapsed:
            return height * (row + 1) / (count + 1)
        step = min(BLOCK_PORT_STEP, (height - BLOCK_PORTS_TOP - FOOTER_HEIGHT) / count)
        return BLOCK_PORTS_TOP + (row + 0.5) * step


class PortItem(CanvasItem):
    """A port of a block at the edge of the block's card, seen from outside.

    Args:
        card: of the port.
        colours: what it paints with.
        block: the card it belongs to.
    """

    level = NODE_LEVEL + 1

    def __init__(self, card: NodeCard, colours: CanvasColours, block: BlockItem) -> None:
        super().__init__(card, colours)
        self.block = block
        self.is_taken = False
        self.settle()

    def settle(self) -> bool:
        """Lie where the block's card has it; whether that is elsewhere."""
        place = self.block.pos() + self.block.port_offset(self.node.id)
        moved = place != self.pos()
        self.setPos(place)
        return moved

    def spots(self) -> dict[PortKey, QPointF]:
        """The side that faces outside."""
        return {PortKey("in" if self.node.port == "in" else "out"): QPointF(0, 0)}

    def show_card(self, card: NodeCard) -> bool:
        before, self.card = self.card, card
        if before != card:
            self.update()
        return self.settle()

    def show_taken(self, taken: bool) -> None:
        """Whether a wire ends here from outside."""
        if taken != self.is_taken:
            self.is_taken = taken
            self.update()

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        _paint_port(painter, self, QPointF(0, 0), taken=self.is_taken or self.node.port == "out")

    def title_area(self) -> QRectF:
        """Where the name stands on the block's card."""
        width, height = self.block.area.width() / 2 - _NAME_LEFT, float(BLOCK_PORT_STEP)
        left = _NAME_LEFT if self.node.port == "in" else -width - _NAME_LEFT
        return QRectF(left, -height / 2, width, height).translated(self.pos())

    def _area(self) -> QRectF:
        return QRectF(-_REACH, -_REACH, 2 * _REACH, 2 * _REACH)


class AnchorItem(CanvasItem):
    """A port of the open block, seen from inside: its name in a small tag at the wire's end."""

    def spots(self) -> dict[PortKey, QPointF]:
        """The side that faces inside."""
        return {PortKey("out" if self.node.port == "in" else "in"): QPointF(0, 0)}

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        colours, marks = self.colours, self.marks
        radius = self.area.height() / 2
        painter.setPen(QPen(colours.outline if marks.hovered else colours.hairline, 1.2))
        painter.setBrush(colours.raised)
        if marks.selected or marks.caught or marks.linked:
            painter.setPen(linked_pen(colours.accent, marks.linked, 2.0))
        painter.drawRoundedRect(self.area, radius, radius)
        font = colours.text_font
        painter.setFont(font)
        painter.setPen(colours.text)
        room = self.area.adjusted(12, 0, -12, 0)
        side = Qt.AlignmentFlag.AlignRight if self.node.port == "in" else Qt.AlignmentFlag.AlignLeft
        text = cut_text(self.card.title, font, room.width())
        painter.drawText(room, int(side | Qt.AlignmentFlag.AlignVCenter), text)
        _paint_port(painter, self, QPointF(0, 0), taken=bool(self.node.inputs))

    def title_area(self) -> QRectF:
        """Where the name stands, on the canvas."""
        return self.scene_area.adjusted(12, 0, -12, 0)

    def _area(self) -> QRectF:
        left = -ANCHOR_WIDTH if self.card.node.port == "in" else 0.0
        return QRectF(left, -ANCHOR_HEIGHT / 2, ANCHOR_WIDTH, ANCHOR_HEIGHT)


def _paint_port(painter: QPainter, item: CanvasItem, at: QPointF, *, taken: bool) -> None:
    """One port, as those of layers look."""
    colours = item.colours
    mark = next(iter(item.marks.ports.values()), "")
    colour, radius = colours.outline, PORT
    if mark in ("good", "snap"):
        colour, radius = colours.accent, PORT + (3.0 if mark == "snap" else 1.5)
    elif mark in ("bad", "blink"):
        colour, radius = colours.error, PORT + 2.0
    elif item.marks.selected and isinstance(item, PortItem):
        colour, radius = colours.accent, PORT + 1.5
    elif item.marks.hovered:
        colour = colours.text2
    painter.setPen(QPen(colours.canvas if taken and not mark else colour, 1.6))
    painter.setBrush(QBrush(colour if taken or mark == "snap" else colours.body))
    painter.drawEllipse(at, radius, radius)


def host_of(item: CanvasItem) -> CanvasItem:
    """What a wire ends at: the block's card for one of its ports, else the thing itself."""
    return item.block if isinstance(item, PortItem) else item
