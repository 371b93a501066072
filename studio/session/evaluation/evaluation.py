"""Testing a trained network: measured on parts of its data, asked about what the user likes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from studio.engine.core.errors import StudioError
from studio.engine.core.signal import Signal
from studio.engine.train.network.trained import Trained
from studio.engine.train.runs.weights_origin import WeightsChoice
from studio.session.compile.compilation_result import OpenData, open_data
from studio.session.core.preferences import Preferences
from studio.session.core.tasks import TaskHandle, TaskList
from studio.session.evaluation.answers import Answer, ask_planes
from studio.session.evaluation.questions import Questions
from studio.session.evaluation.results import Choice, Indices, PartName, Results, measure
from studio.session.evaluation.subject import RecordedNetwork, Subject, subject_of
from studio.session.runs.runs import RunList
from studio.session.training.network import SharedNetwork
from studio.session.training.state import State, TrainingOutcome
from studio.session.training.training import TrainingModel

Status: TypeAlias = Literal["nothing", "waiting", "measuring", "ready", "failed"]

LATEST = ""
"""Stands for the network of the training under way or of the last."""


@dataclass(frozen=True, eq=False)
class _Measured:
    subject: Subject
    results: Results


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
        self.status: Status = "nothing"
        self.error: StudioError | None = None
        self.results: Results | None = None
        self.subject: Subject | None = None
        self.part: PartName = "test"
        self.choice = Choice()
        self._training = training
        self._runs = runs
        self._tasks = tasks
        self._preferences = preferences
        self._dataset = dataset
        self.run = LATEST
        """Name of the run that is tested, `LATEST` for the last training."""
        self.weights: WeightsChoice = "last"
        """Which of its weights; the best ones are read from its checkpoint."""
        self.questions = Questions(self._network, lambda: self.subject, lambda: self.results, tasks)
        self._recorded: RecordedNetwork | None = None
        self._measuring: TaskHandle | None = None
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
        is_latest = self.run == LATEST and self.weights == "last"
        if results is None or not is_latest or not self._training.is_busy:
            return False
        return self._training.status.steps != results.steps

    @property
    def output(self) -> int:
        """Place of the output that is looked at."""
        return 0 if self.results is None else self.results.output

    @property
    def answer(self) -> Answer | None:
        """What the output that is looked at said to the last question."""
        found = self.questions.answers
        return found[self.output] if self.output < len(found) else None

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
        self.questions.answered.emit()

    def why_not(self) -> str:
        """Why nothing can be tested, in a few words; empty when something can."""
        if self._network() is not None:
            return ""
        if self._training.is_busy:
            elsewhere = "weights trained on a cluster can be tested once the training has ended"
            return elsewhere if self._training.address else "training is being prepared"
        if self._training.state == "failed":
            return "training failed"
        return "no training was run yet"

    def test_run(self, name: str, weights: WeightsChoice | None = None) -> None:
        """Test a recorded run, or `LATEST`, with the weights chosen last unless told."""
        if name == self._runs.active and self._training.has_weights:
            name = LATEST
        wanted = weights or self.weights
        if name == self.run and wanted == self.weights and self.results is not None:
            return
        self.run = name
        self.weights = "last" if self.why_no_best() else wanted
        self._forget()
        self.measure()

    def why_no_best(self) -> str:
        """Why there are no best weights to test, in a few words; empty when there are."""
        record = self._runs.run(self.tested)
        run = self._training.run if record is None else record.folder
        if run is None:
            return "no training was run yet"
        if run.has_best:
            return ""
        if record is not None and record.state == "imported":
            return "imported weights have no best epoch"
        project = None if record is None else record.project
        if project is not None and not project.training.checkpoints.best:
            return "the settings of the run keep no best checkpoint"
        is_early = record is None or not record.epochs
        return "no epoch is finished yet" if is_early else "the run kept no best checkpoint"

    def choose_weights(self, weights: WeightsChoice) -> None:
        """Test the best or the last weights of the run; the last question is asked again."""
        if weights == self.weights or (weights == "best" and self.why_no_best()):
            return
        self.weights = weights
        self.questions.leave()
        self._close_recorded()
        self.measure()
        self.questions.ask_again()

    def choose_part(self, part: PartName) -> None:
        """Measure on another part of the data."""
        if part != self.part:
            self.part = part
            self.choice = replace(self.choice, truth=-1, predicted=-1)
            self.measure()

    def measure(self) -> None:
        """Measure the network again, in the background."""
        if self.weights == "best" and self._training.is_busy:
            # The file may be another by now.
            self._close_recorded()
        network = self._network()
        if network is None:
            self._set_status("waiting" if self._training.is_busy else "nothing")
            return
        if self._measuring is not None:
            self._measuring.cancel()
        is_latest = self.run == LATEST and self.weights == "last"
        part, beside = self.part, self._training.is_busy and is_latest
        before = self.subject

        def work(handle: TaskHandle) -> _Measured:
            def told(done: int, total: int) -> None:
                handle.progress(done / max(1, total), "running the network")

            def ask(trained: Trained) -> _Measured:
                subject = before or subject_of(trained.task)
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

    # -- following ------------------------------------------------------------------------------

    def follow(self) -> None:
        """Another document is open: nothing of it was tested yet."""
        self.run, self.weights, self._unkept = LATEST, "last", None
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
        training = self._training
        if training.address and training.is_busy and self.run == LATEST:
            return None
        is_recorded = bool(training.address) and training.run is not None
        if self.run == LATEST and self.weights == "last" and not is_recorded:
            return self._training.network if self._training.has_weights else None
        record = self._runs.run(self.tested)
        run = self._training.run if record is None and self.run == LATEST else None
        if record is not None and (record.has_weights or self.weights == "best"):
            run = record.folder
        if run is None:
            return None
        if self._recorded is None:
            choice = self._preferences.text("backend")
            self._recorded = RecordedNetwork(run, choice, self._dataset, self.weights)
        return self._recorded

    def _measured(self, made: _Measured) -> None:
        self._measuring = None
        outputs = made.results.outputs
        place = outputs.index(self._output) if self._output in outputs else 0
        self.subject, self.results = made.subject, replace(made.results, output=place)
        self.part = made.results.part
        is_last = self.weights == "last"
        if self.part == "test" and is_last and not self._training.is_busy:
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

    def _ended(self, outcome: TrainingOutcome) -> None:
        if outcome.state == "failed":
            if self.run == LATEST:
                self._forget()
                self._set_status("nothing")
            return
        self.run, self.weights = LATEST, "last"
        self._forget()
        self.measure()

    def _state_changed(self, state: State) -> None:
        if state not in ("preparing", "idle") or self.run != LATEST:
            return
        # The network that was asked is about to be closed.
        self.weights = "last"
        self._cancel()
        self._forget()
        self._set_status("waiting" if state == "preparing" else "nothing")

    def _cancel(self) -> None:
        if self._measuring is not None:
            self._measuring.cancel()
            self._measuring = None
        self.questions.leave()

    def _forget(self) -> None:
        self._cancel()
        self.results, self.subject, self.error = None, None, None
        self.choice = Choice()
        self._close_recorded()
        self.questions.start_over()

    def _close_recorded(self) -> None:
        recorded, self._recorded = self._recorded, None
        if recorded is not None:
            self._tasks.start(
                "Close the run", lambda _: recorded.close(), lambda _: None, quiet=True,
                if_left="finish",
            )  # fmt: skip

    def _set_status(self, status: Status) -> None:
        self.status = status
        self.changed.emit()
