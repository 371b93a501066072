"""Signals of a training thread, queued and delivered on the window's thread at a limited rate."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import TypeAlias

from studio.engine.core.errors import StudioError
from studio.engine.train.loop.control import State as ControlState
from studio.engine.train.loop.progress import Progress
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.runs.marks import BEGINNINGS, Mark
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.step_log import StepChunk, StepsHeader
from studio.session.core.run_notes import forget_test
from studio.session.core.scheduling import Handle, Scheduler, Work
from studio.session.training.state import Compiling


@dataclass(frozen=True)
class TrainingStarted:
    """The first step is about to run.

    Attributes:
        header: what each step gives, and what an epoch consists of.
        step: steps done before.
    """

    header: StepsHeader
    step: int


@dataclass(frozen=True)
class EpochEnded:
    """An epoch with its validation is over.

    Attributes:
        step: steps done.
        numbers: means over the epoch, and of validation.
    """

    step: int
    numbers: Mapping[str, float]


@dataclass(frozen=True)
class TrainingMessage:
    """A sentence for the user; ``is_warning`` where something is wrong."""

    text: str
    is_warning: bool = False


TrainingEvent: TypeAlias = (
    "TrainingStarted | StepChunk | EpochEnded | Mark | Progress | Compiling | TrainingMessage"
)


class TrainingEvents:
    """Listens to a training; its thread never waits for the window.

    Args:
        trainer: what is listened to, before it starts.
        told: called after an event was queued, on the training thread; must return at once.
    """

    def __init__(self, trainer: Trainer, run: RunFolder, told: Callable[[], object]) -> None:
        self.queue: deque[TrainingEvent] = deque()
        self._trainer = trainer
        self._run = run
        self._told = told
        trainer.steps.began.connect(self._began)
        trainer.steps.added.connect(self._tell)
        trainer.epoch_ended.connect(self._epoch_ended)
        trainer.progress.connect(self._tell)
        trainer.compiling.connect(self._compiling)
        trainer.said.connect(self._said)
        trainer.warned.connect(self._warned)
        trainer.marked.connect(self._marked)
        trainer.control.changed.connect(self._state_changed)

    def _tell(self, event: TrainingEvent) -> None:
        self.queue.append(event)
        self._told()

    def _began(self, header: StepsHeader, step: int) -> None:
        self._tell(TrainingStarted(header, step))

    def _epoch_ended(self, _epoch: int, numbers: Mapping[str, float]) -> None:
        self._tell(EpochEnded(self._trainer.loop.total_step, dict(numbers)))

    def _compiling(self, done: int, total: int) -> None:
        self._tell(Compiling(done, total))

    def _said(self, text: str) -> None:
        self._tell(TrainingMessage(text))

    def _warned(self, text: str) -> None:
        self._tell(TrainingMessage(text, is_warning=True))

    def _marked(self, mark: Mark) -> None:
        if mark.kind == "restart":
            self._forget_test()
        if mark.kind not in BEGINNINGS:
            self._tell(mark)

    def _state_changed(self, _state: ControlState) -> None:
        self._told()

    def _forget_test(self) -> None:
        """Drop the run's test results: they belong to other weights."""
        try:
            forget_test(self._run)
        except StudioError as error:
            self._warned(f"the test result is of earlier weights: {error.message}")


class CrossThreadThrottle:
    """Runs work on the window's thread; requests that come close together run it once.

    Args:
        seconds: shortest time between two runs.
    """

    def __init__(self, scheduler: Scheduler, seconds: float, work: Work) -> None:
        self._scheduler = scheduler
        self._seconds = seconds
        self._work = work
        self._lock = Lock()
        self._asked = False
        self._closed = False
        self._resting: Handle | None = None

    def set_seconds(self, seconds: float) -> None:
        """Change the shortest time between two runs, from the next on; on the window's thread."""
        self._seconds = seconds

    def ask(self) -> None:
        """Run the work soon; from any thread. The window is woken once, however many ask.

        While it rests it is not woken at all: it looks by itself when the rest is over.
        """
        with self._lock:
            if self._asked or self._closed:
                return
            self._asked = True
            if self._resting is not None:
                return
        self._scheduler.post(self._run)

    def close(self) -> None:
        """Never run the work again."""
        with self._lock:
            self._closed = True
            resting, self._resting = self._resting, None
        if resting is not None:
            resting.cancel()

    def _rested(self) -> None:
        with self._lock:
            self._resting = None
        self._run()

    def _run(self) -> None:
        with self._lock:
            if not self._asked or self._closed or self._resting is not None:
                return
            # Who asks from here on has something that this run may miss.
            self._asked = False
            self._resting = self._scheduler.call_later(self._seconds, self._rested)
        self._work()
