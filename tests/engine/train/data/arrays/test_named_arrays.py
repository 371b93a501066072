"""Archives with an array for each input and output of a network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.errors import StudioError
from studio.engine.train.data.arrays.named_arrays import input_shape
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.data.references import open_dataset

ROWS = 20
ARRAYS = {
    "numbers": np.arange(ROWS * 3, dtype=np.float64).reshape(ROWS, 3),
    "pictures": np.arange(ROWS * 16, dtype=np.uint16).reshape(ROWS, 4, 4).astype(np.uint8),
    "words": np.array(["no", "yes"])[np.arange(ROWS) % 2],
    "sizes": np.linspace(0, 1, ROWS),
}
REFERENCE = {
    "source": "arrays",
    "path": "data.npz",
    "inputs": {"right": {"array": "pictures", "normalization": "unit"}, "left": "numbers"},
    "targets": {"which": {"array": "words", "class_names": ["yes", "no"]}, "size": "sizes"},
}


def opened(folder: Path, changes: dict[str, object] | None = None, **arrays: object) -> Dataset:
    np.savez(folder / "data.npz", **{**ARRAYS, **arrays})
    return open_dataset({**REFERENCE, **(changes or {})}, folder)


def test_every_array_is_read_with_its_kind_in_the_order_of_names(tmp_path: Path) -> None:
    found = opened(tmp_path)
    left, right = found.inputs
    assert (left.name, left.kind, left.values.dtype, left.normalization) == (
        "left", "table", np.float32, None
    )  # fmt: skip
    assert (right.name, right.kind, right.values.shape, right.normalization) == (
        "right", "images", (ROWS, 4, 4, 1), "unit"
    )  # fmt: skip
    assert right.value_range == (0.0, 255.0)
    size, which = found.targets
    assert (size.name, size.class_names, size.y.shape) == ("size", (), (ROWS, 1))
    assert which.class_names == ("yes", "no")
    np.testing.assert_array_equal(which.y, (np.arange(ROWS) + 1) % 2)
    assert found.x is not None
    assert found.x.base is left.values or np.shares_memory(found.x, left.values)
    other = {name: dict(reversed(REFERENCE[name].items())) for name in ("inputs", "targets")}
    assert opened(tmp_path, other).sha256 == found.sha256
    assert "input right: 4x4x1 uint8" in found.summary()
    assert "output which: 2 classes" in found.summary()


def test_parts_keep_the_samples_of_all_arrays_together(tmp_path: Path) -> None:
    found = opened(tmp_path)
    kept, held = found.parts(0.25, 3)
    rows = {row.tobytes(): place for place, row in enumerate(found.inputs[0].values)}
    assert len(kept) + len(held) == ROWS
    for part in (kept, held):
        places = [rows[row.tobytes()] for row in part.inputs[0].values]
        np.testing.assert_array_equal(part.x, found.x[places])
        np.testing.assert_array_equal(part.inputs[1].values, found.inputs[1].values[places])
        for own, whole in zip(part.targets, found.targets, strict=True):
            np.testing.assert_array_equal(own.y, whole.y[places])


@pytest.mark.parametrize(
    ("array", "value"),
    [("pictures", np.zeros((ROWS, 4, 4), np.uint8)), ("sizes", np.zeros(ROWS))],
)
def test_the_hash_covers_every_array(tmp_path: Path, array: str, value: np.ndarray) -> None:
    assert opened(tmp_path).sha256 != opened(tmp_path, None, **{array: value}).sha256


@pytest.mark.parametrize(
    ("options", "shape", "classes"),
    [({}, (ROWS, 3), 4), ({"task": "regression"}, (ROWS, 3), 0), ({"class_names": [*"abcde"]},
                                                                   (ROWS, 3), 5)],
)  # fmt: skip
def test_rows_of_whole_numbers_are_a_class_for_each_position(
    tmp_path: Path, options: dict[str, object], shape: tuple[int, ...], classes: int
) -> None:
    steps = np.arange(ROWS * 3).reshape(ROWS, 3) % 4
    targets = {"which": "words", "a": {"array": "steps", **options}}
    found = opened(tmp_path, {"targets": targets}, steps=steps).targets[0]
    assert (found.y.shape, len(found.class_names)) == (shape, classes)
    np.testing.assert_array_equal(found.y, steps)
    one_hot = opened(tmp_path, {"targets": targets}, steps=np.eye(3, dtype=int)[steps[:, 0] % 3])
    if not options:
        np.testing.assert_array_equal(one_hot.targets[0].y, steps[:, 0] % 3)


def test_sample_weights_go_with_their_samples(tmp_path: Path) -> None:
    plain, w = opened(tmp_path), np.arange(ROWS, dtype=np.int64)
    found = opened(tmp_path, {"weights": "w"}, w=w)
    assert [each.name for each in found.weights] == [""]
    assert found.weights[0].values.dtype == np.float32
    for part in found.parts(0.25, 3):
        rows = part.inputs[0].values[:, 0] / 3
        np.testing.assert_array_equal(part.weights[0].values, rows)
    assert "sample weights: all outputs" in found.summary()
    by_output = opened(
        tmp_path, {"weights": {"which": "w", "size": "v"}}, w=w, v=np.ones((ROWS, 2))
    )
    assert [(each.name, each.values.shape) for each in by_output.weights] == [
        ("size", (ROWS, 2)), ("which", (ROWS,))
    ]  # fmt: skip
    hashes = {plain.sha256, found.sha256, by_output.sha256}
    assert len(hashes) == 3


@pytest.mark.parametrize(
    ("changes", "arrays", "words"),
    [
        ({"inputs": {"left": "number"}}, {}, "no array 'number' for 'left': the archive holds"),
        ({"inputs": {}}, {}, "nothing is mapped to an input of the network"),
        ({"inputs": ["left"]}, {}, "must be an object"),
        ({"targets": None}, {}, "option targets of source arrays must be an object"),
        ({"inputs": {"left": 3}}, {}, "input 'left'] expected the name of an array"),
        ({"inputs": {"left": {"array": 3}}}, {}, "expected the name of an array"),
        ({"inputs": {"left": {"array": "numbers", "task": "classes"}}}, {}, "unknown field 'task'"),
        ({"inputs": {"left": {"array": "numbers", "normalization": "big"}}}, {}, "unknown normali"),
        ({"inputs": {"left": {"array": "numbers", "range": [1, 1]}}}, {}, "a lowest and a highest"),
        ({"inputs": {"left": {"array": "numbers", "range": [0, "1"]}}}, {}, "a lowest and a high"),
        ({"targets": {"which": {"array": "words", "task": "sorts"}}}, {}, "unknown task"),
        ({"targets": {"which": {"array": "words", "class_names": [1]}}}, {}, "class_names: expect"),
        (
            {"targets": {"which": {"array": "words", "class_names": ["no"]}}},
            {},
            "none of the 1 stated",
        ),
        ({"weights": 3}, {}, "expected the name of an array, or an object of names by output"),
        ({"weights": {}}, {}, "expected the name of an array, or an object of names by output"),
        ({"weights": {"size": 3}}, {}, "expected the name of an array, or an object of names"),
        ({"weights": {"sizes": "sizes"}}, {}, "no targets for the output 'sizes'"),
        ({"weights": "heavy"}, {}, "no array 'heavy' for the sample weights"),
        ({"weights": {"size": "heavy"}}, {}, "no array 'heavy' for 'size'"),
        ({"weights": "words"}, {}, "expected numbers [n] or [n, …] as weights, got <U3"),
        ({"weights": "w"}, {"w": np.float32(1)}, "expected numbers [n] or [n, …] as weights"),
        ({"weights": "w"}, {"w": np.ones(ROWS - 1)}, "the same number of samples"),
        ({"weights": "w"}, {"w": -np.arange(ROWS)}, "at least 0, got less in sample 1"),
        ({"weights": "w"}, {"w": np.full(ROWS, np.inf)}, "must be a finite number"),
        ({"colour": 1}, {}, "unknown option 'colour' of source arrays"),
        ({}, {"sizes": np.zeros(ROWS + 1)}, "the same number of samples: 'numbers' has 20"),
        ({}, {"numbers": np.array([{}] * ROWS, dtype=object)}, "object"),
        ({}, {"numbers": np.zeros((0, 3))}, "empty"),
        ({}, {"numbers": np.full((ROWS, 3), np.nan)}, "must be a finite number"),
        ({}, {"words": np.full(ROWS, "maybe")}, "none of the 2 stated"),
        ({}, {"sizes": np.full((ROWS, 2, 2), -1)}, "must be a class number from 0"),
        ({}, {"sizes": np.full((ROWS, 2, 2), np.nan)}, "must be a finite number"),
        ({}, {"sizes": np.full((ROWS, 2, 2), "a")}, "expected numbers at each position"),
        ({"path": "../data.npz"}, {}, "must stay inside"),
        ({"path": "none.npz"}, {}, "none.npz"),
    ],
)
def test_what_does_not_fit_is_named(
    tmp_path: Path, changes: dict[str, object], arrays: dict[str, np.ndarray], words: str
) -> None:
    with pytest.raises(StudioError) as caught:
        opened(tmp_path, changes, **arrays)
    assert words in str(caught.value)


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    opened(tmp_path)
    whole = (tmp_path / "data.npz").read_bytes()
    (tmp_path / "data.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StudioError, match=r"data\.npz"):
        open_dataset(REFERENCE, tmp_path)


def test_an_array_of_one_number_a_sample_is_an_input_of_one(tmp_path: Path) -> None:
    found = opened(tmp_path, numbers=np.arange(ROWS))
    left = found.inputs[0]
    assert (left.values.shape, left.values.dtype) == ((ROWS, 1), np.int32)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(ROWS), np.zeros((ROWS, 3)), np.zeros((ROWS, 4, 4), np.uint8),
        np.zeros((ROWS, 4, 4)), np.zeros((ROWS, 4, 4, 3), np.uint8), np.zeros((ROWS, 5, 6, 7, 2)),
    ],
)  # fmt: skip
def test_the_shape_of_a_sample_is_known_from_the_header(tmp_path: Path, array: np.ndarray) -> None:
    found = opened(tmp_path, numbers=array)
    assert input_shape(array.shape, array.dtype) == found.inputs[0].values.shape[1:]


def test_targets_of_higher_rank_are_masks_or_numbers(tmp_path: Path) -> None:
    masks = np.arange(ROWS * 4).reshape(ROWS, 2, 2, 1) % 3
    found = opened(tmp_path, sizes=masks).targets[0]
    assert (found.class_names, found.y.shape, found.y.dtype) == (
        ("0", "1", "2"), (ROWS, 2, 2), np.int32
    )  # fmt: skip
    np.testing.assert_array_equal(found.y, masks[..., 0])
    numbers = opened(tmp_path, sizes=np.ones((ROWS, 2, 2))).targets[0]
    assert (numbers.class_names, numbers.y.shape) == ((), (ROWS, 2, 2))
    only = {"targets": {"size": "sizes"}}
    kept, held = opened(tmp_path, only, sizes=masks).parts(0.25, 0)
    assert kept.y.shape == (15, 2, 2)
    assert held.class_counts() == {}
