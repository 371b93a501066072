"""Arrays of the user's .npy and .npz files, by the loaders of `formats` under the caps of data.

Those that would take more memory than data may stay in their files.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import DataError, EmptyDataError
from studio.engine.core.interruption import go_on
from studio.engine.formats import npy
from studio.engine.formats.byte_source import ByteSource
from studio.engine.formats.npy import NpyHeader
from studio.engine.formats.npz import ArrayArchive
from studio.engine.train.data.array_storage import storage_type, to_storage
from studio.engine.train.data.normalization import Array
from studio.engine.train.data.source_files import DEFAULT_LIMITS, DataLimits, open_regular
from studio.engine.train.data.stored_rows import Indices, OpenFile, StoredRows, read_scattered

_BLOCK_BYTES = 1 << 24
"""About how much is read at a time where all samples are gone through."""


def read_npy(path: Path, limits: DataLimits = DEFAULT_LIMITS) -> Array:
    """The array of a ``.npy`` file in native byte order and C order.

    Raises:
        DataError: the file cannot be opened, or the array is empty.
        FormatError: it is damaged, hostile, or shorter or longer than its header declares.
    """
    with _opened(path, limits) as source:
        return _usable(npy.read_npy(source, limits.of_arrays()), path.name)


def map_npy(path: Path, limits: DataLimits = DEFAULT_LIMITS) -> Array:
    """The array of a ``.npy`` file mapped read-only, for data larger than memory.

    Raises:
        DataError: the file cannot be opened.
        FormatError: as `read_npy`; also for an empty array, text, or Fortran order, whose samples
            are scattered.
    """
    with _opened(path, limits) as source:
        return npy.map_npy(source, limits.of_arrays())


def open_npy(path: Path, limits: DataLimits = DEFAULT_LIMITS) -> Array | FileRows:
    """Samples of a ``.npy`` file: as `read_npy`, or left in it where memory is too small for them.

    Fortran order scatters the numbers of a sample, so such a file is read whole.

    Raises:
        DataError: the file cannot be opened, or the array is empty.
        FormatError: as `read_npy`.
    """
    with _opened(path, limits, limits.stored_bytes) as source:
        header = npy.read_header(source, limits.of_arrays())
        if _stays_in_file(header, limits):
            begin = source.size - header.data_bytes
            return FileRows(OpenFile(path, path.name), header, begin, limits.memory_bytes)
    return read_npy(path, limits)


def _stays_in_file(header: NpyHeader, limits: DataLimits) -> bool:
    if header.fortran or not header.shape or header.dtype.kind not in "biuf":
        return False
    return prod(header.shape) * storage_type(header.dtype).itemsize > limits.memory_bytes


class FileRows(StoredRows):
    """Samples that stay in a ``.npy`` file, or in an ``.npz`` archive that does not pack them.

    Args:
        file: where they lie.
        header: how they lie there, in C order.
        begin: byte at which the first begins.
        budget: bytes of memory that the data set may take.
        sample: shape of one sample where it has another than in the file.
        chosen: which of the samples, where not all.
    """

    def __init__(
        self, file: OpenFile, header: NpyHeader, begin: int, budget: int,
        sample: tuple[int, ...] | None = None, chosen: Indices | None = None,
    ) -> None:  # fmt: skip
        sample = header.shape[1:] if sample is None else sample
        super().__init__((header.shape[0], *sample), storage_type(header.dtype), budget, chosen)
        self._file = file
        self._header = header
        self._begin = begin

    def with_sample(self, shape: tuple[int, ...]) -> FileRows:
        """The same numbers with another shape of one sample."""
        made = (self._file, self._header, self._begin, self.budget)
        return FileRows(*made, shape, self._chosen)

    def _with(self, chosen: Indices) -> Self:
        made = (self._file, self._header, self._begin, self.budget)
        return type(self)(*made, self.shape[1:], chosen)

    def raw_blocks(self) -> Iterator[Array]:
        """All samples in their order as the file has them, even where they cannot be stored."""
        step = max(1, _BLOCK_BYTES * len(self) // max(1, self.nbytes))
        for begin in range(0, len(self), step):
            go_on()
            yield self._raw(self._places(np.arange(begin, min(begin + step, len(self)))))

    def _read(self, places: npt.NDArray[np.int64]) -> Array:
        return to_storage(self._raw(places), self._file.who, places)

    def _raw(self, places: npt.NDArray[np.int64]) -> Array:
        dtype, who = self._header.dtype, self._file.who
        row_bytes = prod(self._header.shape[1:]) * dtype.itemsize
        raw = read_scattered(self._file, places, self._begin, row_bytes)
        if dtype.kind == "b" and raw.size and raw.max() > 1:
            raise DataError("the array holds a bool that is neither 0 nor 1", who=who)
        values = raw.view(dtype).reshape(len(places), *self.shape[1:])
        return values.astype(dtype.newbyteorder("="), copy=False)


class DataArchive:
    """An open ``.npz`` archive of the user's data: its keys, and arrays read one by one."""

    def __init__(self, archive: ArrayArchive, path: Path, limits: DataLimits) -> None:
        self._archive = archive
        self._path = path
        self._who = path.name
        self._limits = limits

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of the arrays, in the order of the archive."""
        return self._archive.keys

    def read(self, key: str) -> Array:
        """The array called ``key``; FormatError if missing or damaged, DataError if empty."""
        return _usable(self._archive.read(key), f"{self._who}/{key}")

    def open(self, key: str) -> Array | FileRows:
        """Samples called ``key``: as `read`, or left in the archive where memory is too small.

        What is packed is read whole.
        """
        header = self._archive.header(key)
        begin = self._archive.stored_at(key) if _stays_in_file(header, self._limits) else None
        if begin is None:
            return self.read(key)
        file = OpenFile(self._path, f"{self._who}/{key}")
        return FileRows(file, header, begin, self._limits.memory_bytes)

    def header(self, key: str) -> NpyHeader:
        """Shape and type of the array called ``key``, without reading its elements."""
        return self._archive.header(key)


@contextmanager
def open_npz(path: Path, limits: DataLimits = DEFAULT_LIMITS) -> Iterator[DataArchive]:
    """Open a ``.npz`` archive for as long as the context lasts.

    Raises:
        DataError: the file cannot be opened.
        FormatError: it is no archive, or is damaged or hostile.
    """
    with _opened(path, limits) as source:
        yield DataArchive(ArrayArchive(source, limits.of_arrays()), path, limits)


@contextmanager
def _opened(path: Path, limits: DataLimits, cap: int = 0) -> Iterator[ByteSource]:
    file, size = open_regular(path, cap or limits.file_bytes)
    with file:
        yield ByteSource(file, size, path.name)


def _usable(array: Array, who: str) -> Array:
    """The array in C order; DataError if nothing is in it."""
    if array.size == 0:
        raise EmptyDataError(f"the array is empty: its shape is {list(array.shape)}", who=who)
    return np.asarray(array, order="C")
