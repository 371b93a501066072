"""How long a device has worked without a break, so that its clock can be trusted to have risen."""

from __future__ import annotations

import math

BREAK = 2.0
"""A block of work that takes this many times the shortest before it held something else, too."""
LEAST_BREAK = 0.2
"""Seconds in which a clock does not sink: what takes no longer than that more is no break."""
MOST_BREAKS = 3
"""Breaks after which the count begins again; on a restless machine it ends nevertheless."""


class SteadyWork:
    """Counts seconds of equal blocks of work, from zero after a break.

    A GPU lowers its clock while it waits, and the first steps of a program are full of waits: the
    driver finishes its compiling in the first one, and after some the host compiles what sends
    them. The first block is not counted.
    """

    def __init__(self) -> None:
        self._begun: float | None = None
        self._ended = 0.0
        self._shortest = math.inf
        self._breaks = 0

    @property
    def seconds(self) -> float:
        """Seconds since the last break."""
        return 0.0 if self._begun is None else self._ended - self._begun

    def add(self, ended: float, took: float) -> None:
        """Count a block.

        Args:
            ended: the clock when it ended.
            took: how long it took.
        """
        longest = max(BREAK * self._shortest, self._shortest + LEAST_BREAK)
        broken = took > longest and self._breaks < MOST_BREAKS
        self._breaks += broken
        if self._begun is None or broken:
            self._begun = ended
        self._ended = ended
        self._shortest = min(self._shortest, took)
