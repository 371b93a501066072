"""How fast a training goes by the clock, and how long it will still take.

The command line and the window show these numbers as they are, so they cannot differ.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

WINDOW_SECONDS = 10.0
"""Seconds that the pace is averaged over."""

LEAST_SECONDS = 0.5
"""Seconds before there is a pace, unless a whole epoch is over sooner."""

MOST_JUMP = 0.2
"""Relative difference from the expected time left above which a note says so."""

NOTE_SECONDS = 5.0
"""How long that note stays."""

_ENDS = 8
_APART = 0.05


class _Rate:
    """Rows a second over the last seconds of one clock."""

    def __init__(self) -> None:
        self._notes: deque[tuple[float, int]] = deque()

    def note(self, seconds: float, rows: int) -> None:
        """Take the rows done up to a time of the clock."""
        notes = self._notes
        if len(notes) > 1 and seconds - notes[-2][0] < _APART:
            notes.pop()
        notes.append((seconds, rows))
        # In a stall older notes stay, so that the pace falls instead of becoming unknown.
        while len(notes) > 2 and seconds - notes[1][0] >= WINDOW_SECONDS and rows > notes[1][1]:
            notes.popleft()

    @property
    def seconds(self) -> float:
        """Seconds between the first note kept and the last."""
        return self._notes[-1][0] - self._notes[0][0] if self._notes else 0.0

    @property
    def value(self) -> float | None:
        """Rows a second; None where none were done."""
        rows = self._notes[-1][1] - self._notes[0][1] if self._notes else 0
        return rows / self.seconds if rows > 0 and self.seconds > 0 else None


class Pace:
    """Rows done by the time they took, everything included: stalls, and the ends of epochs.

    Times are seconds of a clock that stops while the training is paused. The first step is left
    out, since it includes compiling.
    """

    def __init__(self) -> None:
        self._wall = _Rate()
        self._steps = _Rate()
        self._ends: deque[float] = deque(maxlen=_ENDS)
        self._ends_done = 0
        self._ends_seconds = 0.0
        self._end_began: float | None = None

    def note(self, seconds: float, rows: int) -> None:
        """Take the rows done up to a time."""
        if rows > 0:
            self._wall.note(seconds, rows)
            if self._end_began is None:
                self._steps.note(seconds - self._ends_seconds, rows)

    def end_steps(self, seconds: float, rows: int) -> None:
        """The last step of an epoch is done; its end begins: validation, checkpoints, callbacks."""
        self.note(seconds, rows)
        self._end_began = seconds

    def begin_steps(self, seconds: float) -> None:
        """The end of an epoch is over, if there was one; steps begin."""
        if self._end_began is None:
            return
        if self._ends_done == 1:
            # The first end compiles the validation program; those to come do not.
            self._ends.clear()
        self._ends_done += 1
        self._ends.append(seconds - self._end_began)
        self._ends_seconds += self._ends[-1]
        self._end_began = None

    @property
    def rows_per_second(self) -> float | None:
        """Rows done by the time they took, over the last seconds; None while that is unknown."""
        is_known = self._wall.seconds >= LEAST_SECONDS or self._ends or self._end_began is not None
        return self._wall.value if is_known else None

    def seconds_left(self, rows: int, ends: int) -> float | None:
        """How long so many rows and ends of epochs will take; None while that is unknown."""
        if not rows and not ends:
            return 0.0
        rate = None if self.rows_per_second is None else self._steps.value
        if rate is None:
            return None
        end = sum(self._ends) / len(self._ends) if self._ends else 0.0
        return rows / rate + ends * end


@dataclass(frozen=True)
class TimeLeft:
    """What is said about the time left.

    Attributes:
        seconds: how long, or None while it is not known.
        note: why it is not what was expected a moment ago; empty where it is.
    """

    seconds: float | None = None
    note: str = ""


NO_TIME = TimeLeft()


class TimeLeftTeller:
    """Tells the time left, and says why where it is far from what was expected."""

    def __init__(self) -> None:
        self._last: tuple[float, float] | None = None
        self._note = ""
        self._noted = 0.0

    def tell(self, estimate: float | None, elapsed: float) -> TimeLeft:
        """The time left now, with a note where it changed suddenly.

        Args:
            estimate: time left by the pace of now.
            elapsed: seconds of training so far.
        """
        if estimate is None:
            return NO_TIME
        if self._last is not None:
            before, at = self._last
            expected = max(0.0, before - (elapsed - at))
            if abs(estimate - expected) > MOST_JUMP * expected + 1.0:
                self._note = "slower than before" if estimate > expected else "faster than before"
                self._noted = elapsed
            elif elapsed - self._noted > NOTE_SECONDS:
                self._note = ""
        self._last = (estimate, elapsed)
        return TimeLeft(estimate, self._note)
