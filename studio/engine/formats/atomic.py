"""Files that are either the old one or the whole new one, whatever happens while writing."""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from studio.engine.core.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Callable

_REASONS = {
    errno.ENOSPC: ("the disk is full", "free some space and try again"),
    errno.EDQUOT: ("your disk quota is used up", "free some space and try again"),
    errno.EFBIG: ("the file is too large for this disk or for the limit set", ""),
    errno.EROFS: ("the disk is read-only", "choose another folder"),
    errno.EACCES: ("permission denied", "choose a folder you may write to"),
    errno.EPERM: ("permission denied", "choose a folder you may write to"),
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
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "is a folder")
        if target.exists() and not target.is_file():
            # To put a file in the place of /dev/null would take it from everybody.
            raise FormatError(
                "cannot write the file: there is a device or a pipe of that name",
                who=str(path),
                hint="choose another name",
            )
        try:
            _write_and_flush(temporary, content)
            if target.exists():
                temporary.chmod(target.stat().st_mode & 0o7777)
            temporary.replace(target)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        _flush_folder(target.parent)
    except OSError as error:
        reason, hint = _REASONS.get(error.errno or 0, (error.strerror or str(error), ""))
        raise FormatError(f"cannot write the file: {reason}", who=str(path), hint=hint) from error


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
