"""Trainings that cannot begin, fail, or lose what they need under way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.errors import BackendError, NumericError
from studio.engine.cpu.run.executable import CpuExecutable
from studio.engine.formats.checkpoint import Checkpoint
from studio.session.document.document import Document
from studio.session.document.edits.removal import delete
from tests.engine.train.small_tasks import equal_bytes, mlp, project
from tests.session.data.files import HeldReading
from tests.session.training.bench import TrainingBench


def test_a_loss_that_is_no_number_leaves_a_failed_run(
    tmp_path: Path, benches: list[TrainingBench]
) -> None:
    optimizer = {"type": "SGD", "config": {"learning_rate": 3e38}}
    bench = TrainingBench(tmp_path, mlp(units=16), optimizer=optimizer, epochs=5)
    benches.append(bench)
    bench.train()
    assert bench.model.state == "failed"
    assert bench.states[-1] == "failed"
    assert isinstance(bench.model.error, NumericError)
    assert bench.endings[-1].error is bench.model.error
    assert not bench.model.has_weights
    run = bench.model.run
    assert run is not None
    assert run.path.is_dir()
    assert run.summary()["state"] == "failed"
    curves = bench.model.curves
    assert curves is not None
    assert curves.segments[0].steps["loss"].bad.total > 0
    assert bench.model.why_not_start() == ""


def test_data_that_cannot_be_opened_is_said_and_nothing_is_left_running(
    tmp_path: Path, benches: list[TrainingBench]
) -> None:
    bench = TrainingBench(tmp_path, data={"source": "csv", "path": "missing.csv", "label": "y"})
    benches.append(bench)
    bench.train()
    assert bench.states == ["preparing", "failed"]
    assert bench.model.error is not None
    assert "missing.csv" in str(bench.model.error)
    assert bench.model.trainer is None


def test_a_training_that_is_stopped_while_its_data_are_read_ends_at_once(
    tmp_path: Path, benches: list[TrainingBench], monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = HeldReading(monkeypatch)
    row = "1.5,2.5,yes\n1.5,2.5,no\n"
    (tmp_path / "large.csv").write_text("a,b,y\n" + row * 400_000)
    bench = TrainingBench(tmp_path, data={"source": "csv", "path": "large.csv", "label": "y"})
    benches.append(bench)
    bench.model.start()
    bench.until(reading.held.is_set)
    bench.until(lambda: bench.model.doing == "opening the data")
    bench.model.stop()
    bench.until_state("stopped")
    assert reading.asked == HeldReading.HELD_AT
    assert bench.model.error is None
    assert bench.model.trainer is None
    assert not (tmp_path / "small.runs").exists()
    assert bench.model.why_not_start() == ""


def test_a_training_that_fails_can_be_followed_by_one_that_does_not(bench: TrainingBench) -> None:
    good = bench.document
    bench.document = Document.of_project(
        project(data={"source": "csv", "path": "x.csv", "label": "y"})
    )
    bench.train()
    assert bench.model.state == "failed"
    bench.document = good
    bench.train()
    assert bench.model.state == "finished"
    assert bench.model.error is None


def test_an_invalid_graph_is_not_trained(bench: TrainingBench) -> None:
    state = bench.document.state
    first = next(node.id for node in state.layers())
    bench.document.apply("delete", delete(state, [first], heal=False))
    assert "problem" in bench.model.why_not_start()
    bench.model.start()
    assert bench.model.state == "idle"


def test_a_project_without_data_is_not_trained(bench: TrainingBench) -> None:
    bench.document.apply("no data", bench.document.state.replaced(data=None))
    assert bench.model.why_not_start() == "no data is chosen"


def test_a_training_whose_folder_is_lost_keeps_its_weights_and_is_written_later(
    bench: TrainingBench,
) -> None:
    bench.model.start()
    bench.model.pause()
    bench.until_state("paused")
    run = bench.model.run
    assert run is not None
    run.path.rename(run.path.with_name("elsewhere"))
    bench.model.start()
    bench.until_state("finished")
    (outcome,) = bench.endings
    assert outcome.error is None
    assert outcome.unsaved is not None
    assert bench.model.has_weights
    assert any("not recorded" in text for text in bench.said)
    done: list[bool] = []
    bench.model.save_again(lambda: done.append(True), bench.errors.append)
    bench.until(lambda: bench.errors)
    run.path.with_name("elsewhere").rename(run.path)
    bench.model.save_again(lambda: done.append(True), bench.errors.append)
    bench.until(lambda: done)
    assert bench.model.outcome is not None
    assert bench.model.outcome.unsaved is None
    network, weights = bench.model.network, Checkpoint.load(run.checkpoint_path("final")).tensors
    assert network is not None
    trained = network.use(lambda found: found.weights())
    assert equal_bytes(trained, {name: weights[name] for name in trained})
    assert len(run.metrics()) == 3


def test_a_folder_that_is_gone_before_the_start_is_told_with_the_way_out(
    tmp_path: Path, benches: list[TrainingBench]
) -> None:
    (tmp_path / "project").mkdir()
    bench = TrainingBench(tmp_path / "project", epochs=1)
    benches.append(bench)
    bench.folder.rename(tmp_path / "away")
    bench.folder.write_text("no folder")
    bench.train()
    assert bench.model.state == "failed"
    error = bench.model.error
    assert error is not None
    assert error.message == "runs cannot be recorded here: a part of the path is not a folder"
    assert error.hint == "save the project in a writable folder"
    assert bench.model.run is None


def test_weights_that_could_not_be_written_are_tried_once_more_before_the_next_training(
    bench: TrainingBench,
) -> None:
    bench.model.start()
    bench.model.pause()
    bench.until_state("paused")
    run = bench.model.run
    assert run is not None
    away = run.path.rename(run.path.with_name("away"))
    bench.model.start()
    bench.until_state("finished")
    away.rename(run.path)
    assert not run.checkpoint_path("final").is_file()
    bench.train()
    assert run.checkpoint_path("final").is_file()
    assert run.summary()["state"] == "finished"


def test_data_that_is_removed_while_it_trains_is_not_needed(
    tmp_path: Path, benches: list[TrainingBench]
) -> None:
    rng = np.random.default_rng(0)
    rows = [f"{x:.3f},{y:.3f},{'ab'[x > y]}" for x, y in rng.standard_normal((60, 2)).tolist()]
    table = tmp_path / "points.csv"
    table.write_text("x,y,kind\n" + "\n".join(rows) + "\n")
    data = {"source": "csv", "path": "points.csv"}
    bench = TrainingBench(tmp_path, data=data, epochs=3)
    benches.append(bench)
    bench.model.start()
    bench.model.pause()
    bench.until_state("paused")
    table.unlink()
    bench.model.start()
    bench.until_state("finished", "failed")
    assert bench.model.state == "finished"
    assert bench.model.run is not None
    bench.model.resume_run(bench.model.run, 5)
    bench.until_state("finished", "failed")
    assert bench.model.state == "failed"
    assert bench.model.error is not None
    assert "points.csv" in str(bench.model.error)


def test_a_lost_device_ends_the_training_and_the_next_begins_on_a_fresh_one(
    long: TrainingBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[object] = []

    def hear(trainer: object) -> None:
        closed.append(trainer)

    long.model.closing.connect(hear)
    long.model.start()
    long.until(lambda: long.model.status.epoch > 3)
    run, first = long.model.run, long.model.trainer
    assert run is not None
    assert first is not None

    def lose(*_: object, **__: object) -> None:
        raise BackendError("the device was lost", who="GPU")

    with monkeypatch.context() as patch:
        patch.setattr(CpuExecutable, "run", lose)
        long.until_state("failed")
    assert long.model.error is not None
    assert long.model.error.message == "the device was lost"
    assert closed == [first]
    assert not long.model.has_weights
    assert run.summary()["state"] == "failed"
    long.until(lambda: not long.tasks.running)
    # What was reached is on the disk, and training goes on from there.
    last = run.last_checkpoint()
    assert last is not None
    long.model.resume_run(run)
    long.until(lambda: long.model.state == "running" and long.model.status.steps > 0)
    assert long.model.trainer is not first
    assert long.model.status.steps > Checkpoint.load(last).position.total_step


def test_a_training_under_way_or_over_is_not_said_to_be_prepared(bench: TrainingBench) -> None:
    said: list[tuple[str, str]] = []

    def note() -> None:
        said.append((bench.model.state, bench.model.doing))

    bench.model.changed.connect(note)
    bench.train()
    assert {doing for state, doing in said if state != "preparing"} == {""}
    assert bench.model.doing == ""
