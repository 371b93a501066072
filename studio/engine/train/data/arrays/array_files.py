"""Arrays of the user's .npy and .npz files, by the loaders of `formats` under the caps of data."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from studio.engine.core.errors import EmptyDataError
from studio.engine.formats import npy
from studio.engine.formats.byte_source import ByteSource
from studio.engine.formats.npy import NpyHeader
from studio.engine.formats.npz import ArrayArchive
from studio.engine.train.data.normalization import Array
from studio.engine.train.data.source_files import DEFAULT_LIMITS, DataLimits, open_regular


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


class DataArchive:
    """An open ``.npz`` archive of the user's data: its keys, and arrays read one by one."""

    def __init__(self, archive: ArrayArchive, who: str) -> None:
        self._archive = archive
        self._who = who

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of the arrays, in the order of the archive."""
        return self._archive.keys

    def read(self, key: str) -> Array:
        """The array called ``key``; FormatError if missing or damaged, DataError if empty."""
        return _usable(self._archive.read(key), f"{self._who}/{key}")

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
        yield DataArchive(ArrayArchive(source, limits.of_arrays()), path.name)


@contextmanager
def _opened(path: Path, limits: DataLimits) -> Iterator[ByteSource]:
    file, size = open_regular(path, limits.file_bytes)
    with file:
        yield ByteSource(file, size, path.name)


def _usable(array: Array, who: str) -> Array:
    """The array in C order; DataError if nothing is in it."""
    if array.size == 0:
        raise EmptyDataError(f"the array is empty: its shape is {list(array.shape)}", who=who)
    return np.asarray(array, order="C")
