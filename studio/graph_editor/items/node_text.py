"""The texts of a layer's card, cut to fit and laid out once, until the card changes."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QPointF
from PySide6.QtGui import QFont

from studio.graph_editor.items.colours import CanvasColours
from studio.graph_editor.items.marks import PortKey
from studio.graph_editor.items.text_runs import (
    PlacedText,
    TextRun,
    cut_text,
    text_height,
    text_runs,
    text_width,
)
from studio.session.document.cards.card import SHARED, NodeCard
from studio.session.document.cards.geometry import (
    COLLAPSED_HEIGHT,
    LINE_HEIGHT,
    NODE_WIDTH,
    TITLE_HEIGHT,
)
from studio.session.document.cards.lines import TIMES, CardLine

SIDE = 10.0
"""Space left free at the sides."""

TEXT_LEFT = 32.0
FOOTER_HEIGHT = 22.0
_NUMBER_AWAY = 6.0
_NAME_ROOM = 56.0
"""Width of the name of an input beside a layer; the next column keeps further away."""

INPUT_NAMES_REACH = _NUMBER_AWAY + _NAME_ROOM
"""How far the names of inputs may reach beside a layer."""
UNKNOWN = "\u2013"
_FAR_PIXELS = 27
_BETWEEN = 6.0
_MOST = 0.6
"""Share of the room a value takes at most; what it leaves is its label's."""

FAR_SIGN = 24.0
"""Side of the sign of a frozen layer that is seen from afar."""

FAR_LOW = 90.0
"""Below this height the sign stands beside the name and not above it."""


def card_texts(card: NodeCard, colours: CanvasColours, height: float) -> tuple[TextRun, ...]:
    """Everything written on a layer that is seen from near."""
    room = NODE_WIDTH - TEXT_LEFT - 24
    signs = card.node.frozen + card.node.pinned
    faint = card.node.bypassed or card.condition == "unreached"
    title_font, small_font = colours.title_font, colours.small_font
    title_colour = colours.text2 if faint else colours.text
    if card.node.collapsed:
        line = cut_text(card.title, title_font, room - 18 * signs)
        top = (COLLAPSED_HEIGHT - text_height(title_font)) / 2 + 1
        return text_runs([PlacedText(QPointF(TEXT_LEFT, top), line, title_font, title_colour)])
    title = cut_text(card.title, title_font, room)
    subtitle = cut_text(card.subtitle, small_font, room + 12 - 16 * signs)
    found = [
        PlacedText(QPointF(TEXT_LEFT, 6), title, title_font, title_colour),
        PlacedText(QPointF(TEXT_LEFT, 22), subtitle, small_font, colours.text3),
        *_lines(card, colours),
    ]
    if card.node.preview != "off":
        found += _footer(card, colours, height)
    return text_runs(found)


def far_text(card: NodeCard, colours: CanvasColours, height: float) -> tuple[TextRun, ...]:
    """The title in letters that can be read from afar."""
    font = QFont(colours.title_font)
    font.setPixelSize(_FAR_PIXELS)
    beside_sign = 2 * FAR_SIGN if card.node.frozen and height < FAR_LOW else 0.0
    uses = f" {uses_text(card)}" if card.uses else ""
    room = NODE_WIDTH - 8 - beside_sign - text_width(uses, font)
    text = cut_text(card.title, font, room) + uses
    left = (NODE_WIDTH - text_width(text, font)) / 2
    place = QPointF(left, (height - text_height(font)) / 2)
    colour = colours.text2 if card.node.bypassed else colours.text
    return text_runs([PlacedText(place, text, font, colour)])


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


def _lines(card: NodeCard, colours: CanvasColours) -> list[PlacedText]:
    found = []
    font = colours.text_font
    for number, line in enumerate(card.lines):
        top = TITLE_HEIGHT + 3 + number * LINE_HEIGHT + (LINE_HEIGHT - text_height(font)) / 2
        label, value = beside(line, font)
        found.append(PlacedText(QPointF(SIDE, top), label, font, colours.text3))
        place = QPointF(NODE_WIDTH - SIDE - text_width(value, font), top)
        found.append(PlacedText(place, value, font, colours.text))
    return found


def beside(line: CardLine, font: QFont) -> tuple[str, str]:
    """The label and the value of an option, so that both have room."""
    room, value = NODE_WIDTH - 2 * SIDE - _BETWEEN, line.value
    if text_width(line.label, font) + text_width(value, font) > room:
        value = cut_text(value.replace(f" {TIMES} ", TIMES), font, room * _MOST)
    return cut_text(line.label, font, room - text_width(value, font)), value


def footer_texts(card: NodeCard, font: QFont, small: QFont) -> tuple[str, str]:
    """The shape, and how many parameters there are if that has room beside it."""
    room = NODE_WIDTH - 2 * SIDE
    shape = cut_text(card.shape or UNKNOWN, font, room)
    left = room - text_width(shape, font) - _BETWEEN
    counts = (f"{card.parameters} params", card.parameters) if card.parameters else ()
    if card.parameters == SHARED:
        counts = (f"{SHARED} weights", SHARED)
    return shape, next((count for count in counts if text_width(count, small) <= left), "")


def _footer(card: NodeCard, colours: CanvasColours, height: float) -> list[PlacedText]:
    font, small = colours.text_font, colours.small_font
    top = height - FOOTER_HEIGHT + (FOOTER_HEIGHT - text_height(font)) / 2
    shape, count = footer_texts(card, font, small)
    found = [PlacedText(QPointF(SIDE, top), shape, font, colours.text2)]
    if count:
        place = QPointF(NODE_WIDTH - SIDE - text_width(count, small), top + 1)
        found.append(PlacedText(place, count, small, colours.text3))
    return found
