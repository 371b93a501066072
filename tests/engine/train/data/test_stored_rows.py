"""Samples that stay in their files hold what NumPy reads of the same files, and notice changes."""

from __future__ import annotations

import errno
import os
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from studio.engine.core import machine_memory
from studio.engine.core.errors import DataError, FormatError
from studio.engine.core.machine_memory import host_memory
from studio.engine.train.data.array_storage import to_storage
from studio.engine.train.data.arrays.array_files import FileRows, open_npy, read_npy
from studio.engine.train.data.arrays.named_arrays import load_named_arrays
from studio.engine.train.data.arrays.numpy_files import load_npy_pair, load_npz
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.data.images.folder import PictureRows, load_image_folder
from studio.engine.train.data.named_parts import NamedArray
from studio.engine.train.data.normalization import feature_statistics
from studio.engine.train.data.source_files import DEFAULT_LIMITS
from studio.engine.train.data.stored_rows import OpenFile, StoredRows, evenly_spaced

SMALL = replace(DEFAULT_LIMITS, resident_bytes=64)

TYPES = ["?", "u1", "i1", "<i2", ">i4", "<u2", "<i8", ">u8", "<f2", "<f4", ">f4", "<f8", ">f8"]


def saved(path: Path, values: np.ndarray) -> Path:
    np.save(path, values)
    return path


def numbers(rng: np.random.Generator, dtype: str, *shape: int) -> np.ndarray:
    return rng.integers(0, 2 if dtype == "?" else 100, shape).astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_rows_are_those_of_the_array_in_memory(
    rng: np.random.Generator, tmp_path: Path, dtype: str
) -> None:
    values = numbers(rng, dtype, 40, 3, 2)
    path = saved(tmp_path / "x.npy", values)
    found = open_npy(path, SMALL)
    whole = to_storage(read_npy(path), "x")
    assert isinstance(found, FileRows)
    assert (found.shape, found.dtype, found.ndim) == (whole.shape, whole.dtype, whole.ndim)
    assert (found.nbytes, found.size, len(found)) == (whole.nbytes, whole.size, len(whole))
    chosen = rng.integers(0, 40, 25)
    for key in (
        slice(None),
        slice(5, 17),
        slice(30, 2, -3),
        slice(9, 9),
        chosen,
        chosen[:0],
        7,
        -1,
    ):
        np.testing.assert_array_equal(found[key], whole[key])
        assert found[key].dtype == whole.dtype
    some = found.subset(chosen.astype(np.int32))
    np.testing.assert_array_equal(some[:], whole[chosen])
    twice = some.subset(np.array([3, 3, 0], np.int32))
    np.testing.assert_array_equal(twice[:], whole[chosen][[3, 3, 0]])
    with pytest.raises(IndexError):
        found[40]


@pytest.mark.parametrize("inner", [(), (1,), (5,), (4, 3), (2, 2, 3)])
def test_statistics_are_the_same_to_the_last_bit(
    rng: np.random.Generator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    inner: tuple[int, ...],
) -> None:  # fmt: skip
    monkeypatch.setattr("studio.engine.train.data.normalization.CHUNK_ELEMENTS", 50)
    values = rng.normal(size=(101, *inner, 3)).astype(np.float32)
    found = open_npy(saved(tmp_path / "x.npy", values), SMALL)
    assert isinstance(found, StoredRows)
    some = rng.permutation(101)[:77].astype(np.int32)
    for stored, resident in ((found, values), (found.subset(some), values[some])):
        ours, theirs = feature_statistics(stored), feature_statistics(resident)
        for name in ("mean", "std", "minimum", "maximum"):
            assert getattr(ours, name).tobytes() == getattr(theirs, name).tobytes()
    np.testing.assert_allclose(feature_statistics(found).mean, values.reshape(-1, 3).mean(0),
                               atol=1e-6)  # fmt: skip


def same_sets(stored: Dataset, resident: Dataset) -> None:
    """Two data sets that hold the same, one of them in its files."""
    assert isinstance(stored.x, StoredRows)
    assert isinstance(resident.x, np.ndarray)
    assert stored.sha256 == resident.sha256
    assert stored.summary() == resident.summary()
    for ours, theirs in zip(stored.split(0.25, 5), resident.split(0.25, 5), strict=True):
        assert isinstance(ours.x, StoredRows)
        np.testing.assert_array_equal(ours.x[:], theirs.x)
        np.testing.assert_array_equal(ours.y, theirs.y)


def test_data_sets_are_the_same_in_files_and_in_memory(
    rng: np.random.Generator, tmp_path: Path
) -> None:
    x, y = rng.integers(0, 255, (30, 4, 5)).astype(np.uint8), np.arange(30) % 3
    x_path, y_path = saved(tmp_path / "x.npy", x), saved(tmp_path / "y.npy", y)
    same_sets(load_npy_pair(x_path, y_path, limits=SMALL), load_npy_pair(x_path, y_path))
    path = tmp_path / "set.npz"
    np.savez(path, x_train=x, y_train=y, x_test=x[:9], y_test=y[:9])
    stored, resident = load_npz(path, limits=SMALL), load_npz(path)
    same_sets(stored, resident)
    assert stored.held_out is not None
    assert isinstance(stored.held_out.x, StoredRows)
    np.savez_compressed(path, x=x, y=y)
    assert isinstance(load_npz(path, limits=SMALL).x, np.ndarray)


def test_named_inputs_may_stay_in_their_archive(rng: np.random.Generator, tmp_path: Path) -> None:
    path = tmp_path / "set.npz"
    flat, wide = rng.normal(size=50), rng.normal(size=(50, 7)).astype(np.float32)
    np.savez(path, p=flat, q=wide, t=np.arange(50) % 2)
    inputs, targets = [NamedArray("a", "p"), NamedArray("b", "q")], [NamedArray("t", "t")]
    stored = load_named_arrays(path, inputs, targets, limits=SMALL)
    resident = load_named_arrays(path, inputs, targets)
    assert [type(each.values) for each in stored.inputs] == [FileRows, FileRows]
    assert stored.inputs[0].values.shape == (50, 1)
    assert stored.sha256 == resident.sha256
    kept, theirs = stored.split(0.2, 1)[0], resident.split(0.2, 1)[0]
    for each, other in zip(kept.inputs, theirs.inputs, strict=True):
        np.testing.assert_array_equal(each.values[:], other.values)


def test_fortran_order_is_read_whole(rng: np.random.Generator, tmp_path: Path) -> None:
    values = np.asfortranarray(rng.normal(size=(40, 3)).astype(np.float32))
    found = open_npy(saved(tmp_path / "x.npy", values), SMALL)
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.array([1.0, 2.0, np.nan] * 8), r"sample 5, element \[0\] must be a finite number"),
        (np.array([1.0, 2.0, np.inf] * 8), r"sample 5, element \[0\] must be a finite number"),
        (np.array([1, 2, 1 << 40] * 8), r"sample 5, element \[0\] must fit int32"),
    ],
)
def test_a_wrong_number_is_named_by_its_sample_in_the_file(
    tmp_path: Path, values: np.ndarray, words: str
) -> None:
    found = open_npy(saved(tmp_path / "x.npy", values.reshape(24, 1)), SMALL)
    assert len(found[:2]) == 2
    with pytest.raises(DataError, match=words):
        found[np.array([0, 1, 5])]


def test_a_bool_that_is_none_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path / "x.npy", np.ones((99, 1), bool))
    path.write_bytes(path.read_bytes()[:-1] + b"\2")
    with pytest.raises(DataError, match="neither 0 nor 1"):
        open_npy(path, SMALL)[:]


def test_a_damaged_archive_is_refused_when_it_is_opened(
    rng: np.random.Generator, tmp_path: Path
) -> None:
    path = tmp_path / "set.npz"
    np.savez(path, x=rng.normal(size=(40, 3)), y=np.arange(40) % 2)
    content = bytearray(path.read_bytes())
    content[400] ^= 1
    path.write_bytes(content)
    with pytest.raises(FormatError, match="checksum"):
        load_npz(path, limits=SMALL)


def test_a_file_that_changes_is_noticed(rng: np.random.Generator, tmp_path: Path) -> None:
    values = rng.normal(size=(500, 8)).astype(np.float32)
    path = saved(tmp_path / "x.npy", values)
    found = open_npy(path, SMALL)
    os.truncate(path, 8_000)
    with pytest.raises(DataError, match=r"\[x.npy\].*(cut short|was changed)"):
        found[np.array([1, 499])]
    with pytest.raises(DataError, match="was changed while it was in use"):
        found[0]
    found = open_npy(saved(path, values), SMALL)
    os.utime(path, ns=(1, 1))
    with pytest.raises(DataError, match="was changed while it was in use"):
        found[0]


def test_a_file_that_another_takes_the_place_of_is_still_there(
    rng: np.random.Generator, tmp_path: Path
) -> None:
    values = rng.normal(size=(500, 8)).astype(np.float32)
    path = saved(tmp_path / "x.npy", values)
    found = open_npy(path, SMALL)
    path.unlink()
    saved(tmp_path / "x.npy", np.zeros((2, 2)))
    if os.name == "posix":
        np.testing.assert_array_equal(found[:], values)


def test_a_disk_that_fails_is_said(
    rng: np.random.Generator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = open_npy(saved(tmp_path / "x.npy", rng.normal(size=(50, 8))), SMALL)

    def fail(*_: object) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "preadv", fail)
    with pytest.raises(DataError, match=r"\[x.npy\] the file cannot be read: Input/output error"):
        found[3]


def test_reading_without_preadv_is_the_same_from_many_threads(
    rng: np.random.Generator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "preadv", raising=False)
    values = rng.normal(size=(400, 8)).astype(np.float32)
    found = open_npy(saved(tmp_path / "x.npy", values), SMALL)
    wrong: list[int] = []

    def read(seed: int) -> None:
        for _ in range(20):
            chosen = np.random.default_rng(seed).integers(0, 400, 50)
            if not np.array_equal(found[chosen], values[chosen]):
                wrong.append(seed)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_file_is_closed_with_the_last_that_reads_it(
    rng: np.random.Generator, tmp_path: Path
) -> None:
    path = saved(tmp_path / "x.npy", rng.normal(size=(50, 8)))
    found = open_npy(path, SMALL)
    assert isinstance(found, StoredRows)
    some = found.subset(np.array([2, 1], np.int32))
    links = Path("/proc/self/fd")

    def is_open() -> bool:
        return any(os.path.realpath(link) == str(path) for link in links.iterdir())

    if links.is_dir():
        assert is_open()
        del found
        assert is_open()
        assert some[0].shape == (8,)
        del some
        assert not is_open()


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read: No such file"):
        OpenFile(tmp_path / "x.npy", "x.npy")
    with pytest.raises(DataError, match="there is no"):
        open_npy(tmp_path / "x.npy")


def test_the_budget_decides_what_stays_in_its_file(
    rng: np.random.Generator, tmp_path: Path
) -> None:
    path = saved(tmp_path / "x.npy", rng.normal(size=(50, 8)))
    for budget, stays in ((50 * 8 * 4 - 1, True), (50 * 8 * 4, False)):
        found = open_npy(path, replace(DEFAULT_LIMITS, resident_bytes=budget))
        assert isinstance(found, StoredRows) is stays
    np.testing.assert_array_equal(open_npy(path), read_npy(path))


@pytest.mark.skipif(sys.platform == "win32", reason="the limits of a process are those of POSIX")
def test_the_budget_is_a_quarter_of_what_the_process_may_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import resource

    assert 0 < 4 * DEFAULT_LIMITS.memory_bytes <= host_memory()
    limit = 200 << 20
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    assert DEFAULT_LIMITS.memory_bytes == limit // 4
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    monkeypatch.setattr(machine_memory, "host_memory", lambda: 1 << 30)
    assert DEFAULT_LIMITS.memory_bytes <= 1 << 28


def test_a_container_may_allow_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cgroup").write_text("0::/box\n", encoding="utf-8")
    (tmp_path / "box").mkdir()
    monkeypatch.setattr(machine_memory, "GROUPS", tmp_path)
    monkeypatch.setattr(machine_memory, "OWN_GROUPS", tmp_path / "cgroup")
    before = machine_memory.usable_memory()
    for text, expected in (("max", before), ("4096000", 4096000), ("?", before)):
        (tmp_path / "box" / "memory.max").write_text(text, encoding="ascii")
        assert machine_memory.usable_memory() == expected


def test_evenly_spaced_samples_are_few_only_where_they_are_read(
    rng: np.random.Generator, tmp_path: Path
) -> None:
    values = rng.normal(size=(50, 8)).astype(np.float32)
    stored = open_npy(saved(tmp_path / "x.npy", values), SMALL)
    assert evenly_spaced(values, 10) is values
    np.testing.assert_array_equal(evenly_spaced(stored, 10), values[::5])
    np.testing.assert_array_equal(evenly_spaced(stored, 500), values)


@pytest.fixture
def pets(rng: np.random.Generator, tmp_path: Path) -> Path:
    """Two classes of a dozen coloured pictures each, one of another size."""
    for index in range(24):
        path = tmp_path / "pets" / ("cat", "dog")[index % 2] / f"{index:02}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        size = (9, 5) if index == 3 else (6, 4)
        Image.fromarray(rng.integers(0, 255, (*size, 3)).astype(np.uint8)).save(path)
    return tmp_path / "pets"


def test_pictures_are_the_same_in_files_and_in_memory(pets: Path) -> None:
    stored, resident = load_image_folder(pets, limits=SMALL), load_image_folder(pets)
    same_sets(stored, resident)
    assert isinstance(stored.x, PictureRows)
    for key in (5, slice(1, 20, 2), np.array([23, 0, 0, 7, 9, 11, 13, 2, 1, 5])):
        np.testing.assert_array_equal(stored.x[key], resident.x[key])


def test_a_picture_that_is_gone_or_another_is_named(pets: Path) -> None:
    found = load_image_folder(pets, limits=SMALL).x
    (pets / "cat" / "04.png").unlink()
    with pytest.raises(DataError, match=r"\[pets/cat/04.png\] the image is no longer there"):
        found[:]
    assert found[0].shape == (6, 4, 3)
    Image.new("RGB", (40, 60)).save(pets / "cat" / "04.png")
    with pytest.raises(DataError, match=r"\[pets/cat/04.png\] the image was changed"):
        found[np.array([2])]
