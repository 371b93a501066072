"""Files that are either the old one or the whole new one, whatever happens while writing."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self

from studio.engine.core.errors import FormatError, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

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


class StagedFolder:
    """A folder of files that is made beside its place and takes it as a whole; a context manager.

    Left without `place`, nothing has changed and nothing stays behind. An earlier folder is
    replaced only where it holds nothing but such files. A link is followed, not replaced.

    Args:
        path: where it belongs; the folder around it must exist.
        files: patterns of the names of all files that may be replaced.
        keeps: patterns of files that the earlier folder may hold too, and that stay in it.

    Attributes:
        path: where it is made; nothing is there yet.

    Raises:
        FormatError: there is a file of that name, or a folder with anything else in it.
    """

    def __init__(self, path: Path | str, files: Sequence[str], keeps: Sequence[str] = ()) -> None:
        self._shown = path
        self._files = files
        self._keeps = keeps
        self._target = target = Path(os.path.realpath(path))
        mark = f".{target.name[:40]}.{secrets.token_hex(6)}"
        self.path = target.with_name(f"{mark}.tmp")
        self._old = target.with_name(f"{mark}.old")
        self._require_replaceable()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for folder in (self.path, self._old):
            shutil.rmtree(folder, ignore_errors=True)

    def place(self) -> None:
        """Put the finished folder in its place.

        Between taking the earlier one away and this there is a moment in which neither is there;
        what fails in it brings the earlier one back.

        Raises:
            FormatError: that cannot be done, or the earlier folder got other files meanwhile.
        """
        self._require_replaceable()
        with _explained(self._shown):
            if self._target.is_dir():
                for each in self._target.iterdir():
                    if _fits(each.name, self._keeps) and not _fits(each.name, self._files):
                        shutil.copy2(each, self.path / each.name)
                self.path.chmod(self._target.stat().st_mode & 0o7777)
            _flush_folder(self.path)
            if not self._target.is_dir():
                self.path.rename(self._target)
            else:
                self._target.rename(self._old)
                try:
                    self.path.rename(self._target)
                except OSError:
                    self._old.rename(self._target)
                    raise
        _flush_folder(self._target.parent)

    def _require_replaceable(self) -> None:
        with _explained(self._shown):
            if not self._target.exists():
                return
            if not self._target.is_dir():
                raise FormatError(
                    "cannot write the folder: there is a file of that name",
                    who=str(self._shown),
                    hint="choose another name",
                )
            known = (*self._files, *self._keeps)
            for each in sorted(self._target.iterdir()):
                if each.is_dir() or not _fits(each.name, known):
                    raise FormatError(
                        f"the folder holds something else, {quoted(each.name)}, and is not "
                        "replaced",
                        who=str(self._shown),
                        hint="choose another name, or move it away",
                    )


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def write_new(path: Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Write a file that is not there yet, and flush it to the disk.

    Raises FormatError naming the path and the reason; nothing is taken back then.
    """
    with _explained(path):
        _write_and_flush(path, lambda file: file.writelines(pieces))


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
