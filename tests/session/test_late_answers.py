"""An answer that comes after its document was left lands in no other document."""

from __future__ import annotations

import ast
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studio.engine.core.app_dirs import AppDirs
from studio.engine.core.errors import DataError
from studio.engine.scale.remote import messages
from studio.engine.scale.sweep.planning import Wishes
from studio.engine.train.runs.run_folder import RunFolder
from studio.samples import open_copy
from studio.session.core.entities import Entity
from studio.session.core.scheduling import ManualScheduler
from studio.session.core.tasks import WORKERS, TaskHandle, TaskList
from studio.session.data.augmentation import AugmentationPreview
from studio.session.document.document import Document
from studio.session.document.edits.sections import set_data, set_training
from studio.session.export.exporting import form_named
from studio.session.studio import Studio
from studio.session.tensor_view.tensor_view import TensorViewModel
from studio.session.training.cluster_session import ClusterPlan, ClusterSession
from tests.session.data.files import BAD_TABLE
from tests.session.window_code import calls, is_task, module

pytestmark = pytest.mark.slow
SECONDS = 60.0


class Held:
    """A task whose work is done and whose answer is held back until `let_go`."""

    def __init__(self, site: str, if_left: str) -> None:
        self.site = site
        self.if_left = if_left
        self.worked = threading.Event()
        self.gate = threading.Event()
        self.landed: list[str] = []
        self.handle: TaskHandle | None = None

    def let_go(self) -> None:
        self.gate.set()


class Bench:
    """A studio, the clock that drives it, and a hand on the answer of one kind of task."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.clock = ManualScheduler()
        self.studio = Studio(self.clock, AppDirs.below(folder / "user"))
        self.studio.preferences.set("backend", "cpu")
        self.held: Held | None = None
        self.preview: AugmentationPreview | None = None
        self.view: TensorViewModel | None = None
        self._site = ""
        self._watch(monkeypatch)

    def _watch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        original = TaskList.start

        def start(
            tasks: TaskList, title: str, work: Any, done: Any, failed: Any = None, **how: Any
        ) -> TaskHandle:
            caller = sys._getframe(1).f_code
            site = f"{module(Path(caller.co_filename))}:{caller.co_name}"
            if self.held is not None or site != self._site:
                return original(tasks, title, work, done, failed, **how)
            held = self.held = Held(site, how.get("if_left", "stop"))

            def works(handle: TaskHandle) -> object:
                try:
                    return work(handle)
                finally:
                    held.worked.set()
                    assert held.gate.wait(SECONDS)

            def lands(listener: Any, word: str) -> Any:
                def heard(value: object) -> None:
                    held.landed.append(word)
                    listener(value)

                return heard

            told = None if failed is None else lands(failed, "failed")
            held.handle = original(tasks, title, works, lands(done, "done"), told, **how)
            return held.handle

        monkeypatch.setattr(TaskList, "start", start)

    def hold(self, site: str, act: Callable[[], object] = lambda: None) -> Held:
        """Do something and hold the next answer of that kind back."""
        self._site = site
        act()
        self.until(lambda: self.held is not None)
        assert self.held is not None
        assert self.held.worked.wait(SECONDS)
        return self.held

    def until(self, wanted: Callable[[], object]) -> None:
        deadline = time.monotonic() + SECONDS
        while not wanted():
            assert time.monotonic() < deadline, "it did not come about"
            self.clock.advance(0.02)
            time.sleep(0.002)

    def settle(self) -> None:
        """Until nothing runs in the background, the answer held back included."""
        self.until(lambda: not self.studio.tasks.running)
        self.clock.advance(1.0)
        self.until(lambda: not self.studio.tasks.running)

    def close(self) -> None:
        if self.held is not None:
            self.held.let_go()
        self.studio.close()

    # -- ways to where a task of some kind is started ----------------------------------------------

    def open(self, name: str = "digits-mlp", **training: object) -> None:
        path = open_copy(name, self.folder)
        self.studio.open(path)
        if training:
            document = self.studio.document
            document.apply("training", set_training(document.state, training))
        self.until(lambda: self.studio.compilation.result)
        self.until(lambda: not self.studio.compilation.is_stale)

    def train(self, name: str = "spirals") -> None:
        """Open a project and train it to the end."""
        self.open(name, epochs=1, early_stopping=None)
        self.studio.training.start()
        self.until(lambda: self.studio.training.state in ("finished", "failed"))
        assert self.studio.training.state == "finished"
        self.until(lambda: self.studio.evaluation.status == "ready")
        self.until(lambda: self.studio.runs.runs and not self.studio.runs.is_loading)

    def attach_table(self, rows: str) -> None:
        path = self.folder / "table.csv"
        path.write_text(rows)
        self.studio.data.attach_path(path)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    made = Bench(tmp_path, monkeypatch)
    yield made
    made.close()


Way = Callable[[Bench], object]

GOOD_TABLE = "a,b,kind\n1,2,x\n3,4,y\n5,6,x\n7,8,y\n"


def _augmented(bench: Bench) -> None:
    studio = bench.studio
    bench.preview = AugmentationPreview(
        lambda: studio.document, studio.data, studio.scheduler, studio.tasks
    )
    studio.data.choose("digits")
    bench.until(lambda: studio.data.status == "ready")
    studio.data.set_field("augment", [{"type": "Flip"}])


def _previewed(bench: Bench) -> None:
    bench.open()
    bench.studio.previews.want(wire.port for wire in bench.studio.document.state.wires())


def _curves(bench: Bench) -> None:
    bench.train()
    bench.studio.open(bench.studio.document.path or "")
    bench.until(lambda: bench.studio.runs.runs)
    bench.studio.runs.curves(bench.studio.runs.runs[0].name)


def _tested(bench: Bench) -> None:
    bench.open("spirals", epochs=1, early_stopping=None)
    bench.studio.training.start()


def _asked(bench: Bench) -> None:
    bench.train()
    bench.studio.evaluation.questions.ask_rows(("mine",), np.zeros((1, 2), np.float32))


def _tests_a_run(bench: Bench) -> None:
    """A recorded run is opened; testing the last training closes it again."""
    bench.train()
    bench.studio.open(bench.studio.document.path or "")
    bench.until(lambda: bench.studio.evaluation.newest)
    newest = bench.studio.evaluation.newest
    assert newest is not None
    bench.studio.evaluation.test_run(newest[0])
    bench.until(lambda: bench.studio.evaluation.status == "ready")
    bench.studio.evaluation.test_run("")


def _dry_run(bench: Bench) -> None:
    bench.open("spirals")
    bench.studio.profiling.start_dry_run()


def _peaks(bench: Bench) -> None:
    _dry_run(bench)
    bench.until(lambda: bench.studio.profiling.measurement)
    bench.studio.profiling.measure_peaks()


def _export_preview(bench: Bench) -> None:
    bench.train()
    nothing: Callable[..., None] = lambda *_: None  # noqa: E731
    bench.studio.exporting.preview(form_named("gbasm"), nothing, nothing)


def _export(bench: Bench) -> None:
    bench.train()
    bench.studio.exporting.export(form_named("gbasm"), bench.folder / "made.gbasm")


def _weights_read(bench: Bench) -> None:
    bench.open()
    np.savez(bench.folder / "other.npz", of_another=np.zeros(3))
    bench.studio.importing.read_weights(bench.folder / "other.npz")


def _read_export(bench: Bench) -> None:
    _export(bench)
    bench.until(lambda: bench.studio.exporting.result)
    result = bench.studio.exporting.result
    assert result is not None
    nothing: Callable[..., None] = lambda *_: None  # noqa: E731
    bench.studio.exporting.preview_written(result, nothing, nothing)


def _held_tensor(bench: Bench) -> None:
    bench.open("spirals")
    studio = bench.studio
    view = bench.view = TensorViewModel(studio.live, studio.tasks)
    shown = studio.compilation.shown
    assert shown is not None
    name = next(t.name for t in shown.program.tensors.values() if t.weight)
    view.set_active(True)
    view.show(Entity("tensor", name))
    bench.until(lambda: view.frame)
    view.hold()


def _kept_tensor(bench: Bench) -> None:
    bench.open("digits-cnn", epochs=1000)
    studio = bench.studio
    studio.training.start()
    bench.until(lambda: studio.training.state == "running")
    trainer = studio.training.trainer
    assert trainer is not None
    inside = next(t.name for t in trainer.network.program("train").tensors.values() if t.register)
    view = bench.view = TensorViewModel(studio.live, studio.tasks)
    view.set_active(True)
    view.show(Entity("tensor", inside))


def _started(bench: Bench) -> None:
    bench.open("spirals")
    bench.studio.training.start()


def _left_after_training(bench: Bench) -> None:
    bench.train()
    bench.studio.training.reset()


def _saved_beside(bench: Bench) -> None:
    """Runs of a project without a file move when it is saved."""
    studio = bench.studio
    state = Document.open(open_copy("spirals", bench.folder)).state
    studio.new()
    studio.document.apply("all", state)
    studio.document.apply("once", set_training(state, {"epochs": 1, "early_stopping": None}))
    bench.until(lambda: studio.compilation.result and not studio.compilation.is_stale)
    studio.training.start()
    bench.until(lambda: studio.training.state == "finished")
    bench.until(lambda: studio.runs.runs)
    studio.document.save(bench.folder / "mine.glassbox")


def _sent_elsewhere(bench: Bench) -> None:
    bench.open("spirals")
    # Nothing answers there.
    bench.studio.training.place.use_cluster("tcp://127.0.0.1:1")
    bench.studio.training.start()


def _read_from_elsewhere(bench: Bench) -> None:
    bench.train()
    training = bench.studio.training
    assert training.run is not None
    project = training.run.project()
    wanted = ClusterPlan("tcp://127.0.0.1:1", project, training.runs_path, "cpu")
    session = ClusterSession(wanted, bench.clock, bench.studio.tasks, lambda *_: None)
    session._heard({messages.RUN: str(training.run.path)})


def _deleted(bench: Bench) -> None:
    bench.train()
    bench.studio.training.reset()
    bench.studio.runs.delete(bench.studio.runs.runs[0].name)
    bench.clock.advance(3600.0)


def _autosaved(bench: Bench) -> None:
    document = bench.studio.document
    document.apply("data", set_data(document.state, {"source": "digits"}))
    bench.clock.advance(3600.0)


KINDS: dict[str, Way] = {
    "session/data/data.py:_refresh": lambda bench: bench.studio.data.choose("digits"),
    "session/data/data.py:_refused": lambda bench: bench.attach_table(BAD_TABLE),
    "session/data/data.py:_peek": lambda bench: bench.attach_table(GOOD_TABLE),
    "session/data/data.py:attach_path": lambda bench: bench.attach_table(GOOD_TABLE),
    "session/data/augmentation.py:_start": _augmented,
    "session/compile/compilation.py:_start": lambda bench: bench.studio.open(
        open_copy("spirals", bench.folder)
    ),
    "session/compile/compilation.py:plan_kernels": lambda bench: (
        bench.open(),
        bench.studio.compilation.plan_kernels(),
    ),
    "session/preview/preview.py:_start": _previewed,
    "session/runs/runs.py:refresh": lambda bench: bench.studio.runs.refresh(),
    "session/runs/runs.py:curves": _curves,
    "session/sweeps/sweeps.py:look": lambda bench: bench.open("spirals"),
    "session/sweeps/checking.py:_check": lambda bench: (
        bench.open("spirals"),
        bench.studio.sweeps.ask_check(Wishes(("batch_size=8,16",))),
    ),
    "session/evaluation/evaluation.py:measure": _tested,
    "session/evaluation/questions.py:_go_on": _asked,
    "session/profiling/profiling.py:start_dry_run": _dry_run,
    "session/profiling/profiling.py:measure_peaks": _peaks,
    "session/export/exporting.py:preview": _export_preview,
    "session/importing/importing.py:read_weights": _weights_read,
    "session/export/exporting.py:preview_written": _read_export,
    "session/live/tensors.py:_recompile": _kept_tensor,
    # Work that must be finished, whatever is open by then; its answer is dropped all the same.
    "session/tensor_view/tensor_view.py:hold": _held_tensor,
    "session/training/session.py:begin": _started,
    "session/training/cluster_session.py:begin": _sent_elsewhere,
    "session/training/cluster_session.py:_read": _read_from_elsewhere,
    "session/notices/connecting.py:follow": lambda bench: bench.open("spirals"),
    "session/training/training.py:_close_later": _left_after_training,
    "session/training/training.py:save_again": lambda bench: (
        bench.train(),
        bench.studio.training.save_again(lambda: None, lambda _: None),
    ),
    "session/evaluation/evaluation.py:_close_recorded": _tests_a_run,
    "session/runs/restoring.py:_start": lambda bench: (
        bench.train(),
        bench.until(lambda: bench.studio.runs.runs),
        bench.studio.restoring.restore(bench.studio.runs.runs[0].name, "last"),
    ),
    "session/runs/runs.py:document_saved": _saved_beside,
    "session/runs/runs.py:_empty": _deleted,
    "session/safety/recovery.py:_autosave_now": _autosaved,
}
"""Every kind of task of a document, and a way to have one started."""

BELONG_TO_NO_DOCUMENT = {
    "session/export/exporting.py:export": "the file is finished; shown in its document only",
    "session/profiling/profiling.py:_export": "the file is finished and its path told",
    "session/safety/recovery.py:look": "unsaved work of windows that crashed",
    "ui/panes/plots/pane.py:export": "the file is finished and its path told",
    "ui/panes/testing/measures_head.py:export": "the file is finished and its path told",
    "ui/shell/docks/dock.py:_load": "the code of a pane",
    "ui/shell/docks/dock.py:load_others": "the code of panes",
    "session/importing/importing.py:open_model": "the new project is made, and opened if it may be",
    "session/importing/importing.py:_record": "the run is finished and its name and project told",
    "ui/shell/start/demo.py:_ended": "the demo's files are written and their paths told",
}
"""Tasks that answer whatever is open, and what their answer is."""

TESTED_ELSEWHERE = {
    "instruction_view/passes/viewer.py:take": "instruction_view/test_listing_programs.py",
}


def test_every_kind_of_task_is_known_here() -> None:
    """A new one gets a way to start it in `KINDS`, or a reason why it belongs to no document."""
    found = {site for site, call in calls() if is_task(call)}
    assert found == {*KINDS, *BELONG_TO_NO_DOCUMENT, *TESTED_ELSEWHERE}


def test_only_those_that_belong_to_no_document_answer_in_any() -> None:
    answering = {
        site
        for site, call in calls()
        if is_task(call)
        for word in call.keywords
        if word.arg == "if_left" and ast.literal_eval(word.value) == "answer"
    }
    assert answering == set(BELONG_TO_NO_DOCUMENT)


@pytest.mark.parametrize("site", sorted(KINDS))
def test_a_late_answer_lands_in_no_other_document(bench: Bench, site: str) -> None:
    held = bench.hold(site, lambda: KINDS[site](bench))
    assert held.if_left in ("stop", "finish")
    bench.studio.new()
    held.let_go()
    bench.settle()
    assert held.landed == []
    _nothing_of_the_last_document(bench.studio)
    assert bench.preview is None or bench.preview.result is None
    assert bench.view is None or (bench.view.frame, bench.view.held) == (None, None)


def _nothing_of_the_last_document(studio: Studio) -> None:
    """What an empty project shows."""
    assert (studio.data.status, studio.data.summary, studio.data.error) == ("none", None, None)
    assert (studio.data.columns, studio.data.problems.rows) == ((), ())
    assert studio.document.data_facts is None
    assert studio.document.state.data is None
    assert not studio.document.dirty
    assert studio.compilation.result is None
    assert not studio.runs.is_loading
    assert (studio.runs.runs, studio.sweeps.sweeps, studio.sweeps.check.plan) == ((), (), None)
    evaluation = studio.evaluation
    assert (evaluation.status, evaluation.results, evaluation.subject) == ("nothing", None, None)
    assert (evaluation.answer, evaluation.questions.error, evaluation.error) == (None, None, None)
    assert studio.profiling.measurement is None
    assert not studio.profiling.is_busy
    assert studio.exporting.result is None
    assert studio.training.state == "idle"
    assert all(view.frame is None for view in studio.live.views)


def test_what_must_be_finished_is_finished(bench: Bench) -> None:
    """Saved and left at once, the runs of a project still move beside it."""
    site = "session/runs/runs.py:document_saved"
    held = bench.hold(site, lambda: _saved_beside(bench))
    bench.studio.new()
    held.let_go()
    bench.settle()
    moved = sorted((bench.folder / "mine.runs").iterdir())
    assert len(moved) == 1
    assert RunFolder(moved[0]).best_result() is not None


def test_an_export_ends_in_its_file_and_shows_in_its_own_document_only(bench: Bench) -> None:
    held = bench.hold("session/export/exporting.py:export", lambda: _export(bench))
    heard: list[object] = []
    keep = heard.append
    bench.studio.exporting.finished.connect(keep)
    bench.studio.new()
    held.let_go()
    bench.settle()
    assert held.landed == ["done"]
    assert (bench.folder / "made.gbasm").is_file()
    assert len(heard) == 1
    assert bench.studio.exporting.result is None
    assert bench.studio.exporting.last is None


def test_what_a_task_tells_while_it_works_is_dropped_too(tmp_path: Path) -> None:
    clock = ManualScheduler()
    tasks, told, go_on = TaskList(clock), [], threading.Event()

    def work(handle: TaskHandle) -> None:
        handle.tell(lambda: told.append("early"))
        assert go_on.wait(SECONDS)
        handle.tell(lambda: told.append("late"))

    tasks.start("Work", work, told.append, if_left="finish")
    while not told:
        clock.advance(0.01)
    tasks.leave_document()
    go_on.set()
    while tasks.running:
        clock.advance(0.01)
    assert told == ["early"]
    tasks.close()


def test_an_error_of_work_that_had_to_be_finished_is_told(tmp_path: Path) -> None:
    clock = ManualScheduler()
    errors: list[object] = []
    tasks, own = TaskList(clock, errors.append), []

    def work(_: TaskHandle) -> None:
        raise DataError("no room", who="runs")

    tasks.start("Move", work, own.append, own.append, if_left="finish")
    tasks.leave_document()
    while tasks.running:
        clock.advance(0.01)
    assert own == []
    assert [str(error) for error in errors] == ["[runs] no room"]
    tasks.close()


def test_data_of_the_project_before_says_nothing_of_the_new_one(
    bench: Bench, tmp_path: Path
) -> None:
    """Attached, saved, and another project begun: the save has the data read once more."""
    studio = bench.studio
    studio.new()
    studio.data.choose("digits")
    bench.until(lambda: studio.data.status == "ready")
    studio.document.save(tmp_path / "first.glassbox")
    studio.new()
    bench.settle()
    assert studio.document.data_facts is None
    assert studio.data.status == "none"


def test_stopping_a_measurement_in_the_list_of_tasks_lets_another_begin(bench: Bench) -> None:
    held = bench.hold("session/profiling/profiling.py:start_dry_run", lambda: _dry_run(bench))
    assert held.handle is not None
    held.handle.cancel()
    held.let_go()
    bench.settle()
    assert not bench.studio.profiling.is_busy
    assert bench.studio.profiling.why_no_dry_run() == ""


def test_a_training_left_before_its_preparation_closes_the_one_before(bench: Bench) -> None:
    bench.train()
    studio = bench.studio
    network = studio.training.network
    assert network is not None
    go_on = threading.Event()
    for number in range(WORKERS):
        studio.tasks.start(f"Wait {number}", lambda _: go_on.wait(SECONDS), lambda _: None,
                           if_left="answer")  # fmt: skip
    studio.training.start()
    studio.new()
    go_on.set()
    bench.settle()
    with pytest.raises(DataError):
        network.use(lambda _: None)
