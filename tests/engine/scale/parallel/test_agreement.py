"""Several workers, as threads on the CPU, train as one does; they agree to the bit."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from studio.engine.core.errors import NumericError
from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.optim.optimizers import SGD, Adam
from studio.engine.runtime.exchange import Exchange
from studio.engine.train.callbacks.callback import Callback, Logs
from studio.engine.train.data.batches import epoch_order
from studio.engine.train.loop import epoch_loop, recording
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder
from tests.engine.scale.parallel.threads_exchange import together
from tests.engine.scale.parallel.trained import Found, require_alike, require_close, train
from tests.engine.train.naive_training import Weights, gradients, normalised, start
from tests.engine.train.small_tasks import DIGITS, cnn, equal_bytes, mlp, project, task

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("workers", [2, 4])
def test_200_steps_with_dropout_are_those_of_one_worker(workers: int) -> None:
    # 80 samples: the last batch of an epoch has 8 rows of 12, which 4 workers share, too.
    make = lambda: task(mlp(rate=0.3), epochs=29, batch_size=12, optimizer=Adam(0.01))  # noqa: E731
    alone = train(make())
    found = together(workers, lambda exchange: train(make(), exchange))
    assert alone.result.steps >= 200
    require_alike(found)
    require_close(found[0], alone)


def test_two_trainings_of_one_size_are_equal_to_the_bit() -> None:
    make = lambda: task(mlp(rate=0.3), epochs=2, batch_size=12)  # noqa: E731
    first, second = (together(2, lambda exchange: train(make(), exchange))[0] for _ in range(2))
    assert equal_bytes(first.weights, second.weights)
    assert first.result.history == second.result.history


@pytest.mark.parametrize(
    "optimizer",
    [SGD(0.5, global_clipnorm=0.05), SGD(0.5, clipnorm=0.02), SGD(0.5, clipvalue=0.01)],
    ids=["global_clipnorm", "clipnorm", "clipvalue"],
)
def test_gradients_are_brought_together_before_they_are_clipped(optimizer: SGD) -> None:
    make = lambda: task(mlp(), epochs=2, batch_size=12, optimizer=optimizer)  # noqa: E731
    alone = train(make())
    found = together(3, lambda exchange: train(make(), exchange))
    require_close(found[0], alone)


def test_a_worker_without_rows_in_the_last_batch_adds_nothing() -> None:
    # 80 samples in batches of 26: the last has 2 rows, so that two of four workers have none.
    make = lambda: task(mlp(), epochs=2, batch_size=26, metrics=["accuracy"])  # noqa: E731
    found = together(4, lambda exchange: train(make(), exchange))
    require_alike(found)
    require_close(found[0], train(make()))


def counting_network() -> LayerGraph:
    graph = LayerGraph("binary")
    graph.outputs = (graph.add(Dense(1, "sigmoid"), graph.add(Input((2,)))),)
    return graph


def counting(batch: int) -> Task:
    return task(
        counting_network(), epochs=2, batch_size=batch, loss="binary_crossentropy",
        metrics=["accuracy", "auc", "precision", "binary_iou"],
    )  # fmt: skip


@pytest.mark.parametrize("batch", [12, 26])
def test_metrics_that_count_count_every_row_once(
    batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Counts are read behind every chunk of steps, those of rows that only fill in among them.
    monkeypatch.setattr(epoch_loop, "REPORT_SECONDS", 0.0)
    alone = train(counting(batch))
    found = together(4, lambda exchange: train(counting(batch), exchange))
    require_alike(found)
    require_close(found[0], alone)


def test_running_statistics_are_the_same_on_all_workers() -> None:
    make = lambda: task(cnn(), DIGITS, epochs=1, batch_size=60)  # noqa: E731
    found = together(2, lambda exchange: train(make(), exchange))
    require_alike(found)
    # Each worker normalises by the statistics of its own rows, as Keras does by default.
    require_close(found[0], train(make()), rtol=0.05, atol=0.05)


def split_gradients(
    w: Weights, x: np.ndarray, y: np.ndarray, workers: int
) -> tuple[float, Weights]:
    """Means over workers of what each finds of its rows, in float64."""
    total: Weights = {name: np.zeros_like(values) for name, values in w.items()}
    loss = 0.0
    for rows in np.array_split(np.arange(len(x)), workers):
        own, found = gradients(w, x[rows], y[rows], np.ones(len(rows)))
        share = len(rows) / len(x)
        loss += share * own
        for name, gradient in found.items():
            total[name] += share * gradient
    return loss, total


def test_two_workers_train_as_written_out_in_numpy() -> None:
    made = task(mlp(), epochs=2, batch_size=12, optimizer=SGD(0.2))
    assert made.training is not None
    w = start(made)
    x, y = normalised(made, made.training.inputs[0]), made.training.targets[0]
    losses = []
    for epoch in range(2):
        order = epoch_order(made.settings.seed, epoch, len(x), shuffle=True)
        total = 0.0
        for begin in range(0, len(order), 12):
            rows = order[begin : begin + 12]
            loss, found = split_gradients(w, x[rows], y[rows], 2)
            total += loss * len(rows)
            w = {name: values - 0.2 * found[name] for name, values in w.items()}
        losses.append(total / len(order))
    trained = together(2, lambda exchange: train(made, exchange))[0]
    np.testing.assert_allclose(trained.result.history["loss"], losses, rtol=1e-4)
    for name, values in w.items():
        np.testing.assert_allclose(trained.weights[name], values, rtol=1e-3, atol=1e-5)


class StopSoon(Callback):
    """Asks for the end once three steps are known to be done."""

    def on_train_batch_end(self, batch: int, logs: Logs) -> None:
        if batch >= 2:
            cast("Trainer", self.training).control.stop()


def test_all_stop_behind_the_step_that_one_wanted_and_any_number_goes_on() -> None:
    make = lambda: task(mlp(), epochs=3, batch_size=12)  # noqa: E731
    whole = train(make())

    def stopped(exchange: Exchange) -> Found:
        callbacks = [StopSoon()] if exchange.rank == 1 else []
        return train(make(), exchange, callbacks=callbacks)

    found = together(2, stopped)
    steps = {each.result.steps for each in found}
    assert len(steps) == 1
    require_alike(found)
    point = found[0].checkpoint
    require_close(train(make(), resumed=point), whole)
    went_on = together(4, lambda exchange: train(make(), exchange, resumed=point))
    require_alike(went_on)
    require_close(went_on[0], whole)


class Killed(BaseException):
    """Ends a worker at once."""


def test_a_training_that_ends_within_an_epoch_goes_on_there_with_other_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Steps of their own, each behind a checkpoint of the first worker.
    monkeypatch.setattr(epoch_loop, "CHUNK_SECONDS", 0.0)
    monkeypatch.setattr(recording, "CHECKPOINT_SECONDS", 0.0)
    whole = train(counting(12))
    made = project(counting_network(), epochs=2, batch_size=12)
    made.save(tmp_path / "small.glassbox")
    run, save = RunFolder.create(made), Checkpoint.save
    written: list[Checkpoint] = []

    def limited(self: Checkpoint, path: Path | str) -> None:
        written.append(self)
        if len(written) > 3:
            raise Killed
        save(self, path)

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", limited)
        with pytest.raises(Killed):
            together(2, lambda e: train(counting(12), e, run=run if e.rank == 0 else None))
    point = Checkpoint.load(run.last_checkpoint() or "")
    assert point.position.step > 1
    assert point.position.rows == 12 * point.position.step
    for workers in (1, 3, 4):
        found = together(workers, lambda exchange: train(counting(12), exchange, resumed=point))
        require_alike(found)
        require_close(found[0], whole)
    require_close(train(counting(12), resumed=point), whole)


def test_a_loss_that_is_no_number_ends_all_at_the_same_step() -> None:
    errors: dict[int, NumericError] = {}
    lock = threading.Lock()

    def fail(exchange: Exchange) -> None:
        try:
            train(task(mlp(), epochs=3, batch_size=12, optimizer=SGD(3e38)), exchange)
        except NumericError as error:
            with lock:
                errors[exchange.rank] = error

    together(2, fail)
    assert set(errors) == {0, 1}
    assert errors[0].origin == errors[1].origin
