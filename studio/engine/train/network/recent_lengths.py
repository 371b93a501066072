"""Which lengths of a network are kept ready: those used last, so that memory stays bounded."""

from __future__ import annotations

from studio.engine.layers.lengths import Lengths

MOST_LENGTHS = 16
"""Lengths whose programs, executables and resident data are kept beside those of the task."""


class RecentLengths:
    """The lengths in use, the one used longest ago first; the task's own (``()``) always stay.

    So do those ``held``, whose steps are under way: between two steps others may be used.

    Args:
        most: how many are kept.
    """

    def __init__(self, most: int = MOST_LENGTHS) -> None:
        self.held: Lengths = ()
        self._most = most
        self._used: dict[Lengths, None] = {}

    def use(self, lengths: Lengths) -> Lengths | None:
        """Note that lengths are used; those to give up for them, None where there is room."""
        if not lengths:
            return None
        self._used.pop(lengths, None)
        self._used[lengths] = None
        if len(self._used) <= self._most:
            return None
        free = (each for each in self._used if each not in (lengths, self.held))
        oldest = next(free, None)
        if oldest is not None:
            del self._used[oldest]
        return oldest
