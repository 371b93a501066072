"""The few options a layer shows on the canvas itself, and how values are written there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from studio.engine.core.options import AnyOption, OptionKind, Plain
from studio.engine.core.tensor import UNKNOWN
from studio.session.document.frozen_config import FrozenConfig
from studio.session.document.layer_types import OWN_FIELDS, is_known, layer_of
from studio.session.document.state import CanvasNode

MOST_LINES = 3
TIMES = "\u00d7"


class CardLine(NamedTuple):
    """One option as a layer shows it: its name, its label and its value as text."""

    option: str
    label: str
    value: str


def card_lines(node: CanvasNode) -> tuple[CardLine, ...]:
    """The options a node shows, three at most."""
    if not node.is_layer:
        return ()
    if not is_known(node.type_name):
        return kept_lines(node)[:MOST_LINES]
    return _lines(node.type_name, node.config)


def kept_lines(node: CanvasNode) -> tuple[CardLine, ...]:
    """All options of a layer whose plugin is not loaded, as the file has them."""
    return tuple(
        CardLine(name, name.replace("_", " "), value_text(value))
        for name, value in node.config.plain().items()
        if name not in OWN_FIELDS
    )


def value_text(value: Plain) -> str:
    """A plain value in a few characters: ``yes``, ``0.25``, a pair with a times sign between."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return f" {TIMES} ".join("None" if e is None else value_text(e) for e in value)
    return str(value)


def shape_label(shape: Sequence[int]) -> str:
    """A shape without the batch as wires and layers show it, with times signs between."""
    return TIMES.join("None" if n == UNKNOWN else str(n) for n in shape)


def spoken_shape(shape: Sequence[int]) -> str:
    """A shape without the batch as a screen reader says it."""
    said = ("any length" if n == UNKNOWN else str(n) for n in shape)
    return " by ".join(said) or "scalar"


@lru_cache(maxsize=20_000)
def _lines(type_name: str, config: FrozenConfig) -> tuple[CardLine, ...]:
    layer = layer_of(type_name, config)
    values = [(o, value) for o, value in layer.form_values() if o.on_card is not False]
    shown = [pair for pair in values if pair[0].required]
    shown += [pair for pair in values if pair[0].on_card and not pair[0].required]
    shown += [pair for pair in values if pair not in shown and _stands_out(*pair)]
    return tuple(
        CardLine(o.name, o.name.rpartition(".")[2].replace("_", " "), value_text(value))
        for o, value in shown[:MOST_LINES]
    )


def _stands_out(option: AnyOption, value: Plain) -> bool:
    """Whether an option was set to something worth a line."""
    is_plain = option.kind is not OptionKind.SPEC or option.form_editor == "text"
    is_plain = is_plain and option.on_card is None and not option.is_fixed
    return is_plain and not option.is_default(value)
