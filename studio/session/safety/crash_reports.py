"""What the interpreter writes when the process dies of a fault, kept until the next start.

Nothing is ever sent: the next start shows the text, for the user to pass on.
"""

from __future__ import annotations

import faulthandler
import logging
import platform
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from studio import __version__
from studio.engine.core.process_identity import ProcessIdentity, own_identity

_LOG = logging.getLogger(__name__)
_SUFFIX = ".running"
_REPORT = ".txt"
_KEPT = 5
_MARK = "\n\n"


class CrashReports:
    """One file for each process that runs; one that holds a fault when it is gone is a report.

    Args:
        watch: has the interpreter write faults to a file; None lets it write to no file again.
    """

    def __init__(
        self,
        folder: Path,
        own: ProcessIdentity | None = None,
        watch: Callable[[IO[bytes] | None], object] | None = None,
    ) -> None:
        self._folder = folder
        self._own = own or own_identity()
        self._watch = watch or _watch
        self._file: IO[bytes] | None = None

    def begin(self) -> tuple[Path, ...]:
        """Watch this process; reports of processes that died since the last start, newest last."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            found = self._collect()
            self._file = self._path.open("wb", buffering=0)
            self._file.write((_head(self._own) + _MARK).encode())
        except OSError as error:
            _LOG.warning("faults of the process are not written down: %s", error)
            return ()
        self._watch(self._file)
        return found

    def end(self) -> None:
        """The process ends as it should."""
        if self._file is not None:
            self._watch(None)
            self._file.close()
            self._file = None
            with suppress(OSError):
                self._path.unlink()

    @property
    def _path(self) -> Path:
        return self._folder / f"{self._own.pid}{_SUFFIX}"

    def _collect(self) -> tuple[Path, ...]:
        found = []
        paths = self._folder.glob(f"*{_SUFFIX}")
        for path in sorted(paths, key=lambda each: each.stat().st_mtime):
            text = path.read_bytes()
            if _writer(text).is_running:
                continue
            # A process that was killed wrote nothing, and there is nothing to report.
            if not text.partition(_MARK.encode())[2].strip():
                path.unlink()
                continue
            when = time.strftime("%Y-%m-%d_%H-%M-%S", time.localtime(path.stat().st_mtime))
            found.append(path.replace(self._folder / f"{when}-{path.stem}{_REPORT}"))
        for old in sorted(self._folder.glob(f"*{_REPORT}"))[:-_KEPT]:
            old.unlink()
        return tuple(path for path in found if path.is_file())


def _head(own: ProcessIdentity) -> str:
    began = time.strftime("%Y-%m-%d %H:%M:%S")
    return (
        f"process {own.pid} {own.started}\n"
        f"Glassbox {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
        f"begun {began}"
    )


def _writer(text: bytes) -> ProcessIdentity:
    """The process a file's first line names; one that is not running where it names none."""
    first = text.partition(b"\n")[0].decode("utf-8", "replace")
    _, number, *started = [*first.split(" ", 2), "", ""]
    return ProcessIdentity(int(number) if number.isdigit() else 0, started[0])


def _watch(file: IO[bytes] | None) -> None:
    if file is None:
        faulthandler.disable()
    else:
        faulthandler.enable(file)
