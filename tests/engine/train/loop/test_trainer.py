"""The training loop against training written out in float64, and under control of others."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pytest

from studio.engine.core.errors import DataError, NumericError
from studio.engine.train.callbacks.callback import Callback
from studio.engine.train.data.batches import epoch_order
from studio.engine.train.loop.trainer import Trainer
from tests.engine.train.naive_training import forward, normalised, train_sgd
from tests.engine.train.small_tasks import equal_bytes, mlp, task

if TYPE_CHECKING:
    from studio.engine.runtime.backend import Backend
    from studio.engine.train.loop.progress import Progress

SGD = {"type": "SGD", "config": {"learning_rate": 0.3}}


def orders(count: int, epochs: int, seed: int = 0, shuffle: bool = True) -> list[np.ndarray]:
    return [epoch_order(seed, epoch, count, shuffle) for epoch in range(epochs)]


@pytest.mark.parametrize("shuffle", [True, False])
def test_epochs_with_a_partial_batch_follow_the_written_out_training(
    cpu: Backend, shuffle: bool
) -> None:
    made = task(optimizer=SGD, epochs=4, batch_size=24, shuffle=shuffle)
    losses, accuracies, weights = train_sgd(made, orders(80, 4, shuffle=shuffle), 24, 0.3)
    with Trainer(made, cpu) as trainer:
        result = trainer.run()
        found = trainer.read_weights()
        measured = trainer.evaluate()
    assert result.steps == 16
    assert result.history["loss"] == pytest.approx(losses, rel=1e-5)
    assert result.history["accuracy"] == pytest.approx(accuracies, abs=1e-6)
    for name, values in weights.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-4, atol=1e-6)
    assert made.test is not None
    shares = forward(weights, normalised(made, made.test.inputs[0]))[1]
    labels = made.test.targets[0]
    assert measured["accuracy"] == pytest.approx((shares.argmax(1) == labels).mean())
    assert measured["loss"] == pytest.approx(
        -np.log(shares[np.arange(len(labels)), labels]).mean(), rel=1e-4
    )
    assert result.history["val_loss"][-1] == measured["loss"]


def test_a_profile_measures_behind_a_first_step(cpu: Backend) -> None:
    made = task(optimizer=SGD, batch_size=20)
    _, _, weights = train_sgd(made, orders(80, 1), 20, 0.3)
    with Trainer(made, cpu) as trainer:
        found = trainer.profile(3)
        reached = trainer.read_weights()
    assert found.steps == 3
    for name, values in weights.items():
        np.testing.assert_allclose(reached[name], values, rtol=1e-4, atol=1e-6)


def test_class_weights_follow_the_written_out_training(cpu: Backend) -> None:
    made = task(optimizer=SGD, epochs=3, batch_size=24, class_weights={"1": 3.0})
    losses, _, weights = train_sgd(made, orders(80, 3), 24, 0.3, np.array([1.0, 3.0]))
    with Trainer(made, cpu) as trainer:
        result = trainer.run()
        found = trainer.read_weights()
    assert result.history["loss"] == pytest.approx(losses, rel=1e-5)
    for name, values in weights.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-4, atol=1e-6)


def test_balanced_classes_weigh_the_same() -> None:
    made = task(data={"source": "iris", "normalization": "standard"}, graph=mlp(4, 3),
                class_weights="balanced")  # fmt: skip
    assert made.training is not None
    counts = np.bincount(made.training.targets[0])
    assert np.array(made.spec.class_weights[0]) * counts == pytest.approx(np.full(3, 40.0))


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(cpu: Backend) -> None:
    def weights(seed: int) -> Mapping[str, np.ndarray]:
        with Trainer(task(graph=mlp(rate=0.3), seed=seed), cpu) as trainer:
            trainer.run()
            return trainer.read_weights()

    assert equal_bytes(weights(5), weights(5))
    assert not equal_bytes(weights(5), weights(6))


def test_steps_are_heard_once_each_in_order(cpu: Backend) -> None:
    class Steps(Callback):
        def __init__(self) -> None:
            self.heard: list[tuple[int, int]] = []
            self.losses: list[float] = []
            self.epoch = -1

        def on_epoch_begin(self, epoch: int) -> None:
            self.epoch = epoch

        def on_train_batch_end(self, batch: int, logs: Mapping[str, float]) -> None:
            self.heard.append((self.epoch, batch))
            self.losses.append(logs["loss"])

    steps = Steps()
    with Trainer(task(epochs=2), cpu, callbacks=[steps]) as trainer:
        result = trainer.run()
    assert steps.heard == [(epoch, batch) for epoch in range(2) for batch in range(5)]
    assert np.mean(steps.losses[:5]) == pytest.approx(result.history["loss"][0])


def test_early_stopping_puts_the_best_weights_back(cpu: Backend) -> None:
    class Keep(Callback):
        def on_train_begin(self) -> None:
            self.seen: list[tuple[float, Mapping[str, np.ndarray]]] = []

        def on_epoch_end(self, epoch: int, logs: Mapping[str, float]) -> None:
            self.seen.append((logs["val_loss"], self.training.read_weights()))

    keep = Keep()
    made = task(
        graph=mlp(units=32),
        data={"source": "spirals", "n": 60, "noise": 0.3, "turns": 3.0},
        epochs=300,
        optimizer={"type": "Adam", "config": {"learning_rate": 0.05}},
        early_stopping={"patience": 5, "restore_best_weights": True},
    )
    with Trainer(made, cpu, callbacks=[keep]) as trainer:
        result = trainer.run()
        final = trainer.read_weights()
    assert result.outcome == "early"
    assert "val_loss has not improved" in result.reason
    best = min(range(len(keep.seen)), key=lambda i: keep.seen[i][0])
    assert len(keep.seen) == best + 6
    assert equal_bytes(final, keep.seen[best][1])


def test_pause_step_resume_and_stop_from_another_thread(cpu: Backend) -> None:
    with Trainer(task(epochs=100_000), cpu) as trainer:
        control = trainer.control
        future = trainer.start()
        assert control.wait(["running"], 30)
        while not trainer.history.epoch:
            time.sleep(0.002)
        control.pause()
        assert control.wait(["paused"], 30)
        held = trainer.loop.total_step
        time.sleep(0.05)
        assert trainer.loop.total_step == held
        control.step(3)
        deadline = time.monotonic() + 30
        while trainer.loop.total_step < held + 3 and time.monotonic() < deadline:
            time.sleep(0.002)
        assert control.wait(["paused"], 30)
        assert trainer.loop.total_step == held + 3
        assert control.call(lambda: threading.current_thread().name).result(30) == "training"
        control.resume()
        while trainer.loop.total_step < held + 10:
            time.sleep(0.002)
        control.stop()
        result = future.result(30)
    assert result.outcome == "stopped"
    assert control.state == "finished"
    assert result.steps >= held + 10


def test_a_paused_training_ends_as_one_that_was_not(cpu: Backend) -> None:
    with Trainer(task(graph=mlp(rate=0.2)), cpu) as trainer:
        trainer.run()
        expected = trainer.read_weights()
    with Trainer(task(graph=mlp(rate=0.2)), cpu) as trainer:
        trainer.control.pause()
        future = trainer.start()
        for _ in range(7):
            assert trainer.control.wait(["paused"], 30)
            trainer.control.step()
        trainer.control.resume()
        future.result(30)
        assert equal_bytes(trainer.read_weights(), expected)


def test_a_rate_set_while_it_runs_takes_effect_at_the_next_step(cpu: Backend) -> None:
    with Trainer(task(epochs=3), cpu) as trainer:
        trainer.control.pause()
        future = trainer.start()
        trainer.control.step(5)
        while trainer.loop_or_none() is None or trainer.loop.total_step < 5:
            time.sleep(0.002)
        assert trainer.control.wait(["paused"], 30)
        before = trainer.control.call(trainer.read_weights).result(30)
        trainer.control.set_learning_rate(0.0)
        trainer.control.resume()
        result = future.result(30)
        assert equal_bytes(trainer.read_weights(), before)
    assert result.history["learning_rate"][1:] == [0.0, 0.0]


def test_progress_reaches_the_end_and_knows_the_rest(cpu: Backend) -> None:
    seen: list[Progress] = []
    listen = lambda progress: seen.append(progress)  # noqa: E731
    with Trainer(task(epochs=3), cpu) as trainer:
        trainer.progress.connect(listen)
        trainer.run()
    shares = [p.share for p in seen]
    assert shares == sorted(shares)
    last = seen[-1]
    assert (last.epoch, last.step, last.total_step, last.share) == (3, 0, 15, 1.0)
    assert last.left.seconds == 0.0
    assert last.rows_per_second
    assert set(last.metrics) >= {"loss", "accuracy", "val_loss", "val_accuracy"}


def test_a_loss_that_is_no_number_names_where_it_came_from(cpu: Backend) -> None:
    made = task(
        optimizer={"type": "SGD", "config": {"learning_rate": 1e30}},
        loss="mse", metrics=[], epochs=5,
        graph=_unbounded(),
    )  # fmt: skip
    with Trainer(made, cpu) as trainer, pytest.raises(NumericError) as caught:
        trainer.run()
    assert "dense" in str(caught.value)
    assert "0x" in str(caught.value)
    with Trainer(made.with_settings(stop_on_nan=False), cpu) as trainer:
        result = trainer.run()
    assert not np.isfinite(result.history["loss"][-1])
    assert len(result.epochs) == 5


def _unbounded():  # type: ignore[no-untyped-def]
    from studio.engine.layers.dense import Dense
    from studio.engine.layers.graph import LayerGraph
    from studio.engine.layers.inputs import Input

    graph = LayerGraph("unbounded")
    x = graph.add(Dense(4, "relu"), graph.add(Input((2,))))
    graph.outputs = (graph.add(Dense(2), x),)
    return graph


def test_an_error_of_a_callback_ends_the_training_cleanly(cpu: Backend) -> None:
    class Broken(Callback):
        def on_epoch_end(self, epoch: int, logs: Mapping[str, float]) -> None:
            raise DataError("no more", who="test")

    with Trainer(task(), cpu, callbacks=[Broken()]) as trainer:
        future = trainer.start()
        with pytest.raises(DataError, match="no more"):
            future.result(30)
        assert trainer.control.state == "finished"


@pytest.mark.parametrize(
    ("validation", "training", "measured"),
    [("none", 80, 0), ("held-out", 80, 20), ("tail", 60, 20), ("random", 60, 20)],
)
def test_validation_parts_have_their_sizes(validation: str, training: int, measured: int) -> None:
    made = task(validation=validation, validation_fraction=0.25)
    assert made.training is not None
    assert len(made.training) == training
    assert (0 if made.validation is None else len(made.validation)) == measured
    if validation == "tail":
        whole = task(validation="none")
        assert whole.training is not None
        assert made.validation is not None
        np.testing.assert_array_equal(made.validation.inputs[0], whole.training.inputs[0][60:])
