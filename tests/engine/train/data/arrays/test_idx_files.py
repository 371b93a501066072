"""IDX files: the layout of MNIST, plain and gzipped, and refusals by name."""

import gzip
import struct
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.errors import DataError, FormatError, StudioError
from studio.engine.train.data.arrays.idx import load_idx, read_idx
from studio.engine.train.data.source_files import DEFAULT_LIMITS

CODES = {"u1": 8, "i1": 9, "i2": 11, "i4": 12, "f4": 13, "f8": 14}


def idx(array: np.ndarray, code: int | None = None) -> bytes:
    kind = code if code is not None else CODES[array.dtype.str[1:]]
    head = bytes([0, 0, kind, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return head + array.astype(array.dtype.newbyteorder(">")).tobytes()


IMAGES = np.random.default_rng(0).integers(0, 256, (6, 4, 5)).astype(np.uint8)
LABELS = np.array([0, 1, 2, 1, 0, 2], np.uint8)


@pytest.mark.parametrize("dtype", list(CODES))
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_every_type_reads_exactly(tmp_path: Path, dtype: str, pack: object) -> None:
    values = np.arange(-12, 12).reshape(2, 3, 4).astype(dtype)
    (tmp_path / "a.idx").write_bytes(pack(idx(values)))
    found = read_idx(tmp_path / "a.idx")
    assert found.dtype == values.dtype
    assert (found == values).all()


def test_mnist_bytes_by_hand(tmp_path: Path) -> None:
    content = bytes.fromhex("00000803 00000002 00000001 00000003 0a0b0c 0d0e0f")
    (tmp_path / "a.idx").write_bytes(content)
    assert read_idx(tmp_path / "a.idx").tolist() == [[[10, 11, 12]], [[13, 14, 15]]]


@pytest.mark.parametrize("dot", ["-", "."])
@pytest.mark.parametrize("packed", [False, True])
def test_folder_with_the_usual_names(tmp_path: Path, dot: str, packed: bool) -> None:
    suffix, pack = (".gz", gzip.compress) if packed else ("", bytes)
    for part, count in (("train", 6), ("t10k", 3)):
        images, labels = idx(IMAGES[:count]), idx(LABELS[:count])
        (tmp_path / f"{part}-images{dot}idx3-ubyte{suffix}").write_bytes(pack(images))
        (tmp_path / f"{part}-labels{dot}idx1-ubyte{suffix}").write_bytes(pack(labels))
    data = load_idx(tmp_path)
    assert (data.x[..., 0] == IMAGES).all()
    assert data.y.tolist() == LABELS.tolist()
    assert data.value_range == (0.0, 255.0)
    assert data.held_out is not None
    assert len(data.held_out) == 3
    one = load_idx(tmp_path / f"train-images{dot}idx3-ubyte{suffix}", class_names=("a", "b", "c"))
    assert one.class_names == ("a", "b", "c")
    assert one.held_out is None


GOOD = idx(LABELS)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"\0\0\x08", "not an IDX file"),
        (b"\1" + GOOD[1:], "not an IDX file"),
        (b"\0\0\x0a\x01" + GOOD[4:], "not an IDX file"),
        (b"\0\0\x08\0", "1 to 8 dimensions, got 0"),
        (b"\0\0\x08\xff" + bytes(2000), "got 255"),
        (GOOD[:6], "header is cut short"),
        (GOOD[:-1], "data end early.*needs 6 bytes, got 5"),
        (GOOD + b"x", "too long"),
        (b"\0\0\x08\x01\0\0\0\0", "empty"),
        (b"\0\0\x08\x02" + b"\xff" * 8, "too large.*EiB"),
        (b"\0\0\x08\x01\x80\0\0\0", "data end early"),
        (b"\x1f\x8b", "gzip stream is damaged"),
        (b"\x1f\x8bhello world", "gzip stream is damaged"),
        (gzip.compress(GOOD, mtime=0)[:-9], "gzip stream is damaged"),
        (gzip.compress(GOOD, mtime=0)[:-6] + bytes(6), "gzip stream is damaged"),
        (gzip.compress(GOOD[:-1], mtime=0), "data end early"),
        (gzip.compress(b"", mtime=0), "not an IDX file"),
    ],
)
def test_damaged_file_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.idx").write_bytes(content)
    with pytest.raises(StudioError, match=message) as caught:
        read_idx(tmp_path / "a.idx")
    assert caught.value.who == "a.idx"


@pytest.mark.slow
def test_gzip_bomb_is_read_no_further_than_it_declares(tmp_path: Path) -> None:
    (tmp_path / "a.idx").write_bytes(gzip.compress(GOOD + bytes(80 << 20)))
    tracemalloc.start()
    with pytest.raises(FormatError, match="too long"):
        read_idx(tmp_path / "a.idx")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


def test_declaration_no_gzip_stream_could_keep_is_refused(tmp_path: Path) -> None:
    declared = b"\0\0\x08\x01" + struct.pack(">I", 1 << 28)
    (tmp_path / "a.idx").write_bytes(gzip.compress(declared + bytes(1000)))
    tracemalloc.start()
    with pytest.raises(FormatError, match="data end early"):
        read_idx(tmp_path / "a.idx")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


def test_cap_on_declared_size(tmp_path: Path) -> None:
    (tmp_path / "a.idx").write_bytes(idx(IMAGES))
    with pytest.raises(FormatError, match="at most 100 bytes"):
        read_idx(tmp_path / "a.idx", replace(DEFAULT_LIMITS, array_bytes=100))


def test_pairs_that_do_not_fit_are_named(tmp_path: Path) -> None:
    images, labels = tmp_path / "train-images-idx3-ubyte", tmp_path / "train-labels-idx1-ubyte"
    with pytest.raises(DataError, match="expected files like train-images"):
        load_idx(tmp_path)
    images.write_bytes(idx(IMAGES))
    with pytest.raises(DataError, match="no labels file train-labels-idx1-ubyte"):
        load_idx(tmp_path)
    labels.write_bytes(idx(LABELS[:4]))
    with pytest.raises(DataError, match="6 samples and 4 labels"):
        load_idx(tmp_path)
    labels.write_bytes(idx(IMAGES))
    with pytest.raises(DataError, match="one dimension"):
        load_idx(tmp_path)
    (tmp_path / "pics").write_bytes(idx(IMAGES))
    with pytest.raises(DataError, match="cannot be guessed"):
        load_idx(tmp_path / "pics")
