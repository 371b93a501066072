"""A layer on the canvas."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from studio.graph_editor.items import node_paint
from studio.graph_editor.items.colours import CanvasColours
from studio.graph_editor.items.items import CanvasItem
from studio.graph_editor.items.marks import PortKey
from studio.graph_editor.items.node_picture import PictureOf, no_picture
from studio.graph_editor.items.node_text import (
    INPUT_NAMES_REACH,
    card_texts,
    number_room,
    output_text,
    port_numbers,
    readable_pixels,
    readable_texts,
    uses_text,
)
from studio.graph_editor.items.text_runs import TextRun, draw_text_runs
from studio.session.document.cards.card import NodeCard
from studio.session.document.cards.geometry import Size, node_size
from studio.session.document.cards.ports import input_place, output_place
from studio.session.document.state import CanvasNode

_PORTS = 0.3
"""From this zoom on ports are drawn."""


class NodeItem(CanvasItem):
    """A layer with its title, options, ports and preview.

    Args:
        card: what it shows.
        colours: what it paints with.
        picture_of: the preview of a layer's output, by id.
    """

    def __init__(
        self, card: NodeCard, colours: CanvasColours, picture_of: PictureOf = no_picture
    ) -> None:
        super().__init__(card, colours)
        self._picture_of = picture_of
        self._texts: tuple[TextRun, ...] | None = None
        self._readable: tuple[int, tuple[TextRun, ...]] | None = None
        self._spots: dict[PortKey, QPointF] | None = None

    def card_changed(self) -> None:
        """Lay the texts out again when they are next drawn."""
        self._texts = self._spots = self._readable = None

    def spots(self) -> dict[PortKey, QPointF]:
        """Inputs below each other on the left, outputs on the right."""
        if self._spots is None:
            node, own = self.card.node, QPointF(self.card.node.x, self.card.node.y)
            found = {
                PortKey("in", slot): QPointF(*input_place(node, slot, self._size_of)) - own
                for slot in range(self.card.inputs)
            }
            if self.card.has_output:
                found |= {
                    PortKey("out", each): QPointF(*output_place(node, self._size_of, each)) - own
                    for each in range(self.card.outputs)
                }
            self._spots = found
        return self._spots

    def room_beside_outputs(self) -> float:
        """How far what stands beside the outputs reaches from the edge."""
        return number_room(self.card, self.colours) if self.card.outputs > 1 else 0.0

    def _size_of(self, node: CanvasNode) -> Size:
        return node_size(node, self.card.outputs)

    def _around(self, area: QRectF) -> QRectF:
        """Room for the names of inputs as well."""
        reach = INPUT_NAMES_REACH if self.card.input_names else 0.0
        return super()._around(area).adjusted(-reach, 0, 0, 0)

    def _area(self) -> QRectF:
        return QRectF(0, 0, *self._size_of(self.card.node))

    def title_area(self) -> QRectF:
        """Where the name stands, on the canvas."""
        height = 22 if not self.card.node.collapsed else self.area.height()
        return QRectF(30, 0, self.area.width() - 56, height).translated(self.pos())

    def corner_area(self) -> QRectF:
        """Where the mark of the condition stands, on the canvas."""
        return QRectF(self.area.width() - 26, 4, 24, 24).translated(self.pos())

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        zoom = option.levelOfDetailFromTransform(painter.worldTransform())
        if zoom >= node_paint.NEAR:
            self.paint_near(painter)
            return
        if zoom >= node_paint.FAR:
            self._paint_readable(painter, zoom)
        else:
            node_paint.paint_block(painter, self.card, self.area, self.colours)
        node_paint.paint_plain_outline(
            painter, self.card, self.area, self.colours, self.marks, zoom
        )

    def _paint_readable(self, painter: QPainter, zoom: float) -> None:
        """Draw name, shape and ports, large enough for the zoom as long as there is room."""
        card, area = self.card, self.area
        pixels = readable_pixels(max(zoom, node_paint.READABLE))
        if self._shows_picture:
            area = QRectF(0, 0, area.width(), node_paint.picture_area(card, area).top())
        if self._readable is None or self._readable[0] != pixels:
            self._readable = pixels, readable_texts(card, self.colours, area, pixels)
        node_paint.paint_far(painter, card, self.area, self.colours)
        draw_text_runs(painter, self._readable[1])
        self._paint_picture(painter)
        if zoom >= _PORTS:
            node_paint.paint_ports(painter, self.spots(), card, self.colours, self.marks.ports)

    @property
    def _shows_picture(self) -> bool:
        return self.node.preview in ("thumbnail", "full") and not self.node.collapsed

    def _paint_picture(self, painter: QPainter) -> None:
        if self._shows_picture:
            picture = self._picture_of(self.node.id)
            node_paint.paint_picture(painter, self.card, self.area, self.colours, picture)

    def paint_near(self, painter: QPainter) -> None:
        """Draw everything."""
        card, colours = self.card, self.colours
        if self._texts is None:
            numbers = port_numbers(card, self.spots(), colours)
            self._texts = (*card_texts(card, colours, self.area), *numbers)
        node_paint.paint_body(painter, card, self.area, self.spots(), colours)
        draw_text_runs(painter, self._texts)
        self._paint_picture(painter)
        node_paint.paint_outline(painter, card, self.area, colours, self.marks)
        if card.is_output:
            node_paint.paint_tab(painter, self.area, colours, output_text(card))
        if card.uses:
            node_paint.paint_uses(painter, colours, uses_text(card))
        if self.marks.ports:
            node_paint.paint_ports(painter, self.spots(), card, colours, self.marks.ports)
