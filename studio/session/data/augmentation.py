"""The preview of augmentation: a few samples, and what a training step would make of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from studio.engine.compiler.lower_augment import Augmentation
from studio.engine.compiler.lower_data import DataSection, DataSpec, Source
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import StudioError
from studio.engine.core.signal import Signal
from studio.engine.core.tensor import BATCH, ROWS, Ref, Role, Tensor
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.ops.data import STEP_WORDS, StepWord
from studio.engine.isa.program import Program
from studio.engine.train.data.dataset import Dataset, InputArray
from studio.engine.train.data.normalization import (
    Array,
    Floats,
    Normalization,
    NormalizationKind,
    make_normalization,
)
from studio.engine.train.devices import open_backend
from studio.session.core.scheduling import Debounce, Scheduler
from studio.session.core.tasks import TaskHandle, TaskList
from studio.session.data.data import DataModel
from studio.session.data.summary import DataSummary
from studio.session.document.document import Document
from studio.session.document.edits.sections import data_of, training_of
from studio.session.document.layer_types import is_input
from studio.session.document.state import DocumentState

SAMPLES = 4
EPOCHS = 4
_WAIT_SECONDS = 0.15
_MASK = 0xFFFFFFFF
_OWNER = "data"


@dataclass(frozen=True, eq=False)
class AugmentedSamples:
    """Samples as the network gets them without and with augmentation, in raw values.

    Attributes:
        before: float32 [samples, height, width, channels].
        after: float32 [samples, epochs, height, width, channels], mapped back through the
            normalisation.
    """

    before: Floats
    after: Floats


def augmented(
    rows: Array,
    indices: Sequence[int],
    steps: Sequence[Augmentation],
    normalization: Normalization,
    *,
    seed: int,
    epochs: int,
) -> AugmentedSamples:
    """What the first epochs of a training make of some samples.

    Args:
        rows: the samples, pictures [n, height, width, channels] as stored.
        indices: where they stand in the training part, which decides what is drawn for them.
        normalization: applied before them, as in training.
        epochs: how many epochs to show; each draws other random numbers.

    Raises:
        ShapeError: the samples are no pictures.
    """
    source = Source(
        tuple(rows.shape[1:]),
        DType.of(rows.dtype),
        tuple(float(v) for v in normalization.scale),
        tuple(float(v) for v in normalization.shift),
    )
    program = _program(DataSpec((source,), augment=tuple(steps)))
    made = np.empty((len(rows), epochs, *rows.shape[1:]), np.float32)
    with open_backend("cpu") as opened:
        session = opened.backend.open_session()
        try:
            session.ensure(_resident(program), 1)
            session.write("train/order", np.zeros(1, np.int32))
            executable = opened.backend.compile(program, session, 1)
            for number, (row, index) in enumerate(zip(rows, indices, strict=True)):
                session.write("data/x", np.ascontiguousarray(row[np.newaxis]))
                for epoch in range(epochs):
                    session.write("train/step", _step_block(seed, epoch, index))
                    executable.run()
                    answer = executable.fetch(Ref(program.outputs[0])).result()
                    made[number, epoch] = answer[0]
            executable.close()
        finally:
            session.close()
    return AugmentedSamples(rows.astype(np.float32), normalization.invert(made))


def _program(spec: DataSpec) -> Program:
    """The data section of a training program and nothing behind it."""
    builder = ProgramBuilder("augmentation", "train")
    with builder.owned_by(_OWNER):
        target = builder.tensor("batch", (BATCH, *spec.inputs[0].shape))
        DataSection(builder, "train", spec).feed_input(0, target, _OWNER)
    return builder.finish((), (target,))


def _step_block(seed: int, epoch: int, index: int) -> npt.NDArray[np.int32]:
    """The step block of a batch that begins with sample ``index``, the only one resident."""
    words = np.zeros(STEP_WORDS, np.int64)
    words[StepWord.EPOCH] = epoch
    words[StepWord.SEED_LOW] = seed & _MASK
    words[StepWord.SEED_HIGH] = seed >> 32 & _MASK
    words[StepWord.OFFSET] = index
    return words.astype(np.uint32).view(np.int32)


def _resident(program: Program) -> list[Tensor]:
    return [
        t
        for t in program.of_role(Role.DATA, Role.STEP)
        if t.shape[:1] == (ROWS,) or t.role is Role.STEP
    ]


def augmented_input(state: DocumentState, dataset: Dataset) -> InputArray | None:
    """The first of the network's inputs that has images; None where none has."""
    order = [node.name for node in state.layers() if is_input(node)]
    images = [each for each in dataset.all_inputs() if each.kind == "images"]
    known = [each for each in images if each.name in order]
    return min(known, key=lambda each: order.index(each.name), default=next(iter(images), None))


class _Wanted(NamedTuple):
    summary: DataSummary
    place: int
    kind: NormalizationKind
    steps: tuple[Augmentation, ...]
    seed: int
    first: int


class AugmentationPreview:
    """Shows what the first epochs make of a few samples of the training part.

    Args:
        data: its data, open or not.
        scheduler: waits until changing has paused.
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

    @property
    def image(self) -> InputArray | None:
        """The input whose images are shown; None without data, or without images."""
        summary = self._data.summary
        return None if summary is None else augmented_input(self._document().state, summary.dataset)

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
        if summary is None:
            return None
        state = self._document().state
        found, settings = self.image, data_of(state)
        if found is None:
            return None
        place = [each.name for each in summary.dataset.all_inputs()].index(found.name)
        if settings is None or not settings.augment:
            return None
        seed, kind = training_of(state).seed, settings.normalization
        return _Wanted(summary, place, kind, settings.augment, seed, self._first)

    def _start(self) -> None:
        wanted = self._wanted
        if wanted is None:
            return
        part = wanted.summary.training
        places = tuple((wanted.first + k) % len(part) for k in range(min(SAMPLES, len(part))))

        def work(_: TaskHandle) -> AugmentedSamples:
            given = part.dataset.all_inputs()[wanted.place]
            normalization = wanted.summary.normalization
            if part.dataset.inputs:
                kind = given.normalization or wanted.kind
                values = given.values[part.indices]
                normalization = make_normalization(kind, values, given.value_range)
            rows = np.ascontiguousarray(given.values[part.indices[list(places)]])
            return augmented(
                rows, places, wanted.steps, normalization, seed=wanted.seed, epochs=EPOCHS
            )

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
