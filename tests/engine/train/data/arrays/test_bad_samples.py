"""Samples of array files with numbers that are not finite are left out where asked for."""

from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.errors import DataError
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.data.references import open_dataset
from studio.engine.train.data.source_files import DataLimits
from studio.engine.train.data.stored_rows import StoredRows


def load(path: Path, **options: object) -> Dataset:
    return open_dataset({"source": "npz", "path": path.name, **options}, path.parent)


def test_samples_that_are_not_finite_are_left_out(tmp_path: Path, rng: np.random.Generator) -> None:
    x, y = rng.normal(size=(50, 3, 2)), rng.normal(size=50)
    x[4, 1, 0], x[9, 2, 1], x[9, 0, 0], y[20], x[30, 0, 0] = np.nan, np.inf, np.nan, np.nan, 1e60
    path = tmp_path / "a.npz"
    np.savez(path, x=x, y=y)
    with pytest.raises(DataError, match="finite"):
        load(path)
    data = load(path, bad_rows="skip")
    good = [row for row in range(50) if row not in (4, 9, 20, 30)]
    assert np.array_equal(data.x, x[good].astype(np.float32))
    assert np.array_equal(data.y[:, 0], y[good].astype(np.float32))
    assert data.cleaning.skipped == 4
    places = ", ".join(f"a.npz/x sample {row}" for row in (4, 9, 20, 30))
    assert data.cleaning.sentences == (f"skipped 4 samples that cannot be read: {places}",)


def test_both_parts_of_an_archive_and_pairs_of_files_are_cleaned(tmp_path: Path) -> None:
    x = np.arange(12.0).reshape(6, 2)
    bad = np.where(x == 4, np.nan, x)
    labels = np.array([0, 1, 0, 1, 0, 1])
    np.savez(tmp_path / "a.npz", x_train=bad, y_train=labels, x_test=bad[:4], y_test=labels[:4])
    data = load(tmp_path / "a.npz", bad_rows="skip")
    assert data.held_out is not None
    assert (len(data), len(data.held_out), data.cleaning.skipped) == (5, 3, 2)
    assert data.y.tolist() == [0, 1, 1, 0, 1]
    np.save(tmp_path / "x.npy", bad)
    np.save(tmp_path / "y.npy", labels)
    reference = {"source": "npz", "x": "x.npy", "y": "y.npy", "bad_rows": "skip"}
    assert len(open_dataset(reference, tmp_path)) == 5


def test_nothing_left_and_unequal_lengths_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, x=np.full((4, 2), np.nan), y=np.array([0, 1, 0, 1]))
    with pytest.raises(DataError, match="no sample is left: all 4"):
        load(path, bad_rows="skip")
    np.savez(path, x=np.full((4, 2), np.nan), y=np.array([0, 1, 0]))
    with pytest.raises(DataError):
        load(path, bad_rows="skip")


def test_samples_that_stay_in_their_file_are_left_out_too(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    x, y = rng.normal(size=(50, 3, 2)), rng.normal(size=50)
    x[4, 1, 0], x[9, 2, 1], y[20] = np.nan, np.inf, np.nan
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    reference = {"source": "npz", "x": "x.npy", "y": "y.npy", "bad_rows": "skip"}
    small = open_dataset(reference, tmp_path, limits=DataLimits(resident_bytes=64))
    assert isinstance(small.x, StoredRows)
    whole = open_dataset(reference, tmp_path)
    assert np.array_equal(small.x[:], whole.x[:])
    assert np.array_equal(small.y, whole.y)
    assert small.cleaning == whole.cleaning
