"""The training of a document, on the CPU: every state, every button, and what is left behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.errors import BackendError, NumericError, ParameterError
from studio.engine.cpu.executable import CpuExecutable
from studio.engine.train.checkpoint import Checkpoint
from studio.engine.train.runs import list_runs
from studio.engine.train.trained import Trained
from studio.graph_editor.model.document import Document
from studio.graph_editor.model.edits.layers import set_option
from studio.graph_editor.model.edits.removal import delete
from studio.ui.models.curves import RATE
from studio.ui.models.curves_recorded import load_curves
from studio.ui.models.training_state import BUSY, STATES, WORDS
from tests.engine.train.small_tasks import DIGITS, cnn, equal_bytes, mlp, project
from tests.ui.models.training_bench import TrainingBench

LONG = 100_000


@pytest.fixture
def benches() -> Iterator[list[TrainingBench]]:
    made: list[TrainingBench] = []
    yield made
    for bench in made:
        bench.close()


@pytest.fixture
def bench(tmp_path: Path, benches: list[TrainingBench]) -> TrainingBench:
    benches.append(TrainingBench(tmp_path, epochs=3))
    return benches[0]


@pytest.fixture
def long(tmp_path: Path, benches: list[TrainingBench]) -> TrainingBench:
    benches.append(TrainingBench(tmp_path, epochs=LONG))
    return benches[0]


def test_every_state_has_a_word() -> None:
    assert set(WORDS) == set(STATES)
    assert len(set(WORDS.values())) == len(STATES)


# -- a whole training ---------------------------------------------------------------------------


def test_a_training_ends_finished_with_curves_and_a_run(bench: TrainingBench) -> None:
    bench.train()
    assert bench.states == ["preparing", "running", "finished"]
    assert bench.model.word == "Finished"
    assert [e.state for e in bench.endings] == ["finished"]
    standing = bench.model.standing
    assert (standing.epoch, standing.epochs, standing.share) == (3, 3, 1.0)
    assert standing.batch == standing.batches == 5
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
    assert [m.kind for m in found.marks] == [m.kind for m in shown.marks] == ["start"]
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


# -- the buttons --------------------------------------------------------------------------------


def test_pause_stands_still_and_resume_goes_on(long: TrainingBench) -> None:
    long.model.start()
    long.until_state("running")
    long.model.pause()
    long.until_state("paused")
    steps = long.model.standing.steps
    assert long.states[-2:] == ["pausing", "paused"]
    for _ in range(20):
        long.scheduler.advance(0.05)
    assert long.model.standing.steps == steps
    long.model.toggle_pause()
    long.until(lambda: long.model.standing.steps > steps)
    assert long.model.state == "running"


def test_pausing_while_it_is_prepared_stands_still_before_the_first_step(
    long: TrainingBench,
) -> None:
    long.model.start()
    long.model.pause()
    long.until_state("paused")
    assert long.model.standing.steps == 0
    long.model.start()
    long.until(lambda: long.model.standing.steps > 0)


def test_steps_and_epochs_go_one_by_one(long: TrainingBench) -> None:
    long.model.step_batch()
    long.until_state("paused")
    curves = long.model.curves
    assert curves is not None
    assert len(curves.segments[0].steps["loss"]) == 1
    for expected in (2, 3):
        long.model.step_batch()
        long.until(lambda n=expected: len(curves.segments[0].steps["loss"]) == n)
        long.until_state("paused")
    for expected in (5, 10):
        long.model.step_epoch()
        long.until(lambda n=expected: len(curves.segments[0].steps["loss"]) == n)
        long.until_state("paused")
    assert len(curves.segments[0].epochs["loss"]) == 2
    long.until(lambda: long.model.standing.steps == 10)


def test_stepping_an_epoch_while_it_runs_stops_at_its_end(long: TrainingBench) -> None:
    long.model.start()
    long.until_state("running")
    long.model.step_epoch()
    long.until_state("paused")
    curves = long.model.curves
    assert curves is not None
    assert curves.size is not None
    assert len(curves.segments[0].steps["loss"]) % curves.size.steps == 0


def test_stop_keeps_what_was_trained(long: TrainingBench) -> None:
    long.model.start()
    long.until(lambda: long.model.standing.steps > 20)
    long.model.stop()
    long.until_state("stopped")
    assert long.model.has_weights
    assert long.model.run is not None
    assert long.model.run.summary()["state"] == "stopped"
    assert (long.model.run.checkpoints / "last.safetensors").is_file()


def test_stop_while_it_is_prepared_ends_before_the_first_step(long: TrainingBench) -> None:
    long.model.start()
    long.model.stop()
    long.until_state("stopped")
    curves = long.model.curves
    assert curves is not None
    assert not any(segment.steps for segment in curves.segments)


def test_stop_ends_a_paused_training(long: TrainingBench) -> None:
    long.model.step_batch()
    long.until_state("paused")
    long.model.stop()
    long.until_state("stopped")


def test_the_learning_rate_can_be_changed_and_is_marked(long: TrainingBench) -> None:
    long.model.start()
    long.until(lambda: long.model.standing.steps > 50)
    long.model.set_learning_rate(0.0125)
    long.until(lambda: long.model.standing.learning_rate == 0.0125)
    curves = long.model.curves
    assert curves is not None
    ((place, value),) = curves.rate_marks("step")
    assert value == 0.0125
    long.until(lambda: curves.segments[0].last_step > place + 10)
    long.model.stop()
    long.until_state("stopped")
    rates = curves.segments[0].steps[RATE].values
    assert rates[int(place) - 1] != np.float32(0.0125)
    assert np.all(rates[int(place) :] == np.float32(0.0125))
    assert long.model.run is not None
    assert load_curves(long.model.run).rate_marks("step") == curves.rate_marks("step")


@pytest.mark.parametrize("rate", [-1.0, float("nan"), float("inf"), 1e39])
def test_a_learning_rate_that_is_none_is_refused(bench: TrainingBench, rate: float) -> None:
    with pytest.raises(ParameterError, match="from 0 to 3e"):
        bench.model.set_learning_rate(rate)


# -- going on -----------------------------------------------------------------------------------


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
    assert [m.kind for m in curves.marks] == ["start", "restart"]
    assert bench.model.run is not None
    assert bench.model.run.project().training.epochs == 6
    with pytest.raises(ParameterError, match="all 6 epochs are done"):
        bench.model.go_on(6)


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


# -- what goes wrong ----------------------------------------------------------------------------


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


# -- the canvas and the weights -----------------------------------------------------------------


def test_weights_are_called_stale_when_the_graph_was_edited(bench: TrainingBench) -> None:
    bench.train()
    assert not bench.model.is_stale
    told: list[str] = []

    def hear() -> None:
        told.append(bench.model.staleness)

    bench.model.staleness_changed.connect(hear)
    hidden = next(node for node in bench.document.state.layers() if node.type_name == "Dense")
    state = set_option(bench.document.state, hidden.id, "units", 9)
    bench.document.apply("units", state)
    bench.model.check_staleness()
    assert told == [f"weights belong to an older graph: {hidden.name} changed"]
    bench.document.undo()
    bench.model.check_staleness()
    assert not bench.model.is_stale


def test_reset_forgets_the_weights_and_keeps_the_run(bench: TrainingBench) -> None:
    bench.train()
    run = bench.model.run
    bench.model.reset()
    assert bench.model.state == "idle"
    assert bench.model.network is None
    assert run is not None
    assert run.path.is_dir()


def test_closing_while_it_trains_ends_it_cleanly(long: TrainingBench) -> None:
    long.model.start()
    long.until(lambda: long.model.standing.steps > 5)
    run = long.model.run
    long.close()
    assert run is not None
    assert run.summary()["state"] == "stopped"


@pytest.mark.parametrize("tasks_first", [True, False], ids=["tasks-first", "model-first"])
def test_closing_while_it_is_prepared_leaves_nothing(
    long: TrainingBench, tasks_first: bool
) -> None:
    long.model.start()
    if tasks_first:
        long.tasks.close()
    long.close()
    assert not long.model.is_busy


def test_time_left_is_told_once_there_is_a_pace(long: TrainingBench) -> None:
    long.model.start()
    long.until(lambda: long.model.standing.left.seconds is not None)
    standing = long.model.standing
    assert standing.steps >= 20
    assert standing.items_per_second is not None
    assert standing.items_per_second > 0
    assert long.model.state in BUSY


def test_an_edit_is_compared_once_it_rests(bench: TrainingBench) -> None:
    bench.train()
    hidden = next(node for node in bench.document.state.layers() if node.type_name == "Dense")
    for units in (9, 10, 11):
        bench.document.apply("units", set_option(bench.document.state, hidden.id, "units", units))
        bench.model.document_changed()
        assert not bench.model.is_stale
    bench.scheduler.advance(1.0)
    assert bench.model.is_stale


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
    (ending,) = bench.endings
    assert ending.error is None
    assert ending.unsaved is not None
    assert bench.model.has_weights
    assert any("not recorded" in text for text in bench.said)
    done: list[bool] = []
    bench.model.save_again(lambda: done.append(True), bench.errors.append)
    bench.until(lambda: bench.errors)
    run.path.with_name("elsewhere").rename(run.path)
    bench.model.save_again(lambda: done.append(True), bench.errors.append)
    bench.until(lambda: done)
    assert bench.model.ending is not None
    assert bench.model.ending.unsaved is None
    network, weights = bench.model.network, Checkpoint.load(run.checkpoint_path("final")).tensors
    assert network is not None
    trained = network.use(lambda found: found.weights())
    assert equal_bytes(trained, {name: weights[name] for name in trained})
    assert len(run.metrics()) == 3


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


def test_a_lost_device_ends_the_training_and_the_next_begins_on_a_fresh_one(
    long: TrainingBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[object] = []

    def hear(trainer: object) -> None:
        closed.append(trainer)

    long.model.closing.connect(hear)
    long.model.start()
    long.until(lambda: long.model.standing.epoch > 3)
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
    long.until(lambda: long.model.state == "running" and long.model.standing.steps > 0)
    assert long.model.trainer is not first
    assert long.model.standing.steps > Checkpoint.load(last).position.total_step
