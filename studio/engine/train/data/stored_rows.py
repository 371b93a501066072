"""Samples that stay in their files: like an array, read from the disk as they are asked for."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path
from typing import Self, TypeAlias, overload
from weakref import finalize

import numpy as np
import numpy.typing as npt

from studio.engine.core.dtypes import NumpyDType
from studio.engine.core.errors import DataError
from studio.engine.core.interruption import go_on

Array: TypeAlias = npt.NDArray[np.generic]
Indices: TypeAlias = npt.NDArray[np.int32]


class StoredRows(ABC):
    """Samples [n, …] that stay where they are stored, in the storage type they are read as.

    A number, a slice or an array of indices reads these samples, as NumPy's arrays copy them.
    Nothing here takes all of them at once: there may be more than fits memory.

    Attributes:
        shape: [n, …].
        dtype: element type of what is read.
        budget: bytes of memory that the data set may take, which these samples exceed.
    """

    def __init__(
        self, shape: tuple[int, ...], dtype: NumpyDType, budget: int, chosen: Indices | None = None
    ) -> None:
        self.shape = shape if chosen is None else (len(chosen), *shape[1:])
        self.dtype = dtype
        self.budget = budget
        self._chosen = chosen

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all samples as they would be read."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def size(self) -> int:
        """Elements of all samples."""
        return prod(self.shape)

    @overload
    def __getitem__(self, key: int | np.integer, /) -> Array: ...

    @overload
    def __getitem__(self, key: slice | npt.NDArray[np.integer], /) -> Array: ...

    def __getitem__(self, key: int | np.integer | slice | npt.NDArray[np.integer], /) -> Array:
        """The samples; DataError where they cannot be read, or are not what they were."""
        go_on()
        if isinstance(key, slice):
            return self._read(self._places(np.arange(*key.indices(len(self)))))
        if isinstance(key, np.ndarray):
            return self._read(self._places(key))
        found: Array = self._read(self._places(np.array([range(len(self))[int(key)]])))[0]
        return found

    def subset(self, indices: Indices) -> Self:
        """The samples at ``indices``, in that order; nothing is read."""
        return self._with(self._places(indices).astype(np.int32))

    def _places(self, indices: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
        """Where samples lie among all that are stored."""
        found = indices if self._chosen is None else self._chosen[indices]
        return found.astype(np.int64)

    @abstractmethod
    def _with(self, chosen: Indices) -> Self:
        """The same with other samples chosen, counted among all that are stored."""

    @abstractmethod
    def _read(self, places: npt.NDArray[np.int64]) -> Array:
        """Samples by their places among all that are stored."""


SampleArray: TypeAlias = Array | StoredRows
"""Samples in memory or in their files."""


def chosen_rows(values: SampleArray, indices: Indices) -> SampleArray:
    """The samples at ``indices``: a copy of those in memory, a view of those in their files."""
    return values.subset(indices) if isinstance(values, StoredRows) else values[indices]


def evenly_spaced(values: SampleArray, most: int) -> Array:
    """All samples that are in memory; of those in their files at most so many, evenly spaced."""
    if not isinstance(values, StoredRows):
        return values
    return values[:: max(1, -(-len(values) // most))]


class OpenFile:
    """A file kept open for reading at any place, from any thread.

    It is the file that was opened even where another takes its name. Reading by position, not a
    mapping: a mapped file that is cut short would end the process.

    Args:
        path: the file.
        who: what errors call it.

    Raises:
        DataError: it cannot be opened.
    """

    def __init__(self, path: Path, who: str) -> None:
        self.who = who
        try:
            self._number = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        except OSError as error:
            raise self._unreadable(error) from None
        finalize(self, os.close, self._number)
        self._lock = threading.Lock()
        self._stamp = self._now()

    def require_same(self) -> None:
        """DataError where the file was written to since it was opened."""
        if self._now() != self._stamp:
            raise DataError(
                "the file was changed while it was in use", who=self.who,
                hint="open the data again, and write to a new file under another name",
            )  # fmt: skip

    def read_into(self, target: memoryview, begin: int) -> None:
        """Fill ``target`` with the bytes from ``begin`` on."""
        done = 0
        while done < len(target):
            try:
                count = self._read_some(target[done:], begin + done)
            except OSError as error:
                raise self._unreadable(error) from None
            if not count:
                raise DataError(
                    f"the file was cut short while it was in use: expected {len(target)} bytes "
                    f"from byte {begin} on, got {done}",
                    who=self.who,
                    hint="put the whole file back, and open the data again",
                )
            done += count

    def _read_some(self, target: memoryview, begin: int) -> int:
        if hasattr(os, "preadv"):
            return os.preadv(self._number, [target], begin)
        with self._lock:
            os.lseek(self._number, begin, os.SEEK_SET)
            piece = os.read(self._number, len(target))
        target[: len(piece)] = piece
        return len(piece)

    def _now(self) -> tuple[int, int]:
        status = os.fstat(self._number)
        return status.st_size, status.st_mtime_ns

    def _unreadable(self, error: OSError) -> DataError:
        return DataError(f"the file cannot be read: {error.strerror or error}", who=self.who)


def read_scattered(
    file: OpenFile, places: npt.NDArray[np.int64], begin: int, row_bytes: int
) -> npt.NDArray[np.uint8]:
    """Rows of equal length by their places, [rows, bytes]; neighbours are read at once.

    Args:
        file: where they lie.
        places: which rows, in any order.
        begin: byte at which the first row of the file begins.
        row_bytes: bytes of each.

    Raises:
        DataError: the file cannot be read, or is not what it was.
    """
    order = np.argsort(places, kind="stable")
    ranked = places[order]
    rows = np.empty((len(places), row_bytes), np.uint8)
    flat = rows.reshape(-1).data
    breaks = np.flatnonzero(np.diff(ranked) != 1) + 1
    for first, end in _runs(breaks.tolist(), len(ranked)):
        file.read_into(
            flat[first * row_bytes : end * row_bytes], begin + int(ranked[first]) * row_bytes
        )
    file.require_same()
    if (order[1:] > order[:-1]).all():
        return rows
    found = np.empty_like(rows)
    found[order] = rows
    return found


def _runs(breaks: Sequence[int], count: int) -> Iterator[tuple[int, int]]:
    return zip([0, *breaks], [*breaks, count], strict=True) if count else iter(())
