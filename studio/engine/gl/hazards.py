"""Says which dispatches must wait for others: overlapping ranges of which one side writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Span = tuple[int, int, int]
"""A buffer's name and a byte range in it."""


class Hazards:
    """Says which dispatches must wait for the ones before: overlapping ranges, one side writing."""

    def __init__(self) -> None:
        self._read: list[Span] = []
        self._written: list[Span] = []

    def needs_barrier(self, reads: Sequence[Span], writes: Sequence[Span]) -> bool:
        """Whether a dispatch has to come behind a barrier; remembers its ranges."""
        waits = (
            _overlap(reads, self._written)
            or _overlap(writes, self._written)
            or _overlap(writes, self._read)
        )
        if waits:
            self._read.clear()
            self._written.clear()
        self._read += reads
        self._written += writes
        return waits


def _overlap(first: Iterable[Span], second: Sequence[Span]) -> bool:
    return any(a[0] == b[0] and a[1] < b[2] and b[1] < a[2] for a in first for b in second)


@dataclass(slots=True)
class _Touched:
    """A range some dispatch has touched, and the last levels that did."""

    begin: int
    end: int
    read: int = -1
    written: int = -1


class Levels:
    """Gives every dispatch the first level at which all it waits for lies in levels before.

    Dispatches of one level may run at the same time; between levels stands one barrier.
    """

    def __init__(self) -> None:
        self._touched: dict[int, dict[tuple[int, int], _Touched]] = {}

    def place(self, reads: Sequence[Span], writes: Sequence[Span]) -> int:
        """The level of the next dispatch of the program; remembers its ranges."""
        level = 0
        for name, begin, end in reads:
            for one in self._met(name, begin, end):
                level = max(level, one.written + 1)
        for name, begin, end in writes:
            for one in self._met(name, begin, end):
                level = max(level, one.written + 1, one.read + 1)
        for span in reads:
            one = self._own(span)
            one.read = max(one.read, level)
        for span in writes:
            one = self._own(span)
            one.written = max(one.written, level)
        return level

    def _met(self, name: int, begin: int, end: int) -> Iterable[_Touched]:
        known = self._touched.get(name, {}).values()
        return [one for one in known if one.begin < end and begin < one.end]

    def _own(self, span: Span) -> _Touched:
        name, begin, end = span
        return self._touched.setdefault(name, {}).setdefault((begin, end), _Touched(begin, end))


Touches = tuple[Sequence[Span], Sequence[Span]]
"""What a dispatch reads and writes."""


def with_patience(
    levels: Sequence[int], touches: Sequence[Touches], patient: Sequence[bool]
) -> list[int]:
    """Levels with patient dispatches one level later, where nobody waits for them there.

    Args:
        levels: as ``Levels`` gave them, in the program's order.
        touches: what each dispatch reads and writes.
        patient: which of them had better run beside what comes next.
    """
    found = list(levels)
    last = max(levels, default=0)
    for number, level in enumerate(levels):
        if not patient[number] or level == last:
            continue
        later = range(number + 1, len(levels))
        close = (k for k in later if levels[k] <= level + 1)
        if not any(_meet(touches[number], touches[k]) for k in close):
            found[number] = level + 1
    return found


def _meet(first: Touches, second: Touches) -> bool:
    reads, writes = first
    return _overlap(reads, second[1]) or _overlap(writes, second[1]) or _overlap(writes, second[0])
