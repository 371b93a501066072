"""The buttons of a training: each from every state, and the learning rate."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.core.errors import ParameterError
from studio.engine.train.runs.step_log import RATE
from studio.session.plots.curves import load_curves
from tests.session.training.bench import TrainingBench


def test_pause_stands_still_and_resume_goes_on(long: TrainingBench) -> None:
    long.model.start()
    long.until_state("running")
    long.model.pause()
    long.until_state("paused")
    steps = long.model.status.steps
    assert long.states[-2:] == ["pausing", "paused"]
    for _ in range(20):
        long.scheduler.advance(0.05)
    assert long.model.status.steps == steps
    long.model.toggle_pause()
    long.until(lambda: long.model.status.steps > steps)
    assert long.model.state == "running"


def test_pausing_while_it_is_prepared_stands_still_before_the_first_step(
    long: TrainingBench,
) -> None:
    long.model.start()
    long.model.pause()
    long.until_state("paused")
    assert long.model.status.steps == 0
    long.model.start()
    long.until(lambda: long.model.status.steps > 0)


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
    long.until(lambda: long.model.status.steps == 10)


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
    long.until(lambda: long.model.status.steps > 20)
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


@pytest.mark.slow
def test_the_learning_rate_can_be_changed_and_is_marked(long: TrainingBench) -> None:
    long.model.start()
    long.until(lambda: long.model.status.steps > 50)
    long.model.set_learning_rate(0.0125)
    long.until(lambda: long.model.status.learning_rate == 0.0125)
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
def test_a_learning_rate_that_is_none_is_refused(long: TrainingBench, rate: float) -> None:
    long.model.start()
    long.until(lambda: long.model.status.steps > 0)
    with pytest.raises(ParameterError, match="from 0 to 3e"):
        long.model.set_learning_rate(rate)
