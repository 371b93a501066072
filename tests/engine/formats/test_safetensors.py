"""safetensors: judged by the reference library, and every hostile file refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
import safetensors.numpy as judge
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from studio.engine.core.errors import FormatError
from studio.engine.formats import safetensors
from studio.engine.formats.limits import Limits

if TYPE_CHECKING:
    from pathlib import Path

LIMITS = Limits()
TYPES = ["bool", "u1", "i1", "i2", "u2", "f2", "i4", "u4", "f4", "f8", "i8", "u8"]
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8).filter(
    lambda name: name != "__metadata__"
)
arrays = hnp.arrays(
    st.sampled_from(TYPES).map(np.dtype),
    hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
)


def same(left: dict[str, np.ndarray], right: dict[str, np.ndarray]) -> bool:
    return set(left) == set(right) and all(
        left[k].dtype == right[k].dtype
        and left[k].shape == right[k].shape
        and left[k].tobytes() == right[k].tobytes()
        for k in left
    )


@pytest.mark.slow
@settings(deadline=None)
@given(st.dictionaries(names, arrays, max_size=6), st.dictionaries(names, names, max_size=1))
def test_bytes_are_those_of_the_reference_library(tensors, metadata) -> None:
    data = safetensors.to_bytes(tensors, metadata)
    assert data == judge.save(tensors, metadata or None)
    loaded, back = safetensors.load(data)
    assert same(loaded, tensors)
    assert same(judge.load(data), loaded)
    assert back == metadata


def test_files_round_trip_through_both_libraries(tmp_path: Path) -> None:
    tensors = {kind: np.arange(12).reshape(3, 4).astype(kind) for kind in TYPES}
    safetensors.save(tmp_path / "ours", tensors, {"b": "2", "a": "1"})
    assert same(judge.load_file(tmp_path / "ours"), tensors)
    judge.save_file(tensors, tmp_path / "theirs", {"b": "2", "a": "1"})
    loaded, metadata = safetensors.load(tmp_path / "theirs")
    assert same(loaded, tensors)
    assert metadata == {"a": "1", "b": "2"}


def test_any_memory_order_and_byte_order_is_written_right() -> None:
    plain = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    tensors = {"f": np.asfortranarray(plain), "s": plain[:, ::2, ::-1], "b": plain.astype(">f4")}
    loaded, _ = safetensors.load(safetensors.to_bytes(tensors))
    for name, array in tensors.items():
        assert loaded[name].dtype == np.float32
        assert np.array_equal(loaded[name], array)
        assert loaded[name].flags.c_contiguous
        assert loaded[name].flags.writeable


def test_bfloat16_loads_as_the_same_numbers_in_float32() -> None:
    numbers = np.array([1.0, -2.5, 3.1415927, np.inf], np.float32)
    halves = (numbers.view(np.uint32) >> 16).astype("<u2")
    data = built(
        {"x": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]}}, halves.tobytes()
    )
    loaded = safetensors.load(data)[0]["x"]
    assert loaded.tolist() == [[1.0, -2.5], [3.140625, np.inf]]
    assert loaded.dtype == np.float32


def built(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def one(data: bytes = b"\0" * 8, **fields) -> bytes:
    entry = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} | fields
    return built({"x": entry}, data)


def two(first: list[int], second: list[int], data: bytes) -> bytes:
    def entry(offsets: list[int]) -> dict[str, object]:
        return {"dtype": "U8", "shape": [offsets[1] - offsets[0]], "data_offsets": offsets}

    return built({"x": entry(first), "y": entry(second)}, data)


HOSTILE = {
    "empty": (b"", "at least 8 bytes"),
    "short": (b"\1\0\0", "at least 8 bytes"),
    "length past end": ((100).to_bytes(8, "little") + b"{}", "does not fit"),
    "length 2^63": ((1 << 63).to_bytes(8, "little") + b"{}", "does not fit"),
    "length 2^64-1": (b"\xff" * 8 + b"{}", "does not fit"),
    "header over cap": (built(b"{" + b" " * 2000 + b"}"), "does not fit"),
    "text file": (b"hello, this is no tensor file", "does not fit"),
    "bad json": (built(b'{"x": '), "broken JSON"),
    "bad utf-8": (built(b'{"\xff": 1}'), "UTF-8"),
    "array header": (built(b"[1, 2]"), "begin with"),
    "leading space": (built(b" {}"), "begin with"),
    "overlap": (two([0, 5], [4, 8], b"\0" * 8), "overlaps"),
    "same bytes": (two([0, 8], [0, 8], b"\0" * 8), "overlaps"),
    "gap": (two([0, 3], [4, 8], b"\0" * 8), "gap"),
    "gap first": (one(b"\0" * 12, data_offsets=[4, 12]), "gap"),
    "trailing": (one(b"\0" * 9), "does not match the header"),
    "data short": (one(b"\0" * 7), "does not match the header"),
    "no data": (one(b""), "does not match the header"),
    "reversed": (one(data_offsets=[8, 0]), "contradicts"),
    "one offset": (one(data_offsets=[8]), "2 data_offsets"),
    "three offsets": (one(data_offsets=[0, 8, 8]), "2 data_offsets"),
    "shape != bytes": (one(shape=[3]), "contradicts"),
    "product overflow": (one(shape=[1 << 32, 1 << 32, 1 << 2]), "contradicts"),
    "overflow to fit": (one(shape=[(1 << 62) + 2]), "contradicts"),
    "negative size": (one(shape=[-2, -1]), "from 0 up"),
    "negative offset": (one(data_offsets=[-8, 0]), "from 0 up"),
    "bool size": (one(shape=[True, 2]), "from 0 up"),
    "float size": (one(shape=[2.0]), "from 0 up"),
    "text shape": (one(shape="2"), "list of numbers"),
    "rank 33": (one(shape=[2] + [1] * 32), "at most 32 axes"),
    "bad dtype": (one(dtype="F33"), "not supported"),
    "dtype list": (one(dtype=["F32"]), "not supported"),
    "missing field": (built({"x": {"dtype": "F32", "shape": [2]}}, b"\0" * 8), "exactly"),
    "surplus field": (one(extra=1), "exactly"),
    "entry number": (built({"x": 3}), "exactly"),
    "duplicate key": (
        built(b'{"x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"x":{}}'),
        "occurs twice",
    ),
    "metadata number": (built({"__metadata__": {"a": 1}}), "strings only"),
    "metadata list": (built({"__metadata__": ["a"]}), "object of strings"),
    "long name": (built({"n" * 513: {}}), "too long"),
    "bool 2": (one(b"\2\0", dtype="BOOL", data_offsets=[0, 2]), "neither 0 nor 1"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files_are_refused(case: str, tmp_path: Path) -> None:
    data, words = HOSTILE[case]
    limits = replace(LIMITS, header_bytes=1000)
    with pytest.raises(FormatError, match=words) as caught:
        safetensors.load(data, limits)
    assert len(str(caught.value)) < 400
    path = tmp_path / "bad.safetensors"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=words) as caught:
        safetensors.load(path, limits)
    assert caught.value.who == str(path)


@pytest.mark.slow
def test_too_many_tensors_and_too_large_files_are_refused() -> None:
    empty = {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}
    many = built({f"t{i}": empty for i in range(25_000)})
    with pytest.raises(FormatError, match="too many tensors"):
        safetensors.load(many)
    with pytest.raises(FormatError, match="tensors are too large"):
        safetensors.load(one(), replace(LIMITS, total_bytes=7))
    with pytest.raises(FormatError, match="file is too large"):
        safetensors.load(one(), replace(LIMITS, file_bytes=20))


@pytest.mark.parametrize(
    "tensors",
    [
        {"x": np.zeros(2, np.complex64)},
        {"x": np.array(["a"])},
        {"x": np.array([None])},
        {"__metadata__": np.zeros(2)},
        {"\ud800": np.zeros(2)},
    ],
)
def test_what_the_format_cannot_hold_is_not_written(tensors, tmp_path: Path) -> None:
    with pytest.raises(FormatError):
        safetensors.save(tmp_path / "x", tensors)
    assert list(tmp_path.iterdir()) == []
