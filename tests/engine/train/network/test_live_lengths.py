"""Tensors of fused kernels watched while batches of several lengths train."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from studio.engine import Dense, Input, MeanSquaredError, Task
from studio.engine.compiler.lower_data import DataSpec, Source
from studio.engine.layers.symbol import graph_of
from studio.engine.runtime.live_places import NotStoredError
from studio.engine.train.callbacks.callback import Callback
from studio.engine.train.data.samples import MixedSamples, Samples
from studio.engine.train.devices import open_backend
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.network.recent_lengths import RecentLengths
from studio.engine.train.settings import TrainingSettings
from tests.engine.train.network.test_live import step_on

ROWS, LENGTHS = 4, (3, 5, 9)
HIDDEN = "hidden/linear"


def samples_of(length: int) -> Samples:
    rng = np.random.default_rng(length)
    x = rng.normal(size=(ROWS, length, 4)).astype(np.float32)
    return Samples((x,), (x[..., :2].copy(),))


def task() -> Task:
    """Dense layers at every position, on one batch of each length."""
    x = Input((None, 4), name="tokens")
    graph = graph_of([x], [Dense(2)(Dense(8, "relu", name="hidden")(x))], "tags")
    first, *others = map(samples_of, LENGTHS)
    spec = DataSpec((Source((LENGTHS[0], 4)),), (Source((LENGTHS[0], 2)),))
    return Task(
        graph.name, graph.bound((LENGTHS[0],)),
        TrainingSettings(epochs=4, batch_size=ROWS, shuffle=False), spec, (MeanSquaredError(),),
        training=MixedSamples(first.inputs, first.targets, others=tuple(others)), open_graph=graph,
    )  # fmt: skip


class Watcher(Callback):
    """Has the hidden tensor kept after the first epoch, and asks for it at each step."""

    def __init__(self) -> None:
        self.seen: set[tuple[int, ...]] = set()
        self.failures: list[object] = []

    def on_epoch_end(self, epoch: int, logs: object = None) -> None:
        assert isinstance(self.training, Trainer)
        live = self.training.network.live
        if epoch == 0:
            with pytest.raises(NotStoredError):
                live.watch(HIDDEN)
            live.replace(live.recompile([HIDDEN]))
            self.tap = live.watch(HIDDEN)
        else:
            failure, snapshot = self.tap.failure(), self.tap.take()
            if failure is not None:
                self.failures.append(failure)
            if snapshot is not None:
                self.seen.add(snapshot.shape)
                snapshot.release()
        self.tap.request()


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["cpu", pytest.param("gl", marks=pytest.mark.gl)])
def test_a_kept_tensor_is_kept_at_every_length(backend: str) -> None:
    watcher = Watcher()
    with (
        open_backend(backend) as opened,
        Trainer(task(), opened.backend, callbacks=[watcher]) as trainer,
    ):
        trainer.run()
        kept = [trainer.network.program("train", (n,)).tensors.named(HIDDEN) for n in LENGTHS[1:]]
    assert watcher.failures == []
    assert watcher.seen
    assert watcher.seen <= {(ROWS, length, 8) for length in LENGTHS}
    assert not any(tensor.register for tensor in kept)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["cpu", pytest.param("gl", marks=pytest.mark.gl)])
def test_what_a_step_left_behind_is_read_at_every_length(backend: str) -> None:
    with open_backend(backend) as opened, Trainer(task(), opened.backend) as trainer:
        trainer.control.pause()
        future = trainer.start()
        assert trainer.control.wait(["paused"], 60)
        for length in LENGTHS:
            step_on(trainer)
            read = trainer.control.call(lambda: trainer.network.live.read("dense/output"))
            assert read.result(60).result(60).shape == (ROWS, length, 2)
        trainer.control.stop()
        future.result(60)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["cpu", pytest.param("gl", marks=pytest.mark.gl)])
def test_answers_between_two_steps_leave_the_data_of_the_next_one(backend: str) -> None:
    with open_backend(backend) as opened, Trainer(task(), opened.backend) as trainer:
        trainer.network.recent_lengths = RecentLengths(2)
        trainer.control.pause()
        future = trainer.start()
        assert trainer.control.wait(["paused"], 60)
        trained = trainer.trained()
        for _ in LENGTHS:
            step_on(trainer)
            for length in (12, 13, 14):
                rows = np.zeros((2, length, 4), np.float32)
                answer = trainer.control.call(partial(trained.predict, rows)).result(60)
                assert answer.shape == (2, length, 2)
        trainer.control.resume()
        assert future.result(60).steps == 12
