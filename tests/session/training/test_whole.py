"""A training from its start to its end: its states, curves, run and weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.train.loop import progress
from studio.engine.train.network.trained import Trained
from studio.engine.train.runs.run_folder import list_runs
from studio.engine.train.runs.step_log import RATE, read_steps
from studio.session.document.edits.sections import set_training
from studio.session.plots.curves import load_curves
from studio.session.training.state import BUSY, STATES, WORDS
from tests.engine.train.small_tasks import equal_bytes
from tests.session.training.bench import TrainingBench


def test_every_state_has_a_word() -> None:
    assert set(WORDS) == set(STATES)
    assert len(set(WORDS.values())) == len(STATES)


def test_a_training_ends_finished_with_curves_and_a_run(bench: TrainingBench) -> None:
    bench.train()
    assert bench.states == ["preparing", "running", "finished"]
    assert bench.model.word == "Finished"
    assert [e.state for e in bench.endings] == ["finished"]
    status = bench.model.status
    assert (status.epoch, status.epochs, status.share) == (3, 3, 1.0)
    assert status.batch == status.batches == 5
    assert bench.model.device.startswith("training on the CPU")
    curves = bench.model.curves
    assert curves is not None
    assert curves.plots == ("loss", "accuracy", RATE)
    assert curves.parts("loss") == ("training", "validation")
    (segment,) = curves.segments
    assert len(segment.steps["loss"]) == 15
    assert len(segment.epochs["val_loss"]) == 3


def test_what_is_recorded_is_what_was_shown(bench: TrainingBench) -> None:
    bench.train()
    shown, run = bench.model.curves, bench.model.run
    assert shown is not None
    assert run is not None
    (run_found,) = list_runs(bench.document.project())
    assert run_found == run
    found = load_curves(run)
    kinds = ["start", "finished"]
    assert [m.kind for m in found.marks] == [m.kind for m in shown.marks] == kinds
    for name in shown.metrics:
        mine, theirs = shown.segments[0].steps[name], found.segments[0].steps[name]
        np.testing.assert_array_equal(mine.values, theirs.values)
    for name, series in shown.segments[0].epochs.items():
        np.testing.assert_array_equal(series.values, found.segments[0].epochs[name].values)
    assert run.summary()["state"] == "finished"


def test_steps_average_to_what_the_epoch_reports(bench: TrainingBench) -> None:
    bench.train()
    curves = bench.model.curves
    assert curves is not None
    assert curves.size is not None
    segment, size = curves.segments[0], curves.size
    rows = np.minimum(size.batch, size.items - np.arange(size.steps) * size.batch)
    for name in ("loss", "accuracy"):
        steps = segment.steps[name].values.reshape(3, size.steps).astype(np.float64)
        expected = (steps * rows).sum(axis=1) / rows.sum()
        np.testing.assert_allclose(segment.epochs[name].values, expected, rtol=1e-6)


def test_the_run_holds_a_snapshot_of_graph_and_settings(bench: TrainingBench) -> None:
    before = bench.document.project().to_json()
    bench.train()
    assert bench.model.run is not None
    assert bench.model.run.project().to_json() == before


def test_a_project_without_a_file_records_into_the_users_data(
    tmp_path: Path, benches: list[TrainingBench]
) -> None:
    bench = TrainingBench(tmp_path, saved=False, epochs=1)
    benches.append(bench)
    bench.train()
    assert bench.model.run is not None
    assert bench.model.run.path.is_relative_to(tmp_path / "data")
    assert bench.model.run.path.parent == bench.model.runs_path
    assert load_curves(bench.model.run).segments


def test_the_network_stays_open_for_evaluation_until_the_next_start(bench: TrainingBench) -> None:
    bench.train()
    network, run = bench.model.network, bench.model.run
    assert network is not None
    assert run is not None
    mine = network.use(lambda trained: trained.evaluate())
    path = run.best_result()
    assert path is not None
    stored = Checkpoint.load(path).tensors
    weights = network.use(lambda trained: trained.weights())
    assert equal_bytes(weights, {name: np.asarray(stored[name]) for name in weights})
    assert set(mine) == {"loss", "accuracy"}
    closed: list[object] = []

    def hear(trainer: object) -> None:
        closed.append(trainer)

    bench.model.closing.connect(hear)
    bench.train()
    assert len(closed) == 1
    with pytest.raises(Exception, match="another training"):
        network.use(lambda trained: trained.weights())


def test_two_trainings_of_one_seed_give_the_same_weights(bench: TrainingBench) -> None:
    found = []
    for _ in range(2):
        bench.train()
        assert bench.model.network is not None
        found.append(bench.model.network.use(Trained.weights))
    assert equal_bytes(*found)
    assert len(list_runs(bench.document.project())) == 2


def test_the_pace_is_that_of_the_recorded_steps(
    bench: TrainingBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "WINDOW_SECONDS", 1e9)
    monkeypatch.setattr(progress, "_APART", 0.0)
    document = bench.document
    document.apply("More", set_training(document.state, {"epochs": 30}))
    bench.train()
    status, run = bench.model.status, bench.model.run
    assert run is not None
    content = read_steps(run.path)
    assert content is not None
    assert len(content.records) == status.steps == 150
    times = content.records["relative"].astype(np.float64)
    # The first step is left out, and the end of the last epoch counts.
    rows = 30 * content.header.size.items - content.header.size.batch
    assert status.items_per_second == pytest.approx(rows / (status.elapsed - times[0]), rel=0.1)
    assert status.elapsed >= times[-1] - 1e-3
    assert status.step_seconds == pytest.approx(
        content.header.size.items / 5 / status.items_per_second
    )
    summary = run.summary()
    assert summary["seconds"] == pytest.approx(bench.endings[0].seconds, abs=1e-3)
    assert bench.endings[0].seconds >= status.elapsed


def test_time_left_is_told_once_there_is_a_pace(long: TrainingBench) -> None:
    long.model.start()
    long.until(lambda: long.model.status.left.seconds is not None)
    status = long.model.status
    assert status.step_seconds is not None
    assert status.step_seconds > 0
    assert status.items_per_second is not None
    assert status.items_per_second > 0
    assert long.model.state in BUSY


def test_what_is_prepared_is_shown_only_when_the_window_hears_of_it(bench: TrainingBench) -> None:
    bench.model.start()
    session = bench.model._session
    assert session is not None
    assert session._ready.wait(30)
    # The window's clock stands still: whatever the background has made, nothing may change.
    assert bench.model.run is None
    assert bench.model.curves is None
    bench.until_state("finished")
    assert bench.model.run is not None
