"""What a thing on the canvas is marked with at the moment, beside what it shows of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

Side: TypeAlias = Literal["in", "out"]
PortMark: TypeAlias = Literal["good", "bad", "snap", "blink", "chosen"]


class PortKey(NamedTuple):
    """One port of a layer."""

    side: Side
    slot: int = 0


@dataclass(frozen=True)
class Marks:
    """Marks of one layer, dot, note or frame.

    Attributes:
        selected: ``primary`` for the one keys act on, ``other`` for the rest, or empty.
        hovered: the pointer is over it, here or in another view.
        linked: role it has for what is selected or under the pointer, or empty.
        caught: a marquee covers it, or a drop would go to it.
        dimmed: what is being dragged cannot go there.
        ports: ports that stand out: while a wire is drawn, or the output that is chosen.
    """

    selected: Literal["", "primary", "other"] = ""
    hovered: bool = False
    linked: str = ""
    caught: bool = False
    dimmed: bool = False
    ports: Mapping[PortKey, PortMark] = field(default_factory=dict)


NO_MARKS = Marks()
