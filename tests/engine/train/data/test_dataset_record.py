"""The record refuses what does not fit together, stays unchanged, and hashes its content."""

import numpy as np
import pytest

from studio.engine.core.errors import DataError
from studio.engine.train.data.dataset import Dataset

X = np.arange(12, dtype=np.float32).reshape(4, 3)
Y = np.array([0, 1, 1, 0], dtype=np.int32)


def make(**changes: object) -> Dataset:
    fields: dict[str, object] = {
        "x": X,
        "y": Y,
        "name": "d",
        "kind": "table",
        "class_names": ("no", "yes"),
    }
    return Dataset(**(fields | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": X.astype(np.float64)}, "samples must be uint8, int32, float32: got float64"),
        ({"x": X[:3]}, "got 3 samples and 4 labels"),
        ({"x": X, "kind": "images"}, r"got \[4, 3\]"),
        ({"x": X, "kind": "points"}, r"got \[4, 3\]"),
        ({"x": X[:0], "y": Y[:0]}, r"got \[0, 3\]"),
        ({"y": Y + 1}, "class indices must be 0 to 1: got 2 in sample 1"),
        ({"y": Y - 1}, "got -1 in sample 0"),
        ({"y": Y.astype(np.int64)}, "class labels must be int32"),
        ({"class_names": ()}, "regression targets must be float32"),
        ({"feature_names": ("a",)}, "got 3 features and 1 names"),
    ],
)
def test_parts_that_do_not_fit_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        make(**changes)


def test_arrays_cannot_be_written_and_the_caller_keeps_his() -> None:
    x = X.copy()
    data = make(x=x)
    with pytest.raises(ValueError, match="read-only"):
        data.x[0, 0] = 1
    x[0, 0] = 7


def test_hash_depends_on_every_part_of_the_content() -> None:
    other_x, other_y = X.copy(), Y.copy()
    other_x[3, 2] += 1
    other_y[3] = 1
    hashes = {
        make().sha256,
        make(x=other_x).sha256,
        make(y=other_y).sha256,
        make(class_names=("no", "ja")).sha256,
        make(x=X.astype(np.int32)).sha256,
        make(held_out=make()).sha256,
    }
    assert len(hashes) == 6
    assert make(x=X.copy(), name="other").sha256 == make().sha256


def test_hash_of_strided_samples_equals_that_of_a_copy() -> None:
    assert make(x=np.asfortranarray(X)).sha256 == make().sha256


def test_class_counts_and_summary_name_what_is_there() -> None:
    data = make(attribution="A. Author (1999)", licence="CC0", notes=("skipped 1 file",))
    assert data.class_counts() == {"no": 2, "yes": 2}
    for part in ("4 rows", "of 3 float32", "no 2", "A. Author (1999)", "CC0", "skipped 1 file"):
        assert part in data.summary()


def test_class_without_samples_counts_zero() -> None:
    assert make(class_names=("no", "yes", "maybe")).class_counts()["maybe"] == 0


def test_subset_keeps_the_order_asked_for() -> None:
    part = make().subset(np.array([2, 0], dtype=np.int32))
    assert part.x.tolist() == [[6, 7, 8], [0, 1, 2]]
    assert part.y.tolist() == [1, 0]
