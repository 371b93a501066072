"""What the process that reads HDF5 answers is not trusted: it may have been taken over."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from studio.engine.core.errors import FormatError
from studio.engine.formats import hdf5_reading
from studio.engine.formats.hdf5_reading import read_hdf5
from studio.engine.formats.limits import MIB, Limits
from tests import hostile

LIMITS = Limits(total_bytes=MIB, json_bytes=MIB, tensors=20)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "a.h5"
    target.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(992))
    return target


def good(path: Path) -> dict[str, Any]:
    status = path.stat()
    identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    return {
        "file": [str(each) for each in identity],
        "arrays": [
            {"path": "a", "type": "<f4", "shape": [3, 4], "offset": 100},
            {"path": "b", "type": "bool", "shape": [2], "data": "AAE="},
            {"path": "c", "type": ">i2", "shape": [3], "chunk": [2], "filters": [],
             "chunks": [200, 4, 0, 204, 4, 0]},
            {"path": "d", "type": "bfloat16", "shape": [], "offset": 300},
        ],
        "attributes": {"": {"name": "x", "list": ["a"], "number": 1.5}, "a": {}},
        "groups": ["", "g"],
    }  # fmt: skip


def opened(path: Path, answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    monkeypatch.setattr(hdf5_reading, "ask_child", lambda *_: text)
    with read_hdf5(path, limits=LIMITS) as file:
        for name, array in file.arrays.items():
            assert array.shape == file.described[name].shape
            assert array.dtype == file.described[name].dtype


def test_a_good_answer_is_taken(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(path, good(path), monkeypatch)


ARRAYS: dict[str, tuple[int, dict[str, Any]]] = {
    "behind the end": (0, {"offset": 960}),
    "far behind the end": (0, {"offset": 2**63}),
    "in front of the beginning": (0, {"offset": -1}),
    "larger than the file": (0, {"shape": [300]}),
    "larger than all memory": (0, {"shape": [2**40, 2**20]}),
    "no elements, other axes too long": (0, {"shape": [0, 2**50]}),
    "negative axis": (0, {"shape": [-3, -4]}),
    "axis of another type": (0, {"shape": [3.0, 4]}),
    "bool as axis": (0, {"shape": [True, 4]}),
    "too many axes": (0, {"shape": [1] * 33}),
    "type that would run code": (0, {"type": "|O"}),
    "type of text": (0, {"type": "<U9"}),
    "twice": (0, {"path": "b"}),
    "path that is none": (0, {"path": 3}),
    "no place": (0, {"offset": None}),
    "over another": (0, {"offset": 190}),
    "data too short": (1, {"data": "AA=="}),
    "data too long": (1, {"data": "AAEA"}),
    "no data": (1, {"data": ""}),
    "data in another code": (1, {"data": "!!"}),
    "bools of other bytes": (1, {"data": "AAI="}),
    "chunk of no size": (2, {"chunk": [0]}),
    "chunk with other axes": (2, {"chunk": [2, 2]}),
    "chunk that is a bomb": (2, {"chunk": [2**40], "chunks": [200, 4, 0]}),
    "too few chunks": (2, {"chunks": [200, 4, 0]}),
    "half a chunk": (2, {"chunks": [200, 4, 0, 204]}),
    "chunk behind the end": (2, {"chunks": [200, 4, 0, 998, 4, 0]}),
    "chunk over another": (2, {"chunks": [200, 4, 0, 203, 4, 0]}),
    "chunk with too few bytes": (2, {"chunks": [200, 4, 0, 204, 3, 0]}),
    "unknown filter": (2, {"filters": ["zstd"]}),
    "filter twice": (2, {"filters": ["deflate", "deflate"]}),
    "not packed though it says so": (2, {"filters": ["deflate"]}),
    "wrong checksum": (2, {"filters": ["fletcher32"], "chunks": [200, 8, 1, 300, 9, 0]}),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_arrays_that_make_no_sense_are_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    index, change = ARRAYS[case]
    answer = good(path)
    answer["arrays"][index] |= change
    with pytest.raises(FormatError) as caught:
        opened(path, answer, monkeypatch)
    assert caught.value.who == str(path)


def test_arrays_beyond_the_limits_are_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = good(path)
    many["arrays"] = [
        {"path": f"x{i}", "type": "<i1", "shape": [0], "offset": 0} for i in range(21)
    ]
    large = good(path)
    large["arrays"] = [
        {"path": "x", "type": "<f4", "shape": [1, 300_000], "chunk": [1, 300_000],
         "filters": ["deflate"], "chunks": [10, 900, 0]}
    ]  # fmt: skip
    for answer in (many, large):
        with pytest.raises(FormatError):
            opened(path, answer, monkeypatch)


def test_a_file_that_changed_meanwhile_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = good(path)
    os.utime(path, ns=(1, 1))
    with pytest.raises(FormatError, match="the file was changed while it was read"):
        opened(path, answer, monkeypatch)


@pytest.mark.slow
def test_wild_answers(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = good(path)
    answer["arrays"] = answer["arrays"][1:3]
    tried = hostile.refusals(lambda text: opened(path, text, monkeypatch), hostile.texts(answer))
    assert tried > 500
