"""IDX files, the format of MNIST and its relatives, plain or gzipped, as data sets."""

import gzip
import struct
import zlib
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from studio.engine.core.dtypes import NumpyDType
from studio.engine.core.errors import DataError, EmptyDataError, FormatError
from studio.engine.train.data.arrays.numpy_files import as_samples
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.data.labels import check_counts, labels_from_array
from studio.engine.train.data.normalization import Array
from studio.engine.train.data.source_files import (
    DEFAULT_LIMITS,
    DataLimits,
    fill,
    open_regular,
    reason_of,
    size_text,
)

_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_GZIP = b"\x1f\x8b"
_MAX_RANK = 8
_DEFLATE_RATIO = 1032
"""No deflate stream expands further than this, so a longer declaration cannot be true."""


@dataclass(frozen=True, slots=True)
class _Header:
    dtype: NumpyDType
    shape: tuple[int, ...]
    header_bytes: int

    @property
    def data_bytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize


def read_idx(path: Path, limits: DataLimits = DEFAULT_LIMITS) -> Array:
    """The array of an IDX file in native byte order; gzip is recognised by content.

    Layout: two zero bytes, a type byte, the number of dimensions, each dimension as a big-endian
    32-bit number, then the elements, big-endian, in C order.

    Raises:
        DataError: the file cannot be opened.
        FormatError: it is damaged, hostile, or shorter or longer than it declares.
    """
    stream, size = open_regular(path, limits.file_bytes)
    with stream:
        is_gzip = stream.read(2) == _GZIP
        stream.seek(0)
        if not is_gzip:
            return _read(stream, size, path.name, limits)
        try:
            with gzip.GzipFile(fileobj=stream) as unpacked:
                plain = cast(BinaryIO, unpacked)
                return _read(plain, size * _DEFLATE_RATIO, path.name, limits)
        except (gzip.BadGzipFile, zlib.error, EOFError, struct.error) as error:
            raise FormatError(
                f"the gzip stream is damaged: {reason_of(error)}", who=path.name
            ) from None


def _read(stream: BinaryIO, available: int, who: str, limits: DataLimits) -> Array:
    """Read an array of which at most ``available`` bytes can be there, header included."""
    header = _read_header(stream, who)
    declared = header.data_bytes
    if declared > limits.array_bytes:
        raise FormatError(
            f"the array is too large: at most {size_text(limits.array_bytes)}, its header declares "
            f"{list(header.shape)} ({size_text(declared)})",
            who=who,
        )

    def short(got: int) -> FormatError:
        return FormatError(
            f"the data end early: {list(header.shape)} needs {declared} bytes, got {got}", who=who
        )

    if declared + header.header_bytes > available:
        raise short(max(0, available - header.header_bytes))
    values = np.empty(header.shape, header.dtype)
    fill(values, stream, short)
    if stream.read(1):
        raise FormatError(
            f"the file is too long: there is more than the {declared} bytes that "
            f"{list(header.shape)} needs",
            who=who,
        )
    return values.astype(header.dtype.newbyteorder("="), copy=False)


def _read_header(stream: BinaryIO, who: str) -> _Header:
    start = stream.read(4)
    if len(start) < 4 or start[:2] != b"\0\0" or start[2] not in _TYPES:
        raise FormatError(
            "this is not an IDX file: expected two zero bytes and a type, got "
            f"{start.hex(' ') or 'nothing'}",
            who=who,
        )
    rank = start[3]
    if not 1 <= rank <= _MAX_RANK:
        raise FormatError(f"expected 1 to {_MAX_RANK} dimensions, got {rank}", who=who)
    sizes = stream.read(4 * rank)
    if len(sizes) < 4 * rank:
        raise FormatError("the header is cut short", who=who)
    shape = struct.unpack(f">{rank}I", sizes)
    if 0 in shape:
        raise EmptyDataError(f"the array is empty: its shape is {list(shape)}", who=who)
    return _Header(np.dtype(_TYPES[start[2]]), shape, 4 + 4 * rank)


def load_idx(
    path: Path,
    labels_path: Path | None = None,
    class_names: tuple[str, ...] = (),
    limits: DataLimits = DEFAULT_LIMITS,
) -> Dataset:
    """A pair of IDX files as a data set.

    Args:
        path: the images file; or a folder with files named as MNIST names them (plain or ``.gz``),
            where ``t10k-…`` or ``test-…`` becomes the held-out part.
        labels_path: the labels file, or None to find it beside the images by its name.
        class_names: names of the classes in order, or empty for the numbers.
        limits: caps.

    Raises:
        DataError: a file is missing, or the two do not fit together.
        FormatError: a file is damaged or hostile.
    """
    if not path.is_dir():
        return _load_pair(path, labels_path or _labels_beside(path), class_names, limits)
    images = _find_images(path, ("train-images",))
    if images is None:
        raise DataError(
            "expected files like train-images-idx3-ubyte and train-labels-idx1-ubyte in the folder",
            who=path.name,
        )
    train = _load_pair(images, _labels_beside(images), class_names, limits)
    test = _find_images(path, ("t10k-images", "test-images"))
    if test is None:
        return train
    held_out = _load_pair(test, _labels_beside(test), train.class_names, limits)
    return replace(train, held_out=held_out)


def _load_pair(
    images: Path, labels: Path, class_names: tuple[str, ...], limits: DataLimits
) -> Dataset:
    x, kind = as_samples(read_idx(images, limits), images.name)
    raw = read_idx(labels, limits)
    if raw.ndim != 1:
        raise DataError(
            f"labels must have one dimension: got {list(raw.shape)}",
            who=labels.name,
            hint="is this the images file?",
        )
    found = labels_from_array(raw, labels.name, "classes", class_names, limits)
    check_counts(x, found, f"{images.name}, {labels.name}")
    return Dataset(
        x=x,
        y=found.y,
        name=images.name.split(".")[0],
        kind=kind,
        class_names=found.class_names,
        value_range=(0.0, 255.0) if kind == "images" and x.dtype == np.uint8 else None,
    )


def _find_images(folder: Path, markers: tuple[str, ...]) -> Path | None:
    """The first file, by name, that has one of the markers in it."""
    try:
        names = sorted(entry.name for entry in folder.iterdir())
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", who=folder.name) from None
    matching = [name for name in names if any(marker in name for marker in markers)]
    return folder / matching[0] if matching else None


def _labels_beside(images: Path) -> Path:
    """The labels file that belongs to an images file by its name, plain or gzipped."""
    if "images" not in images.name:
        raise DataError(
            "the labels file cannot be guessed from this name", who=images.name, hint="set 'labels'"
        )
    name = images.name.replace("images", "labels").replace("idx3", "idx1")
    plain = name.removesuffix(".gz")
    for candidate in (name, plain, plain + ".gz"):
        if images.with_name(candidate).is_file():
            return images.with_name(candidate)
    raise DataError(f"there is no labels file {name} in its folder", who=images.name)
