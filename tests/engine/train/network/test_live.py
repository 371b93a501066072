"""Tensors watched during a training: what is seen, and that the training does not notice."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pytest

from studio.engine.core.tensor import Role
from studio.engine.runtime.live import Snapshot
from studio.engine.runtime.live_places import NotStoredError, NotThereError
from studio.engine.train.callbacks.callback import Callback
from studio.engine.train.devices import open_backend
from studio.engine.train.loop.trainer import Trainer
from tests.engine.train.naive_training import gradients, normalised, start
from tests.engine.train.small_tasks import DIGITS, cnn, equal_bytes, mlp, task

if TYPE_CHECKING:
    from studio.engine.runtime.backend import Backend
    from studio.engine.train.project.task import Task

SGD = {"type": "SGD", "config": {"learning_rate": 0.3}}


def registers(trainer: Trainer) -> list[str]:
    """Names of the tensors only fused kernels have."""
    return [t.name for t in trainer.network.program("train").tensors.values() if t.register]


def trained(made: Task, cpu: Backend, callback: Callback | None = None) -> Mapping[str, np.ndarray]:
    with Trainer(made, cpu, callbacks=() if callback is None else (callback,)) as trainer:
        trainer.run()
        return trainer.network.read((Role.PARAM, Role.STATE, Role.SLOT))


def step_on(trainer: Trainer, count: int = 1) -> None:
    """Run some steps of a paused training, and wait for their end."""

    def done() -> int:
        return trainer.control.call(lambda: trainer.loop.total_step).result(20)

    wanted = done() + count
    trainer.control.step(count)
    deadline = time.monotonic() + 30
    while done() < wanted:
        assert time.monotonic() < deadline


class Watcher(Callback):
    """Watches everything that is stored, and asks for all of it after every epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Snapshot] = []

    def on_train_begin(self) -> None:
        live = self.training.network.live  # type: ignore[attr-defined]
        program = self.training.network.program("train")  # type: ignore[attr-defined]
        for tensor in program.tensors.values():
            for grad in (False, True):
                try:
                    live.watch(tensor.name, grad=grad)
                except (NotStoredError, NotThereError):
                    continue
        self.live = live

    def on_epoch_begin(self, epoch: int) -> None:
        for tap in self.live.taps:
            if (found := tap.take()) is not None:
                self.seen.append(found)
                found.keep()
            tap.request()


def test_a_gradient_is_that_of_the_step_it_says(cpu: Backend) -> None:
    made = task(optimizer=SGD, epochs=1, batch_size=20, shuffle=False)
    assert made.training is not None
    with Trainer(made, cpu) as trainer:
        trainer.control.pause()
        future = trainer.start()
        assert trainer.control.wait(["paused"], 20)
        tap = trainer.network.live.watch("dense/kernel", grad=True)
        weights = start(made)
        x = normalised(made, made.training.inputs[0])
        for step in range(3):
            tap.request()
            step_on(trainer)
            snapshot = tap.take()
            assert snapshot is not None
            rows = slice(20 * step, 20 * step + 20)
            _, wanted = gradients(weights, x[rows], made.training.targets[0][rows], np.ones(20))
            with snapshot:
                assert snapshot.moment.step == step + 1
                np.testing.assert_allclose(
                    snapshot.array(), wanted["dense/kernel"], rtol=1e-4, atol=1e-6
                )
            for name, change in wanted.items():
                weights[name] = weights[name] - 0.3 * change
        trainer.control.stop()
        future.result(20)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("graph", "data"), [(mlp(rate=0.2), None), (cnn(), DIGITS)], ids=["mlp", "cnn"]
)
def test_training_has_the_same_bits_with_everything_watched(
    cpu: Backend, graph: object, data: Mapping[str, object] | None
) -> None:
    extra = {} if data is None else {"data": data}
    made = task(graph, epochs=2, batch_size=32, **extra)  # type: ignore[arg-type]
    watcher = Watcher()
    with_taps = trained(made, cpu, watcher)
    assert len(watcher.seen) > 20
    assert equal_bytes(with_taps, trained(made, cpu))


def test_steps_are_counted_over_epochs_and_partial_batches(cpu: Backend) -> None:
    made = task(epochs=3, batch_size=24)  # 80 samples: three whole batches and one of eight
    watcher = Watcher()
    trained(made, cpu, watcher)
    inputs = [s for s in watcher.seen if s.name == "dense/output" and not s.grad]
    assert [s.moment.step for s in inputs] == [1, 5]
    assert {s.shape for s in inputs} == {(24, 8)}


def test_a_fused_tensor_can_be_kept_while_training_goes_on(cpu: Backend) -> None:
    made = task(cnn(), DIGITS, epochs=1, batch_size=64)
    plain = trained(made, cpu)
    with Trainer(made, cpu) as trainer:
        trainer.control.pause()
        future = trainer.start()
        assert trainer.control.wait(["paused"], 30)
        live = trainer.network.live
        hidden = registers(trainer)
        assert hidden
        for name in hidden:
            with pytest.raises(NotStoredError):
                live.watch(name)
        step_tap = live.watch("train/step")
        step_on(trainer, 3)
        replacement = live.recompile(hidden)
        trainer.control.call(lambda: live.replace(replacement)).result(20)
        taps = [live.watch(name) for name in hidden]
        assert registers(trainer) == []
        for tap in (*taps, step_tap):
            tap.request()
        step_on(trainer)
        for tap in (*taps, step_tap):
            snapshot = tap.take()
            assert snapshot is not None
            assert snapshot.moment.step == 4
            snapshot.release()
        trainer.control.resume()
        future.result(60)
        kept = trainer.network.read((Role.PARAM, Role.STATE, Role.SLOT))
    assert equal_bytes(plain, kept)


def test_keeping_more_adds_to_what_is_kept(cpu: Backend) -> None:
    made = task(cnn(), DIGITS, epochs=1, batch_size=64)
    with Trainer(made, cpu) as trainer:
        trainer.network.initialise(0)
        trainer.network.session.ensure(trainer.network.program("train").of_role(Role.DATA), 100)
        hidden = registers(trainer)[:2]
        trainer.network.executable("train", 8)
        live = trainer.network.live
        for name in hidden:
            live.replace(live.recompile([name]))
        assert not set(hidden) & set(registers(trainer))
        for name in hidden:
            live.watch(name)


def test_an_unknown_tensor_is_refused_by_name(cpu: Backend) -> None:
    with Trainer(task(), cpu) as trainer, pytest.raises(NotThereError, match="nothing/here"):
        trainer.network.live.recompile(["nothing/here"])


def test_a_tap_asked_for_before_the_training_sees_it(cpu: Backend) -> None:
    there = threading.Event()
    with Trainer(task(epochs=1), cpu) as trainer:
        tap = trainer.network.live.watch("dense/kernel", ready=there.set)
        tap.request()
        trainer.run()
        assert there.is_set()
        snapshot = tap.take()
        assert snapshot is not None
        assert snapshot.moment.step == 1


def test_tensors_can_be_read_between_steps_without_a_tap(cpu: Backend) -> None:
    with Trainer(task(epochs=1), cpu) as trainer:
        trainer.control.pause()
        future = trainer.start()
        assert trainer.control.wait(["paused"], 20)
        live = trainer.network.live

        def read(name: str, grad: bool = False) -> np.ndarray:
            asked = trainer.control.call(lambda: live.read(name, grad=grad))
            return np.asarray(asked.result(20).result(20))

        with pytest.raises(NotThereError, match="overwritten"):
            read("dense/kernel", grad=True)
        step_on(trainer, 2)
        np.testing.assert_array_equal(
            read("dense/kernel"), trainer.network.session.read("dense/kernel").result()
        )
        assert read("dense/kernel", grad=True).any()
        with pytest.raises(NotThereError):
            read("nothing/here")
        trainer.control.stop()
        future.result(20)


def test_unwatching_releases_what_waits(cpu: Backend) -> None:
    with Trainer(task(epochs=1), cpu) as trainer:
        live = trainer.network.live
        tap = live.watch("dense/kernel")
        tap.request()
        trainer.run()
        live.unwatch(tap)
        assert live.taps == ()
        assert tap.take() is None
        assert not tap.wanted


@pytest.mark.slow
@pytest.mark.gl
def test_training_on_opengl_has_the_same_bits_with_everything_watched() -> None:
    made = task(epochs=2, batch_size=32)
    found = []
    for callback in (None, Watcher()):
        with open_backend("gl") as opened:
            found.append(trained(made, opened.backend, callback))
    assert callback is not None
    assert len(callback.seen) > 10
    assert equal_bytes(*found)


@pytest.mark.slow
@pytest.mark.gl
def test_a_fused_tensor_can_be_kept_on_opengl() -> None:
    made = task(epochs=2, batch_size=32)
    there = threading.Event()
    with open_backend("gl") as opened, Trainer(made, opened.backend) as trainer:
        hidden: list[str] = []

        def keep() -> None:
            live = trainer.network.live
            hidden.extend(registers(trainer))
            live.replace(live.recompile(hidden))
            for name in hidden:
                live.watch(name, ready=there.set).request()

        trainer.control.call(keep)
        trainer.run()
        assert hidden
        assert there.is_set()
        for tap in trainer.network.live.taps:
            snapshot = tap.take()
            assert snapshot is not None
            with snapshot:
                assert np.isfinite(snapshot.array()).all()
        kept = trainer.network.read()
    with open_backend("gl") as opened:
        plain = trained(made, opened.backend)
    assert all(plain[name].tobytes() == values.tobytes() for name, values in kept.items())
