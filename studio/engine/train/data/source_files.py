"""Opening the user's data files: caps before reading, regular files only, paths kept in bounds."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import BinaryIO, Protocol

import numpy as np

from studio.engine.core.errors import DataError, EmptyDataError, StudioError, quoted
from studio.engine.core.machine_memory import usable_memory
from studio.engine.formats import byte_source
from studio.engine.formats.limits import Limits
from studio.engine.train.data.normalization import Array

_CHUNK = 1 << 20
_TEXT_CHARS = 1024


@dataclass(frozen=True, slots=True)
class DataLimits:
    """Caps that hold before anything is allocated; sizes in bytes unless named otherwise.

    Args:
        file_bytes: largest file opened, and largest file inside an archive.
        array_bytes: largest array made from a file.
        free_bytes: what an archive may expand to without its ratio being questioned.
        ratio: highest expansion of a compressed file above ``free_bytes``.
        members: files inside an archive.
        columns: columns of a table.
        row_chars: characters of one table row.
        classes: distinct classes.
        images: files of an image folder.
        image_bytes: one image file.
        image_pixels: width times height of one image.
        resident_bytes: samples that would take more memory stay in their files, where these can
            be read at any place; None for a quarter of the memory there is.
        stored_bytes: largest file that samples may stay in.
    """

    file_bytes: int = (1 << 32) - 1
    array_bytes: int = 1 << 32
    free_bytes: int = 1 << 26
    ratio: int = 200
    members: int = 1024
    columns: int = 65_536
    row_chars: int = 1 << 22
    classes: int = 65_536
    images: int = 1_000_000
    image_bytes: int = 1 << 28
    image_pixels: int = 1 << 26
    resident_bytes: int | None = None
    stored_bytes: int = 1 << 42

    @property
    def memory_bytes(self) -> int:
        """Most bytes of samples in memory; more than that stays in files."""
        own = usable_memory() // 4 if self.resident_bytes is None else self.resident_bytes
        return min(own, self.array_bytes)

    def of_arrays(self) -> Limits:
        """The caps for the loaders of array files; text is taken, for it may be labels."""
        return Limits(
            file_bytes=self.file_bytes,
            total_bytes=self.array_bytes,
            members=self.members,
            ratio=self.ratio,
            ratio_floor=self.free_bytes,
            text_chars=_TEXT_CHARS,
        )


DEFAULT_LIMITS = DataLimits()


class ReadsInto(Protocol):
    """What fills a buffer from a file or an archive member."""

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes; empty at the end."""
        ...


def reason_of(error: BaseException) -> str:
    """What a library said was wrong, on one line of at most 120 safe characters."""
    text = str(error).split("\n", 1)[0] or type(error).__name__
    safe = "".join(letter if letter.isprintable() else "?" for letter in text)
    return safe if len(safe) <= 120 else safe[:117] + "..."


def size_text(count: int) -> str:
    """A byte count for a person: ``512 bytes``, ``1.5 MiB``."""
    if count < 1024:
        return f"{count} bytes"
    size, unit = count / 1024, "KiB"
    for larger in ("MiB", "GiB", "TiB", "PiB", "EiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:.1f} {unit}"


def open_regular(
    path: Path, cap: int = DEFAULT_LIMITS.file_bytes, who: str = ""
) -> tuple[BinaryIO, int]:
    """The file opened for reading and its size; the caller closes it.

    Args:
        path: the file.
        cap: largest size in bytes.
        who: name for messages, or empty for the file's own.

    Raises:
        DataError: it is missing, unreadable, empty, larger than ``cap`` bytes, or not a regular
            file (a folder, a device, a pipe).
    """
    who = who or path.name or str(path)
    stream, size = byte_source.open_regular(path, cap, who, "data", DataError)
    if size == 0:
        stream.close()
        raise EmptyDataError("the file is empty", who=who, hint="was it written to the end?")
    return stream, size


def fill(array: Array, stream: ReadsInto, on_short: Callable[[int], StudioError]) -> None:
    """Read exactly the bytes of a contiguous ``array`` from ``stream``, in pieces.

    Args:
        array: not empty; overwritten.
        stream: where the bytes come from.
        on_short: makes the error from the count of bytes that were there, if the stream ends early.
    """
    target = array.reshape(-1).view(np.uint8).data
    position = 0
    while position < len(target):
        piece = stream.read(min(_CHUNK, len(target) - position))
        if not piece:
            raise on_short(position)
        target[position : position + len(piece)] = piece
        position += len(piece)


def resolve_source(base: Path, text: str) -> Path:
    """The file or folder a project means: absolute as typed, else inside the project's folder.

    Args:
        base: the project's folder.
        text: the path as the project file has it.

    Raises:
        DataError: the path is empty, malformed, or relative and leaves the folder (by ``..`` or
            through a symbolic link).
    """
    if not text or len(text) > 4096 or "\0" in text:
        raise DataError(f"malformed path {quoted(text)}", who="data")
    path = Path(text)
    if path.is_absolute():
        return path
    if PureWindowsPath(text).drive:
        raise DataError(
            f"expected a path inside the project's folder or an absolute one, got {quoted(text)}",
            who="data",
        )
    try:
        folder, resolved = base.resolve(), (base / path).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise DataError(
            f"path {quoted(text)} cannot be followed: {reason_of(error)}", who="data"
        ) from None
    if not resolved.is_relative_to(folder):
        raise DataError(
            f"a relative path must stay inside the project's folder: {quoted(text)} leaves it",
            who="data",
            hint="copy the data into the project's folder, or give its absolute path",
        )
    return resolved
