"""Splits hold out what they say, the same way each time, and nothing leaks between the parts."""

import math

import numpy as np
import pytest

from studio.engine.core.errors import DataError, ParameterError
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.data.splitting import stratified_split_indices, training_count


def table(n: int, classes: int = 3, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    return Dataset(
        x=np.arange(2 * n, dtype=np.float32).reshape(n, 2),
        y=rng.integers(0, classes, n).astype(np.int32),
        name="numbers",
        kind="table",
        class_names=tuple("abcdefgh"[:classes]),
    )


def rows(data: Dataset) -> list[float]:
    return data.x[:, 0].tolist()


@pytest.mark.parametrize("stratify", [True, False])
@pytest.mark.parametrize("fraction", [0.1, 0.2, 0.5, 0.9])
def test_split_covers_every_sample_once(fraction: float, stratify: bool) -> None:
    data = table(97)
    train, held = data.split(fraction, seed=5, stratify=stratify)
    assert len(train) == math.floor(97 * (1.0 - fraction))
    assert sorted(rows(train) + rows(held)) == rows(data)
    for part in (train, held):
        labels = {row: data.y[int(row) // 2] for row in rows(part)}
        assert list(labels.values()) == part.y.tolist()


def test_split_repeats_with_the_seed_and_changes_with_it() -> None:
    data = table(200)
    first = [rows(part) for part in data.split(0.2, seed=1)]
    assert first == [rows(part) for part in data.split(0.2, seed=1)]
    assert first != [rows(part) for part in data.split(0.2, seed=2)]


def test_stratified_shares_differ_from_the_exact_share_by_less_than_one() -> None:
    rng = np.random.default_rng(3)
    for trial in range(40):
        counts = rng.integers(2, 40, rng.integers(2, 9))
        labels = rng.permutation(np.repeat(np.arange(len(counts)), counts)).astype(np.int32)
        fraction = float(rng.uniform(0.1, 0.6))
        kept, held = stratified_split_indices(labels, fraction, trial)
        share = len(held) / len(labels)
        for index, count in enumerate(counts):
            taken = int((labels[held] == index).sum())
            assert abs(taken - count * share) < 1.0 + 1e-9
        assert sorted([*kept.tolist(), *held.tolist()]) == list(range(len(labels)))


def test_stratified_split_keeps_the_only_sample_of_a_class_for_training() -> None:
    labels = np.array([0] * 10 + [1] + [2] * 9, dtype=np.int32)
    for seed in range(20):
        kept, _ = stratified_split_indices(labels, 0.5, seed)
        assert 10 in kept


def test_split_without_stratify_takes_a_prefix_of_one_permutation() -> None:
    data = table(50)
    small = rows(data.split(0.2, seed=9, stratify=False)[0])
    large = rows(data.split(0.5, seed=9, stratify=False)[0])
    assert small[: len(large)] == large


@pytest.mark.parametrize(
    ("n", "fraction"), [(10, 0.2), (1797, 0.2), (150, 0.3), (10, 0.1), (7, 0.3333)]
)
def test_tail_split_is_the_rule_of_keras(n: int, fraction: float) -> None:
    train, held = table(n).tail_split(fraction)
    assert len(train) == math.floor(n * (1.0 - fraction))
    assert rows(train) + rows(held) == rows(table(n))


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1, 1.5, float("nan")])
def test_fraction_outside_zero_and_one_is_refused(fraction: float) -> None:
    with pytest.raises(ParameterError, match="between 0 and 1"):
        training_count(10, fraction)


def test_split_that_leaves_one_side_empty_is_refused() -> None:
    with pytest.raises(DataError, match="both sides"):
        training_count(3, 0.9)


def test_own_test_part_is_used_before_splitting() -> None:
    held = table(20, seed=1)
    data = Dataset(table(30).x, table(30).y, "d", "table", ("a", "b", "c"), held_out=held)
    train, test = data.parts(0.5, seed=0)
    assert len(train) == 30
    assert test is held
    assert len(table(30).parts(0.5, seed=0)[1]) == 15


def test_regression_splits_without_strata() -> None:
    data = Dataset(
        np.ones((10, 2), np.float32), np.arange(10, dtype=np.float32)[:, None], "r", "table"
    )
    train, held = data.split(0.3, seed=0)
    assert sorted([*train.y[:, 0], *held.y[:, 0]]) == list(range(10))
