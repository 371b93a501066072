"""Epoch order visits each sample once and repeats; weights and one-hot rows by their formulas."""

import numpy as np
import pytest

from studio.engine.core.errors import ParameterError
from studio.engine.train.data.batches import batch_count, class_weights, epoch_order, one_hot


def test_epoch_order_is_a_permutation_that_changes_by_epoch_and_seed() -> None:
    orders = [epoch_order(seed, epoch, 100, True) for seed in (0, 1) for epoch in (0, 1)]
    for order in orders:
        assert order.dtype == np.int32
        assert sorted(order.tolist()) == list(range(100))
    assert len({order.tobytes() for order in orders}) == 4
    assert (epoch_order(1, 1, 100, True) == orders[3]).all()


def test_order_without_shuffling_is_that_of_the_data() -> None:
    assert epoch_order(0, 5, 4, False).tolist() == [0, 1, 2, 3]
    with pytest.raises(ParameterError):
        epoch_order(0, 0, 0, True)


@pytest.mark.parametrize(("n", "size", "count"), [(10, 3, 4), (9, 3, 3), (1, 64, 1)])
def test_batch_count_includes_the_partial_batch(n: int, size: int, count: int) -> None:
    assert batch_count(n, size) == count


def test_balanced_weights_follow_the_formula() -> None:
    labels = np.array([0, 0, 0, 1, 2, 2], np.int32)
    weights = class_weights("balanced", labels, ("a", "b", "c", "unused"))
    np.testing.assert_allclose(weights, [6 / 9] * 3 + [6 / 3] + [6 / 6] * 2, rtol=1e-6)
    assert weights.mean() == pytest.approx(1.0)


def test_mapped_weights_by_name_and_index_default_to_one() -> None:
    labels = np.array([0, 1, 2], np.int32)
    assert class_weights({"b": 3, 0: 0.5}, labels, ("a", "b", "c")).tolist() == [0.5, 3, 1]


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"z": 1.0}, "no class 'z'"),
        ({7: 1.0}, "no class 7"),
        ({"a": -1.0}, "at least 0"),
        ({"a": float("nan")}, "at least 0"),
        ({"a": 1.0, 0: 2.0}, "two weights"),
        ({"a": 0.0, "b": 0.0}, "nothing would train"),
        ("equal", "'balanced' or a table"),
    ],
)
def test_bad_weights_are_refused(choice: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        class_weights(choice, np.array([0, 1], np.int32), ("a", "b"))


def test_one_hot_rows_and_their_bounds() -> None:
    assert one_hot(np.array([2, 0], np.int32), 3).tolist() == [[0, 0, 1], [1, 0, 0]]
    with pytest.raises(ParameterError, match="got 3 in sample 1"):
        one_hot(np.array([0, 3], np.int32), 3)
