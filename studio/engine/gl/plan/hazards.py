"""Says which dispatches must wait for others: overlapping ranges of which one side writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

Span = tuple[int | str, int, int]
"""A buffer's name (the driver's number, or a word where there is none) and a byte range in it."""


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
        self._touched: dict[int | str, dict[tuple[int, int], _Touched]] = {}

    def place(self, reads: Sequence[Span], writes: Sequence[Span], least: int = 0) -> int:
        """The level of the next dispatch, ``least`` or a later one; remembers its ranges."""
        level = least
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
        """The record of a range; overlapping ranges, itself included, are found once."""
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


def with_slack(
    levels: Sequence[int], touches: Sequence[Touches], slack: Sequence[int]
) -> list[int]:
    """Levels with dispatches that have slack moved later, as far as no reader is delayed.

    Args:
        levels: as ``Levels`` gave them, in the program's order.
        touches: what each dispatch reads and writes.
        slack: how many levels later each may run.
    """
    found = list(levels)
    last = max(levels, default=0)
    # From the end: the reader of a dispatch with slack may have moved later itself.
    for number in reversed(range(len(levels))):
        end = min(levels[number] + slack[number], last)
        later = range(number + 1, len(levels))
        while found[number] < end:
            close = (k for k in later if found[k] <= found[number] + 1)
            if any(_meet(touches[number], touches[k]) for k in close):
                break
            found[number] += 1
    return found


def without_seam(
    levels: Sequence[int], touches: Sequence[Touches], slack: Sequence[int]
) -> list[int] | None:
    """Levels that let the next step's first level run beside this step's last one.

    A dispatch of the first level that depends on the last level moves to the second one. None if
    that is not enough or adds a level.

    Args:
        levels: one per dispatch, in the program's order.
        touches: what each dispatch reads and writes.
        slack: how many levels later each had better run, see ``with_slack``.
    """
    last = max(levels, default=0)
    least = [int(level == 0 and _any_at(last, levels, touches, own))
             for level, own in zip(levels, touches, strict=True)]  # fmt: skip
    found = list(levels)
    if any(least):
        again = Levels()
        found = [again.place(*own, k) for own, k in zip(touches, least, strict=True)]
        found = with_slack(found, touches, slack)
    firsts = [own for level, own in zip(found, touches, strict=True) if level == 0]
    stays = last > 0 and max(found) == last and bool(firsts)
    return None if not stays or any(_any_at(last, found, touches, own) for own in firsts) else found


def _any_at(level: int, levels: Sequence[int], touches: Sequence[Touches], own: Touches) -> bool:
    """Whether a dispatch meets any of a level."""
    return any(k == level and _meet(own, one) for k, one in zip(levels, touches, strict=True))


def _meet(first: Touches, second: Touches) -> bool:
    """Whether one of two dispatches has to wait for the other."""
    reads, writes = first
    return _overlap(reads, second[1]) or _overlap(writes, second[1]) or _overlap(writes, second[0])
