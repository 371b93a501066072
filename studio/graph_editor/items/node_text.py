"""The texts of a layer's card, cut to fit and laid out once, until the card changes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from itertools import accumulate

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QFont

from studio.graph_editor.items.colours import CanvasColours
from studio.graph_editor.items.marks import PortKey
from studio.graph_editor.items.text_runs import (
    PlacedText,
    TextRun,
    cut_text,
    shortened,
    text_height,
    text_runs,
    text_width,
)
from studio.session.document.cards.card import SHARED, NodeCard
from studio.session.document.cards.geometry import (
    COLLAPSED_HEIGHT,
    LINE_HEIGHT,
    SIGN_ROOM,
    TITLE_HEIGHT,
    TITLE_LEFT,
    TITLE_RIGHT,
)
from studio.session.document.cards.lines import TIMES, CardLine

SIDE = 10.0
"""Space left free at the sides."""

FOOTER_HEIGHT = 22.0
_NUMBER_AWAY = 6.0
_NAME_ROOM = 56.0
"""Width of the name of an input beside a layer; the next column keeps further away."""

INPUT_NAMES_REACH = _NUMBER_AWAY + _NAME_ROOM
"""How far the names of inputs may reach beside a layer."""
UNKNOWN = "\u2013"
_LEAST_SEEN = 9.2
"""Height of letters on the screen that can be read."""

_LINE = 1.05
"""Distance of two lines that are read from afar, in heights of their letters."""

_NAME_SIZES = (1.3, 1.15, 1.0)
"""How much larger than other letters a name may be."""

_SMALLER = 0.75
"""How much smaller a name may become before it is cut."""

_STRIP, _FOOT = 9.0, 3.0
"""What stays free of letters above and below."""

_PARTS = re.compile(r"[^_/. -]+[_/. -]*")
_BETWEEN = 6.0
_MOST = 0.6
"""Share of the room a value takes at most; what it leaves is its label's."""

FAR_SIGN = 24.0
"""Side of the sign of a frozen layer that is seen from afar."""

FAR_LOW = 90.0
"""Below this height the sign stands beside the name and not above it."""


def card_texts(card: NodeCard, colours: CanvasColours, area: QRectF) -> tuple[TextRun, ...]:
    """Everything written on a layer that is seen from near."""
    room = area.width() - TITLE_LEFT - TITLE_RIGHT
    signs = card.node.frozen + card.node.pinned
    faint = card.node.bypassed or card.condition == "unreached"
    title_font, small_font = colours.title_font, colours.small_font
    title_colour = colours.text2 if faint else colours.text
    if card.node.collapsed:
        line = shortened(card.title, title_font, room - SIGN_ROOM * signs)
        top = (COLLAPSED_HEIGHT - text_height(title_font)) / 2 + 1
        return text_runs([PlacedText(QPointF(TITLE_LEFT, top), line, title_font, title_colour)])
    title = shortened(card.title, title_font, room)
    subtitle = shortened(card.subtitle, small_font, room + 12 - 16 * signs)
    found = [
        PlacedText(QPointF(TITLE_LEFT, 6), title, title_font, title_colour),
        PlacedText(QPointF(TITLE_LEFT, 22), subtitle, small_font, colours.text3),
        *_lines(card, colours, area.width()),
    ]
    if card.node.preview != "off":
        found += _footer(card, colours, area)
    return text_runs(found)


def readable_pixels(zoom: float) -> int:
    """Height of letters that can be read at a zoom, on the canvas."""
    return math.ceil(_LEAST_SEEN / zoom)


def readable_texts(
    card: NodeCard, colours: CanvasColours, area: QRectF, pixels: int
) -> tuple[TextRun, ...]:
    """Name, type and shape of a layer in letters of a height, where all of it is too small.

    What has no room is left out: first the type, then the shape. The name is larger where it may.
    """
    top = _STRIP
    if card.node.frozen and area.height() >= FAR_LOW:
        top += FAR_SIGN
    beside_sign = 2 * FAR_SIGN if card.node.frozen and area.height() < FAR_LOW else 0.0
    room, height = area.width() - 8 - beside_sign, area.height() - top - _FOOT
    colour = colours.text2 if card.node.bypassed else colours.text
    plain = _sized(colours.text_font, pixels)
    shape = "" if card.node.collapsed else cut_text(card.shape, plain, room)
    below = [(shape, plain, colours.text2)] if shape and height >= 2 * _LINE * pixels else []
    name, font = _name(card, colours, pixels, room, height / _LINE - pixels * len(below))
    if len(name) > 1 and height < _LINE * pixels * (len(name) + len(below)):
        below = []
    texts = [*((line, font, colour) for line in name), *below]
    kind = card.subtitle
    used = _LINE * sum(of.pixelSize() for _, of, _ in texts)
    if below and used + _LINE * pixels <= height and text_width(kind, plain) <= room:
        texts.insert(len(name), (kind, plain, colours.text2))
        used += _LINE * pixels
    found, at = [], top + (height - used) / 2
    for text, of, ink in texts:
        step = _LINE * of.pixelSize()
        left = (area.width() - text_width(text, of)) / 2
        place = QPointF(left, at + (step - text_height(of)) / 2)
        found.append(PlacedText(place, text, of, ink))
        at += step
    return text_runs(found)


def _name(
    card: NodeCard, colours: CanvasColours, pixels: int, room: float, height: float
) -> tuple[list[str], QFont]:
    """A name in one line or two, in letters as large as there is room for, and their font."""
    uses = f" {uses_text(card)}" if card.uses else ""
    whole = card.title + uses
    for share in _NAME_SIZES:
        font = _sized(colours.title_font, round(pixels * share))
        if font.pixelSize() <= height and text_width(whole, font) <= room:
            return [whole], font
    font = _sized(colours.title_font, pixels)
    parted = _name_lines(whole, font, room)
    if parted and 2 * pixels <= height:
        return parted, font
    smaller = _sized(colours.title_font, math.ceil(pixels * _SMALLER))
    if text_width(whole, smaller) <= room:
        return [whole], smaller
    if parted:
        return parted, font
    return [shortened(card.title, smaller, room - text_width(uses, smaller)) + uses], smaller


def _name_lines(name: str, font: QFont, room: float) -> list[str] | None:
    """A name parted in two where it may be; None where that does not fit either."""
    heads = list(accumulate(_PARTS.findall(name)))
    fitting = [
        [head, name[len(head):]] for head in heads[:-1]
        if max(text_width(head, font), text_width(name[len(head):], font)) <= room
    ]  # fmt: skip
    return min(fitting, key=lambda two: abs(len(two[0]) - len(two[1])), default=None)


def _sized(font: QFont, pixels: int) -> QFont:
    found = QFont(font)
    found.setPixelSize(pixels)
    return found


def port_numbers(
    card: NodeCard, spots: Mapping[PortKey, QPointF], colours: CanvasColours
) -> tuple[TextRun, ...]:
    """Numbers of several outputs and names of inputs, each above its port's wire.

    None where ports coincide.
    """
    font = colours.small_font
    lift = QPointF(0, -text_height(font))
    found = []
    for key, place in spots.items():
        if key.side == "out" and has_port_numbers(card):
            at = place + lift + QPointF(_NUMBER_AWAY, 0)
            found.append(PlacedText(at, str(key.slot), font, colours.text2))
        elif key.side == "in" and key.slot < len(card.input_names) and not card.node.collapsed:
            name = cut_text(card.input_names[key.slot], font, _NAME_ROOM)
            at = place + lift - QPointF(_NUMBER_AWAY + text_width(name, font), 0)
            found.append(PlacedText(at, name, font, colours.text2))
    return text_runs(found)


def has_port_numbers(card: NodeCard) -> bool:
    """Whether the ports of a layer are numbered on the canvas."""
    return card.outputs > 1 and not card.node.collapsed


def number_room(card: NodeCard, colours: CanvasColours) -> float:
    """How far the numbers of its outputs reach beside a layer; 0 without numbers."""
    if not has_port_numbers(card):
        return 0.0
    return 2 * _NUMBER_AWAY + text_width(str(card.outputs - 1), colours.small_font)


def uses_text(card: NodeCard) -> str:
    """How often a shared layer is used, such as \u00d73."""
    return f"{TIMES}{card.uses}"


def output_text(card: NodeCard) -> str:
    """What the tab of an output of the network says: of several outputs, which ones they are."""
    if card.outputs == 1:
        return "output"
    numbers = ", ".join(map(str, sorted(card.marked)))
    return f"output{'s' * (len(card.marked) > 1)} {numbers}".rstrip()


def _lines(card: NodeCard, colours: CanvasColours, width: float) -> list[PlacedText]:
    found = []
    font = colours.text_font
    for number, line in enumerate(card.lines):
        top = TITLE_HEIGHT + 3 + number * LINE_HEIGHT + (LINE_HEIGHT - text_height(font)) / 2
        label, value = beside(line, font, width)
        found.append(PlacedText(QPointF(SIDE, top), label, font, colours.text3))
        place = QPointF(width - SIDE - text_width(value, font), top)
        found.append(PlacedText(place, value, font, colours.text))
    return found


def beside(line: CardLine, font: QFont, width: float) -> tuple[str, str]:
    """The label and the value of an option, so that both have room on a card of a width."""
    room, value = width - 2 * SIDE - _BETWEEN, line.value
    if text_width(line.label, font) + text_width(value, font) > room:
        value = cut_text(value.replace(f" {TIMES} ", TIMES), font, room * _MOST)
    return cut_text(line.label, font, room - text_width(value, font)), value


def footer_texts(card: NodeCard, font: QFont, small: QFont, width: float) -> tuple[str, str]:
    """The shape, and how many parameters there are if that has room beside it."""
    room = width - 2 * SIDE
    shape = cut_text(card.shape or UNKNOWN, font, room)
    left = room - text_width(shape, font) - _BETWEEN
    counts = (f"{card.parameters} params", card.parameters) if card.parameters else ()
    if card.parameters == SHARED:
        counts = (f"{SHARED} weights", SHARED)
    return shape, next((count for count in counts if text_width(count, small) <= left), "")


def _footer(card: NodeCard, colours: CanvasColours, area: QRectF) -> list[PlacedText]:
    font, small = colours.text_font, colours.small_font
    top = area.height() - FOOTER_HEIGHT + (FOOTER_HEIGHT - text_height(font)) / 2
    shape, count = footer_texts(card, font, small, area.width())
    found = [PlacedText(QPointF(SIDE, top), shape, font, colours.text2)]
    if count:
        place = QPointF(area.width() - SIDE - text_width(count, small), top + 1)
        found.append(PlacedText(place, count, small, colours.text3))
    return found
