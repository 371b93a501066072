"""Where a training stands, how fast it goes by the clock, and how long it will still take.

The command line and the window show these numbers as they are, so they cannot differ.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from studio.engine.train.loop.epoch_loop import EpochLoop

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


class TimeLeftEstimator:
    """Estimates the time left, with a note when the estimate changes suddenly."""

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


@dataclass(frozen=True)
class Progress:
    """One report.

    Attributes:
        epoch: epochs finished.
        epochs: epochs in all.
        step: steps of this epoch that are queued.
        steps: steps of an epoch.
        total_step: steps since the beginning, resumed parts included.
        metrics: means over this epoch's rows so far, of the steps whose numbers have arrived.
        learning_rate: rate of the next step; one that was set shows once the loop has taken it.
        elapsed: seconds of training so far, resumed parts included, pauses left out.
        left: how long it will still take.
        rows_per_second: rows done by the time they took over the last seconds, stalls and the ends
            of epochs included; None while that is unknown.
        rows: rows of an epoch.
    """

    epoch: int
    epochs: int
    step: int
    steps: int
    total_step: int
    metrics: Mapping[str, float] = field(default_factory=dict)
    learning_rate: float = 0.0
    elapsed: float = 0.0
    left: TimeLeft = NO_TIME
    rows_per_second: float | None = None
    rows: int = 0

    @property
    def step_seconds(self) -> float | None:
        """Seconds a step takes at that pace, its part of an epoch's end included."""
        pace = self.rows_per_second
        return self.rows / self.steps / pace if pace and self.steps else None

    @property
    def share(self) -> float:
        """The part of all steps that is done, 0 to 1."""
        whole = self.epochs * self.steps
        return min(1.0, (self.epoch * self.steps + self.step) / whole) if whole else 1.0


class Stopwatch:
    """Seconds that passed while it ran; it begins halted.

    Args:
        clock: seconds since some moment.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._before = 0.0
        self._since: float | None = None

    def start(self) -> None:
        """Go on counting."""
        if self._since is None:
            self._since = self._clock()

    def halt(self) -> None:
        """Stop counting."""
        self._before, self._since = self.seconds, None

    @property
    def seconds(self) -> float:
        """Seconds counted so far."""
        running = 0.0 if self._since is None else self._clock() - self._since
        return self._before + running


class Reporter:
    """Makes the reports of one training; on the training thread.

    Attributes:
        watch: seconds of this part of the training.
        before: seconds of the parts before.

    Args:
        epochs: epochs in all.
        clock: seconds since some moment.
    """

    def __init__(self, epochs: int, clock: Callable[[], float]) -> None:
        self.watch = Stopwatch(clock)
        self.before = 0.0
        self._epochs = epochs
        self._pace = Pace()
        self._estimator = TimeLeftEstimator()
        self._rows_before: int | None = None
        self._paced = False

    @property
    def seconds(self) -> float:
        """Seconds of all parts of the training."""
        return self.before + self.watch.seconds

    def begin(self, loop: EpochLoop, epoch: int) -> None:
        """The first step is about to run, in that epoch."""
        self._rows_before = self._rows_at(loop, epoch)
        self.watch.start()

    def control_changed(self, state: str) -> None:
        """Stop the clock while the training is paused."""
        if state == "paused":
            self.watch.halt()
        elif state == "running" and self._rows_before is not None:
            self.watch.start()

    def begin_steps(self, loop: EpochLoop) -> None:
        """The steps of an epoch are about to run."""
        self._pace.begin_steps(self._plain_seconds(loop))

    def end_steps(self, loop: EpochLoop, epoch: int) -> None:
        """The steps of an epoch are done; validation and callbacks follow."""
        self._paced = True
        self._pace.end_steps(*self._plain(loop, self._rows_at(loop, epoch)))

    def report(
        self, loop: EpochLoop, epoch: int, *, in_epoch: bool, logs: Mapping[str, float] | None
    ) -> Progress:
        """The report of now.

        Args:
            loop: runs the steps.
            epoch: epochs finished.
            in_epoch: whether another has begun.
            logs: numbers of the epoch that has just ended.
        """
        each, steps = len(loop.feeder.samples), loop.feeder.steps
        rows = self._rows_at(loop, epoch) if in_epoch else epoch * each
        seconds, paced = self._plain(loop, rows)
        if paced > 0 and in_epoch and not self._paced:
            # Numbers of steps already run may arrive later; their rows must not count as done
            # after this report.
            self._paced = True
            paced += min(each, loop.step * loop.feeder.batch_size) - loop.metrics_reader.rows
        self._pace.note(seconds, paced)
        left = self._pace.seconds_left(
            max(0, self._epochs * each - rows), max(0, self._epochs - epoch)
        )
        return Progress(
            epoch,
            self._epochs,
            loop.step if in_epoch else 0,
            steps,
            loop.total_step,
            loop.metrics_reader.means() if logs is None else logs,
            loop.rates.rate(loop.total_step),
            self.seconds,
            self._estimator.tell(left, self.watch.seconds),
            self._pace.rows_per_second,
            each,
        )

    def _rows_at(self, loop: EpochLoop, epoch: int) -> int:
        """Rows of all epochs whose numbers are there."""
        return epoch * len(loop.feeder.samples) + loop.metrics_reader.rows

    def _plain(self, loop: EpochLoop, rows: int) -> tuple[float, int]:
        """Seconds and rows of this part of the training, without instrumented steps."""
        before = self._rows_before or 0
        return self._plain_seconds(loop), rows - before - loop.measured_rows

    def _plain_seconds(self, loop: EpochLoop) -> float:
        return self.watch.seconds - loop.measured_seconds
