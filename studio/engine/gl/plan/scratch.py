"""Places the scratch storage of all dispatches in one buffer, sharing bytes over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from studio.engine.compiler.lifetimes import Life, Span
from studio.engine.compiler.taken_bytes import TakenBytes
from studio.engine.gl.shader.accessors import Use
from studio.engine.gl.shader.planned import ScratchBinding

ROOM = 32 << 20
"""Bytes of scratch storage that may be in use at once, so that sums need not wait for others'."""
_ENDLESS = 1 << 62


@dataclass(frozen=True)
class ScratchPlan:
    """Where the scratch storage of each dispatch lies.

    Attributes:
        ranges: first byte and length by dispatch; None where it needs none.
        nbytes: length of the buffer.
    """

    ranges: tuple[tuple[int, int] | None, ...]
    nbytes: int


def scratch_users(bindings: Sequence[ScratchBinding | None]) -> list[list[int]]:
    """The dispatches that work on the same scratch storage, by number.

    A dispatch that fills scratch storage and the ones behind it that read it share a range.
    """
    found: list[list[int]] = []
    filling = False
    for number, binding in enumerate(bindings):
        if binding is None:
            continue
        fills_scratch = binding.use is Use.WRITE
        if not found or binding.alone or (fills_scratch and not filling):
            found.append([])
        found[-1].append(number)
        filling = fills_scratch and not binding.alone
    return found


def scratch_sizes(
    bindings: Sequence[ScratchBinding | None], users: Sequence[Sequence[int]], alignment: int
) -> list[int]:
    """Bytes that dispatches sharing a range need; arguments as of ``place_scratch``."""
    return [
        -(-max(b.floats for k in numbers if (b := bindings[k]) is not None) * 4 // alignment)
        * alignment
        for numbers in users
    ]


def spare_room(arena_bytes: int) -> int:
    """Bytes of scratch storage a step may have so that sums can wait beside later dispatches."""
    return arena_bytes // 16


def place_scratch(
    bindings: Sequence[ScratchBinding | None],
    users: Sequence[Sequence[int]],
    alignment: int,
    levels: Sequence[int] = (),
    *,
    seamless: bool = False,
) -> ScratchPlan:
    """Places scratch storage so that none is written while another one needs the same bytes.

    Args:
        bindings: what each dispatch asks for, in the program's order.
        users: the dispatches that share a range, see ``scratch_users``.
        alignment: bytes a range begins at a multiple of.
        levels: the level of each dispatch; by default each has its own.
        seamless: whether the last level of a step may run beside the first one of the next.
    """
    levels = levels or range(len(bindings))
    end = max(levels, default=0)
    lives: list[Life] = []
    for numbers in users:
        own = Span(min(levels[k] for k in numbers), max(levels[k] for k in numbers))
        if seamless and (own.first == 0 or own.last == end):
            own = Span(0, end)
        lives.append(Life(Span(numbers[0], numbers[-1]), own))
    sizes = scratch_sizes(bindings, users, alignment)
    taken = TakenBytes(alignment, _ENDLESS)
    ranges: list[tuple[int, int] | None] = [None] * len(bindings)
    nbytes = 0
    for place in sorted(range(len(users)), key=lambda place: -sizes[place]):
        begin = taken.place(lives[place], sizes[place])
        nbytes = max(nbytes, begin + sizes[place])
        for number in users[place]:
            ranges[number] = (begin, sizes[place])
    return ScratchPlan(tuple(ranges), nbytes)
