"""Where one training stands, wherever it is trained: what its session tells the window."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from studio.engine.core.errors import StudioError
from studio.engine.core.signal import Signal
from studio.engine.train.loop.progress import Progress
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.loop.verdict import Verdict
from studio.engine.train.project.project import Project
from studio.engine.train.runs.run_folder import RunFolder
from studio.session.core.scheduling import Scheduler
from studio.session.plots.curves import RunCurves
from studio.session.training.events import CrossThreadThrottle
from studio.session.training.network import SharedNetwork
from studio.session.training.state import (
    BUSY,
    WORDS,
    Compiling,
    State,
    TrainingOutcome,
    TrainingStatus,
)

EVENT_SECONDS = 1 / 10
"""How often the window hears of a training under way at most; it reports about as often."""

FLYING_SECONDS = 0.2
"""Epochs shorter than this end between two reports, which would find batch 0 most of the time."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Begun:
    """A training that has a run.

    Attributes:
        run: where it is recorded.
        curves: what was recorded of it.
        why: one sentence about the device.
        project: what is trained, as recorded with the run.
    """

    run: RunFolder
    curves: RunCurves
    why: str
    project: Project

    @property
    def trainer_here(self) -> Trainer | None:
        """What trains; None where that is on another machine."""
        return None


class RateTaker(Protocol):
    """Trains, here or elsewhere, and takes another learning rate meanwhile."""

    def set_learning_rate(self, rate: float) -> None:
        """Use another learning rate from the next step on."""
        ...


class AnySession(ABC):
    """One training and where it stands; used on the window's thread.

    ``launched`` comes before the first step of one on this machine, ``sent`` once one elsewhere
    has its run.

    Args:
        epochs: epochs in all.
        said: hears sentences for the user, and whether they are warnings.
    """

    def __init__(
        self, epochs: int, scheduler: Scheduler, said: Callable[[str, bool], object]
    ) -> None:
        self.changed: Signal[[]] = Signal()
        self.state_changed: Signal[[State]] = Signal()
        self.ended: Signal[[TrainingOutcome]] = Signal()
        self.launched: Signal[[Trainer]] = Signal()
        self.sent: Signal[[RunFolder]] = Signal()
        self.state: State = "preparing"
        self.status = TrainingStatus(epochs=epochs)
        self.compiling = Compiling()
        self.doing = ""
        self.outcome: TrainingOutcome | None = None
        self.network: SharedNetwork | None = None
        self.rate_taker: RateTaker | None = None
        """What uses another learning rate, once there is something that trains."""
        self.address = ""
        """Of the cluster it is on; empty for this computer."""
        self.is_sent = False
        """Whether it was sent there, and goes on without this window."""
        self._scheduler = scheduler
        self._said = said
        self._throttle = CrossThreadThrottle(scheduler, EVENT_SECONDS, self._take_events)
        self._abandoned = False

    # -- what each kind of training does in its own way -----------------------------------------

    @property
    @abstractmethod
    def begun(self) -> Begun | None:
        """Its run and what was recorded, once there is one."""

    @abstractmethod
    def pause(self) -> None:
        """Stand still after the step that runs now, or before the first."""

    @abstractmethod
    def resume(self) -> None:
        """Go on after a pause."""

    @abstractmethod
    def stop(self) -> None:
        """End after the step that runs now."""

    @abstractmethod
    def step_batch(self) -> None:
        """Run one step and stand still."""

    @abstractmethod
    def step_epoch(self) -> None:
        """Run to the end of the epoch and stand still."""

    @abstractmethod
    def run_moved(self, run: RunFolder) -> None:
        """The run's folder lies elsewhere now; not while it trains."""

    @abstractmethod
    def leave(self) -> Callable[[], None]:
        """Hear nothing of it any more; what is returned closes it, and waits for that."""

    @abstractmethod
    def _take_events(self) -> None:
        """Hear what has happened since."""

    # -- what all have --------------------------------------------------------------------------

    @property
    def curves(self) -> RunCurves | None:
        """What was recorded, once there is a run."""
        return None if self.begun is None else self.begun.curves

    def set_event_seconds(self, seconds: float) -> None:
        """Tell the window how the training stands no more often than this."""
        self._throttle.set_seconds(seconds)

    def saved(self) -> None:
        """The weights are in the run's folder after all."""
        if self.outcome is not None:
            self.outcome = replace(self.outcome, unsaved=None)
            self.changed.emit()

    def _tell_doing(self, text: str) -> None:
        if self.state == "preparing" and not self._abandoned:
            self.doing = text
            self.changed.emit()

    def _take_progress(self, event: Progress) -> None:
        pace = event.rows_per_second
        # A batch counts where it is still the one under way when it is read; with some inertia.
        least = FLYING_SECONDS if self.status.counts_batches else 2.0 * FLYING_SECONDS
        counts = not pace or event.rows / pace >= least
        self.status = TrainingStatus.of(event, counts_batches=counts)

    def _finish(self, outcome: TrainingOutcome) -> None:
        self.outcome = outcome
        self._enter(outcome.state)
        self.ended.emit(outcome)
        self.changed.emit()

    def _enter(self, state: State) -> None:
        if state != self.state:
            self.state = state
            if state != "preparing":
                self.doing = ""
            self.state_changed.emit(state)


class Watched:
    """Where the training under way, or the last, stands: what views read."""

    def __init__(self) -> None:
        self._session: AnySession | None = None

    @property
    def state(self) -> State:
        """Where the training stands."""
        return "idle" if self._session is None else self._session.state

    @property
    def word(self) -> str:
        """The state as users read it."""
        return WORDS[self.state] if self.outcome is None else self.outcome.word

    @property
    def is_busy(self) -> bool:
        """Whether a training is under way, standing still or not."""
        return self.state in BUSY

    @property
    def status(self) -> TrainingStatus:
        """How far it is."""
        return TrainingStatus() if self._session is None else self._session.status

    @property
    def compiling(self) -> Compiling:
        """How far the compilation of its kernels is."""
        return Compiling() if self._session is None else self._session.compiling

    @property
    def doing(self) -> str:
        """What its preparation is at."""
        return "" if self._session is None else self._session.doing

    @property
    def outcome(self) -> TrainingOutcome | None:
        """How the last training ended."""
        return None if self._session is None else self._session.outcome

    @property
    def error(self) -> StudioError | None:
        """What the last training failed with."""
        return None if self.outcome is None else self.outcome.error

    @property
    def verdict(self) -> Verdict | None:
        """Why the last training has not learned, None where nothing says so."""
        return None if self.outcome is None else self.outcome.verdict

    @property
    def curves(self) -> RunCurves | None:
        """What the training under way, or the last, has given."""
        return None if self._session is None else self._session.curves

    @property
    def device(self) -> str:
        """One sentence about where it trains and why there."""
        return "" if self._begun is None else self._begun.why

    @property
    def address(self) -> str:
        """Of the cluster that the training is on; empty for one on this computer."""
        return "" if self._session is None else self._session.address

    @property
    def is_sent(self) -> bool:
        """Whether it goes on without this window: all of it is on the cluster."""
        return self._session is not None and self._session.is_sent

    @property
    def trainer(self) -> Trainer | None:
        """What trains, or trained last; None before the first training and after a reset."""
        return None if self._begun is None else self._begun.trainer_here

    @property
    def network(self) -> SharedNetwork | None:
        """The network of the training under way or of the last; None before its first step."""
        return None if self._session is None or self.state == "preparing" else self._session.network

    @property
    def has_weights(self) -> bool:
        """Whether there is a network whose weights can be used."""
        return self.network is not None and self.state != "failed"

    @property
    def run(self) -> RunFolder | None:
        """Where the training is recorded."""
        return None if self._begun is None else self._begun.run

    @property
    def trained_project(self) -> Project | None:
        """What is trained, as it was when the training began."""
        return None if self._begun is None else self._begun.project

    @property
    def _begun(self) -> Begun | None:
        return None if self._session is None else self._session.begun
