"""Trainings that go on: after a stop, after their end, and from a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.errors import DataError, ParameterError
from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.train.network.trained import Trained
from studio.engine.train.runs.run_lock import RunLock
from studio.session.document.document import Document
from studio.session.plots.curves import load_curves
from tests.engine.train.small_tasks import DIGITS, cnn, equal_bytes, mlp, project
from tests.session.training.bench import TrainingBench


@pytest.mark.slow
def test_going_on_after_a_stop_ends_as_if_it_had_never_stopped(
    tmp_path: Path, benches: list[TrainingBench]
) -> None:
    whole = TrainingBench(tmp_path / "whole", cnn(), DIGITS, saved=False, epochs=2, batch_size=64)
    parts = TrainingBench(tmp_path / "parts", cnn(), DIGITS, saved=False, epochs=2, batch_size=64)
    benches += [whole, parts]
    whole.train()
    for _ in range(3):
        parts.model.step_batch()
        parts.until_state("paused")
    parts.model.stop()
    parts.until_state("stopped")
    run = parts.model.run
    parts.model.go_on()
    parts.until_state("finished")
    assert parts.model.run == run
    assert whole.model.network is not None
    assert parts.model.network is not None
    assert equal_bytes(
        whole.model.network.use(Trained.weights), parts.model.network.use(Trained.weights)
    )
    mine, theirs = parts.model.curves, whole.model.curves
    assert mine is not None
    assert theirs is not None
    assert len(mine.segments) == 1
    np.testing.assert_array_equal(
        mine.segments[0].steps["loss"].values, theirs.segments[0].steps["loss"].values
    )


def test_a_finished_training_goes_on_for_as_many_epochs_again(bench: TrainingBench) -> None:
    bench.train()
    bench.model.go_on()
    bench.until_state("finished")
    bench.until(lambda: len(bench.endings) == 2)
    curves = bench.model.curves
    assert curves is not None
    assert len(curves.segments) == 1
    assert len(curves.segments[0].epochs["loss"]) == 6
    assert [m.kind for m in curves.marks] == ["start", "finished", "restart", "finished"]
    assert bench.model.run is not None
    assert bench.model.run.project().training.epochs == 6
    with pytest.raises(ParameterError, match="6 epochs are done"):
        bench.model.go_on(6)


def test_the_time_of_a_run_is_that_of_all_its_parts(bench: TrainingBench) -> None:
    bench.train()
    run = bench.model.run
    assert run is not None
    first = run.summary()["seconds"]
    assert isinstance(first, float)
    # As if that part had taken a minute more.
    run.write_summary({**run.summary(), "seconds": first + 60.0})
    bench.model.go_on()
    bench.until_state("finished")
    bench.until(lambda: len(bench.endings) == 2)
    whole = run.summary()["seconds"]
    assert whole > first + 60.0
    assert bench.endings[-1].seconds == pytest.approx(whole, abs=1e-3)
    assert bench.model.status.elapsed > first + 60.0
    curves = load_curves(run)
    assert first + 60.0 < curves.elapsed <= whole + 1e-3


def test_a_run_that_was_killed_knows_the_time_of_its_last_checkpoint(bench: TrainingBench) -> None:
    bench.train()
    run = bench.model.run
    assert run is not None
    whole = run.summary()["seconds"]
    path = run.last_checkpoint()
    assert path is not None
    kept = Checkpoint.load(path).seconds
    assert 0.0 < kept <= whole
    run.write_summary({"state": "running", "started": run.name})
    (run.path / "steps.bin").unlink()
    bench.model.go_on()
    bench.until_state("finished")
    bench.until(lambda: len(bench.endings) == 2)
    assert run.summary()["seconds"] > kept


def test_a_run_goes_on_with_the_network_it_had(bench: TrainingBench) -> None:
    bench.train()
    run = bench.model.run
    assert run is not None
    bench.document = Document.of_project(project(mlp(units=5)))
    bench.model.resume_run(run, 4)
    bench.until_state("finished")
    bench.until(lambda: len(bench.endings) == 2)
    assert len(run.metrics()) == 4
    assert bench.model.is_stale


def test_a_run_in_training_elsewhere_is_left_alone(bench: TrainingBench) -> None:
    bench.train()
    run = bench.model.run
    assert run is not None
    lock = RunLock(run.path)
    lock.take()
    before = {path: path.read_bytes() for path in run.path.rglob("*.*")}
    with pytest.raises(DataError, match="being trained by this process"):
        bench.model.go_on(6)
    assert not bench.model.is_busy
    assert bench.model.has_weights
    assert {path: path.read_bytes() for path in run.path.rglob("*.*")} == before
    lock.release()
    bench.model.go_on(6)
    bench.until_state("finished")
    bench.until(lambda: len(bench.endings) == 2)
    assert len(run.metrics()) == 6


def test_epochs_whose_weights_are_gone_are_trained_again(bench: TrainingBench) -> None:
    bench.train()
    run = bench.model.run
    assert run is not None
    for name in ("final", "best", "epoch-0003"):
        run.remove_checkpoint(name)
    bench.model.go_on()
    bench.until_state("finished")
    bench.until(lambda: len(bench.endings) == 2)
    assert run.project().training.epochs == 3
    assert run.checkpoint_path("final").is_file()
