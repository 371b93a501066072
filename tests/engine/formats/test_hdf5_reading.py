"""HDF5 files as another process describes them: values, places, cancelling, dying, limits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import h5py
import numpy as np
import pytest

from studio.engine.core.errors import FormatError
from studio.engine.formats import hdf5_child
from studio.engine.formats.byte_source import open_source
from studio.engine.formats.hdf5_child import CHILDREN, ChildLimits, resident_bytes
from studio.engine.formats.hdf5_chunks import fletcher32
from studio.engine.formats.hdf5_reading import read_hdf5, read_hdf5_member
from studio.engine.formats.limits import DEFAULT_LIMITS, MIB
from studio.engine.formats.safe_zip import list_members

pytestmark = pytest.mark.slow

ARRAYS = {
    "layers/dense/vars/0": np.arange(12, dtype=np.float32).reshape(3, 4),
    "layers/dense/vars/1": np.array([1.5, -2.0, np.nan, np.inf], ">f8"),
    "half": np.array([[0.5, -0.25]], np.float16),
    "seed": np.array([7, 2**32 - 1], np.uint32),
    "steps": np.array(2**40, np.int64),
    "mask": np.array([True, False, True]),
    "none": np.zeros((0, 3), np.float32),
    "bytes": np.array([-128, 127], np.int8),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "arrays.h5"
    with h5py.File(target, "w") as file:
        for name, array in ARRAYS.items():
            file[name] = array
        file.attrs["backend"] = "jax"
        file.attrs["bytes"] = np.bytes_("caf\u00e9".encode())
        file.attrs["long"] = "x" * 200_000
        file.attrs["layer_names"] = np.array([b"a", b"longer"])
        file.attrs["texts"] = ["\u4e2d", ""]
        file.attrs["nothing"] = np.asarray([])
        file["half"].attrs["count"] = 3
        file["half"].attrs["rate"] = 0.25
        file["half"].attrs["is_on"] = True
        file.create_group("empty")
    return target


@pytest.fixture(autouse=True)
def own_child() -> Iterator[None]:
    """Each test starts with no process and leaves none behind."""
    CHILDREN.close()
    yield
    CHILDREN.close()


def bits(array: np.ndarray) -> bytes:
    return np.asarray(array, array.dtype.newbyteorder("=")).tobytes()


def test_arrays_attributes_and_groups_are_as_written(path: Path) -> None:
    with read_hdf5(path) as file:
        assert set(file.arrays) == set(ARRAYS)
        for name, array in ARRAYS.items():
            read = file.arrays[name]
            assert read.dtype == array.dtype.newbyteorder("=")
            assert read.shape == array.shape == file.described[name].shape
            assert read.dtype == file.described[name].dtype
            assert bits(read) == bits(array)
        assert file.attributes[""] == {
            "backend": "jax", "bytes": "caf\u00e9", "long": "x" * 200_000,
            "layer_names": ["a", "longer"], "texts": ["\u4e2d", ""], "nothing": [],
        }  # fmt: skip
        assert file.attributes["half"] == {"count": 3, "rate": 0.25, "is_on": True}
        assert set(file.groups) == {"", "empty", "layers", "layers/dense", "layers/dense/vars"}


def test_bfloat16_as_keras_stores_it_loads_as_float32(tmp_path: Path) -> None:
    values = np.array([1.0, -2.0, 3.140625, 1e30], np.float32)
    codes = (values.view(np.uint32) >> 16).astype("<u2")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = codes.view("V2")
        file["x"].attrs["dtype"] = "bfloat16"
    expected = (codes.astype(np.uint32) << 16).view(np.float32)
    with read_hdf5(tmp_path / "a.h5") as read:
        assert read.described["x"].stored == "bfloat16"
        np.testing.assert_array_equal(read.arrays["x"], expected)


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "gzip", "shuffle": True, "fletcher32": True, "chunks": (7, 5)},
        {"compression": "gzip", "shuffle": True, "chunks": (64, 3)},
        {"fletcher32": True, "chunks": (9, 9)},
        {"chunks": (1, 100)},
    ],
)
@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<i2"])
def test_packed_arrays_are_unpacked(tmp_path: Path, options: dict[str, object], dtype: str) -> None:
    array = np.random.default_rng(3).integers(-999, 999, (64, 100)).astype(dtype)
    with h5py.File(tmp_path / "a.h5", "w", userblock_size=0) as file:
        file.create_dataset("before", data=array[:3])
        file.create_dataset("x", data=array, **options)
        file.create_dataset("y", data=array[::-1], **options)
    with read_hdf5(tmp_path / "a.h5") as read:
        np.testing.assert_array_equal(read.arrays["x"], array)
        np.testing.assert_array_equal(read.arrays["y"], array[::-1])
        assert read.arrays["y"].dtype.isnative


def test_an_array_in_its_header_is_read(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name, shape in (("x", (3,)), ("s", ())):
            made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            made.set_layout(h5py.h5d.COMPACT)
            space = h5py.h5s.create_simple(shape) if shape else h5py.h5s.create(h5py.h5s.SCALAR)
            data = h5py.h5d.create(file.id, name.encode(), h5py.h5t.IEEE_F32BE, space, made)
            data.write(h5py.h5s.ALL, h5py.h5s.ALL, np.full(shape, 2.5, np.float32))
    with read_hdf5(tmp_path / "a.h5") as read:
        np.testing.assert_array_equal(read.arrays["x"], [2.5, 2.5, 2.5])
        assert read.arrays["s"] == 2.5


def test_a_chunk_that_skipped_its_filter_is_read(tmp_path: Path) -> None:
    array = np.arange(8, dtype=np.uint8)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        data = file.create_dataset("x", (8,), "u1", compression=1, fletcher32=True, chunks=(8,))
        sums = fletcher32(array.tobytes()).to_bytes(4, "little")
        data.id.write_direct_chunk((0,), array.tobytes() + sums, filter_mask=0b01)
    with read_hdf5(tmp_path / "a.h5") as read:
        np.testing.assert_array_equal(read.arrays["x"], array)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_member_of_an_archive_is_read(path: Path, tmp_path: Path, method: int) -> None:
    target = tmp_path / "model.keras"
    with zipfile.ZipFile(target, "w", method) as archive:
        archive.writestr("config.json", "{}")
        archive.write(path, "model.weights.h5")
        archive.writestr("after", bytes(1000))
    told: list[str] = []
    with open_source(target, DEFAULT_LIMITS, "Keras") as opened:
        member = list_members(opened, DEFAULT_LIMITS)[1]
        file = read_hdf5_member(opened, target, member, progress=lambda _, what: told.append(what))
    with file:
        for name, array in ARRAYS.items():
            assert bits(file.arrays[name]) == bits(array)
    assert "checking the HDF5 data" in told
    with pytest.raises(ValueError, match="closed file"):
        file.arrays["half"]


def test_a_member_with_a_wrong_checksum_is_refused(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "model.keras"
    with zipfile.ZipFile(target, "w") as archive:
        archive.write(path, "model.weights.h5")
    content = bytearray(target.read_bytes())
    at = content.index(ARRAYS["layers/dense/vars/0"].tobytes())
    content[at] ^= 1
    target.write_bytes(content)
    with open_source(target, DEFAULT_LIMITS, "Keras") as opened:
        (member,) = list_members(opened, DEFAULT_LIMITS)
        with pytest.raises(FormatError, match="checksum is wrong"):
            read_hdf5_member(opened, target, member)


def child_pid() -> int:
    (pid,) = CHILDREN.idle
    return pid


def test_one_process_reads_many_files_and_is_replaced_when_it_dies(path: Path) -> None:
    read_hdf5(path).close()
    first = child_pid()
    read_hdf5(path).close()
    assert child_pid() == first
    os.kill(first, signal.SIGTERM)
    with read_hdf5(path) as file:
        assert len(file.arrays) == len(ARRAYS)
    assert child_pid() != first


@pytest.mark.skipif(sys.platform == "win32", reason="has no such signals")
def test_a_process_that_ended_for_want_of_work_is_replaced(path: Path) -> None:
    read_hdf5(path).close()
    os.kill(child_pid(), signal.SIGALRM)
    read_hdf5(path).close()


def test_progress_that_raises_ends_the_process(path: Path) -> None:
    class StopError(Exception):
        pass

    def stop(_fraction: float | None, _what: str) -> None:
        raise StopError

    read_hdf5(path).close()
    pid = child_pid()
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(StopError):
        read_hdf5(path, progress=stop)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert CHILDREN.idle == ()


def test_a_process_that_hangs_is_ended(path: Path) -> None:
    read_hdf5(path).close()
    os.kill(child_pid(), signal.SIGSTOP)
    with pytest.raises(FormatError, match=r"took longer than 0\.2 s"):
        read_hdf5(path, child_limits=ChildLimits(seconds=0.2, megabyte_seconds=0))
    read_hdf5(path).close()


def test_too_much_memory_is_seen_from_outside(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_hdf5(path).close()
    os.kill(child_pid(), signal.SIGSTOP)
    monkeypatch.setattr(hdf5_child, "OWN_BYTES", 0)
    with pytest.raises(FormatError, match="takes more than 1 MiB of memory"):
        read_hdf5(path, child_limits=ChildLimits(memory=MIB))


@pytest.mark.skipif(sys.platform == "win32", reason="has no such limits")
def test_the_system_limits_processor_time_and_memory(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "many.h5", "w") as file:
        for index in range(3000):
            file.create_group(str(index))
    limits = ChildLimits(cpu_seconds=0.001, megabyte_seconds=0)
    with pytest.raises(FormatError, match=r"more than 0\.001 s of the processor's time"):
        read_hdf5(tmp_path / "many.h5", child_limits=limits)
    with h5py.File(tmp_path / "large.h5", "w") as file:
        file.attrs["text"] = "x" * (30 * MIB)
    if sys.platform == "linux":
        with pytest.raises(FormatError, match=r"more than 1 MiB of memory|is damaged"):
            read_hdf5(tmp_path / "large.h5", child_limits=ChildLimits(memory=MIB))
    with read_hdf5(tmp_path / "large.h5") as read:
        assert read.attributes[""] == {"text": "x" * (30 * MIB)}


def test_resident_bytes_of_a_process() -> None:
    code = "import sys; x = bytearray(100 << 20); print(); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert 100 * MIB < resident_bytes(process) < 400 * MIB
        process.communicate(b"")
    assert resident_bytes(process) == 0


def test_threads_read_at_the_same_time(path: Path) -> None:
    failed: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(3):
                with read_hdf5(path) as file:
                    assert len(file.arrays) == len(ARRAYS)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(CHILDREN.idle) == 1


def test_no_process_outlives_its_parent(path: Path) -> None:
    code = (
        "import sys\n"
        "from studio.engine.formats import hdf5_child\n"
        "from studio.engine.formats.hdf5_reading import read_hdf5\n"
        "read_hdf5(sys.argv[1]).close()\n"
        "print(*hdf5_child.CHILDREN.idle)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    deadline = time.monotonic() + 60
    with suppress(ProcessLookupError):
        while time.monotonic() < deadline:
            os.kill(int(done.stdout), 0)
            time.sleep(0.01)
        pytest.fail("the process is still there")


def test_nothing_of_hdf5_is_loaded_in_this_process(path: Path) -> None:
    code = (
        "import sys\n"
        "from studio.engine.formats.hdf5_reading import read_hdf5\n"
        "with read_hdf5(sys.argv[1]) as file:\n"
        "    list(file.arrays.values())\n"
        "print('h5py' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


def test_the_process_takes_no_variables_and_no_modules_of_the_folder(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder with a ``numpy.py`` in it, as the one of a downloaded model may be."""
    (tmp_path / "numpy.py").write_text("raise SystemExit(1)")
    (tmp_path / "h5py.py").write_text("raise SystemExit(1)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.setenv("HDF5_PLUGIN_PATH", str(tmp_path))
    monkeypatch.setenv("PYTHONSTARTUP", "nothing")
    read_hdf5(path.name).close()
    if sys.platform == "linux":
        names = {
            entry.partition(b"=")[0]
            for entry in Path(f"/proc/{child_pid()}/environ").read_bytes().split(b"\0")
        }
        assert b"HOME" not in names
        assert b"HDF5_PLUGIN_PATH" not in names


@pytest.mark.parametrize("name", ["temporary", "missing"])
def test_temporary_files_are_gone(path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    folder, target = path.parent / name, path.parent / "a.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(path, "a.h5")
        archive.writestr("b.h5", path.read_bytes()[:-1])
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    with open_source(target, DEFAULT_LIMITS, "zip") as opened:
        good, bad = list_members(opened, DEFAULT_LIMITS)
        if name == "missing":
            with pytest.raises(FormatError, match="unpacking it to a temporary file failed"):
                read_hdf5_member(opened, target, good)
            return
        folder.mkdir()
        with read_hdf5_member(opened, target, good) as file:
            assert file.arrays
        with pytest.raises(FormatError, match=r"\[.*a\.zip: b\.h5\] not a whole HDF5 file"):
            read_hdf5_member(opened, target, bad)
    assert list(folder.iterdir()) == []


def test_where_h5py_is_missing_it_is_said(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdf5_child, "MODULE", "studio.engine.formats.no_such_module")
    with pytest.raises(FormatError, match="does not start"):
        read_hdf5(path)


def test_a_file_in_memory_is_not_needed_to_refuse_what_is_no_hdf5(tmp_path: Path) -> None:
    (tmp_path / "empty.h5").touch()
    with pytest.raises(FormatError, match="the file is empty"):
        read_hdf5(tmp_path / "empty.h5")
    for content in (b"\x89HDF", b"PK\3\4" + bytes(100), b"{}" * 50):
        (tmp_path / "a.h5").write_bytes(content)
        with pytest.raises(FormatError, match="signature is missing"):
            read_hdf5(tmp_path / "a.h5")
    assert CHILDREN.idle == ()
    with pytest.raises(FormatError, match="there is no such file"):
        read_hdf5(tmp_path / "missing.h5")
    with pytest.raises(FormatError, match="cut off"):
        read_hdf5(tmp_path / "a.h5", offset=50, length=1000)


def test_what_h5py_writes_is_the_same_as_bytes_in_a_window(path: Path, tmp_path: Path) -> None:
    (tmp_path / "part").write_bytes(bytes(777) + path.read_bytes() + bytes(55))
    with read_hdf5(tmp_path / "part", offset=777, length=path.stat().st_size) as file:
        for name, array in ARRAYS.items():
            assert bits(file.arrays[name]) == bits(array)
