"""A learning rate set while a network trains: one setter, one mark, from wherever it is set."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from studio.engine.core.errors import ParameterError
from studio.engine.train.callbacks.callback import Callback
from studio.engine.train.callbacks.learning_rate import LearningRateScheduler, ReduceLROnPlateau
from studio.engine.train.loop import recording
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.marks import Mark, read_marks
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.step_log import RATE, read_steps
from tests.engine.train.small_tasks import equal_bytes, project

if TYPE_CHECKING:
    from collections.abc import Callable

    from studio.engine.runtime.backend import Backend

STEPS = 5
"""Steps of an epoch."""
OWN = 0.001
"""The rate of the optimiser."""


@pytest.fixture
def saved(tmp_path: Path) -> Project:
    made = project(epochs=4)
    made.save(tmp_path / "small.glassbox")
    return made


def rate_marks(run: RunFolder) -> list[tuple[int, float]]:
    return [(mark.step, mark.value) for mark in read_marks(run.path) if mark.kind == RATE]


def recorded_rates(run: RunFolder) -> np.ndarray:
    content = read_steps(run.path)
    assert content is not None
    return np.asarray(content.records["values"][:, 0, content.header.metrics.index(RATE)])


def wait_for(wanted: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not wanted():
        assert time.monotonic() < deadline
        time.sleep(0.002)


class SetsRate(Callback):
    """Sets rates in the middle of an epoch."""

    def __init__(self, rates: dict[int, float]) -> None:
        self.rates = rates

    def on_train_batch_end(self, batch: int, logs: object) -> None:
        del logs
        if batch in self.rates:
            self.training.set_learning_rate(self.rates[batch])


def test_a_rate_set_by_a_script_is_marked_and_recorded(saved: Project, cpu: Backend) -> None:
    run, heard = RunFolder.create(saved), []
    listen: Callable[[Mark], None] = lambda mark: heard.append(mark)  # noqa: E731
    with Trainer(Task.of_project(saved), cpu, run=run) as trainer:
        trainer.marked.connect(listen)
        trainer.control.pause()
        future = trainer.start()
        trainer.control.step(7)
        wait_for(lambda: trainer.loop_or_none() is not None and trainer.loop.total_step == 7)
        assert trainer.control.wait(["paused"], 60)
        trainer.control.set_learning_rate(0.125)
        # It is taken while the training stands still.
        wait_for(lambda: any(mark.kind == RATE for mark in heard))
        assert trainer.loop.total_step == 7
        assert cpu_rate(trainer) == np.float32(0.125)
        trainer.control.resume()
        future.result(60)
    assert rate_marks(run) == [(7, 0.125)]
    assert [(mark.step, mark.value) for mark in heard if mark.kind == RATE] == [(7, 0.125)]
    rates = recorded_rates(run)
    assert rates.tolist() == [np.float32(OWN)] * 7 + [0.125] * (4 * STEPS - 7)


def cpu_rate(trainer: Trainer) -> float:
    table = np.asarray(trainer.network.session.read("train/rates").result())
    return float(table[trainer.loop.total_step % len(table)])


@pytest.mark.parametrize(
    ("make", "marks"),
    [
        (lambda: LearningRateScheduler(lambda epoch, _: (OWN, 0.02)[epoch >= 2]), [(10, 0.02)]),
        (
            lambda: ReduceLROnPlateau("loss", factor=0.5, patience=2, min_delta=1e6),
            [(15, 0.0005)],
        ),
    ],
    ids=["scheduler", "plateau"],
)
def test_a_rate_set_by_a_callback_is_marked_and_recorded(
    saved: Project, cpu: Backend, make: Callable[[], Callback], marks: list[tuple[int, float]]
) -> None:
    run = RunFolder.create(saved)
    with Trainer(Task.of_project(saved), cpu, run=run, callbacks=[make()]) as trainer:
        trainer.run()
    assert rate_marks(run) == marks
    expected = np.full(4 * STEPS, OWN, np.float32)
    for step, rate in marks:
        expected[step:] = rate
    assert recorded_rates(run).tolist() == expected.tolist()


def test_a_rate_set_between_two_steps_is_that_of_the_steps_behind_it(
    saved: Project, cpu: Backend
) -> None:
    run, callback = RunFolder.create(saved), SetsRate({1: 0.5, 3: 0.25})
    with Trainer(Task.of_project(saved), cpu, run=run, callbacks=[callback]) as trainer:
        result = trainer.run()
    marks, rates = rate_marks(run), recorded_rates(run)
    assert marks
    assert [rate for _, rate in marks][-1] == 0.25
    for number, (step, rate) in enumerate(marks):
        end = marks[number + 1][0] if number + 1 < len(marks) else len(rates)
        assert set(rates[step:end].tolist()) == {rate}
    assert result.history[RATE][-1] == 0.25


def test_a_resumed_training_keeps_its_rate_without_another_mark(
    saved: Project, cpu: Backend
) -> None:
    run, task = RunFolder.create(saved), Task.of_project(saved)
    with Trainer(task, cpu, run=run) as trainer:
        trainer.control.set_learning_rate(0.125)
        trainer.run()
        whole = trainer.read_weights()
    assert rate_marks(run) == [(0, 0.125)]
    other = RunFolder.create(saved)
    with Trainer(task.with_settings(epochs=2), cpu, run=other) as trainer:
        trainer.control.set_learning_rate(0.125)
        trainer.run()
    with Trainer(task, cpu, run=other) as trainer:
        trainer.resume(other.checkpoint_path("final"))
        result = trainer.run()
        assert equal_bytes(trainer.read_weights(), whole)
    assert rate_marks(other) == [(0, 0.125)]
    assert result.history[RATE] == [0.125] * 4
    assert recorded_rates(other).tolist() == recorded_rates(run).tolist()


def test_a_rate_set_before_a_resumed_training_goes_on_wins(saved: Project, cpu: Backend) -> None:
    run, task = RunFolder.create(saved), Task.of_project(saved)
    with Trainer(task.with_settings(epochs=2), cpu, run=run) as trainer:
        trainer.control.set_learning_rate(0.125)
        trainer.run()
    with Trainer(task, cpu, run=run) as trainer:
        trainer.resume(run.checkpoint_path("final"))
        trainer.control.set_learning_rate(None)
        trainer.run()
    (first, second) = rate_marks(run)
    assert first == (0, 0.125)
    assert second[0] == 2 * STEPS
    assert np.isnan(second[1])
    assert recorded_rates(run)[-1] == np.float32(OWN)


def test_a_schedule_that_gives_no_rate_ends_the_training(saved: Project, cpu: Backend) -> None:
    callback = LearningRateScheduler(lambda _epoch, _rate: -1.0)
    with (
        Trainer(Task.of_project(saved), cpu, callbacks=[callback]) as trainer,
        pytest.raises(ParameterError, match="expected a number from 0 to 3e"),
    ):
        trainer.run()


def test_a_rate_at_every_step_is_marked_so_often_and_recorded_always(
    saved: Project, cpu: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "MOST_RATE_MARKS", 3)
    run = RunFolder.create(saved)
    scheduler = LearningRateScheduler(lambda epoch, _: 0.5 / (epoch + 1))
    with Trainer(Task.of_project(saved), cpu, run=run, callbacks=[scheduler]) as trainer:
        trainer.run()
    assert [step for step, _ in rate_marks(run)] == [0, 5, 10]
    expected = np.repeat([0.5, 0.25, 0.5 / 3, 0.125], STEPS).astype(np.float32)
    assert recorded_rates(run).tolist() == expected.tolist()
    assert read_marks(run.path)[-1].kind == "finished"


def test_a_rate_is_kept_when_a_trainer_trains_once_more(saved: Project, cpu: Backend) -> None:
    with Trainer(Task.of_project(saved), cpu) as trainer:
        trainer.control.set_learning_rate(0.125)
        assert trainer.run().history[RATE] == [0.125] * 4
        assert trainer.run().history[RATE] == [0.125] * 4
