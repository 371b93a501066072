"""Lets one process at a time train a run, by lock files in the run's folder.

Each process writes a lock file of its own and then looks for those of others, so that two can never
both miss each other. Lock files of processes that have ended are ignored.
"""

from __future__ import annotations

import json
import math
import platform
import random
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from studio.engine.core.errors import DataError, FormatError, cleaned
from studio.engine.core.process_identity import ProcessIdentity, own_identity
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.limits import Limits
from studio.engine.formats.safe_json import load_json

_LIMITS = Limits(file_bytes=1 << 16, json_bytes=1 << 16, json_depth=4, json_values=100)
_PATTERN = "training-*.lock"
_TRIES = 20


@dataclass(frozen=True)
class Holder:
    """The process that a lock file names.

    Attributes:
        process: which one.
        host: name of its machine.
        since: when it began, seconds since the epoch.
        is_held: whether it trains the run; False while it still looks for others.
        path: its lock file.
    """

    process: ProcessIdentity
    host: str
    since: float
    is_held: bool
    path: Path

    @property
    def is_running(self) -> bool:
        """Whether the process still runs; one of another machine is assumed to."""
        return self.host != platform.node() or self.process.is_running

    @property
    def text(self) -> str:
        """Which process it is and since when it trains, in a few words."""
        where = "" if self.host == platform.node() else f" on {cleaned(self.host[:100])}"
        try:
            when = f" since {datetime.fromtimestamp(self.since):%H:%M:%S}"
        except (ValueError, OSError, OverflowError):
            when = ""
        if self.process == own_identity():
            return f"this process{when}"
        return f"process {self.process.pid}{where}{when}"


class RunLock:
    """The lock file of one training in the folder of its run.

    Args:
        folder: of the run.
        owner: the process that trains.
    """

    def __init__(self, folder: Path, owner: ProcessIdentity | None = None) -> None:
        self._folder = folder
        self._owner = owner or own_identity()
        self._path = folder / f"training-{secrets.token_hex(6)}.lock"
        self._taken = False

    def take(self) -> None:
        """Keep others out until `release`; does nothing where it is taken already.

        Raises:
            DataError: another training has the run.
            FormatError: the lock file cannot be written.
        """
        if self._taken:
            return
        for _ in range(_TRIES):
            self._write(held=False)
            others = [holder for holder in _holders(self._folder) if holder.path != self._path]
            for other in others:
                if not other.is_running:
                    _remove(other.path)
            others = [other for other in others if other.is_running]
            if not others:
                self._write(held=True)
                self._taken = True
                return
            _remove(self._path)
            held = next((other for other in others if other.is_held), None)
            if held is not None:
                raise _refusal(self._folder, held)
            # Two began at the same moment; after random waits one of them comes first.
            time.sleep(random.uniform(0.01, 0.1))
        raise _refusal(self._folder, others[0])

    def release(self) -> None:
        """Let others in; more than once does nothing."""
        if self._taken:
            self._taken = False
            _remove(self._path)

    def _write(self, *, held: bool) -> None:
        content = {
            "pid": self._owner.pid, "started": self._owner.started, "host": platform.node(),
            "since": time.time(), "held": held,
        }  # fmt: skip
        try:
            write_atomic(self._path, json.dumps(content).encode("utf-8"))
        except FormatError:
            _remove(self._path)
            raise


def holder_of(folder: Path) -> Holder | None:
    """The process that trains a run now; None where none does."""
    return next((h for h in _holders(folder) if h.is_held and h.is_running), None)


def require_free(folder: Path) -> None:
    """DataError where a process trains the run."""
    holder = holder_of(folder)
    if holder is not None:
        raise _refusal(folder, holder)


def _refusal(folder: Path, holder: Holder) -> DataError:
    hint = "wait until it ends, or stop it there"
    if holder.host != platform.node():
        hint = f"if it has ended, remove {holder.path}"
    return DataError(f"the run is being trained by {holder.text}", who=str(folder), hint=hint)


def _holders(folder: Path) -> list[Holder]:
    """What all lock files say, the oldest first; damaged ones are skipped."""
    found: list[Holder] = []
    for path in folder.glob(_PATTERN) if folder.is_dir() else ():
        try:
            content = load_json(path, _LIMITS)
        except FormatError:
            continue
        if not isinstance(content, dict):
            continue
        pid, started, host = (content.get(name) for name in ("pid", "started", "host"))
        since, held = content.get("since"), content.get("held")
        if not (isinstance(pid, int) and isinstance(started, str) and isinstance(host, str)):
            continue
        if not (isinstance(since, float) and math.isfinite(since)):
            continue
        identity = ProcessIdentity(pid, started)
        found.append(Holder(identity, host, since, held is True, path))
    return sorted(found, key=lambda holder: holder.since)


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
