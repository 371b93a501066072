"""Paints a layer: near with everything on it, from afar its name, then a coloured block."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QImage, QPainter, QPainterPath, QPen

from studio.graph_editor.model.cards import NodeCard
from studio.graph_editor.model.geometry import LINE_HEIGHT, LINES_MARGIN, NODE_WIDTH, TITLE_HEIGHT
from studio.graph_editor.view.colours import CanvasColours, linked_pen
from studio.graph_editor.view.marks import Marks, PortKey
from studio.graph_editor.view.node_text import FOOTER_HEIGHT, PlacedText
from studio.graph_editor.view.sprites import draw_icon

NEAR, FAR = 0.5, 0.22
"""From ``NEAR`` on everything is drawn; below ``FAR`` a layer is a coloured block."""

RADIUS = 8.0
STRIP = 4.0
PORT = 5.0
_RING = 3.0
_NO_PEN = Qt.PenStyle.NoPen


def paint_body(painter: QPainter, card: NodeCard, size: QRectF, colours: CanvasColours) -> None:
    """Ground, header with the family's strip, outline."""
    node = card.node
    if node.bypassed:
        pen = QPen(colours.outline, 1.4, Qt.PenStyle.DashLine)
        painter.setPen(pen)
        ground = QColor(colours.canvas)
        painter.setBrush(ground)
        painter.drawPath(_body_path(size.width(), size.height()))
        return
    painter.setPen(_NO_PEN)
    painter.setBrush(colours.shadow)
    painter.drawPath(_shadow_path(size.width(), size.height()))
    painter.setBrush(colours.body)
    painter.drawPath(_body_path(size.width(), size.height()))
    header = size.height() if node.collapsed else TITLE_HEIGHT
    painter.setBrush(colours.tint[card.family])
    painter.drawPath(_header_path(size.width(), size.height(), header))
    painter.setBrush(colours.family[card.family])
    painter.drawPath(_header_path(size.width(), size.height(), STRIP))


def paint_outline(
    painter: QPainter, card: NodeCard, size: QRectF, colours: CanvasColours, marks: Marks
) -> None:
    """The line around the layer: hairline, or the colour of its condition or of the pointer."""
    painter.setBrush(Qt.BrushStyle.NoBrush)
    if marks.linked:
        painter.setPen(linked_pen(colours.accent, marks.linked, 2.0))
        painter.drawRoundedRect(size.adjusted(-_RING, -_RING, _RING, _RING), RADIUS + 2, RADIUS + 2)
    if marks.selected:
        painter.setPen(QPen(colours.accent, 2.5 if marks.selected == "primary" else 1.5))
        painter.drawRoundedRect(size.adjusted(-2, -2, 2, 2), RADIUS + 2, RADIUS + 2)
    elif marks.caught:
        painter.setPen(QPen(colours.accent, 1.5, Qt.PenStyle.DashLine))
        painter.drawRoundedRect(size.adjusted(-2, -2, 2, 2), RADIUS + 2, RADIUS + 2)
    if card.node.bypassed and card.condition not in ("error", "warning"):
        return
    colour, width = colours.hairline, 1.0
    if card.condition in ("error", "warning"):
        colour, width = colours.condition[card.condition], 1.6
    elif marks.hovered:
        colour, width = colours.outline, 1.4
    painter.setPen(QPen(colour, width))
    painter.drawPath(_body_path(size.width(), size.height()))


def paint_content(
    painter: QPainter,
    card: NodeCard,
    size: QRectF,
    colours: CanvasColours,
    texts: list[PlacedText],
) -> None:
    """Glyph, texts, condition, lines between the parts."""
    node = card.node
    middle = size.height() / 2 + 1 if node.collapsed else (TITLE_HEIGHT + STRIP) / 2
    family = colours.family[card.family]
    draw_icon(painter, f"family-{card.family}", QRectF(9, middle - 8, 16, 16), family)
    for each in texts:
        painter.setPen(each.colour)
        painter.setFont(each.font)
        painter.drawStaticText(each.place, each.text)
    left, top = NODE_WIDTH - 22, middle - 7 if node.collapsed else 10
    draw_icon(painter, card.condition, QRectF(left, top, 14, 14), colours.condition[card.condition])
    if node.frozen:
        left, top = (left - 18, top) if node.collapsed else (left, 25)
        draw_icon(painter, "frozen", QRectF(left, top, 12, 12), colours.accent)
    if card.lines and not node.collapsed and node.preview != "off":
        painter.setPen(QPen(colours.hairline, 1.0))
        top = TITLE_HEIGHT + _lines_height(card)
        painter.drawLine(QPointF(0.5, top), QPointF(size.width() - 0.5, top))


def paint_ports(
    painter: QPainter,
    spots: dict[PortKey, QPointF],
    card: NodeCard,
    colours: CanvasColours,
    marks: Marks,
) -> None:
    """The ports: filled where a wire ends, a ring where one may come."""
    linked = card.filled
    for key, place in spots.items():
        mark = marks.ports.get(key, "")
        taken = key.side == "out" or key.slot < linked
        radius = {"good": PORT + 1.5, "snap": PORT + 3.0, "blink": PORT + 2.0}.get(mark, PORT)
        colour = colours.outline
        if mark in ("good", "snap"):
            colour = colours.accent
        elif mark in ("bad", "blink"):
            colour = colours.error
        painter.setPen(QPen(colours.canvas if taken and not mark else colour, 1.6))
        painter.setBrush(QBrush(colour if taken or mark == "snap" else colours.body))
        painter.drawEllipse(place, radius, radius)


def paint_picture(
    painter: QPainter, card: NodeCard, size: QRectF, colours: CanvasColours, picture: QImage | None
) -> None:
    """The preview of the layer's output, in the room kept for it."""
    area = picture_area(card, size)
    painter.setPen(_NO_PEN)
    painter.setBrush(colours.canvas)
    painter.drawRoundedRect(area, 3, 3)
    if picture is None or picture.isNull():
        return
    ratio = min(area.width() / picture.width(), area.height() / picture.height())
    width, height = picture.width() * ratio, picture.height() * ratio
    place = QRectF(area.center().x() - width / 2, area.center().y() - height / 2, width, height)
    painter.drawImage(place, picture)


def picture_area(card: NodeCard, size: QRectF) -> QRectF:
    """Where the preview of a layer is drawn."""
    top = TITLE_HEIGHT + _lines_height(card) + 6
    return QRectF(8, top, size.width() - 16, size.height() - FOOTER_HEIGHT - top)


def paint_tab(painter: QPainter, size: QRectF, colours: CanvasColours, text: str) -> None:
    """A small tab on the upper edge: what the layer is for the whole network."""
    painter.setFont(colours.small_font)
    width = painter.fontMetrics().horizontalAdvance(text) + 12
    area = QRectF(size.width() - width - 8, -15, width, 15)
    path = QPainterPath()
    path.addRoundedRect(area.adjusted(0, 0, 0, 6), 5, 5)
    cut = QPainterPath()
    cut.addRect(area)
    painter.setPen(_NO_PEN)
    painter.setBrush(colours.accent)
    painter.drawPath(path.intersected(cut))
    painter.setPen(colours.on_accent)
    painter.drawText(area, Qt.AlignmentFlag.AlignCenter, text)


def paint_far(
    painter: QPainter, card: NodeCard, size: QRectF, colours: CanvasColours, text: PlacedText
) -> None:
    """Seen from afar: strip, name in large letters."""
    painter.fillRect(size, colours.block[card.family])
    painter.fillRect(QRectF(0, 0, size.width(), 9), colours.family[card.family])
    painter.setPen(text.colour)
    painter.setFont(text.font)
    painter.drawStaticText(text.place, text.text)


def paint_block(painter: QPainter, card: NodeCard, size: QRectF, colours: CanvasColours) -> None:
    """Seen from very far: a block in the family's colour."""
    painter.fillRect(size, colours.family[card.family])


def paint_plain_outline(
    painter: QPainter,
    card: NodeCard,
    size: QRectF,
    colours: CanvasColours,
    marks: Marks,
    zoom: float,
) -> None:
    """The outline of a layer seen from afar, as wide on the screen as from near."""
    colour, width = None, 1.5 / zoom
    if marks.selected or marks.caught or marks.linked:
        colour, width = colours.accent, 2.5 / zoom
    elif card.condition in ("error", "warning"):
        colour = colours.condition[card.condition]
    elif marks.hovered:
        colour = colours.text
    if colour is None:
        return
    painter.setPen(QPen(colour, width))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(size)


def _lines_height(card: NodeCard) -> float:
    return LINE_HEIGHT * len(card.lines) + LINES_MARGIN if card.lines else 0.0


@lru_cache(maxsize=64)
def _body_path(width: float, height: float) -> QPainterPath:
    path = QPainterPath()
    path.addRoundedRect(QRectF(0, 0, width, height), RADIUS, RADIUS)
    return path


@lru_cache(maxsize=64)
def _shadow_path(width: float, height: float) -> QPainterPath:
    path = QPainterPath()
    path.addRoundedRect(QRectF(-1, 1, width + 2, height + 2), RADIUS + 1, RADIUS + 1)
    return path


@lru_cache(maxsize=64)
def _header_path(width: float, height: float, part: float) -> QPainterPath:
    top = QPainterPath()
    top.addRect(QRectF(0, 0, width, part))
    return top.intersected(_body_path(width, height))
