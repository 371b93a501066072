"""How fast a training goes, and how long it will still take."""

from __future__ import annotations

import statistics
from collections import deque
from dataclasses import dataclass

BATCHES = 50
"""Steps the pace is the median of."""

FIRST = 20
"""Steps before there is a pace."""

MOST_JUMP = 0.2
"""Part by which the time left may differ at once from what was expected."""

_GAPS = 9


class Pace:
    """The median time of the last steps, and of what lies between epochs."""

    def __init__(self) -> None:
        self._parts: deque[tuple[int, float]] = deque()
        self._gaps: deque[float] = deque(maxlen=_GAPS)
        self._total = 0

    def add(self, steps: int, seconds: float) -> None:
        """So many steps took so long together."""
        if steps <= 0 or seconds <= 0:
            return
        self._parts.append((steps, seconds / steps))
        self._total += steps
        while sum(count for count, _ in self._parts) - self._parts[0][0] >= BATCHES:
            self._parts.popleft()

    def add_gap(self, seconds: float) -> None:
        """So long it took from the last step of an epoch to the first of the next."""
        self._gaps.append(max(0.0, seconds))

    @property
    def step_seconds(self) -> float | None:
        """Median time of a step; None before there were enough."""
        if self._total < FIRST:
            return None
        passed, half = 0, sum(count for count, _ in self._parts) / 2
        for count, seconds in sorted(self._parts, key=lambda part: part[1]):
            passed += count
            if passed >= half:
                return seconds
        return None

    def seconds_left(self, steps: int, epochs: int) -> float | None:
        """How long so many steps and ends of epochs will take; None while that is unknown."""
        each = self.step_seconds
        if each is None:
            return None
        gap = statistics.median(self._gaps) if self._gaps else 0.0
        return steps * each + epochs * gap


@dataclass(frozen=True)
class TimeLeft:
    """What is said about the time left.

    Attributes:
        seconds: how long, or None while it is not known.
        note: why it is not what was expected a moment ago; empty where it is.
    """

    seconds: float | None = None
    note: str = ""


class TimeLeftTeller:
    """Tells the time left without sudden jumps: it nears a new estimate in steps, and says so."""

    def __init__(self) -> None:
        self._said: float | None = None
        self._at = 0.0

    def tell(self, estimate: float | None, elapsed: float) -> TimeLeft:
        """What to say at a moment.

        Args:
            estimate: time left by the pace of now.
            elapsed: seconds of training so far.
        """
        if estimate is None:
            return TimeLeft()
        if self._said is None:
            said, note = estimate, ""
        else:
            expected = max(0.0, self._said - (elapsed - self._at))
            low, high = expected * (1.0 - MOST_JUMP), expected * (1.0 + MOST_JUMP) + 1.0
            said = min(max(estimate, low), high)
            note = ""
            if said < estimate:
                note = "slower than before"
            elif said > estimate:
                note = "faster than before"
        self._said, self._at = said, elapsed
        return TimeLeft(said, note)
