"""The preview of augmentation: a few samples before and after, made again after a change."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from studio.engine.compiler.lower_augment import Augmentation
from studio.engine.core.errors import StudioError
from studio.engine.core.signal import Signal
from studio.session.core.scheduling import Debounce, Scheduler
from studio.session.core.tasks import TaskHandle, TaskList
from studio.session.data.augmentation import AugmentedSamples, augmented
from studio.session.data.data import DataModel
from studio.session.data.summary import DataSummary
from studio.session.document.document import Document
from studio.session.document.edits.sections import data_of, training_of

SAMPLES = 4
EPOCHS = 4
_WAIT_SECONDS = 0.15


class _Wanted(NamedTuple):
    summary: DataSummary
    steps: tuple[Augmentation, ...]
    seed: int
    first: int


class AugmentationPreview:
    """Shows what the first epochs make of a few samples of the training part.

    Args:
        document: gives the document.
        data: its data, open or not.
        scheduler: waits until changing has paused.
        tasks: makes the pictures.
    """

    def __init__(
        self,
        document: Callable[[], Document],
        data: DataModel,
        scheduler: Scheduler,
        tasks: TaskList,
    ) -> None:
        self.changed: Signal[[]] = Signal()
        self.result: AugmentedSamples | None = None
        self.indices: tuple[int, ...] = ()
        self.error: StudioError | None = None
        self.is_busy = False
        self._document = document
        self._data = data
        self._tasks = tasks
        self._first = 0
        self._task: TaskHandle | None = None
        self._wanted: _Wanted | None = None
        self._later = Debounce(scheduler, _WAIT_SECONDS, self._start)
        data.changed.connect(self._look)
        self._look()

    def show_others(self) -> None:
        """Show the next few samples."""
        summary = self._data.summary
        if summary is not None:
            self._first = (self._first + SAMPLES) % max(1, len(summary.training))
            self._look()

    def _look(self) -> None:
        wanted = self._what_is_wanted()
        if wanted == self._wanted:
            return
        self._wanted = wanted
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self.is_busy = wanted is not None
        if wanted is None:
            self._later.cancel()
            self.result, self.error, self.indices = None, None, ()
        else:
            self._later.ask()
        self.changed.emit()

    def _what_is_wanted(self) -> _Wanted | None:
        summary = self._data.summary
        if summary is None or summary.dataset.kind != "images":
            return None
        settings = data_of(self._document().state)
        if settings is None or not settings.augment:
            return None
        seed = training_of(self._document().state).seed
        return _Wanted(summary, settings.augment, seed, self._first)

    def _start(self) -> None:
        wanted = self._wanted
        if wanted is None:
            return
        part = wanted.summary.training
        places = tuple((wanted.first + k) % len(part) for k in range(min(SAMPLES, len(part))))

        def work(_: TaskHandle) -> AugmentedSamples:
            rows = np.ascontiguousarray(part.dataset.x[part.indices[list(places)]])
            return augmented(
                rows, places, wanted.steps, wanted.summary.normalization,
                seed=wanted.seed, epochs=EPOCHS,
            )  # fmt: skip

        def done(made: AugmentedSamples) -> None:
            self._ended(made, None, places)

        def failed(error: StudioError) -> None:
            self._ended(None, error, ())

        self._task = self._tasks.start("Preview augmentation", work, done, failed, quiet=True)

    def _ended(
        self, made: AugmentedSamples | None, error: StudioError | None, places: tuple[int, ...]
    ) -> None:
        self._task = None
        self.is_busy = False
        self.result, self.error, self.indices = made, error, places
        self.changed.emit()
