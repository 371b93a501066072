"""Keeps the window's part in the time of a training small, however many live views are open.

NumPy and OpenGL calls of the training wait for the interpreter while the window's thread runs
Python, so what live views spend is what the training loses. Their refreshes are therefore spaced
out until the window's thread stays within its budget; on a machine where they cost little they keep
the rate they ask for. Quiet stops pictures and lets facts change once a second.
"""

from __future__ import annotations

import time
import weakref
from typing import Literal, TypeAlias

from PySide6.QtCore import QTimer

from studio.engine.core.signal import Signal
from studio.engine.profiler.thread_clock import ThreadClock
from studio.ui.models.profiling import ProfilingModel
from studio.ui.models.training import TrainingModel
from studio.ui.models.training_session import NEWS_SECONDS
from studio.ui.models.training_state import State

Kind: TypeAlias = Literal["picture", "fact"]
"""What a live refresh draws: a picture, or a line of text that should never be hidden."""

RUNNING: frozenset[State] = frozenset({"running", "pausing", "stopping"})

BUDGET = 0.025
"""Share of one core that the window's thread may take while a training runs."""

QUIET_FACT_MS = 1000
MOST_FACT_MS = 500
_LOOK_MS = 500
_MOST = 12.0
_CALM = 0.75


class LiveBudget:
    """How far apart live refreshes are to lie; one for the process, on the window's thread.

    Attributes:
        pictures_go_on: pictures that were stopped may be drawn again.
    """

    def __init__(self) -> None:
        self.pictures_go_on: Signal[[]] = Signal()
        self.runs = False
        self.stretch = 1.0
        self.quiet = False
        self.share = 0.0
        self._clock: ThreadClock | None = None
        self._timer: QTimer | None = None
        self._looked = 0.0
        self._spent = 0.0
        self._training: weakref.ref[TrainingModel] | None = None

    def follow(self, training: TrainingModel, profiling: ProfilingModel) -> None:
        """Watch the window's thread while this training runs, and hear of Quiet."""
        self._training = weakref.ref(training)
        training.state_changed.connect(self.training_changed)
        profiling.quiet_changed.connect(self.set_quiet)
        self.training_changed(training.state)
        self.set_quiet(profiling.quiet)

    def set_quiet(self, quiet: bool) -> None:
        """Stop pictures while a training runs, or let them go on."""
        stopped = self.stops_pictures
        self.quiet = quiet
        self._turn(stopped)

    @property
    def stops_pictures(self) -> bool:
        """Whether no live picture is to be drawn now."""
        return self.quiet and self.runs

    def training_changed(self, state: State) -> None:
        """A training runs, or does no longer; on the window's thread."""
        stopped = self.stops_pictures
        self.runs = state in RUNNING
        if not self.runs:
            self.stretch = 1.0
        self._turn(stopped)

    def _turn(self, stopped: bool) -> None:
        """Measure while pictures are drawn beside a training, and at no other time."""
        measures = self.runs and not self.quiet
        if measures and self._timer is None:
            self._begin()
        elif not measures and self._timer is not None:
            self._end()
        self._tell_training()
        if stopped and not self.stops_pictures:
            self.pictures_go_on.emit()

    def _tell_training(self) -> None:
        # News that nobody shows before the next fact need not wake the window.
        training = None if self._training is None else self._training()
        if training is not None:
            wanted = round(1e3 * NEWS_SECONDS)
            training.set_news_seconds(1e-3 * self.fact_interval_ms(wanted))

    def _begin(self) -> None:
        self._clock = ThreadClock.of_this_thread()
        if self._clock is None:
            return
        self._looked, self._spent = time.perf_counter(), self._clock.seconds
        self._timer = QTimer()
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(self._look)
        self._timer.start()

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        self.share = 0.0

    def interval_ms(self, kind: Kind, wanted: int) -> int | None:
        """How long a refresh is to wait for the next; None where it is not to come at all.

        Args:
            kind: what is drawn.
            wanted: milliseconds it would like to wait.
        """
        if kind == "fact":
            return self.fact_interval_ms(wanted)
        return None if self.stops_pictures else round(wanted * self.stretch)

    def fact_interval_ms(self, wanted: int) -> int:
        """How long a fact is to wait for the next, which comes in any case."""
        if self.stops_pictures:
            return max(wanted, QUIET_FACT_MS)
        # Two places that tell the same fact must not be seconds apart.
        return min(round(wanted * self.stretch), max(wanted, MOST_FACT_MS))

    def _look(self) -> None:
        if self._clock is None:
            return
        now, spent = time.perf_counter(), self._clock.seconds
        passed = now - self._looked
        # A look that comes late saw a window that could not work, not one that had nothing to do.
        if passed < 2e-3 * _LOOK_MS:
            self.adapt((spent - self._spent) / max(1e-3, passed))
        self._looked, self._spent = now, spent

    def adapt(self, share: float) -> None:
        """Take a share that was measured and space refreshes out, or let them come closer."""
        # Half of the past, so that one large paint does not freeze everything.
        self.share = share if self.share == 0.0 else (self.share + share) / 2
        if self.share > BUDGET:
            self.stretch = min(_MOST, self.stretch * min(2.0, self.share / BUDGET))
        elif self.share < _CALM * BUDGET:
            self.stretch = max(1.0, self.stretch * 0.85)
        self._tell_training()


budget = LiveBudget()
"""The budget of this process's window."""
