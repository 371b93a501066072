"""Bounded, exact reading from a file or from bytes in memory."""

from __future__ import annotations

import os
import stat
from abc import ABC, abstractmethod
from contextlib import contextmanager
from io import BytesIO
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import FormatError, StudioError, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from studio.engine.formats.limits import Limits

Array: TypeAlias = npt.NDArray[np.generic]
FileOrBytes: TypeAlias = Path | str | bytes

_CHUNK = 1 << 20


class Reader(ABC):
    """What array decoders read from: a stated number of bytes, each read once, in sequence.

    Attributes:
        who: the file, for errors.
        remaining: bytes not read yet.
    """

    who: str
    remaining: int

    @abstractmethod
    def readinto(self, target: memoryview) -> None:
        """Fill ``target``; raises FormatError if fewer bytes remain or can be had."""

    def read(self, count: int) -> bytes:
        """The next ``count`` bytes; raises FormatError as `readinto` does."""
        self._expect(count)
        data = bytearray(count)
        if count:
            self.readinto(memoryview(data))
        return bytes(data)

    def _expect(self, count: int) -> None:
        """Raise FormatError unless ``count`` bytes remain."""
        if not 0 <= count <= self.remaining:
            raise FormatError(
                f"the data is cut off: expected {count} more bytes, got {self.remaining}",
                who=self.who,
            )


class ByteSource(Reader):
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
        self._expect(len(view))
        done = 0
        while done < len(view):
            count = self.file.readinto(view[done : done + _CHUNK])  # type: ignore[attr-defined]
            if not count:
                raise FormatError("the file shrank while it was read", who=self.who)
            done += count
        self.remaining -= done


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
    file, size = open_regular(Path(source), limits.file_bytes, who, kind)
    with file:
        try:
            yield ByteSource(file, size, who)
        except OSError as error:
            reason = error.strerror or error
            raise FormatError(f"cannot read the file: {reason}", who=who) from error


def open_regular(
    path: Path, cap: int, who: str, kind: str, refuse: type[StudioError] = FormatError
) -> tuple[BinaryIO, int]:
    """A file of some ``kind`` opened for reading, and its size in bytes; the caller closes it.

    Raises ``refuse`` if it is missing, not a regular file (a folder, a device, a pipe), unreadable,
    or larger than ``cap`` bytes.
    """
    try:
        # A pipe would block in open(); asking first means only regular files are opened.
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            found = "a folder" if stat.S_ISDIR(mode) else "a device or a pipe"
            raise refuse(f"a {kind} file must be a regular file, got {found}", who=who)
        file = path.open("rb")
    except FileNotFoundError:
        what = "there is no such file" if str(path) == who else f"there is no file {path}"
        raise refuse(what, who=who) from None
    except OSError as error:
        raise refuse(f"cannot read the file: {error.strerror or error}", who=who) from error
    except ValueError as error:
        if "null" not in str(error):
            raise
        raise refuse("a file name cannot hold a NUL character", who=repr(who)) from error
    size = os.fstat(file.fileno()).st_size
    if size > cap:
        file.close()
        raise refuse(f"the file is too large: expected at most {cap} bytes, got {size}", who=who)
    return file, size


def read_lines(path: Path | str, kind: str, limits: Limits) -> Iterator[tuple[bytes, bool]]:
    """The lines of a file without their breaks, one at a time, and whether each had a break.

    Raises FormatError if the file is missing, unreadable, no regular file, above the cap on files,
    or holds a line above the cap on JSON texts.
    """
    with open_source(path, limits, kind) as opened:
        while line := opened.file.readline(limits.json_bytes + 1):
            if len(line) > limits.json_bytes:
                raise FormatError(
                    f"a line is too long: expected at most {limits.json_bytes} bytes",
                    who=opened.who,
                )
            yield line.removesuffix(b"\n"), line.endswith(b"\n")


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
    and 1 and for text that is not Unicode, which NumPy would carry around unnoticed.
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
    if not array.dtype.isnative:
        array = array.byteswap(inplace=True).view(dtype.newbyteorder("="))
    if dtype.kind == "U" and raw.size and not _is_unicode(raw.view(np.uint32)):
        raise FormatError(f"{label} holds text that is not Unicode", who=reader.who)
    return array


def check_axes(shape: tuple[int, ...], itemsize: int, label: str, who: str, limits: Limits) -> None:
    """FormatError for an array without elements whose other axes no memory could hold.

    It declares no bytes, so no cap on bytes stops it, and NumPy cannot make it.
    """
    if 0 in shape and prod(n for n in shape if n) * itemsize > limits.total_bytes:
        raise FormatError(
            f"{label} has no elements and an impossible shape {quoted(list(shape))}", who=who
        )


def _is_unicode(codes: npt.NDArray[np.uint32]) -> bool:
    """Whether every code is a character: none past the last, no half of a surrogate pair."""
    return not bool(((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes < 0xE000))).any())
