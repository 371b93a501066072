"""Array files written by NumPy come back as the data set a person would expect."""

from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.errors import DataError
from studio.engine.train.data.arrays.array_files import map_npy, read_npy
from studio.engine.train.data.arrays.numpy_files import ArrayOptions, load_npy_pair, load_npz

Y = np.array([0, 2, 1, 2], dtype=np.int64)


@pytest.mark.parametrize("dtype", ["?", "i1", ">i2", "<i4", ">i8", "u1", "<u4", "f2", ">f4", ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_number_type_and_order_reads_exactly(tmp_path: Path, dtype: str, order: str) -> None:
    values = np.arange(24).reshape(2, 3, 4).astype(dtype)
    np.save(tmp_path / "a.npy", np.asarray(values, order=order))
    found = read_npy(tmp_path / "a.npy")
    assert found.dtype == values.dtype.newbyteorder("=")
    assert (found == values).all()
    assert found.flags.c_contiguous


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(("x_key", "y_key"), [("x", "y"), ("X", "y"), ("images", "labels")])
def test_archive_with_the_usual_keys(
    tmp_path: Path, x_key: str, y_key: str, compressed: bool
) -> None:
    x = np.arange(12, dtype=np.float64).reshape(4, 3)
    save = np.savez_compressed if compressed else np.savez
    save(tmp_path / "d.npz", **{x_key: x, y_key: Y})
    data = load_npz(tmp_path / "d.npz")
    assert data.x.dtype == np.float32
    assert (data.x == x).all()
    assert data.y.tolist() == [0, 2, 1, 2]
    assert data.class_names == ("0", "1", "2")
    assert data.kind == "table"


def test_keras_archive_has_its_own_test_part(tmp_path: Path) -> None:
    x = np.random.default_rng(0).integers(0, 256, (4, 5, 6)).astype(np.uint8)
    np.savez(tmp_path / "m.npz", x_train=x, y_train=Y, x_test=x[:2], y_test=Y[:2])
    data = load_npz(tmp_path / "m.npz")
    assert data.kind == "images"
    assert data.x.shape == (4, 5, 6, 1)
    assert data.x.dtype == np.uint8
    assert data.value_range == (0.0, 255.0)
    assert data.held_out is not None
    assert data.held_out.y.tolist() == [0, 2]
    assert data.held_out.class_names == data.class_names


def test_test_part_with_a_class_of_its_own_is_refused(tmp_path: Path) -> None:
    x = np.ones((4, 3), np.float32)
    np.savez(tmp_path / "m.npz", x_train=x, y_train=Y, x_test=x, y_test=Y + 1)
    with pytest.raises(DataError, match="4 classes"):
        load_npz(tmp_path / "m.npz")


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.bool_, np.int64])
def test_one_hot_labels_become_indices(tmp_path: Path, dtype: type[np.generic]) -> None:
    np.savez(tmp_path / "d.npz", x=np.ones((4, 2)), y=np.eye(3)[Y].astype(dtype))
    assert load_npz(tmp_path / "d.npz").y.tolist() == Y.tolist()


def test_text_labels_and_stored_class_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.ones((3, 2)), y=np.array(["dog", "cat", "dog"]))
    assert load_npz(tmp_path / "a.npz").class_names == ("cat", "dog")
    np.savez(tmp_path / "b.npz", x=np.ones((4, 2)), y=Y, class_names=np.array(["a", "b", "c"]))
    assert load_npz(tmp_path / "b.npz").class_names == ("a", "b", "c")


def test_float_labels_are_targets_unless_the_task_says_classes(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", x=np.ones((4, 2)), y=Y.astype(np.float64))
    assert load_npz(tmp_path / "d.npz").y.shape == (4, 1)
    data = load_npz(tmp_path / "d.npz", ArrayOptions(task="classes"))
    assert data.y.tolist() == Y.tolist()
    targets = np.random.default_rng(0).normal(size=(4, 2))
    np.savez(tmp_path / "e.npz", x=np.ones((4, 2)), y=targets)
    np.testing.assert_allclose(load_npz(tmp_path / "e.npz").y, targets, rtol=1e-6)


def test_keys_can_be_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", pics=np.ones((4, 2)), what=Y, more=np.ones(9))
    assert len(load_npz(tmp_path / "d.npz", ArrayOptions(x_key="pics", y_key="what"))) == 4


def test_pair_of_array_files(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((4, 8, 8, 3), np.uint8))
    np.save(tmp_path / "y.npy", Y[:, None])
    data = load_npy_pair(tmp_path / "x.npy", tmp_path / "y.npy")
    assert data.kind == "images"
    assert data.y.tolist() == Y.tolist()


def test_mapped_array_equals_the_file(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(5, 4)).astype(">f4")
    np.save(tmp_path / "x.npy", values)
    mapped = map_npy(tmp_path / "x.npy")
    assert isinstance(mapped, np.memmap)
    assert (np.asarray(mapped) == values).all()
