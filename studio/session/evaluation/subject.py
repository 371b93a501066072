"""What is tested: what is known of the network, and that of a recorded run, opened when asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import TypeVar

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import DataError
from studio.engine.core.options import AnyOption
from studio.engine.train.devices import Opened, open_backend
from studio.engine.train.network.measures import Array
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.sample_facts import InputFacts
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.weights_origin import WeightsChoice
from studio.session.compile.compilation_result import OpenData
from studio.session.core.held_out import SHARED_NAME, is_shared_in
from studio.session.evaluation.answers import Plane, is_plane
from studio.session.evaluation.drawing import Sheet, sheet_of
from studio.session.evaluation.form import first_row, form_of
from studio.session.evaluation.results import PartName, parts_of

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class AskedInput:
    """What an input of the network can be given by hand.

    Attributes:
        facts: its name and what its raw values are.
        shape: shape of one sample.
        form: fields for typing a row; none where rows are no tables.
        start: the row that questions begin with.
    """

    facts: InputFacts
    shape: tuple[int, ...]
    form: tuple[AnyOption, ...]
    start: Array


@dataclass(frozen=True, eq=False)
class Subject:
    """What is known of the network that is tested.

    Attributes:
        parts: parts of the data it can be measured on.
        inputs: its inputs.
        sheet: what can be drawn on; None where samples are no pictures, and for several inputs.
        is_plane: whether a sample is two numbers.
        task: its data.
        planes: what each output says all over the plane, where that was asked.
    """

    parts: tuple[PartName, ...]
    inputs: tuple[AskedInput, ...]
    sheet: Sheet | None
    is_plane: bool
    task: Task
    planes: tuple[Plane, ...] = ()

    @property
    def form(self) -> tuple[AnyOption, ...]:
        """Fields for typing a row of the only input; none for several inputs."""
        return self.inputs[0].form if len(self.inputs) == 1 else ()

    @property
    def is_shared(self) -> bool:
        """Whether its test part is what each epoch of the training was measured on."""
        return is_shared_in(self.task)

    def part_title(self, part: PartName) -> str:
        """What a part is called where they are listed."""
        return SHARED_NAME if part == "test" and self.is_shared else part


def subject_of(task: Task) -> Subject:
    """What is known of a network by its data."""
    inputs = []
    for place, (facts, source) in enumerate(zip(task.all_inputs, task.spec.inputs, strict=True)):
        form = form_of(task, place)
        inputs.append(AskedInput(facts, source.shape, form, first_row(task, place, form)))
    sheet = None
    if len(inputs) == 1 and task.input_facts.kind == "images" and task.training is not None:
        source = task.spec.inputs[0]
        sheet = sheet_of(task.training.inputs[0], task.input_facts.value_range, DType(source.dtype))
    return Subject(parts_of(task), tuple(inputs), sheet, is_plane(task), task)


class RecordedNetwork:
    """The network of a recorded run, opened when it is first asked, on a device of its own.

    Args:
        choice: the device: ``auto``, ``gl`` or ``cpu``.
        dataset: opens data sets, or has them open.
        weights: which of its weights.
    """

    def __init__(
        self, run: RunFolder, choice: str, dataset: OpenData, weights: WeightsChoice = "last"
    ) -> None:
        self.run = run
        self.weights = weights
        self._choice = choice
        self._dataset = dataset
        self._lock = Lock()
        self._opened: Opened | None = None
        self._trained: Trained | None = None
        self._closed = False

    def use(self, work: Callable[[Trained], T]) -> T:
        """What ``work`` makes of it.

        Raises:
            StudioError: its files, data or the device refuse.
        """
        with self._lock:
            if self._closed:
                raise DataError("another run was chosen", who=self.run.name)
            if self._trained is None:
                self._trained = self._open()
            return work(self._trained)

    def close(self) -> None:
        """Close it, after the question under way."""
        with self._lock:
            self._closed = True
            if self._trained is not None:
                self._trained.close()
                self._trained = None
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def _open(self) -> Trained:
        project = self.run.project()
        if project.data is None:
            raise DataError("the run has no data", who=self.run.name)
        task = Task.of_project(project, self._dataset(project.data, project.folder))
        if self._opened is None:
            self._opened = open_backend(self._choice)
        return Trained.of_run(self.run, self._opened.backend, task, self.weights)
