"""The details of a run, of real trainings that were paused, continued and failed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from studio.engine.train.runs.marks import read_marks
from studio.session.document.edits.sections import set_training
from studio.session.runs.details import details_of
from studio.session.runs.records import RunRecord, best_of, read_record
from tests.engine.train.small_tasks import SPIRALS, mlp
from tests.session.training.bench import TrainingBench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[TrainingBench]:
    made = TrainingBench(tmp_path, mlp(), SPIRALS, epochs=3, batch_size=16, seed=11)
    yield made
    made.close()


def change(bench: TrainingBench, **settings: object) -> None:
    """Train otherwise from now on."""
    bench.document.apply("settings", set_training(bench.document.state, settings))


def groups(run: RunRecord) -> dict[str, dict[str, object]]:
    return {
        group.title: {detail.name: detail.value for detail in group.details}
        for group in details_of(run)
    }


def events(run: RunRecord) -> list[object]:
    return [d.value for g in details_of(run) if g.title == "Events" for d in g.details]


@pytest.mark.slow
def test_a_run_tells_course_settings_metrics_and_files(bench: TrainingBench) -> None:
    bench.train()
    assert bench.model.run is not None
    run = read_record(bench.model.run)
    found = groups(run)
    summary = bench.model.run.summary()
    assert found["Course"]["Device"] == summary["device"]
    assert found["Course"]["Epochs"] == "3 of 3"
    assert found["Course"]["Started"] == pytest.approx(run.marks[0].wall, abs=60)
    assert found["Course"]["Ended"] == run.marks[-1].wall
    assert found["Settings"]["Seed"] == "11"
    assert found["Settings"]["Batch size"] == "16"
    assert "Optimiser" in found["Settings"]
    lines = (bench.model.run.path / "metrics.jsonl").read_text().splitlines()
    losses = [json.loads(line)["loss"] for line in lines]
    assert found["Metrics"]["Loss, last"] == losses[-1]
    assert found["Metrics"]["Loss, best"] == min(losses)
    assert run.best["loss"] == (min(losses), losses.index(min(losses)) + 1)
    # While it trains, the same is told by its curves.
    assert bench.model.curves is not None
    assert best_of(bench.model.curves.extremes()) == run.best
    sizes = {
        str(path.relative_to(run.folder.path)): path.stat().st_size
        for path in run.folder.path.rglob("*")
        if path.is_file()
    }
    assert found["Files"] == sizes
    assert events(run)[0] == "started"
    assert str(events(run)[-1]).startswith("finished after")


@pytest.mark.slow
def test_pauses_rates_stops_and_continuations_are_told_in_order(bench: TrainingBench) -> None:
    change(bench, epochs=100_000)
    model = bench.model
    model.start()
    bench.until_state("running")
    model.pause()
    bench.until_state("paused")
    assert model.run is not None
    paused_at = model.status.steps
    model.set_learning_rate(0.125)
    model.start()
    bench.until(lambda: model.status.steps > paused_at + 20)
    model.stop()
    bench.until_state("stopped")
    kinds = [mark.kind for mark in read_marks(model.run.path)]
    assert kinds[0] == "start"
    assert kinds.index("paused") < kinds.index("resumed") < kinds.index("stopped")
    assert "learning_rate" in kinds
    marks = read_marks(model.run.path)
    stood = next(mark for mark in marks if mark.kind == "paused")
    went = next(mark for mark in marks if mark.kind == "resumed")
    assert stood.step == went.step == paused_at
    told = [str(each) for each in events(read_record(model.run))]
    assert any(each.startswith("paused after") for each in told)
    assert any(each.startswith("learning rate 0.125") for each in told)
    assert told[-1].startswith("stopped after")


@pytest.mark.slow
def test_a_pause_that_is_ended_by_a_stop_is_not_gone_on_from(bench: TrainingBench) -> None:
    change(bench, epochs=100_000)
    bench.model.start()
    bench.until_state("running")
    bench.model.pause()
    bench.until_state("paused")
    bench.model.stop()
    bench.until_state("stopped")
    assert bench.model.run is not None
    kinds = [mark.kind for mark in read_marks(bench.model.run.path)]
    assert kinds == ["start", "paused", "stopped"]


@pytest.mark.slow
def test_an_error_is_told_with_its_reason(bench: TrainingBench) -> None:
    change(bench, optimizer={"type": "SGD", "config": {"learning_rate": 3e38}})
    bench.model.start()
    bench.until_state("failed", "finished")
    assert bench.model.run is not None
    run = read_record(bench.model.run)
    assert run.state == "failed"
    assert groups(run)["Events"]["Error"] == run.reason != ""


def test_the_best_is_the_largest_share_and_the_smallest_loss() -> None:
    epochs = [
        (1, {"val_loss": 0.5, "val_accuracy": 0.7, "learning_rate": 1.0}),
        (2, {"val_loss": 0.4, "val_accuracy": 0.9}),
        (3, {"val_loss": float("nan"), "val_accuracy": 0.9}),
        (4, {"val_loss": 0.6, "val_accuracy": np.inf}),
    ]
    assert best_of(epochs) == {"val_loss": (0.4, 2), "val_accuracy": (0.9, 2)}
