"""Samples on the device: what each step really gathers, resident and in shards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from studio.engine.core.errors import DataError
from studio.engine.train.data.batches import epoch_order
from studio.engine.train.data.samples import Samples, stored_array
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.network.data_feeder import DataFeeder
from studio.engine.train.network.network import Network
from tests.engine.train.small_tasks import mlp, task

if TYPE_CHECKING:
    from studio.engine.runtime.backend import Backend


def gathered(
    network: Network, feeder: DataFeeder, epoch: int, first_step: int = 0
) -> list[np.ndarray]:
    """The raw rows of every step, as the host's own reading of order and data gives them."""
    rows = []
    for step_range in feeder.step_ranges(epoch, True, first_step):
        order = network.session.read("train/order").result()
        data = network.session.read("data/x").result()
        for step in range(step_range.steps):
            begin = step_range.cursor + step * step_range.batch
            rows.append(data[order[begin : begin + step_range.batch]])
    return rows


def test_resident_steps_gather_the_order_of_the_epoch(cpu: Backend) -> None:
    made = task(batch_size=24)
    samples = made.training_samples()
    with Network(made, cpu) as network:
        feeder = DataFeeder(network, "train", samples, 24, 3, 1 << 20)
        assert (feeder.steps, feeder.rows_of(0), feeder.rows_of(3)) == (4, 24, 8)
        for epoch in (0, 1):
            order = epoch_order(3, epoch, 80, True)
            steps = gathered(network, feeder, epoch)
            np.testing.assert_array_equal(np.concatenate(steps), samples.inputs[0][order])
            late = gathered(network, feeder, epoch, first_step=2)
            np.testing.assert_array_equal(np.concatenate(late), samples.inputs[0][order][48:])


def test_shards_gather_every_sample_once_and_resume_anywhere(cpu: Backend) -> None:
    made = task(batch_size=8)
    samples = made.training_samples()
    budget = 2 * 16 * samples.row_bytes
    with Network(made, cpu) as network:
        feeder = DataFeeder(network, "train", samples, 8, 3, budget)
        assert feeder.plan.shard_samples == 16
        assert network.session.read("data/x").result().shape == (32, 2)
        steps = gathered(network, feeder, 4)
        assert len(steps) == feeder.steps == 10
        found = np.concatenate(steps)
        assert sorted(map(tuple, found)) == sorted(map(tuple, samples.inputs[0]))
        for first in range(11):
            late = gathered(network, feeder, 4, first_step=first)
            assert [a.tolist() for a in late] == [a.tolist() for a in steps[first:]]


def test_a_streamed_sample_keeps_its_number_for_augmentation(cpu: Backend) -> None:
    made = task(batch_size=8)
    samples = made.training_samples()
    with Network(made, cpu) as network:
        feeder = DataFeeder(network, "train", samples, 8, 3, 2 * 16 * samples.row_bytes)
        seen = []
        for step_range in feeder.step_ranges(1, True):
            feeder.position(step_range, step=0, epoch=1, record=0)
            block = network.session.read("train/step").result()
            order = network.session.read("train/order").result()
            data = network.session.read("data/x").result()
            places = order[block[2] : block[2] + step_range.batch * step_range.steps]
            numbers = places + block[7]
            np.testing.assert_array_equal(data[places], samples.inputs[0][numbers])
            seen.extend(numbers.tolist())
        assert sorted(seen) == list(range(len(samples)))


def test_a_streamed_training_learns_as_well(cpu: Backend) -> None:
    data = {"source": "spirals", "n": 120_000, "turns": 0.5, "normalization": "standard"}
    made = task(mlp(units=16), data, data_budget=1, batch_size=500, epochs=2,
                optimizer={"type": "Adam", "config": {"learning_rate": 0.02}})  # fmt: skip
    with Trainer(made, cpu) as trainer:
        result = trainer.run()
        assert not trainer.loop.feeder.plan.is_resident
    assert result.last["accuracy"] > 0.98
    assert result.last["val_accuracy"] > 0.98


def test_a_budget_without_room_for_two_batches_is_refused(cpu: Backend) -> None:
    made = task(batch_size=64)
    with Network(made, cpu) as network, pytest.raises(DataError, match="must hold two batches"):
        DataFeeder(network, "train", made.training_samples(), 64, 0, 500)


def test_samples_of_another_form_are_refused(cpu: Backend) -> None:
    made = task()
    wrong = Samples((np.zeros((5, 3), np.float32),), (np.zeros(5, np.int32),))
    with Network(made, cpu) as network, pytest.raises(DataError, match="expected samples"):
        DataFeeder(network, "train", wrong, 2, 0, 1 << 20)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.array([[1.0, np.nan]]), "sample 0 holds"),
        (np.array([["a"]]), "array of numbers"),
        (np.array([1 << 40]), "fit 32 bits"),
        (np.array([1e300]), "sample 0"),
    ],
)
def test_arrays_that_cannot_be_stored_are_refused(values: np.ndarray, words: str) -> None:
    with pytest.raises(DataError, match=words):
        stored_array(values, "x")
