"""Bounded, exact reading from a file or from bytes in memory."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from studio.engine.formats.limits import Limits

Array: TypeAlias = npt.NDArray[np.generic]
FileOrBytes: TypeAlias = Path | str | bytes

_CHUNK = 1 << 20


class Reader(Protocol):
    """What array decoders read from: a stated number of bytes, each read once, in sequence."""

    who: str
    remaining: int

    def readinto(self, target: memoryview) -> None:
        """Fill ``target``; raises FormatError if fewer bytes remain or can be had."""

    def read(self, count: int) -> bytes:
        """The next ``count`` bytes; raises FormatError as `readinto` does."""


class ByteSource:
    """An open file (or bytes) of known size, read without ever passing its end."""

    def __init__(self, file: BinaryIO, size: int, who: str) -> None:
        self.file = file
        self.size = size
        self.who = who
        self.remaining = size

    def seek(self, position: int) -> None:
        """Go on reading at ``position``."""
        self.file.seek(position)
        self.remaining = self.size - position

    def readinto(self, target: memoryview) -> None:
        """Fill ``target``; raises FormatError where the file ends before."""
        view = target.cast("B")
        if len(view) > self.remaining:
            raise FormatError(
                f"the file is cut off: expected {len(view)} more bytes, got {self.remaining}",
                who=self.who,
            )
        done = 0
        while done < len(view):
            count = self.file.readinto(view[done : done + _CHUNK])  # type: ignore[attr-defined]
            if not count:
                raise FormatError("the file shrank while it was read", who=self.who)
            done += count
        self.remaining -= done

    def read(self, count: int) -> bytes:
        """The next ``count`` bytes; raises FormatError where the file ends before."""
        if not 0 <= count <= self.remaining:
            raise FormatError(
                f"the file is cut off: expected {count} more bytes, got {self.remaining}",
                who=self.who,
            )
        data = bytearray(count)
        if count:
            self.readinto(memoryview(data))
        return bytes(data)


@contextmanager
def open_source(source: FileOrBytes, limits: Limits, kind: str) -> Iterator[ByteSource]:
    """Open a file, or bytes that were a file, for a loader of files of this ``kind``.

    Raises FormatError if it is missing, not a regular file, unreadable, or above the size cap.
    """
    if isinstance(source, bytes):
        who = f"{kind} data"
        _check_size(len(source), limits, who)
        yield ByteSource(BytesIO(source), len(source), who)
        return
    who = str(source)
    try:
        # A pipe would block in open(); asking first means only regular files are opened.
        if not stat.S_ISREG(Path(source).stat().st_mode):
            raise FormatError(f"a {kind} file must be a regular file", who=who)
        with Path(source).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            _check_size(size, limits, who)
            yield ByteSource(file, size, who)
    except FileNotFoundError as error:
        raise FormatError("no such file", who=who) from error
    except OSError as error:
        raise FormatError(f"cannot read the file: {error.strerror or error}", who=who) from error
    except ValueError as error:
        if "null" not in str(error):
            raise
        raise FormatError("a file name cannot hold a NUL character", who=repr(who)) from error


def _check_size(size: int, limits: Limits, who: str) -> None:
    if size > limits.file_bytes:
        raise FormatError(
            f"the file is too large: expected at most {limits.file_bytes} bytes, got {size}",
            who=who,
        )


def read_array(reader: Reader, dtype: np.dtype[np.generic], count: int, label: str) -> Array:
    """The next ``count`` elements as a flat array in native byte order.

    ``dtype`` is the type in the file. The caller has checked the byte count against its caps; this
    checks it against what remains before it allocates. Raises FormatError for bools other than 0
    and 1, which NumPy would carry around unnoticed.
    """
    if count * dtype.itemsize > reader.remaining:
        raise FormatError(
            f"{label} is cut off: expected {count * dtype.itemsize} bytes, got {reader.remaining}",
            who=reader.who,
        )
    raw = np.empty(count * dtype.itemsize, dtype=np.uint8)
    if raw.size:
        reader.readinto(raw.data)
    if dtype.kind == "b" and raw.size and raw.max() > 1:
        raise FormatError(f"{label} holds a bool that is neither 0 nor 1", who=reader.who)
    array = raw.view(dtype)
    if array.dtype.isnative:
        return array
    return array.byteswap(inplace=True).view(dtype.newbyteorder("="))
