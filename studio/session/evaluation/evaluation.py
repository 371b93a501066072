"""Testing a trained network: on parts of its data, and on rows, files and drawings of one's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Literal, TypeAlias, TypeVar

import numpy as np

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import DataError, StudioError
from studio.engine.core.options import AnyOption
from studio.engine.core.signal import Signal
from studio.engine.train.devices import Opened, open_backend
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.sample_facts import InputFacts
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder
from studio.session.compile.compilation_result import OpenData, open_data
from studio.session.core.held_out import SHARED_NAME, is_shared_in
from studio.session.core.preferences import Preferences
from studio.session.core.tasks import TaskHandle, TaskList
from studio.session.evaluation.answers import Answer, Plane, answers, ask_planes, is_plane
from studio.session.evaluation.drawing import Sheet, sheet_of
from studio.session.evaluation.form import first_row, form_of, row_of
from studio.session.evaluation.measures import Array
from studio.session.evaluation.results import Choice, Indices, PartName, Results, measure, parts_of
from studio.session.runs.runs import RunList
from studio.session.training.network import SharedNetwork
from studio.session.training.state import State, TrainingOutcome
from studio.session.training.training import TrainingModel

T = TypeVar("T")
Answers: TypeAlias = "tuple[Answer, ...]"
Status: TypeAlias = Literal["nothing", "waiting", "measuring", "ready", "failed"]

LATEST = ""
"""Stands for the network of the training under way or of the last."""


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


@dataclass(frozen=True, eq=False)
class _Measured:
    subject: Subject
    results: Results


class RecordedNetwork:
    """The network of a recorded run, opened when it is first asked, on a device of its own.

    Args:
        choice: the device: ``auto``, ``gl`` or ``cpu``.
        dataset: opens data sets, or has them open.
    """

    def __init__(self, run: RunFolder, choice: str, dataset: OpenData) -> None:
        self.run = run
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
        return Trained.of_run(self.run, self._opened.backend, task)


class EvaluationModel:
    """Measures a network in the background and answers questions; used on the window's thread.

    Args:
        training: whose last network is tested unless a run is chosen.
        preferences: ``backend`` says where recorded runs are opened.
        dataset: opens data sets, or has them open.
    """

    def __init__(
        self,
        training: TrainingModel,
        runs: RunList,
        tasks: TaskList,
        preferences: Preferences,
        dataset: OpenData = open_data,
    ) -> None:
        self.changed: Signal[[]] = Signal()
        self.chosen_changed: Signal[[]] = Signal()
        self.answered: Signal[[]] = Signal()
        self.status: Status = "nothing"
        self.error: StudioError | None = None
        self.results: Results | None = None
        self.subject: Subject | None = None
        self.part: PartName = "test"
        self.choice = Choice()
        self.answers: tuple[Answer, ...] = ()
        """What each output said to the last question; nothing before there is an answer."""
        self.answer_error: StudioError | None = None
        self._training = training
        self._runs = runs
        self._tasks = tasks
        self._preferences = preferences
        self._dataset = dataset
        self.run = LATEST
        """Name of the run that is tested, `LATEST` for the last training."""
        self._recorded: RecordedNetwork | None = None
        self._measuring: TaskHandle | None = None
        self._asking: TaskHandle | None = None
        self._next: Callable[[Trained], Answers] | None = None
        self._own: list[Array] = []
        self._output = ""
        self._unkept: tuple[str, Results] | None = None
        runs.changed.connect(self._runs_changed)
        training.ended.connect(self._ended)
        training.state_changed.connect(self._state_changed)

    # -- what is tested -------------------------------------------------------------------------

    @property
    def label(self) -> str:
        """What is tested, in a few words; empty where there is nothing."""
        name = self.run or self._runs.active
        record = self._runs.run(name)
        if not name:
            return ""
        return record.title if record is not None else name

    @property
    def tested(self) -> str:
        """Name of the run whose network is tested, the last training's included."""
        return self.run or self._runs.active

    @property
    def testable(self) -> tuple[tuple[str, str], ...]:
        """Runs that can be tested, the newest first: name and title."""
        return tuple(
            (run.name, run.title)
            for run in self._runs.runs
            if (run.has_weights and not run.notes.archived) or run.name == self.tested
        )

    @property
    def newest(self) -> tuple[str, str] | None:
        """Name and title of the newest run that has weights to test."""
        found = (run for run in self._runs.runs if run.has_weights and not run.notes.archived)
        run = next(found, None)
        return None if run is None else (run.name, run.title)

    @property
    def is_stale(self) -> bool:
        """Whether the network has been trained on since it was measured."""
        results = self.results
        if results is None or self.run != LATEST or not self._training.is_busy:
            return False
        return self._training.status.steps != results.steps

    @property
    def output(self) -> int:
        """Place of the output that is looked at."""
        return 0 if self.results is None else self.results.output

    @property
    def answer(self) -> Answer | None:
        """What the output that is looked at said to the last question."""
        return self.answers[self.output] if self.output < len(self.answers) else None

    def choose_output(self, place: int) -> None:
        """Look at another output: its measures, evidence and samples."""
        results = self.results
        if results is None or place == results.output or not 0 <= place < len(results.outputs):
            return
        self._output = results.outputs[place]
        self.results = replace(results, output=place)
        self.choice = replace(self.choice, wrong_only=False, truth=-1, predicted=-1)
        self.changed.emit()
        self.chosen_changed.emit()
        self.answered.emit()

    def why_not(self) -> str:
        """Why nothing can be tested, in a few words; empty when something can."""
        if self._network() is not None:
            return ""
        if self._training.is_busy:
            return "training is being prepared"
        if self._training.state == "failed":
            return "training failed"
        return "no training was run yet"

    def test_run(self, name: str) -> None:
        """Test a recorded run, or `LATEST`."""
        if name == self._runs.active and self._training.has_weights:
            name = LATEST
        if name == self.run and self.results is not None:
            return
        self.run = name
        self._forget()
        self.measure()

    def choose_part(self, part: PartName) -> None:
        """Measure on another part of the data."""
        if part != self.part:
            self.part = part
            self.choice = replace(self.choice, truth=-1, predicted=-1)
            self.measure()

    def measure(self) -> None:
        """Measure the network again, in the background."""
        network = self._network()
        if network is None:
            self._set_status("waiting" if self._training.is_busy else "nothing")
            return
        if self._measuring is not None:
            self._measuring.cancel()
        part, beside = self.part, self._training.is_busy and self.run == LATEST
        before = self.subject

        def work(handle: TaskHandle) -> _Measured:
            def told(done: int, total: int) -> None:
                handle.progress(done / max(1, total), "running the network")

            def ask(trained: Trained) -> _Measured:
                subject = before or _subject_of(trained.task)
                chosen = part if part in subject.parts else subject.parts[0]
                results = measure(trained, chosen, told, beside_training=beside)
                if subject.is_plane:
                    subject = replace(subject, planes=ask_planes(trained))
                return _Measured(subject, results)

            return network.use(ask)

        self.error = None
        self._measuring = self._tasks.start(
            f"Test {self.label}", work, self._measured, self._not_measured
        )
        self._set_status("measuring")

    # -- the samples ----------------------------------------------------------------------------

    def choose(self, choice: Choice) -> None:
        """Look at other samples, or in another order."""
        if choice != self.choice:
            self.choice = choice
            self.chosen_changed.emit()

    @property
    def samples(self) -> Indices | None:
        """The samples looked at, in order; None before there is a measurement."""
        results = self.results
        if results is None:
            return None
        outcome = results.outcome
        return np.arange(len(results)) if outcome is None else self.choice.indices(outcome)

    # -- questions ------------------------------------------------------------------------------

    def ask_rows(self, names: tuple[str, ...], *inputs: Array) -> None:
        """Ask about raw rows [rows, …] of each input; only the latest question is answered."""
        self._own = [rows[:1] for rows in inputs]

        def ask(trained: Trained) -> Answers:
            return answers(trained, names, inputs)

        self._ask(ask)

    def ask_values(self, values: list[float], place: int = 0) -> None:
        """Ask about one row typed by hand for an input; other inputs stay as asked last.

        Raises:
            DataError: a number the network cannot take.
        """
        if self.subject is not None:
            row = row_of(self.subject.task, values, place)
            self.ask_rows(("your row",), *self._own_with(place, row))

    def ask_files(self, paths: list[Path]) -> None:
        """Ask about files: images, tables, arrays; for several inputs one ``.npz`` with all."""

        def ask(trained: Trained) -> Answers:
            inputs, names = trained.read_files(paths)
            return answers(trained, names, tuple(inputs))

        self._ask(ask)

    def ask_file(self, place: int, path: Path) -> None:
        """Ask with the first row of a file for an input; other inputs stay as asked last."""
        if self.subject is None:
            return
        name = self.subject.inputs[place].facts.name

        def ask(trained: Trained) -> Answers:
            read = trained.read_input([path], place)
            inputs = self._own_with(place, read.values[:1])
            return answers(trained, (f"{name}: {read.names[0]}",), tuple(inputs))

        self._ask(ask)

    def _own_with(self, place: int, row: Array) -> list[Array]:
        """One row for each input: those asked last, with another for one input."""
        begun = () if self.subject is None else self.subject.inputs
        rows = self._own if len(self._own) == len(begun) else [each.start for each in begun]
        return [row if n == place else own for n, own in enumerate(rows)]

    def ask_sample(self, index: int) -> None:
        """Ask about a sample of the part that was measured."""
        if self.results is not None:
            name = f"{self.results.part} sample {index}"
            self.ask_rows((name,), *(rows[index : index + 1] for rows in self.results.inputs))

    def forget_answer(self) -> None:
        """Nothing is asked any more."""
        self._next = None
        self.answers, self.answer_error = (), None
        self.answered.emit()

    def follow(self) -> None:
        """Another document is open: nothing of it was tested yet."""
        self.run, self._unkept = LATEST, None
        self._forget()
        self._set_status("nothing")

    def close(self) -> None:
        """Give back what was opened; waits for what is being asked."""
        self._cancel()
        if self._recorded is not None:
            self._recorded.close()
            self._recorded = None

    # -- inside ---------------------------------------------------------------------------------

    def _network(self) -> SharedNetwork | RecordedNetwork | None:
        if self.run == LATEST:
            return self._training.network if self._training.has_weights else None
        record = self._runs.run(self.run)
        if record is None or not record.has_weights:
            return None
        if self._recorded is None:
            choice = self._preferences.text("backend")
            self._recorded = RecordedNetwork(record.folder, choice, self._dataset)
        return self._recorded

    def _measured(self, made: _Measured) -> None:
        self._measuring = None
        outputs = made.results.outputs
        place = outputs.index(self._output) if self._output in outputs else 0
        self.subject, self.results = made.subject, replace(made.results, output=place)
        self.part = made.results.part
        if self.part == "test" and not self._training.is_busy:
            self._keep(self.run or self._runs.active, made.results)
        self._set_status("ready")
        self.chosen_changed.emit()

    def _runs_changed(self) -> None:
        if self._unkept is not None and self._runs.run(self._unkept[0]) is not None:
            self._keep(*self._unkept)

    def _keep(self, name: str, results: Results) -> None:
        """Let the run remember what it reached."""
        record = self._runs.run(name)
        self._unkept = (name, results) if record is None else None
        if record is None:
            # The list of runs has not been read since the training ended.
            return
        if dict(record.test) != dict(results.metrics):
            try:
                self._runs.set_test(name, dict(results.metrics))
            except StudioError as error:
                self.error = error

    def _not_measured(self, error: StudioError) -> None:
        self._measuring = None
        self.error = error
        self._set_status("failed")

    def _ask(self, ask: Callable[[Trained], Answers]) -> None:
        self._next = ask
        if self._asking is None:
            self._ask_next()

    def _ask_next(self) -> None:
        ask, network = self._next, self._network()
        self._next = None
        if ask is None or network is None:
            return
        self._asking = self._tasks.start(
            "Predict", lambda _: network.use(ask), self._answered, self._not_answered,
            quiet=True,
        )  # fmt: skip

    def _answered(self, found: Answers) -> None:
        self._asking = None
        self.answers, self.answer_error = found, None
        if self._next is None and found[0].names:
            self._own = [rows[:1] for rows in found[0].inputs]
        self.answered.emit()
        self._ask_next()

    def _not_answered(self, error: StudioError) -> None:
        self._asking = None
        self.answers, self.answer_error = (), error
        self.answered.emit()
        self._ask_next()

    def _ended(self, outcome: TrainingOutcome) -> None:
        if outcome.state == "failed":
            if self.run == LATEST:
                self._forget()
                self._set_status("nothing")
            return
        if self.run != LATEST:
            self.run = LATEST
        self._forget()
        self.measure()

    def _state_changed(self, state: State) -> None:
        if state not in ("preparing", "idle") or self.run != LATEST:
            return
        # The network that was asked is about to be closed.
        self._cancel()
        self._forget()
        self._set_status("waiting" if state == "preparing" else "nothing")

    def _cancel(self) -> None:
        for handle in (self._measuring, self._asking):
            if handle is not None:
                handle.cancel()
        self._measuring = self._asking = None
        self._next = None

    def _forget(self) -> None:
        self._cancel()
        self.results, self.subject, self.error = None, None, None
        self.answers, self.answer_error = (), None
        self.choice, self._own = Choice(), []
        recorded, self._recorded = self._recorded, None
        if recorded is not None:
            self._tasks.start(
                "Close the run", lambda _: recorded.close(), lambda _: None, quiet=True,
                if_left="finish",
            )  # fmt: skip
        self.answered.emit()

    def _set_status(self, status: Status) -> None:
        self.status = status
        self.changed.emit()


def _subject_of(task: Task) -> Subject:
    inputs = []
    for place, (facts, source) in enumerate(zip(task.all_inputs, task.spec.inputs, strict=True)):
        form = form_of(task, place)
        inputs.append(AskedInput(facts, source.shape, form, first_row(task, place, form)))
    sheet = None
    if len(inputs) == 1 and task.input_facts.kind == "images" and task.training is not None:
        source = task.spec.inputs[0]
        sheet = sheet_of(task.training.inputs[0], task.input_facts.value_range, DType(source.dtype))
    return Subject(parts_of(task), tuple(inputs), sheet, is_plane(task), task)
