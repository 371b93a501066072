"""Means of epochs and the table of rates, against what they must be."""

from __future__ import annotations

from concurrent.futures import Future

import numpy as np
import pytest

from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import Role, Tensor, TensorMap
from studio.engine.isa.program import Program
from studio.engine.optim.optimizers import SGD
from studio.engine.optim.schedules import ExponentialDecay
from studio.engine.train.loop.rates import RateTable
from studio.engine.train.network.metrics_reader import MetricsReader

RING = 8


class Device:
    """A session whose read-backs are answered late, as on a device."""

    def __init__(self) -> None:
        self.ring = np.zeros((RING, 2), np.float32)
        self.rates = np.zeros(5, np.float32)
        self.writes = 0
        self.late: list[tuple[Future[np.ndarray], np.ndarray]] = []

    def read(self, name: str) -> Future[np.ndarray]:
        assert name == "train/ring"
        future: Future[np.ndarray] = Future()
        self.late.append((future, self.ring.copy()))
        return future

    def write(self, name: str, values: np.ndarray, row: int = 0) -> None:
        assert (name, row) == ("train/rates", 0)
        self.rates = values.copy()
        self.writes += 1

    def answer(self) -> None:
        for future, values in self.late:
            future.set_result(values)
        self.late.clear()


def program() -> Program:
    tensors = [
        Tensor(0, "train/ring", (RING, 2), role=Role.METRIC),
        Tensor(1, "train/rates", (5,), DType.float32, Role.STEP),
    ]
    return Program("p", "train", TensorMap(tensors), {}, meta={"metrics": '["loss", "accuracy"]'})


def test_means_weigh_each_step_by_its_rows_across_the_ring(rng: np.random.Generator) -> None:
    device = Device()
    heard: list[tuple[int, np.ndarray]] = []
    metrics_reader = MetricsReader(device, program(), "train", lambda *found: heard.append(found))  # type: ignore[arg-type]
    values = rng.random((21, 2)).astype(np.float32)
    rows = rng.integers(1, 40, 21)
    metrics_reader.begin(13)
    for step, (numbers, count) in enumerate(zip(values, rows, strict=True)):
        if not metrics_reader.room:
            metrics_reader.ask()
        device.ring[(13 + step) % RING] = numbers
        metrics_reader.note(int(count), 1)
        if step % 5 == 4:
            device.answer()
            metrics_reader.collect()
    metrics_reader.ask()
    device.answer()
    metrics_reader.finish()
    expected = (values.astype(np.float64) * rows[:, None]).sum(0) / rows.sum()
    assert list(metrics_reader.means().values()) == pytest.approx(expected, rel=1e-12)
    firsts = np.cumsum([13, *(len(block) for _, block in heard)])[:-1]
    assert [first for first, _ in heard] == firsts.tolist()
    assert np.concatenate([block for _, block in heard]).tobytes() == values.tobytes()
    assert metrics_reader.rows == rows.sum()


def test_means_go_on_from_what_a_checkpoint_counted() -> None:
    device = Device()
    metrics_reader = MetricsReader(device, program(), "train")  # type: ignore[arg-type]
    metrics_reader.begin(3, rows=10, sums=(20.0, 5.0))
    device.ring[3] = (1.0, 1.0)
    metrics_reader.note(10, 1)
    metrics_reader.ask()
    device.answer()
    metrics_reader.finish()
    assert metrics_reader.means() == {"loss": 1.5, "accuracy": 0.75}


def test_every_step_finds_its_rate_and_changes_are_immediate() -> None:
    device = Device()
    schedule = ExponentialDecay(initial_learning_rate=1.0, decay_steps=1, decay_rate=0.5)
    table = RateTable(device, program(), SGD(schedule))  # type: ignore[arg-type]
    for step in range(12):
        table.prepare(step, 1)
        assert device.rates[step % 5] == np.float32(0.5**step)
    assert device.writes == 3
    assert table.fix(0.125, 12)
    table.prepare(12, 3)
    assert [device.rates[s % 5] for s in (12, 13, 14)] == [0.125] * 3
    assert table.fix(None, 13)
    table.prepare(13, 1)
    assert device.rates[13 % 5] == np.float32(0.5**13)


def test_steps_that_are_done_keep_the_rates_they_had() -> None:
    schedule = ExponentialDecay(initial_learning_rate=1.0, decay_steps=1, decay_rate=0.5)
    table = RateTable(Device(), program(), SGD(schedule))  # type: ignore[arg-type]
    table.fix(0.3, 4)
    table.fix(0.2, 6)
    table.fix(None, 7)
    expected = [0.5**step for step in range(4)] + [0.3, 0.3, 0.2, 0.5**7, 0.5**8]
    found = table.rates(0, 9)
    assert isinstance(found, np.ndarray)
    assert found.tolist() == [table.rate(step) for step in range(9)] == expected
    assert (table.rates(4, 2), table.rates(6, 1)) == (0.3, 0.2)
    table.forget(5)
    assert [table.rate(step) for step in range(5, 9)] == expected[5:]


def test_a_rate_that_changes_nothing_is_no_change() -> None:
    table = RateTable(Device(), program(), SGD(0.25))  # type: ignore[arg-type]
    assert not table.fix(None, 0)
    assert not table.fix(0.25, 3)
    assert table.fix(0.5, 4)
    assert not table.fix(0.5, 5)
    assert table.fix(None, 6)


def test_a_step_that_is_repeated_finds_its_rate_again() -> None:
    device = Device()
    schedule = ExponentialDecay(initial_learning_rate=1.0, decay_steps=1, decay_rate=0.5)
    table = RateTable(device, program(), SGD(schedule))  # type: ignore[arg-type]
    for step in (0, 30, 2):
        table.prepare(step, 1)
        assert device.rates[step % 5] == np.float32(0.5**step)
