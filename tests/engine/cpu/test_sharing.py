"""Kernels shared between threads give what one thread gives, every time the same."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

from studio.engine.compiler.lower_data import DataSpec, Source
from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import Role
from studio.engine.cpu.backend import CpuBackend
from studio.engine.cpu.machine.execution_config import NUMPY_ONLY, ExecutionConfig
from studio.engine.cpu.machine.threads import ThreadPool, _TaskGroup, _Worker, cut_evenly
from studio.engine.cpu.machine.toolchain import has_compiler
from studio.engine.layers.activation_layers import ReLU
from studio.engine.layers.convolution import Conv2D, DepthwiseConv2D
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.layers.merging import Add
from studio.engine.layers.normalization import BatchNormalization
from studio.engine.layers.pooling import AveragePooling2D, GlobalAveragePooling2D, MaxPooling2D
from studio.engine.layers.shaping import Flatten
from studio.engine.optim.losses import SparseCategoricalCrossentropy
from studio.engine.optim.optimizers import Adam
from studio.engine.train.data.samples import Samples
from studio.engine.train.network.data_feeder import DataFeeder, StepRange
from studio.engine.train.network.network import Network
from studio.engine.train.project.task import Task
from studio.engine.train.settings import TrainingSettings

BATCH, STEPS, SIZE = 37, 3, 29


def graph() -> LayerGraph:
    """Every kind of kernel that shares its work, at odd sizes."""
    made = LayerGraph("shared")
    x = made.add(Input((SIZE, SIZE + 2, 3)))
    x = made.add(Conv2D(16, 3, padding="same", activation="tanh"), x)
    y = made.add(DepthwiseConv2D(3, padding="same"), x)
    y = made.add(BatchNormalization(), y)
    x = made.add(Add(), x, y)
    x = made.add(ReLU(max_value=6.0), x)
    x = made.add(MaxPooling2D(2), x)
    x = made.add(Conv2D(24, 3, strides=2), x)
    x = made.add(AveragePooling2D(2), x)
    y = made.add(GlobalAveragePooling2D(), x)
    x = made.add(Dense(24, activation="tanh"), made.add(Flatten(), x))
    x = made.add(Add(), x, y)
    made.outputs = (made.add(Dense(10), x),)
    return made


def trained(config: ExecutionConfig) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Weights after a few steps, their losses, and outputs for one sample, by configuration."""
    rng = np.random.default_rng(7)
    x = rng.standard_normal((BATCH, SIZE, SIZE + 2, 3)).astype(np.float32)
    y = rng.integers(0, 10, BATCH).astype(np.int32)
    samples = Samples((x,), (y,))
    task = Task(
        "shared",
        graph(),
        TrainingSettings(batch_size=BATCH, optimizer=Adam(1e-3)),
        DataSpec((Source(x.shape[1:]),), (Source((), DType.int32, classes=10),)),
        (SparseCategoricalCrossentropy(from_logits=True),),
        training=samples,
    )
    backend = CpuBackend(config=config)
    with Network(task, backend) as network:
        network.initialise(3)
        feeder = DataFeeder(network, "train", samples, BATCH, 0, 1 << 30)
        network.session.write("train/order", np.arange(BATCH, dtype=np.int32))
        length = network.program("train").tensors.named("train/rates").shape[0]
        network.session.write("train/rates", np.full(length, 1e-3, np.float32))
        feeder.position(StepRange(0, 0, BATCH, STEPS), step=0, epoch=0, record=0)
        network.executable("train", BATCH).run(STEPS)
        losses = network.session.read("train/ring").result()[:STEPS, 0]
        weights = {
            t.name: network.session.read(t.name).result()
            for t in network.program("train").of_role(Role.PARAM, Role.STATE)
        }
        single = network.executable("infer", 1)
        single.feed(single.program.inputs[0], x[:1])
        single.run(1)
        (output,) = single.program.outputs
        answer = single.fetch(single.program.tensors[output].ref).result()
    backend.close()
    return weights, losses, answer


def share_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Share everything; the single picture too, by bands."""
    monkeypatch.setattr("studio.engine.cpu.machine.threads.WORTH_ELEMENTS", 64)


@pytest.fixture(scope="module")
def alone() -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    return trained(NUMPY_ONLY)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_shared_kernels_train_as_one_thread_does(
    alone, threads: int, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    share_everything(monkeypatch)
    weights, losses, answer = trained(ExecutionConfig(threads, compiled and has_compiler()))
    np.testing.assert_allclose(losses, alone[1], rtol=2e-5)
    np.testing.assert_allclose(answer, alone[2], atol=1e-3)
    for name, expected in alone[0].items():
        np.testing.assert_allclose(weights[name], expected, atol=2e-4, err_msg=name)


def test_shared_kernels_give_the_same_bits_every_time() -> None:
    first, second = (
        trained(ExecutionConfig(2, has_compiler())),
        trained(ExecutionConfig(2, has_compiler())),
    )
    assert first[1].tobytes() == second[1].tobytes()
    assert all(first[0][n].tobytes() == second[0][n].tobytes() for n in first[0])


def bits(config: ExecutionConfig) -> list[bytes]:
    """Every weight, loss and output after a few steps."""
    weights, losses, answer = trained(config)
    return [
        *(weights[name].tobytes() for name in sorted(weights)),
        losses.tobytes(),
        answer.tobytes(),
    ]


@pytest.mark.slow
def test_it_does_not_matter_to_a_bit_which_thread_runs_a_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    share_everything(monkeypatch)
    pool = ThreadPool(1)
    monkeypatch.setattr("studio.engine.cpu.machine.threads.shared_pool", lambda: pool)
    config = ExecutionConfig(2, has_compiler())
    ran: dict[str, int] = {"caller": 0, "worker": 0}
    work, help_ = _TaskGroup.work, _TaskGroup.help
    arrived = threading.Event()

    def counted(who: str, claim: Callable[[_TaskGroup], None]) -> Callable[[_TaskGroup], None]:
        def run(self: _TaskGroup) -> None:
            before = len(self._unclaimed)
            claim(self)
            ran[who] += before

        return run

    # No worker ever gets a core: the caller runs everything.
    with monkeypatch.context() as patch:
        patch.setattr(_Worker, "invite", lambda self: None)
        patch.setattr(_TaskGroup, "help", counted("worker", help_))
        by_caller = bits(config)
        assert ran["worker"] == 0

    # The caller is late: the worker runs everything.
    def late(self: _TaskGroup) -> None:
        assert arrived.wait(60)
        arrived.clear()
        assert not self._unclaimed
        work(self)

    def all_of_it(self: _TaskGroup) -> None:
        counted("worker", help_)(self)
        arrived.set()

    with monkeypatch.context() as patch:
        patch.setattr(_TaskGroup, "work", late)
        patch.setattr(_TaskGroup, "help", all_of_it)
        by_helper = bits(config)
        assert ran["worker"] > 10

    # Both, as it comes.
    assert by_caller == by_helper == bits(config)


@pytest.mark.parametrize(("length", "threads"), [(1, 4), (7, 3), (8, 8), (100, 1), (3, 8)])
def test_cuts_cover_everything_once(length: int, threads: int) -> None:
    cuts = cut_evenly(length, threads, 1 << 20)
    assert [i for cut in cuts for i in cut] == list(range(length))
    assert len(cuts) == min(length, threads)
    assert len(cut_evenly(length, threads, 10)) == 1
