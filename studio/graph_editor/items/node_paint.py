"""Paints a layer: near with everything on it, from afar its name, then a coloured block."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPainterPath, QPen

from studio.graph_editor.items.colours import CanvasColours, linked_pen
from studio.graph_editor.items.marks import Marks, PortKey, PortMark
from studio.graph_editor.items.node_picture import NodePicture, draw_picture
from studio.graph_editor.items.node_text import FAR_LOW, FAR_SIGN, FOOTER_HEIGHT
from studio.graph_editor.items.sprites import stamp
from studio.session.document.cards.card import NodeCard
from studio.session.document.cards.geometry import (
    LINE_HEIGHT,
    LINES_MARGIN,
    TITLE_HEIGHT,
)
from studio.widgets import icons

NEAR, READABLE, FAR = 0.8, 0.4, 0.22
"""From ``NEAR`` on everything is drawn, below it name, shape and ports. Down to ``READABLE`` their
letters are large enough to be read; below ``FAR`` a layer is a coloured block."""

FINE = 0.6
"""From this zoom on lines are smoothed and images are shown."""

RADIUS = 8.0
STRIP = 4.0
PORT = 5.0
_RING = 3.0
_ICON = 16.0
_RADII = {"good": PORT + 1.5, "snap": PORT + 3.0, "blink": PORT + 2.0, "chosen": PORT + 2.0}
_NO_PEN = Qt.PenStyle.NoPen
_NO_BRUSH = Qt.BrushStyle.NoBrush


def paint_body(
    painter: QPainter,
    card: NodeCard,
    size: QRectF,
    spots: Mapping[PortKey, QPointF],
    colours: CanvasColours,
) -> None:
    """Everything of a layer that many have alike: ground, header, icon, condition, ports."""
    node = card.node
    rule = TITLE_HEIGHT + lines_height(card) if card.lines and node.preview != "off" else 0.0
    key = (
        "body", colours.mode, card.family, node.bypassed, node.collapsed, size.width(),
        size.height(), rule, card.condition, node.frozen, node.pinned, card.filled, card.has_output,
        card.inputs, card.outputs, card.marked,
    )  # fmt: skip

    def draw(on: QPainter) -> None:
        if node.bypassed:
            _draw_bypassed(on, size, colours)
        else:
            _draw_body(on, card, size, colours)
        if rule and not node.collapsed:
            on.setPen(QPen(colours.hairline, 1.0))
            on.drawLine(QPointF(0.5, rule), QPointF(size.width() - 0.5, rule))
        _draw_icons(on, card, size, colours)
        paint_ports(on, spots, card, colours, {})

    room = PORT + 2
    stamp(painter, key, size.adjusted(-room, -2, room, 4), draw)


def paint_outline(
    painter: QPainter, card: NodeCard, size: QRectF, colours: CanvasColours, marks: Marks
) -> None:
    """Rings of marks, and the colour of a condition or of the pointer over the hairline."""
    painter.setBrush(_NO_BRUSH)
    if marks.linked:
        painter.setPen(linked_pen(colours.accent, marks.linked, 2.0))
        painter.drawRoundedRect(size.adjusted(-_RING, -_RING, _RING, _RING), RADIUS + 2, RADIUS + 2)
    if marks.selected == "primary":
        painter.setPen(QPen(colours.halo, 8.0))
        painter.drawRoundedRect(size.adjusted(-2, -2, 2, 2), RADIUS + 2, RADIUS + 2)
    if marks.selected:
        painter.setPen(QPen(colours.accent, 2.5 if marks.selected == "primary" else 1.5))
        painter.drawRoundedRect(size.adjusted(-2, -2, 2, 2), RADIUS + 2, RADIUS + 2)
    elif marks.caught:
        painter.setPen(QPen(colours.accent, 1.5, Qt.PenStyle.DashLine))
        painter.drawRoundedRect(size.adjusted(-2, -2, 2, 2), RADIUS + 2, RADIUS + 2)
    if card.condition in ("error", "warning"):
        painter.setPen(QPen(colours.condition[card.condition], 1.6))
    elif marks.hovered and not card.node.bypassed:
        painter.setPen(QPen(colours.outline, 1.4))
    else:
        return
    painter.drawRoundedRect(size, RADIUS, RADIUS)


def paint_ports(
    painter: QPainter,
    spots: Mapping[PortKey, QPointF],
    card: NodeCard,
    colours: CanvasColours,
    marks: Mapping[PortKey, PortMark],
) -> None:
    """The ports: filled where a wire ends, a ring where one may come.

    Of several outputs, those of the network have the colour of the network's outputs.
    """
    for key, place in spots.items():
        mark = marks.get(key, "")
        taken = key.side == "out" or key.slot < card.filled
        radius = _RADII.get(mark, PORT)
        colour = colours.outline
        is_marked = key.side == "out" and card.outputs > 1 and key.slot in card.marked
        if mark in ("good", "snap", "chosen") or (is_marked and not mark):
            colour = colours.accent
        elif mark in ("bad", "blink"):
            colour = colours.error
        painter.setPen(QPen(colours.canvas if taken and not mark else colour, 1.6))
        painter.setBrush(QBrush(colour if taken or mark == "snap" else colours.body))
        painter.drawEllipse(place, radius, radius)


def paint_picture(
    painter: QPainter,
    card: NodeCard,
    size: QRectF,
    colours: CanvasColours,
    picture: NodePicture | None,
) -> None:
    """The preview of the layer's output, in the room kept for it."""
    area = picture_area(card, size)
    painter.setPen(_NO_PEN)
    painter.setBrush(colours.canvas if picture is None else colours.picture)
    painter.drawRoundedRect(area, 3, 3)
    if picture is not None:
        draw_picture(painter, picture, area.adjusted(2, 2, -2, -2))
        if picture.output:
            _paint_output(painter, area, colours, picture.output)
        return
    painter.setPen(colours.text3)
    painter.setFont(colours.small_font)
    painter.drawText(area, Qt.AlignmentFlag.AlignCenter, "no image yet")


def _paint_output(painter: QPainter, area: QRectF, colours: CanvasColours, text: str) -> None:
    """Which output a preview is of, in its lower left corner."""
    painter.setFont(colours.small_font)
    metrics = painter.fontMetrics()
    place = QRectF(0, 0, metrics.horizontalAdvance(text) + 8, metrics.height())
    place.moveBottomLeft(area.bottomLeft())
    painter.setPen(_NO_PEN)
    painter.setBrush(colours.body)
    painter.drawRoundedRect(place, 3, 3)
    painter.setPen(colours.text2)
    painter.drawText(place, Qt.AlignmentFlag.AlignCenter, text)


def picture_area(card: NodeCard, size: QRectF) -> QRectF:
    """Where the preview of a layer is drawn."""
    top = TITLE_HEIGHT + lines_height(card) + 6
    return QRectF(8, top, size.width() - 16, size.height() - FOOTER_HEIGHT - top)


def paint_tab(painter: QPainter, size: QRectF, colours: CanvasColours, text: str) -> None:
    """A small tab on the upper edge: what the layer is for the whole network."""
    painter.setFont(colours.small_font)
    width = painter.fontMetrics().horizontalAdvance(text) + 12
    area = QRectF(size.width() - width - 8, -15, width, 15)
    _draw_tab(painter, area, colours.accent)
    painter.setPen(colours.on_accent)
    painter.drawText(area, Qt.AlignmentFlag.AlignCenter, text)


def paint_uses(painter: QPainter, colours: CanvasColours, text: str) -> None:
    """A small tab on the upper edge at the left: how often the layer is used."""
    painter.setFont(colours.title_font)
    width = painter.fontMetrics().horizontalAdvance(text) + 12
    area = QRectF(8, -15, width, 15)
    _draw_tab(painter, area, colours.outline)
    painter.setPen(colours.canvas)
    painter.drawText(area, Qt.AlignmentFlag.AlignCenter, text)


def _draw_tab(painter: QPainter, area: QRectF, colour: QColor) -> None:
    path = QPainterPath()
    path.addRoundedRect(area.adjusted(0, 0, 0, 6), 5, 5)
    cut = QPainterPath()
    cut.addRect(area)
    painter.setPen(_NO_PEN)
    painter.setBrush(colour)
    painter.drawPath(path.intersected(cut))


def paint_far(painter: QPainter, card: NodeCard, size: QRectF, colours: CanvasColours) -> None:
    """Seen from afar: the family's ground with its strip; the name comes in large letters.

    What is done with the layer is seen from there too: bypassed it is an empty frame, and a frozen
    one has its sign.
    """
    if card.node.bypassed:
        _draw_empty(painter, size, colours)
        return
    painter.fillRect(size, colours.block[card.family])
    painter.fillRect(QRectF(0, 0, size.width(), 9), colours.family[card.family])
    if card.node.frozen:
        top = 13.0 if size.height() >= FAR_LOW else (size.height() - FAR_SIGN) / 2 + 3
        place = QRectF(size.width() - FAR_SIGN - 4, top, FAR_SIGN, FAR_SIGN)
        icons.paint(painter, "frozen", place, colours.accent)


def paint_block(painter: QPainter, card: NodeCard, size: QRectF, colours: CanvasColours) -> None:
    """Seen from very far: a block in the family's colour; only a frame where it is bypassed."""
    if card.node.bypassed:
        _draw_empty(painter, size, colours)
        return
    painter.fillRect(size, colours.family[card.family])


def _draw_empty(painter: QPainter, size: QRectF, colours: CanvasColours) -> None:
    """The frame of a layer that data go past, with corners as from afar."""
    painter.setPen(QPen(colours.outline, 2.5, Qt.PenStyle.DashLine))
    painter.setBrush(colours.canvas)
    painter.drawRect(size)


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
    painter.setBrush(_NO_BRUSH)
    painter.drawRect(size)


def lines_height(card: NodeCard) -> float:
    """Height of the options a layer shows."""
    return LINE_HEIGHT * len(card.lines) + LINES_MARGIN if card.lines else 0.0


def _title_middle(collapsed: bool, size: QRectF) -> float:
    return size.height() / 2 + 1 if collapsed else (TITLE_HEIGHT + STRIP) / 2


def _draw_bypassed(on: QPainter, size: QRectF, colours: CanvasColours) -> None:
    on.setPen(QPen(colours.outline, 1.4, Qt.PenStyle.DashLine))
    on.setBrush(QColor(colours.canvas))
    on.drawRoundedRect(size, RADIUS, RADIUS)


def _draw_body(on: QPainter, card: NodeCard, size: QRectF, colours: CanvasColours) -> None:
    body = QPainterPath()
    body.addRoundedRect(size, RADIUS, RADIUS)
    on.setPen(_NO_PEN)
    on.setBrush(colours.shadow)
    on.drawRoundedRect(size.adjusted(-1, 1, 1, 3), RADIUS + 1, RADIUS + 1)
    on.setBrush(colours.body)
    on.drawPath(body)
    header = size.height() if card.node.collapsed else TITLE_HEIGHT
    for height, colour in ((header, colours.tint), (STRIP, colours.family)):
        part = QPainterPath()
        part.addRect(QRectF(0, 0, size.width(), height))
        on.setBrush(colour[card.family])
        on.drawPath(part.intersected(body))
    on.setPen(QPen(colours.hairline, 1.0))
    on.setBrush(_NO_BRUSH)
    on.drawPath(body)


def _draw_icons(on: QPainter, card: NodeCard, size: QRectF, colours: CanvasColours) -> None:
    collapsed = card.node.collapsed
    middle = _title_middle(collapsed, size)
    icon = QRectF(9, middle - _ICON / 2, _ICON, _ICON)
    icons.paint(on, f"family-{card.family}", icon, colours.family[card.family])
    left, top = size.width() - 22, middle - 7 if collapsed else 10.0
    colour = colours.condition[card.condition]
    icons.paint(on, card.condition, QRectF(left, top, 14, 14), colour)
    marks = [("frozen", colours.accent)] * card.node.frozen
    marks += [("pinned", colours.text3)] * card.node.pinned
    for number, (name, tone) in enumerate(marks):
        if collapsed:
            place = QRectF(left - 18 * (number + 1), top, 13, 13)
        else:
            place = QRectF(left - 16 * number, 25.0, 13, 13)
        icons.paint(on, name, place, tone)
