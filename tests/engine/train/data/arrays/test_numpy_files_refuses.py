"""Damaged, hostile and unfit array files are refused in one sentence, before allocation."""

import io
import struct
import tracemalloc
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.errors import DataError, FormatError, StudioError
from studio.engine.train.data.arrays.array_files import map_npy, read_npy
from studio.engine.train.data.arrays.numpy_files import load_npy_pair, load_npz
from studio.engine.train.data.source_files import DEFAULT_LIMITS

GIB = 1 << 30


def npy(header: str, data: bytes = b"", version: int = 1) -> bytes:
    text = header.encode("latin-1")
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + data


def saved(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


GOOD = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }"
HEADERS = [
    (GOOD.replace("<f4", "|O"), "never loaded"),
    (GOOD.replace("'<f4'", "[('a', '<f4')]"), "structured arrays"),
    (GOOD.replace("<f4", "<c8"), "unsupported dtype"),
    (GOOD.replace("<f4", "<M8[s]"), "unsupported dtype"),
    (GOOD.replace("<f4", "|V8"), "unsupported dtype"),
    (GOOD.replace("<f4", "|S8"), "unsupported dtype"),
    (GOOD.replace("<f4", "<f3"), "unsupported dtype"),
    (GOOD.replace("<f4", "<U999999"), "unsupported dtype"),
    (GOOD.replace("(2, 2)", "(-2, -2)"), "damaged"),
    (GOOD.replace("(2, 2)", "(2, 0)"), "does not match"),
    (GOOD.replace("(2, 2)", "(99999999, 99999999)"), "does not match"),
    (GOOD.replace("(2, 2)", "(" + "1, " * 40 + ")"), "too many axes"),
    (GOOD.replace("(2, 2)", "(2**9, 2)"), "damaged"),
    (GOOD.replace("(2, 2)", "(1e9,)"), "damaged"),
    (GOOD.replace("False", "0"), "damaged"),
    (GOOD.replace("'shape'", "'descr'"), "damaged"),
    (GOOD.replace("'shape': (2, 2), ", ""), "damaged"),
    (GOOD[:-1], "damaged"),
    ("__import__('os').system('true')", "damaged"),
    ("{" + "(" * 4000 + "}", "damaged"),
    ("{" * 4000, "damaged"),
    (" " * 20_000, "header is too long"),
]


@pytest.mark.parametrize(("header", "message"), HEADERS)
def test_bad_header_is_refused_without_allocating(
    tmp_path: Path, header: str, message: str
) -> None:
    (tmp_path / "a.npy").write_bytes(npy(header, bytes(16)))
    tracemalloc.start()
    with pytest.raises(FormatError, match=message) as caught:
        read_npy(tmp_path / "a.npy")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert caught.value.who == "a.npy"
    assert peak < 1 << 20


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"\x93NUM", "not a npy file"),
        (b"a,b\n1,2\n", "not a npy file"),
        (npy(GOOD, version=9), "version"),
        (npy(GOOD)[:9], "cut off"),
        (npy(GOOD)[:40], "cut off"),
        (npy(GOOD, bytes(15)), "expected 16 bytes, got 15"),
        (npy(GOOD, bytes(17)), "expected 16 bytes, got 17"),
        (saved(np.array([{}, 1], dtype=object)), "never loaded"),
    ],
)
@pytest.mark.parametrize("read", [read_npy, map_npy])
def test_damaged_file_is_refused(
    tmp_path: Path, content: bytes, message: str, read: object
) -> None:
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(StudioError, match=message):
        read(tmp_path / "a.npy")


def test_declared_size_above_the_cap_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros(1000))
    with pytest.raises(FormatError, match="at most 1000 bytes"):
        read_npy(tmp_path / "a.npy", replace(DEFAULT_LIMITS, array_bytes=1000))
    with pytest.raises(DataError, match="the file is too large"):
        read_npy(tmp_path / "a.npy", replace(DEFAULT_LIMITS, file_bytes=1000))


def test_empty_arrays_are_refused_wherever_they_stand(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((2, 0)))
    with pytest.raises(DataError, match=r"a.npy\] the array is empty: its shape is \[2, 0\]"):
        read_npy(tmp_path / "a.npy")
    with pytest.raises(FormatError, match="must hold numbers"):
        map_npy(tmp_path / "a.npy")
    np.savez(tmp_path / "a.npz", x=np.zeros((0, 3)), y=np.zeros(0))
    with pytest.raises(DataError, match=r"a.npz/x\] the array is empty"):
        load_npz(tmp_path / "a.npz")


@pytest.mark.parametrize("code", [0x110000, 0xD800, 0xFFFFFFFF])
def test_text_that_is_not_unicode_is_refused(tmp_path: Path, code: int) -> None:
    names = np.array(["cat", "dog"])
    names.view(np.uint32)[2] = code
    np.savez(tmp_path / "a.npz", x=np.ones((2, 2)), y=np.array([0, 1]), class_names=names)
    with pytest.raises(FormatError, match="not Unicode"):
        load_npz(tmp_path / "a.npz")


@pytest.mark.parametrize("array", [np.ones((3, 2), order="F"), np.array(3.0), np.array(["a", "b"])])
def test_only_numbers_with_samples_first_are_mapped(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(FormatError, match="a mapped array must"):
        map_npy(tmp_path / "a.npy")


def archive(path: Path, members: list[tuple[str, bytes]], method: int = 8) -> Path:
    with zipfile.ZipFile(path, "w", method) as out:
        for name, content in members:
            out.writestr(name, content)
    return path


X_OK, Y_OK = saved(np.ones((2, 2), np.float32)), saved(np.array([0, 1]))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([], "holds no arrays"),
        ([("x.npy", X_OK)], "holds one array"),
        ([("x.npy", X_OK), ("z.npy", Y_OK)], "expected arrays x and y, or.*'x'"),
        ([("x.npy", X_OK), ("y.npy", saved(np.zeros(2, int)))], "at least two classes"),
        ([("x.npy", X_OK), ("y.npy", b"junk")], "not a npy file"),
        ([("x.npy", X_OK[:-1]), ("y.npy", Y_OK)], "does not match"),
        ([("x.npy", X_OK + b"0"), ("y.npy", Y_OK)], "does not match"),
        ([("x.npy", saved(np.array([{}]))), ("y.npy", Y_OK)], "never loaded"),
        ([(f"a{i}.npy", X_OK) for i in range(1100)], "too many members"),
        ([("x.npy", X_OK), ("y.npy", saved(np.array([0, 1, 1])))], "2 samples and 3 labels"),
        ([("x.npy", X_OK), ("y.npy", saved(np.array([0, -1])))], "got -1 in sample 1"),
        ([("x.npy", X_OK), ("y.npy", saved(np.array([0, 10**9])))], "in sample 1"),
        ([("x.npy", saved(np.ones(2))), ("y.npy", Y_OK)], r"samples must have shape \[n, …\]"),
        ([("x.npy", saved(np.ones((2, 3, 8, 8)))), ("y.npy", Y_OK)], "channels last"),
        ([("x.npy", saved(np.array([["a"], ["b"]]))), ("y.npy", Y_OK)], "expected numbers"),
    ],
)
def test_bad_archive_is_refused(
    tmp_path: Path, members: list[tuple[str, bytes]], message: str
) -> None:
    path = archive(tmp_path / "a.npz", members)
    with pytest.raises(StudioError, match=message) as caught:
        load_npz(path)
    assert caught.value.who.startswith("a.npz")


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e39])
def test_value_that_is_not_finite_is_named_by_its_place(tmp_path: Path, bad: float) -> None:
    x = np.ones((3, 4, 5))
    x[2, 1, 3] = bad
    np.savez(tmp_path / "a.npz", x=x, y=np.array([0, 1, 1]))
    with pytest.raises(DataError, match=r"a.npz/x\] sample 2, element \[1, 3\]"):
        load_npz(tmp_path / "a.npz")


def test_number_beyond_int32_is_named_by_its_place(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.array([[1, 2], [3, 2**31]]), y=np.array([0, 1]))
    with pytest.raises(DataError, match=r"sample 1, element \[1\] must fit int32: got 2147483648"):
        load_npz(tmp_path / "a.npz")
    np.save(tmp_path / "x.npy", np.ones((2, 2)))
    np.save(tmp_path / "y.npy", np.array([0.0, np.nan]))
    with pytest.raises(DataError, match="sample 1 is not a finite number"):
        load_npy_pair(tmp_path / "x.npy", tmp_path / "y.npy")


@pytest.mark.parametrize(
    ("x", "message"), [(np.array([[2**63], [0]], dtype=np.uint64), "9223372036854775808")]
)
def test_unsigned_number_beyond_int64_is_refused(
    tmp_path: Path,
    x: np.ndarray,
    message: str,
) -> None:
    np.savez(tmp_path / "a.npz", x=x, y=np.array([0, 1]))
    with pytest.raises(DataError, match=message):
        load_npz(tmp_path / "a.npz")


@pytest.mark.slow
def test_zip_bomb_is_refused_by_what_it_declares(tmp_path: Path) -> None:
    header = GOOD.replace("(2, 2)", "(25000000, 4)")
    zeros = npy(header) + bytes(100_000_000)
    path = archive(tmp_path / "a.npz", [("x.npy", zeros), ("y.npy", Y_OK)])
    del zeros
    tracemalloc.start()
    with pytest.raises(FormatError, match="at most 200 times"):
        load_npz(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 << 20


def test_archive_that_lies_about_sizes_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.npz", [("x.npy", X_OK), ("y.npy", Y_OK)], zipfile.ZIP_STORED)
    content = bytearray(path.read_bytes())
    at = content.find(b"PK\x01\x02")
    for declared in (GIB, 0xFFFFFFF0):
        content[at + 24 : at + 28] = struct.pack("<I", declared)
        path.write_bytes(bytes(content))
        with pytest.raises(FormatError):
            load_npz(path)


def test_flipped_data_fail_the_checksum(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.npz", [("x.npy", X_OK), ("y.npy", Y_OK)], zipfile.ZIP_STORED)
    content = bytearray(path.read_bytes())
    content[content.find(X_OK) + len(X_OK) - 1] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(FormatError, match="checksum is wrong"):
        load_npz(path)


@pytest.mark.parametrize("content", [b"PK", b"PK\x05\x06" + bytes(10), b"hello", bytes(100)])
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(FormatError):
        load_npz(tmp_path / "a.npz")


def test_encrypted_and_oddly_compressed_members_are_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.npz", [("x.npy", X_OK), ("y.npy", Y_OK)])
    content = bytearray(path.read_bytes())
    at = content.find(b"PK\x01\x02")
    content[at + 8] |= 1
    path.write_bytes(bytes(content))
    with pytest.raises(FormatError, match="encrypted"):
        load_npz(path)
    archive(path, [("x.npy", X_OK), ("y.npy", Y_OK)], zipfile.ZIP_LZMA)
    with pytest.raises(FormatError, match="unsupported method"):
        load_npz(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_member_twice_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.npz", [("x.npy", X_OK), ("x.npy", X_OK), ("y.npy", Y_OK)])
    with pytest.raises(FormatError, match=r"'x\.npy' occurs twice"):
        load_npz(path)


def test_member_names_are_never_paths(tmp_path: Path) -> None:
    outside = tmp_path / "x.npy"
    folder = tmp_path / "inner"
    folder.mkdir()
    path = archive(folder / "a.npz", [("../x.npy", X_OK), ("x.npy", X_OK), ("y.npy", Y_OK)])
    with pytest.raises(FormatError, match="unsafe member name"):
        load_npz(path)
    assert not outside.exists()
