"""npy and npz: judged by NumPy and zipfile, and every hostile file refused."""

from __future__ import annotations

import io
import stat
import struct
import warnings
import zipfile
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from studio.engine.core.errors import FormatError
from studio.engine.formats.limits import Limits
from studio.engine.formats.npy import load_npy, npy_bytes, save_npy
from studio.engine.formats.npz import load_npz, save_npz

if TYPE_CHECKING:
    from pathlib import Path

LIMITS = Limits()
TYPES = ["?", "u1", "i1", "<i2", ">u2", "f2", "i4", "<u4", "f4", ">f4", "<f8", ">f8", "i8", ">u8"]
arrays = hnp.arrays(
    st.sampled_from(TYPES).map(np.dtype),
    hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
)


def same(left: np.ndarray, right: np.ndarray) -> bool:
    native = right.astype(right.dtype.newbyteorder("="))
    return (
        left.dtype == native.dtype
        and left.dtype.isnative
        and left.shape == native.shape
        and left.tobytes() == native.tobytes()
    )


def npy(array: np.ndarray, **options) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, **options)
    return file.getvalue()


def with_header(header: str | bytes, data: bytes = b"\0" * 8, version: int = 1) -> bytes:
    text = header.encode("latin-1") if isinstance(header, str) else header
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + data


def described(descr: str = "'<f4'", shape: str = "(2,)", data: bytes = b"\0" * 8) -> bytes:
    return with_header(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n", data)


@pytest.mark.slow
@given(arrays, st.booleans(), st.sampled_from([(1, 0), (2, 0), (3, 0), None]))
def test_npy_files_of_numpy_load_as_numpy_loads_them(array, fortran: bool, version) -> None:
    if fortran:
        array = np.asfortranarray(array)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # NumPy warns that 2.0 and 3.0 are rare.
        data = npy(array, version=version)
    assert same(load_npy(data), array)


@given(arrays)
@pytest.mark.slow
def test_npy_files_of_ours_load_in_numpy(array) -> None:
    judge = np.load(io.BytesIO(npy_bytes(array, "x")))
    assert (judge.dtype, judge.shape) == (array.dtype, array.shape)
    assert judge.tobytes() == array.tobytes()


@pytest.mark.slow
@given(st.dictionaries(st.from_regex(r"[a-z_é]{1,4}(/[a-z]{1,4})?", fullmatch=True), arrays))
def test_npz_round_trips_both_ways(tensors) -> None:
    stored, packed = io.BytesIO(), io.BytesIO()
    np.savez(stored, **tensors)
    np.savez_compressed(packed, **tensors)
    for data in (stored.getvalue(), packed.getvalue()):
        loaded = load_npz(data)
        assert list(loaded) == list(tensors)
        assert all(same(loaded[name], tensors[name]) for name in tensors)


@pytest.mark.parametrize("compress", [False, True])
def test_saved_npz_opens_in_numpy_and_is_the_same_every_time(tmp_path: Path, compress) -> None:
    tensors = {"conv1/kernel": np.arange(300.0).reshape(3, 100), "b": np.zeros((), np.int32)}
    save_npz(tmp_path / "a.npz", tensors, compress=compress)
    save_npz(tmp_path / "b.npz", tensors, compress=compress)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz") as judge:
        assert all(same(judge[name], tensors[name]) for name in tensors)
    loaded = load_npz(tmp_path / "a.npz")
    assert all(same(loaded[name], tensors[name]) for name in tensors)
    save_npy(tmp_path / "a.npy", tensors["b"])
    assert np.load(tmp_path / "a.npy") == 0


def test_loaded_arrays_can_be_written() -> None:
    for array in (load_npy(npy(np.zeros(3))), load_npy(npy(np.zeros(3, ">f4")))):
        array[0] = 1
        assert array.tolist() == [1, 0, 0]


DEEP = "(" * 3000 + ")" * 3000
HOSTILE_NPY = {
    "empty": (b"", "not a npy file"),
    "text": (b"a,b,c\n1,2,3\n", "not a npy file"),
    "version 9": (b"\x93NUMPY\x09\0" + b"\0" * 80, "unknown npy version"),
    "object": (npy(np.array([{}], object), allow_pickle=True), "never loaded"),
    "object as |O": (described("'|O'"), "never loaded"),
    "structured": (npy(np.zeros(2, [("a", "f4")])), "structured"),
    "complex": (npy(np.zeros(1, "c8")), "unsupported dtype"),
    "text array": (npy(np.array(["ab"])), "unsupported dtype"),
    "dates": (npy(np.zeros(1, "M8[s]")), "unsupported dtype"),
    "void": (described("'|V8'", "(1,)"), "unsupported dtype"),
    "long double": (described("'<f16'", "(1,)"), "unsupported dtype"),
    "expression dtype": (described("'f4,f4'", "(1,)"), "unsupported dtype"),
    "header bomb": (with_header(" " * 60_000), "header is too long"),
    "header of 4 GB": (b"\x93NUMPY\2\0\xff\xff\xff\xff{", "header is too long"),
    "header cut": (b"\x93NUMPY\1\0\x76\0{'descr'", "cut off"),
    "length cut": (b"\x93NUMPY\1\0", "cut off"),
    "deep literal": (described(shape=DEEP[:1000] + DEEP[-1000:]), "damaged"),
    "deep descr": (described("[" * 1500), "structured"),
    "code": (described(shape="(__import__('os').getpid(),)"), "damaged"),
    "sum": (described(shape="(1+1,)"), "damaged"),
    "float size": (described(shape="(2.0,)"), "damaged"),
    "negative": (described(shape="(-2,)"), "damaged"),
    "two commas": (described(shape="(2,,)"), "damaged"),
    "no tuple": (described(shape="2"), "damaged"),
    "digits of other scripts": (with_header(b"{'descr': '<f4', 'fortran_order': False, "
                                            b"'shape': (\xb2,), }"), "damaged"),
    "huge size": (described(shape=f"({10**19},)"), "damaged"),
    "overflow": (described(shape=f"({2**62}, 4)"), "does not match"),
    "overflow to 8": (described(shape=f"({2**62 + 2},)"), "does not match"),
    "rank 33": (described(shape="(2," + "1," * 32 + ")"), "at most 32"),
    "short data": (described(data=b"\0" * 7), "does not match"),
    "long data": (described(data=b"\0" * 9), "does not match"),
    "key twice": (with_header("{'descr': '<f4', 'descr': '<f8', 'fortran_order': False, "
                              "'shape': (1,)}"), "damaged"),
    "key missing": (with_header("{'descr': '<f4', 'shape': (2,)}"), "damaged"),
    "key surplus": (with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), "
                                "'x': True}"), "damaged"),
    "wrong types": (with_header("{'descr': True, 'fortran_order': '<f4', 'shape': (2,)}"),
                    "wrong type"),
    "after the brace": (with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} 1"),
                        "damaged"),
    "bool 7": (described("'|b1'", "(1,)", b"\7"), "neither 0 nor 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE_NPY)
def test_hostile_npy_is_refused_alone_and_inside_npz(case: str, tmp_path: Path) -> None:
    data, words = HOSTILE_NPY[case]
    path = tmp_path / "bad.npy"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=words) as caught:
        load_npy(path)
    assert caught.value.who == str(path)
    assert len(str(caught.value)) < 400
    with pytest.raises(FormatError, match=words) as caught:
        load_npz(zipped({"w.npy": data}))
    assert "w.npy" in caught.value.who


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, compress_type=method)
    return file.getvalue()


GOOD = npy(np.arange(6, dtype=np.float32))
ARCHIVE = zipped({"a.npy": GOOD, "b.npy": GOOD})
STORED = zipped({"a.npy": GOOD, "b.npy": GOOD}, zipfile.ZIP_STORED)


def patched(data: bytes, marker: bytes, offset: int, value: bytes) -> bytes:
    """``data`` with bytes replaced at ``offset`` after the last ``marker``."""
    at = data.rindex(marker) + offset
    return data[:at] + value + data[at + len(value) :]


def linked() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        info = zipfile.ZipInfo("a.npy")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    return file.getvalue()


def duplicated() -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("a.npy", GOOD)
            archive.writestr("a.npy", GOOD)
    return file.getvalue()


def overlapping() -> bytes:
    """Two directory entries that share one member's bytes, as in the quine bombs."""
    single = zipped({"a.npy": GOOD}, zipfile.ZIP_STORED)
    at = single.rindex(b"PK\1\2")
    end = single.rindex(b"PK\5\6")
    entry = single[at:end]
    other = entry.replace(b"a.npy", b"b.npy")
    tail = patched(single[end:], b"PK\5\6", 8, struct.pack("<HHI", 2, 2, 2 * len(entry)))
    return single[:at] + entry + other + tail


DIRECTORY, LOCAL, END = b"PK\1\2", b"PK\3\4", b"PK\5\6"
HOSTILE_NPZ = {
    "empty": (b"", "the file is empty"),
    "text": (b"hello", "directory is missing"),
    "npy": (GOOD, "directory is missing"),
    "no end record": (ARCHIVE[: ARCHIVE.rindex(END)], "directory is missing"),
    "cut": (ARCHIVE[:-10], "directory is missing"),
    "first half lost": (ARCHIVE[60:], "must fill the file"),
    "prefixed": (b"#!/bin/sh\n" + ARCHIVE, "must fill the file"),
    "trailing": (ARCHIVE + b"x", "must fill the file"),
    "object member": (zipped({"a.npy": b"x", "b.pkl": b"x"}), "members only"),
    "other member": (zipped({"b.pkl": b"x"}), "members only"),
    "nested zip": (zipped({"inner.zip": ARCHIVE}), "members only"),
    "folder": (zipped({"x/": b""}), "members only"),
    "parent path": (zipped({"../a.npy": GOOD}), "unsafe member name"),
    "inner parent path": (zipped({"x/../../a.npy": GOOD}), "unsafe member name"),
    "absolute path": (zipped({"/etc/a.npy": GOOD}), "unsafe member name"),
    "drive": (zipped({"C:a.npy": GOOD}), "unsafe member name"),
    "backslash": (zipped({"x/a.npy": GOOD}).replace(b"x/a", b"x\\a"), "unsafe member name"),
    "nul": (zipped({"xya.npy": GOOD}).replace(b"xya", b"x\0a"), "unsafe member name"),
    "right to left": (zipped({"x\u202eypn.npy": GOOD}), "unsafe member name"),
    "long name": (zipped({"n" * 600 + ".npy": GOOD}), "unsafe member name"),
    "bad utf-8 name": (zipped({"é.npy": GOOD}).replace("é".encode(), b"\xff\xff"), "UTF-8"),
    "twice": (duplicated(), "occurs twice"),
    "link": (linked(), "link"),
    "lzma": (zipped({"a.npy": GOOD}, zipfile.ZIP_LZMA), "unsupported method"),
    "encrypted": (patched(ARCHIVE, DIRECTORY, 8, b"\1"), "encrypted"),
    "encrypted locally": (patched(ARCHIVE, LOCAL, 6, b"\1"), "contradicts"),
    "other local name": (patched(ARCHIVE, LOCAL, 30, b"c"), "contradicts"),
    "overlap": (overlapping(), "overlap"),
    "bad checksum": (patched(ARCHIVE, DIRECTORY, 16, b"\0\0\0\0"), "checksum"),
    "bad data": (patched(STORED, LOCAL, 30 + 5 + len(GOOD) - 2, b"\xff"), "checksum"),
    "bad packed data": (patched(ARCHIVE, LOCAL, 35, b"\xff\xff\xff"), "packed data is damaged"),
    "size too large": (
        patched(ARCHIVE, DIRECTORY, 24, struct.pack("<I", 4000)), "does not match"),
    "size too small": (
        patched(ARCHIVE, DIRECTORY, 24, struct.pack("<I", len(GOOD) - 4)), "does not match"),
    "stored sizes differ": (patched(STORED, DIRECTORY, 24, b"\1"), "impossible sizes"),
    "zip64 size": (patched(ARCHIVE, DIRECTORY, 24, b"\xff" * 4), "zip64"),
    "start past end": (
        patched(ARCHIVE, DIRECTORY, 42, struct.pack("<I", 10**6)), "foreign data|overlap"),
    "more entries": (patched(ARCHIVE, END, 8, struct.pack("<HH", 3, 3)), "directory is damaged"),
    "fewer entries": (patched(ARCHIVE, END, 8, struct.pack("<HH", 1, 1)), "surplus entries"),
    "many disks": (patched(ARCHIVE, END, 4, b"\1"), "multi-volume"),
    "65535 entries": (patched(ARCHIVE, END, 8, b"\xff" * 4), "too many members"),
    "long directory": (
        b"\0" * 9000 + END + struct.pack("<HHHHIIH", 0, 0, 1, 1, 9000, 0, 0), "too long"),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE_NPZ)
def test_hostile_archives_are_refused(case: str, tmp_path: Path) -> None:
    data, words = HOSTILE_NPZ[case]
    path = tmp_path / "bad.npz"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=words) as caught:
        load_npz(path)
    assert str(path) in caught.value.who
    assert len(str(caught.value)) < 400


def test_prefixed_archives_are_refused_even_with_mended_offsets() -> None:
    file = io.BytesIO(b"MZ-program")
    file.seek(0, io.SEEK_END)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("a.npy", GOOD)
    assert zipfile.ZipFile(io.BytesIO(file.getvalue())).namelist() == ["a.npy"]
    with pytest.raises(FormatError, match="foreign data"):
        load_npz(file.getvalue())


def test_members_of_streaming_writers_load() -> None:
    class Stream(io.RawIOBase):
        def __init__(self) -> None:
            self.data = bytearray()

        def writable(self) -> bool:
            return True

        def write(self, data) -> int:
            self.data += data
            return len(data)

    stream = Stream()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", GOOD)
        archive.writestr("b.npy", GOOD)
    assert sorted(load_npz(bytes(stream.data))) == ["a", "b"]


def test_zero_bombs_are_refused_by_ratio_and_by_total() -> None:
    bomb = zipped({"a.npy": npy(np.zeros(4 << 20, np.uint8))})
    assert len(bomb) < 10_000
    with pytest.raises(FormatError, match="at most 200 times"):
        load_npz(bomb, replace(LIMITS, ratio_floor=1 << 20))
    with pytest.raises(FormatError, match="unpacks to too much"):
        load_npz(bomb, replace(LIMITS, total_bytes=1 << 20))
    with pytest.raises(FormatError, match="too many members"):
        load_npz(ARCHIVE, replace(LIMITS, members=1))
    with pytest.raises(FormatError, match="array is too large"):
        load_npy(GOOD, replace(LIMITS, total_bytes=23))
    assert load_npz(bomb)["a"].size == 4 << 20


def test_a_member_that_unpacks_to_more_than_stated_is_not_unpacked() -> None:
    """The directory says 1 float, the packed stream holds 4 MiB more after it."""
    small = npy(np.zeros(1, np.float32))
    whole = zipped({"a.npy": small + b"\0" * (4 << 20)})
    lying = patched(whole, DIRECTORY, 24, struct.pack("<I", len(small)))
    lying = patched(lying, DIRECTORY, 16, struct.pack("<I", zlib.crc32(small)))
    with pytest.raises(FormatError, match="more data than stated"):
        load_npz(lying)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("../x", np.zeros(1)),
        ("a\\b", np.zeros(1)),
        ("n" * 600, np.zeros(1)),
        ("x", np.zeros(1, "c8")),
        ("x", np.array([None])),
    ],
)
def test_what_would_not_load_is_not_written(tmp_path: Path, name: str, array) -> None:
    with pytest.raises(FormatError):
        save_npz(tmp_path / "x.npz", {name: array})
    assert list(tmp_path.iterdir()) == []
