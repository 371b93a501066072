"""Notices that say which window has a project open; they never keep anybody out."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from studio.engine.core.errors import FormatError
from studio.engine.core.process_identity import ProcessIdentity, own_identity
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import load_json

_LOG = logging.getLogger(__name__)
_LIMITS = Limits(file_bytes=MIB, json_bytes=MIB, json_depth=4, json_values=100)


@dataclass(frozen=True)
class Holder:
    """A window that has a project open.

    Attributes:
        process: the process it belongs to.
        since: when it opened the project, seconds since the epoch.
    """

    process: ProcessIdentity
    since: float


class DocumentLocks:
    """The notices of all windows, one small file each.

    Args:
        folder: where they are kept.
        owner: the process this is.
    """

    def __init__(self, folder: Path, owner: ProcessIdentity | None = None) -> None:
        self._folder = folder
        self._owner = owner or own_identity()

    def take(self, path: Path, uuid: str) -> tuple[Holder, ...]:
        """Say that a document has a file open; which other windows have it open too.

        Where the notice cannot be written the log says so: nothing depends on it.
        """
        others = self.others(path)
        content = {
            "path": str(path.resolve()), "pid": self._owner.pid, "started": self._owner.started,
            "since": time.time(),
        }  # fmt: skip
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_atomic(self._file(path, uuid), json.dumps(content).encode("utf-8"))
        except (OSError, FormatError) as error:
            _LOG.warning("other windows are not told that %s is open: %s", path, error)
        return others

    def release(self, path: Path, uuid: str) -> None:
        """Say that the document is not open any more."""
        with suppress(OSError):
            self._file(path, uuid).unlink()

    def others(self, path: Path) -> tuple[Holder, ...]:
        """Windows of other processes that have a file open; notices of dead ones are removed."""
        found = []
        for entry, holder in self._notices(path):
            if not holder.process.is_running:
                with suppress(OSError):
                    entry.unlink()
            elif holder.process != self._owner:
                found.append(holder)
        return tuple(sorted(found, key=lambda holder: holder.since))

    def _notices(self, path: Path) -> Iterator[tuple[Path, Holder]]:
        if not self._folder.is_dir():
            return
        for entry in sorted(self._folder.glob(f"{_mark(path)}-*.json")):
            try:
                content = load_json(entry, _LIMITS)
            except FormatError:
                continue
            if not isinstance(content, dict):
                continue
            pid, started, since = (content.get(k) for k in ("pid", "started", "since"))
            if isinstance(pid, int) and isinstance(started, str) and isinstance(since, float):
                yield entry, Holder(ProcessIdentity(pid, started), since)

    def _file(self, path: Path, uuid: str) -> Path:
        return self._folder / f"{_mark(path)}-{self._owner.pid}-{uuid}.json"


def _mark(path: Path) -> str:
    return sha256(str(path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:32]
