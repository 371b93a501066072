"""Says which dispatches must wait for others: overlapping ranges of which one side writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

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


@dataclass(slots=True, eq=False)
class _Touched:
    """A range some dispatch has touched, the last levels that did, and the ranges it meets."""

    begin: int
    end: int
    read: int = -1
    written: int = -1
    met: list[_Touched] = field(default_factory=list)


class Levels:
    """Gives every dispatch the first level at which all it waits for lies in levels before.

    Dispatches of one level may run at the same time; between levels stands one barrier.
    """

    def __init__(self) -> None:
        self._touched: dict[int, dict[tuple[int, int], _Touched]] = {}

    def place(self, reads: Sequence[Span], writes: Sequence[Span]) -> int:
        """The level of the next dispatch of the program; remembers its ranges."""
        level = 0
        read = [self._own(span) for span in reads]
        written = [self._own(span) for span in writes]
        for own in read:
            for one in own.met:
                level = max(level, one.written + 1)
        for own in written:
            for one in own.met:
                level = max(level, one.written + 1, one.read + 1)
        for own in read:
            own.read = max(own.read, level)
        for own in written:
            own.written = max(own.written, level)
        return level

    def _own(self, span: Span) -> _Touched:
        """What is known of a range; the ranges it meets, itself among them, are found once."""
        name, begin, end = span
        known = self._touched.setdefault(name, {})
        own = known.get((begin, end))
        if own is None:
            known[begin, end] = own = _Touched(begin, end)
            own.met = [one for one in known.values() if one.begin < end and begin < one.end]
            for one in own.met:
                if one is not own:
                    one.met.append(own)
        return own


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
    # From the end, so that who waits for a patient one may already have made room for it.
    for number in reversed(range(len(levels))):
        level = levels[number]
        if not patient[number] or level == last:
            continue
        later = range(number + 1, len(levels))
        close = (k for k in later if found[k] <= level + 1)
        if not any(_meet(touches[number], touches[k]) for k in close):
            found[number] = level + 1
    return found


def _meet(first: Touches, second: Touches) -> bool:
    reads, writes = first
    return _overlap(reads, second[1]) or _overlap(writes, second[1]) or _overlap(writes, second[0])
