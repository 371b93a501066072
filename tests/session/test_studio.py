"""The models joined: a project opens, compiles, trains and is closed, without any window."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.app_dirs import AppDirs
from studio.engine.core.errors import NumericError, StudioError
from studio.engine.train.network import network as network_module
from studio.samples import open_copy
from studio.session.core import entities
from studio.session.core.scheduling import ManualScheduler
from studio.session.document.edits.layers import set_options
from studio.session.document.edits.sections import set_training
from studio.session.live.culprit import FailedStep
from studio.session.live.tensors import LiveView
from studio.session.studio import Studio


class Bench:
    """A studio and the clock that drives it."""

    def __init__(self, folder: Path) -> None:
        self.clock = ManualScheduler()
        self.studio = Studio(self.clock, AppDirs.below(folder / "user"))
        self.studio.preferences.set("backend", "cpu")

    def until(self, wanted: Callable[[], object], seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while not wanted():
            assert time.monotonic() < deadline, "it did not come about"
            self.clock.advance(0.02)
            time.sleep(0.002)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.studio.close()


@pytest.mark.slow
def test_a_sample_compiles_trains_and_leaves_a_run(bench: Bench, tmp_path: Path) -> None:
    studio = bench.studio
    path = open_copy("spirals", tmp_path)
    studio.open(path)
    bench.until(lambda: studio.compilation.result)
    assert studio.problems.errors == 0
    studio.bus.select([entities.node(list(studio.document.state.nodes)[1])])
    assert studio.bus.path.instruction is not None
    studio.training.start()
    bench.until(lambda: studio.training.state == "finished")
    assert studio.training.run is not None
    assert studio.training.run.path.is_dir()
    assert studio.live.resting is not None
    assert studio.live.resting.step == studio.training.status.steps > 0
    assert [file.path for file in studio.recent.files] == [path.resolve()]


def test_another_document_takes_the_place_of_the_first(bench: Bench, tmp_path: Path) -> None:
    studio = bench.studio
    studio.open(open_copy("digits-mlp", tmp_path))
    bench.until(lambda: studio.compilation.result)
    studio.training.start()
    bench.until(lambda: studio.profiling.measurement)
    replaced: list[object] = []
    keep = replaced.append
    studio.document_replaced.connect(keep)
    studio.new()
    assert len(replaced) == 1
    assert studio.document.state.nodes == {}
    bench.until(lambda: not studio.training.is_busy)
    assert studio.compilation.result is None
    assert studio.profiling.measurement is None


def test_a_file_that_cannot_be_read_changes_nothing(bench: Bench, tmp_path: Path) -> None:
    studio = bench.studio
    before = studio.document
    broken = tmp_path / "broken.glassbox"
    broken.write_text("{")
    with pytest.raises(StudioError):
        studio.open(broken)
    with pytest.raises(StudioError):
        studio.open(tmp_path / "missing.glassbox")
    assert studio.document is before
    assert studio.recent.files == ()


@pytest.mark.gl
@pytest.mark.slow
def test_the_kernels_of_the_device_are_shown_once_it_runs(bench: Bench, tmp_path: Path) -> None:
    studio = bench.studio
    studio.preferences.set("backend", "gl")
    studio.open(open_copy("spirals", tmp_path))
    bench.until(lambda: studio.compilation.result)
    shown = studio.compilation.shown
    assert shown is not None
    assert shown.target.name == "gl-hardware"
    assert shown.kernels is None
    studio.training.start()
    bench.until(lambda: studio.training.state in ("running", "finished", "failed"))
    shown = studio.compilation.shown
    assert shown is not None
    assert shown.kernels is not None
    assert shown.kernels.source == "OpenGL"
    assert all(run.groups for index in shown.rows.entries for run in shown.kernels.of(index))
    studio.training.stop()
    bench.until(lambda: not studio.training.is_busy)


@pytest.mark.slow
@pytest.mark.gl
def test_after_a_dry_run_the_listing_is_what_ran(bench: Bench, tmp_path: Path) -> None:
    studio = bench.studio
    studio.preferences.set("backend", "gl")
    studio.open(open_copy("digits-mlp", tmp_path))
    bench.until(lambda: studio.compilation.result)
    studio.profiling.start_dry_run()
    bench.until(lambda: studio.profiling.measurement and not studio.compilation.is_compiling)
    measured, shown = studio.profiling.measurement, studio.compilation.shown
    assert measured is not None
    assert shown is not None
    assert shown.target == measured.subject.target
    assert list(shown.program) == list(measured.subject.program)
    # Another project, and another wish and back: the device is still known.
    studio.open(open_copy("iris", tmp_path))
    for choice, kind in (("cpu", "cpu"), ("gl", shown.target.name)):
        studio.preferences.set("backend", choice)
        bench.until(lambda: studio.compilation.result and not studio.compilation.is_compiling)
        now = studio.compilation.shown
        assert now is not None
        assert now.target.name == kind


def test_numbers_that_are_none_lead_to_the_layer_they_come_from(
    bench: Bench, tmp_path: Path
) -> None:
    studio = bench.studio
    studio.open(open_copy("digits-mlp", tmp_path))
    bench.until(lambda: studio.compilation.result)
    too_much = {"type": "SGD", "config": {"learning_rate": 1e30}}
    state = set_training(studio.document.state, {"epochs": 2, "optimizer": too_much})
    studio.document.apply("rate", state)
    studio.training.start()
    bench.until(lambda: studio.training.state == "failed")
    notice = studio.notices.all[-1]
    assert notice.severity == "error"
    assert notice.action is not None
    label, show = notice.action
    assert label == "Show culprit"
    show()
    node, tensor = studio.bus.selection.entities
    assert node.kind == "node"
    assert studio.document.state.nodes[node.key].name in f"{notice.text} {notice.details}"
    assert (tensor.kind, studio.bus.selection.primary) == ("tensor", tensor)
    assert tensor.key in notice.text
    # What was recorded of it before can be tested, what holds no weights is not offered.
    newest, run = studio.evaluation.newest, studio.training.run
    assert run is not None
    assert newest is None or newest[0] != run.name


@pytest.mark.slow
def test_a_training_that_has_no_room_offers_a_batch_that_fits(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    studio = bench.studio
    studio.open(open_copy("digits-cnn", tmp_path))
    state = set_training(studio.document.state, {"epochs": 1, "batch_size": 1400})
    studio.document.apply("batch", state)
    bench.until(lambda: studio.compilation.result)
    monkeypatch.setattr(network_module, "free_memory", lambda: 16 << 20)
    studio.training.start()
    bench.until(lambda: studio.training.state == "failed")
    notice = studio.notices.all[-1]
    assert "16.0 MiB are free" in notice.text
    assert notice.action is not None
    label, apply = notice.action
    apply()
    size = studio.document.state.training["batch_size"]
    assert label == f"Batch size {size}"
    assert studio.document.history.undo_text == f"Set batch size to {size}"
    bench.until(lambda: not studio.compilation.stale_edits)
    studio.training.start()
    bench.until(lambda: studio.training.state in ("finished", "failed"))
    assert studio.training.state == "finished"


def test_weights_that_are_only_in_the_window_are_told_until_they_are_written(
    bench: Bench, tmp_path: Path
) -> None:
    studio = bench.studio
    studio.open(open_copy("spirals", tmp_path))
    bench.until(lambda: studio.compilation.result)
    state = set_training(studio.document.state, {"epochs": 2, "early_stopping": None})
    studio.document.apply("epochs", state)
    studio.training.step_batch()
    bench.until(lambda: studio.training.state == "paused" and studio.training.status.steps)
    run = studio.training.run
    assert run is not None
    away = run.path.rename(run.path.with_name("away"))
    studio.training.start()
    bench.until(lambda: studio.training.state == "finished")
    told = studio.notices.all[-1]
    assert told.severity == "error"
    assert told.text.startswith("The trained weights could not be saved")
    assert told.action is not None
    away.rename(run.path)
    told.action[1]()
    bench.until(lambda: studio.notices.all[-1].severity == "ok")
    assert run.best_result() is not None
    bench.until(lambda: any(r.name == run.name and r.has_weights for r in studio.runs.runs))


def hot(bench: Bench, folder: Path, **training: object) -> None:
    """Train the digits at a learning rate of a million until it ends."""
    studio = bench.studio
    studio.open(open_copy("digits-mlp", folder))
    too_much = {"type": "Adam", "config": {"learning_rate": 1e6}}
    state = set_training(studio.document.state, {"epochs": 1, "optimizer": too_much, **training})
    studio.document.apply("rate", state)
    bench.until(lambda: studio.compilation.result and not studio.compilation.stale_edits)
    studio.training.start()
    bench.until(lambda: studio.training.state in ("finished", "failed"))


@pytest.mark.slow
def test_a_training_that_did_not_learn_is_not_called_finished(bench: Bench, tmp_path: Path) -> None:
    studio = bench.studio
    hot(bench, tmp_path)
    verdict = studio.training.verdict
    assert verdict is not None
    assert studio.training.word == "Did not learn"
    notice = studio.notices.all[-1]
    assert (notice.severity, notice.text) == ("warning", "Training did not learn")
    assert notice.details == verdict.evidence
    assert notice.details.startswith("loss 1")
    assert "guessing gives 2.30" in notice.details
    run = studio.training.run
    assert run is not None
    bench.until(lambda: (r := studio.runs.run(run.name)) and r.verdict[0])
    record = studio.runs.run(run.name)
    assert record is not None
    assert (record.state, studio.runs.word(record)) == ("finished", "Did not learn")
    assert record.verdict[1] == verdict.text
    levels = {line.severity for line in studio.log.lines if "Training finished" in line.text}
    assert levels == {"info"}


@pytest.mark.slow
def test_the_offered_rate_trains_again_and_can_be_undone(bench: Bench, tmp_path: Path) -> None:
    studio = bench.studio
    hot(bench, tmp_path)
    before = studio.document.state.training
    action = studio.notices.all[-1].action
    assert action is not None
    assert action[0] == "Train again with learning rate 0.001"
    action[1]()
    assert studio.training.is_busy
    bench.until(lambda: studio.training.state in ("finished", "failed"))
    assert (studio.training.state, studio.training.verdict) == ("finished", None)
    assert studio.training.word == "Finished"
    trained = studio.training.trained_project
    assert trained is not None
    assert trained.training.optimizer.rate(0) == pytest.approx(0.001)
    assert studio.document.history.undo_text == "Set learning rate to 0.001"
    studio.document.undo()
    assert studio.document.state.training == before


def test_what_is_offered_for_one_project_changes_no_other(bench: Bench, tmp_path: Path) -> None:
    studio = bench.studio
    hot(bench, tmp_path)
    rate = studio.notices.all[-1].action
    size = studio.remedies.batch_size(7)
    assert rate is not None
    studio.open(open_copy("iris", tmp_path))
    before = studio.document.state
    for _, act in (rate, size):
        act()
        assert studio.document.state is before
        assert not studio.training.is_busy
        assert "another project" in studio.notices.all[-1].text


def broken(bench: Bench, folder: Path, backend: str = "cpu") -> FailedStep:
    """Train the digits until a number is none; gives the step that broke."""
    studio = bench.studio
    studio.preferences.set("backend", backend)
    studio.open(open_copy("digits-mlp", folder))
    too_much = {"type": "SGD", "config": {"learning_rate": 1e30}}
    state = set_training(studio.document.state, {"epochs": 2, "optimizer": too_much})
    studio.document.apply("rate", state)
    bench.until(lambda: studio.compilation.result and not studio.compilation.stale_edits)
    studio.training.start()
    bench.until(lambda: studio.training.state in ("failed", "finished"))
    step = studio.culprit.shown
    assert step is not None
    return step


def seen(bench: Bench, view: LiveView, label: str) -> np.ndarray:
    """What a view shows of that moment."""
    bench.until(lambda: view.frame is not None and view.frame.label == label)
    assert view.frame is not None
    return view.frame.snapshot.array()


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["cpu", pytest.param("gl", marks=pytest.mark.gl)])
def test_the_poisoned_tensor_is_shown_with_its_step(
    bench: Bench, tmp_path: Path, backend: str
) -> None:
    studio = bench.studio
    step = broken(bench, tmp_path, backend)
    error = studio.training.error
    assert isinstance(error, NumericError)
    view = studio.live.open(step.entity)
    view.want(active=True)
    values = seen(bench, view, f"step {step.step}, where NaN or infinity appeared")
    assert not np.isfinite(values).all()
    assert np.array_equal(values, error.tensors[0].values, equal_nan=True)
    assert view.frame is not None
    assert (view.frame.snapshot.moment.step, view.frame.state) == (step.step, "resting")
    # Its operands, and weights as the step left them: none are the initial ones.
    for copy in error.tensors[1:]:
        operand = studio.live.open(entities.tensor(copy.name, grad=copy.grad))
        operand.want(active=True)
        shown = seen(bench, operand, step.label)
        assert np.array_equal(shown, copy.values, equal_nan=True)
        operand.close()
    view.close()


@pytest.mark.slow
def test_the_layer_at_fault_is_marked_until_the_network_or_the_training_is_another(
    bench: Bench, tmp_path: Path
) -> None:
    studio = bench.studio
    step = broken(bench, tmp_path)
    assert studio.document.report.status(step.node_id).state == "ok"
    status = studio.culprit.report.status(step.node_id)
    assert status.state == "error"
    assert status.message == f"NaN or infinity in {step.entity.key} at step {step.step}"
    others = {i for i in studio.document.state.nodes if i != step.node_id}
    assert {studio.culprit.report.status(i).state for i in others} == {"ok"}
    item = next(item for item in studio.problems.items if item.source == "training")
    assert item.tensor == step.entity
    label, show = studio.notices.all[-1].action or ("", lambda: None)
    assert label == "Show culprit"
    # A setting is not the network: what broke is what it was.
    state = set_training(studio.document.state, {"epochs": 3})
    studio.document.apply("epochs", state)
    bench.until(lambda: not studio.compilation.stale_edits)
    assert studio.live.resting is studio.culprit.shown is step
    node = next(i for i, n in studio.document.state.nodes.items() if n.type_name == "Dense")
    studio.document.apply("units", set_options(studio.document.state, node, {"units": 7}))
    bench.until(lambda: studio.culprit.shown is None)
    bench.until(lambda: not studio.compilation.stale_edits)
    assert studio.culprit.report is studio.document.report
    assert studio.live.resting is not step
    assert [i for i in studio.problems.items if i.source == "training"] == []
    show()
    assert "undo the changes to see the step" in studio.notices.all[-1].text
    studio.document.undo()
    bench.until(lambda: studio.culprit.shown is step and studio.live.resting is step)
    assert studio.culprit.report.status(step.node_id).state == "error"
    show()
    assert studio.bus.selection.primary == step.entity
    studio.training.step_batch()
    bench.until(lambda: studio.training.state == "paused")
    assert studio.culprit.kept is None
    assert studio.culprit.report is studio.document.report
    show()
    assert "that step is no longer available" in studio.notices.all[-1].text
    studio.training.stop()
    bench.until(lambda: not studio.training.is_busy)


def test_another_project_knows_nothing_of_the_step_that_broke(bench: Bench, tmp_path: Path) -> None:
    studio = bench.studio
    broken(bench, tmp_path)
    show = (studio.notices.all[-1].action or ("", lambda: None))[1]
    studio.open(open_copy("iris", tmp_path))
    assert studio.culprit.kept is None
    bench.until(lambda: studio.live.resting is not None)
    assert studio.live.resting is not None
    assert studio.live.resting.label == "initial weights"
    show()
    assert "that step is no longer available" in studio.notices.all[-1].text
    assert studio.bus.selection.primary is None
