"""Mutated files never bring anything but a data set or a named refusal, in bounded memory."""

import gzip
import io
import struct
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from studio.engine.core.errors import DataError, FormatError
from studio.engine.train.data.arrays.array_files import map_npy, read_npy
from studio.engine.train.data.arrays.idx import load_idx
from studio.engine.train.data.arrays.numpy_files import load_npz
from studio.engine.train.data.cleaning import SplitRule
from studio.engine.train.data.csv.bad_rows import TableRules
from studio.engine.train.data.csv.table import CsvOptions, load_csv
from studio.engine.train.data.images.folder import load_image_folder
from studio.engine.train.data.input_columns import CategoryOption
from studio.engine.train.data.source_files import DEFAULT_LIMITS

LIMITS = replace(
    DEFAULT_LIMITS,
    array_bytes=1 << 22,
    free_bytes=1 << 22,
    file_bytes=1 << 22,
    image_pixels=1 << 16,
)
PEAK = 24 << 20
"""Bytes a loader may hold under these caps: the array, a converted copy, a bool mask."""

RNG = np.random.default_rng(0)
TOKENS = [
    b"\0",
    b"\xff" * 4,
    b'"',
    b",",
    b"\n",
    b"nan",
    b"1e999",
    b"PK\x05\x06",
    b"-",
    b"\xef\xbb\xbf",
]

Loader = Callable[[Path], object]


def array_bytes(save: Callable[..., None], *args: object, **kwargs: object) -> bytes:
    stream = io.BytesIO()
    save(stream, *args, **kwargs)
    return stream.getvalue()


def image_bytes(kind: str) -> bytes:
    stream = io.BytesIO()
    pixels = RNG.integers(0, 256, (12, 10, 3)).astype(np.uint8)
    Image.fromarray(pixels).save(stream, kind)
    return stream.getvalue()


X = RNG.normal(size=(6, 5)).astype(np.float32)
Y = np.array([0, 1, 2, 0, 1, 2])
IDX_IMAGES = b"\0\0\x08\x03" + struct.pack(">3I", 6, 3, 3) + RNG.bytes(54)
IDX_LABELS = b"\0\0\x08\x01" + struct.pack(">I", 6) + bytes([0, 1, 2, 0, 1, 2])
TABLE = "width,height,kind\n" + "".join(
    f'{a:.3f},{b:.2f},"{c} ""q"" x"\r\n' for a, b, c in zip(X[:, 0], X[:, 1], Y, strict=True)
)


MIXED = "width,town,kind\n" + "".join(
    f"{a:.3f},{'Bern' if c else 'Genève'},{c}\n" for a, c in zip(X[:, 0], Y, strict=True)
)
CLEANED = CsvOptions(
    rules=TableRules(
        "skip",
        {"width": "mean", "town": "most frequent"},
        {"town": CategoryOption("one-hot")},
        SplitRule(0.3),
    )
)


def load_cleaned(path: Path) -> object:
    return load_csv(path, CLEANED, LIMITS)


def load_one_image(path: Path) -> object:
    return load_image_folder(path.parent.parent, limits=LIMITS)


def load_idx_images(path: Path) -> object:
    return load_idx(path, path.parent / "labels", limits=LIMITS)


def load_mapped(path: Path) -> object:
    return np.asarray(map_npy(path, LIMITS)).sum()


SEEDS: dict[str, tuple[bytes, Loader]] = {
    "csv": (TABLE.encode(), lambda path: load_csv(path, limits=LIMITS)),
    "csv cleaned": (MIXED.encode(), load_cleaned),
    "npy": (array_bytes(np.save, X), lambda path: read_npy(path, LIMITS)),
    "npy mapped": (array_bytes(np.save, X), load_mapped),
    "npz": (array_bytes(np.savez, x=X, y=Y), lambda path: load_npz(path, limits=LIMITS)),
    "npz deflated": (
        array_bytes(np.savez_compressed, x=X, y=Y, class_names=np.array(["a", "b", "c"])),
        lambda path: load_npz(path, limits=LIMITS),
    ),
    "idx": (IDX_IMAGES, load_idx_images),
    "idx gzip": (gzip.compress(IDX_IMAGES, mtime=0), load_idx_images),
    "png": (image_bytes("PNG"), load_one_image),
    "jpeg": (image_bytes("JPEG"), load_one_image),
    "bmp": (image_bytes("BMP"), load_one_image),
    "gif": (image_bytes("GIF"), load_one_image),
}


def mutate(seed: bytes, rng: np.random.Generator) -> bytes:
    """One to six random edits: flips, cuts, runs of a byte, moved slices, numbers, tokens."""
    content = bytearray(seed)
    for _ in range(rng.integers(1, 7)):
        if not content:
            break
        at, to = sorted(rng.integers(0, len(content) + 1, 2).tolist())
        head = int(rng.integers(0, min(len(content), 160)))
        match int(rng.integers(0, 8)):
            case 0:
                content[head] ^= 1 << int(rng.integers(0, 8))
            case 1:
                content[int(rng.integers(0, len(content)))] = int(rng.integers(0, 256))
            case 2:
                del content[at:]
            case 3:
                del content[at : min(to, at + 12)]
            case 4:
                content[at:at] = content[at : min(to, at + 64)]
            case 5:
                content[at:at] = TOKENS[int(rng.integers(0, len(TOKENS)))]
            case 6:
                number = int(rng.integers(0, 1 << 32))
                content[head : head + 4] = struct.pack("<I" if number & 1 else ">I", number)
            case _:
                content[at : min(to, at + 40)] = bytes([int(rng.integers(0, 256))]) * 40
    return bytes(content)


def place(folder: Path, name: str) -> Path:
    """Where a file of this kind lies, among the good files it needs."""
    (folder / "labels").write_bytes(IDX_LABELS)
    if name not in ("png", "jpeg", "bmp", "gif"):
        return folder / f"file.{name.split()[0]}"
    for label in ("a", "b"):
        (folder / "pics" / label).mkdir(parents=True)
        (folder / "pics" / label / "good.png").write_bytes(SEEDS["png"][0])
    return folder / "pics" / "a" / f"file.{name}"


def fuzz(folder: Path, name: str, count: int) -> tuple[int, int]:
    """Load ``count`` mutants; how many made a data set, and the peak of memory in bytes."""
    seed, load = SEEDS[name]
    path = place(folder, name)
    path.write_bytes(seed)
    load(path)
    rng = np.random.default_rng(list(name.encode()))
    refusals: list[tuple[str, str]] = []
    tracemalloc.start()
    try:
        for _ in range(count):
            path.write_bytes(mutate(seed, rng))
            try:
                with warnings.catch_warnings():
                    warnings.filterwarnings("ignore", module="PIL")
                    load(path)
            except (DataError, FormatError) as error:
                # Not the error itself: its traceback would keep the loader's arrays.
                refusals.append((error.who, error.message))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    for who, message in refusals:
        assert who
        assert "\n" not in message
        assert len(message) < 600
    return count - len(refusals), peak


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SEEDS))
def test_mutants_are_loaded_or_refused_by_name(tmp_path: Path, name: str) -> None:
    loaded, peak = fuzz(tmp_path, name, 120)
    assert loaded < 120
    assert peak < PEAK


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("name", list(SEEDS))
def test_many_mutants_are_loaded_or_refused_by_name(tmp_path: Path, name: str) -> None:
    loaded, peak = fuzz(tmp_path, name, 4000)
    assert loaded < 4000
    assert peak < PEAK
