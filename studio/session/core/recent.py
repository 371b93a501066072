"""Projects opened lately: fifteen of them, with thumbnails, and whether they are still there."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from studio.engine.core.errors import StudioError
from studio.engine.core.signal import Signal
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import load_json

MOST = 15
_LOG = logging.getLogger(__name__)
_LIMITS = Limits(file_bytes=MIB, json_bytes=MIB, json_depth=6, json_values=1000)


@dataclass(frozen=True)
class RecentFile:
    """One project that was open.

    Attributes:
        path: its file.
        title: the project's name then.
        when: when it was opened or saved last, seconds since the epoch.
    """

    path: Path
    title: str
    when: float

    @property
    def is_missing(self) -> bool:
        """Whether the file is not there any more."""
        return not self.path.is_file()


class RecentFiles:
    """The list and the file it is kept in.

    Args:
        memory: the file, made when something is added.
        thumbnails: folder of the small pictures, which can be made again.
    """

    def __init__(self, memory: Path, thumbnails: Path) -> None:
        self.changed: Signal[[]] = Signal()
        self._memory = memory
        self._thumbnails = thumbnails
        self.files: tuple[RecentFile, ...] = _read(memory)

    def add(self, path: Path, title: str, thumbnail: bytes | None = None) -> None:
        """A project was opened or saved; ``thumbnail`` is a small PNG of its graph."""
        place = path.resolve()
        others = tuple(each for each in self.files if each.path != place)
        if thumbnail:
            self._keep(place, thumbnail)
        self._set((RecentFile(place, title, time.time()), *others))

    def thumbnail(self, file: RecentFile) -> bytes | None:
        """The small PNG of a project, if there is one."""
        try:
            return self._picture(file.path).read_bytes()
        except OSError:
            return None

    def forget(self, file: RecentFile) -> None:
        """Take a project off the list."""
        self._set(tuple(each for each in self.files if each.path != file.path))

    def locate(self, file: RecentFile, path: Path) -> None:
        """A missing project was found at another place."""
        place = path.resolve()
        with suppress(OSError):
            self._picture(file.path).replace(self._picture(place))
        found = replace(file, path=place)
        rest = tuple(each for each in self.files if each.path not in (file.path, place))
        at = next((i for i, each in enumerate(self.files) if each.path == file.path), 0)
        self._set((*rest[:at], found, *rest[at:]))

    def _set(self, files: tuple[RecentFile, ...]) -> None:
        for gone in files[MOST:]:
            with suppress(OSError):
                self._picture(gone.path).unlink()
        self.files = files[:MOST]
        content = [{"path": str(f.path), "title": f.title, "when": f.when} for f in self.files]
        self._write(self._memory, json.dumps(content, indent=1).encode("utf-8"))
        self.changed.emit()

    def _keep(self, place: Path, thumbnail: bytes) -> None:
        self._write(self._picture(place), thumbnail)

    def _picture(self, place: Path) -> Path:
        mark = sha256(str(place).encode("utf-8", "surrogateescape")).hexdigest()[:32]
        return self._thumbnails / f"{mark}.png"

    @staticmethod
    def _write(path: Path, content: bytes) -> None:
        """Write a file; a failure is only logged."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, content)
        except (OSError, StudioError) as error:
            _LOG.warning("the list of recent projects is not kept: %s", error)


def _read(memory: Path) -> tuple[RecentFile, ...]:
    """The list as it was kept; what is not understood is left out."""
    if not memory.is_file():
        return ()
    try:
        listed = load_json(memory, _LIMITS)
    except StudioError as error:
        _LOG.warning("the list of recent projects is empty: %s", error)
        return ()
    found = []
    for entry in listed if isinstance(listed, list) else ():
        if not isinstance(entry, Mapping):
            continue
        path, title, when = (entry.get(key) for key in ("path", "title", "when"))
        if isinstance(path, str) and isinstance(title, str) and isinstance(when, int | float):
            found.append(RecentFile(Path(path), title, float(when)))
    return tuple(found[:MOST])
