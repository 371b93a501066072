"""Files that are either the old one or the whole new one, whatever happens while writing."""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self

from studio.engine.core.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_REASONS = {
    errno.ENOSPC: ("the disk is full", "free some space and try again"),
    errno.EDQUOT: ("your disk quota is used up", "free some space and try again"),
    errno.EFBIG: ("the file is too large for this disk or for the limit set", ""),
    errno.EROFS: ("the disk is read-only", "choose another folder"),
    errno.EACCES: ("permission denied", "choose a writable folder"),
    errno.EPERM: ("permission denied", "choose a writable folder"),
    errno.ENOENT: ("the folder does not exist", "create the folder first"),
    errno.ENOTDIR: ("a part of the path is not a folder", "create the folder first"),
    errno.EISDIR: ("there is a folder of that name", "choose another name"),
    errno.ENAMETOOLONG: ("the name is too long", "choose a shorter name"),
}


def write_atomic(path: Path | str, content: bytes | Callable[[BinaryIO], object]) -> None:
    """Write a file so that a crash, a full disk or a kill leaves the old one untouched.

    The content goes to a temporary file in the same folder, is flushed to the disk, takes the place
    of the old file in one step, and the folder is flushed too. A link is followed, not replaced; an
    existing file keeps its permissions.

    Args:
        path: where to write; its folder must exist.
        content: the bytes, or a function that writes them to the open binary file it is given.

    Raises FormatError naming the path and the reason; what ``content`` itself raises passes through
    (unless it is an OSError, taken for a failed write). No temporary file stays behind.
    """
    with StagedFile(path) as file, _explained(path):
        _write_and_flush(file.path, content)
        file.place()


class StagedFile:
    """A file that is made beside its place, and takes it when it is finished; a context manager.

    Left without `place`, nothing has changed and nothing stays behind. A link is followed, not
    replaced; an existing file keeps its permissions.

    Args:
        path: where it belongs; its folder must exist.
        ending: of ``path``'s name, for what writes by the ending of a file's name.

    Attributes:
        path: where it is made; nothing is there yet.

    Raises:
        FormatError: there is a folder, a device or a pipe of that name.
    """

    def __init__(self, path: Path | str, ending: str = "") -> None:
        self._shown = path
        self._target = target = Path(os.path.realpath(path))
        self.path = target.with_name(f".{target.name[:40]}.{secrets.token_hex(6)}.tmp{ending}")
        with _explained(path):
            if target.is_dir():
                raise IsADirectoryError(errno.EISDIR, "is a folder")
            if target.exists() and not target.is_file():
                # To put a file in the place of /dev/null would take it from everybody.
                raise FormatError(
                    "cannot write the file: there is a device or a pipe of that name",
                    who=str(path),
                    hint="choose another name",
                )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self.path.unlink(missing_ok=True)

    def place(self) -> None:
        """Put the finished file in its place, in one step.

        Raises:
            FormatError: that cannot be done.
        """
        with _explained(self._shown):
            if self._target.exists():
                self.path.chmod(self._target.stat().st_mode & 0o7777)
            self.path.replace(self._target)
        _flush_folder(self._target.parent)


@contextmanager
def _explained(path: Path | str) -> Iterator[None]:
    """Turn what the system refuses into a FormatError about the file."""
    try:
        yield
    except OSError as error:
        raise write_error(error, path) from error


def write_error(error: OSError, path: Path | str) -> FormatError:
    """What the system says about writing a file, as a sentence with what to do."""
    reason, hint = _REASONS.get(error.errno or 0, (error.strerror or str(error), ""))
    return FormatError(f"cannot write the file: {reason}", who=str(path), hint=hint)


def _write_and_flush(path: Path, content: bytes | Callable[[BinaryIO], object]) -> None:
    flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, 0o666), "w+b") as file:
        if callable(content):
            content(file)
        else:
            file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    """Make the rename itself last; file systems that cannot do that are left alone."""
    if os.name != "posix":
        return
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
