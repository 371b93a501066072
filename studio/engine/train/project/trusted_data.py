"""Data that lies outside a project's folder: read only where the user has agreed to it.

A project is a file that may come from anybody. What it names inside its own folder came with it;
what it names elsewhere on the machine is the user's, and may be private. What the user has agreed
to is remembered in the user's own settings, never in a project.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import Lock

from studio.engine.core.errors import DataError, FormatError, StudioError, cleaned
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import load_json
from studio.engine.train.project.sources import paths_of

FILE = "trusted-data.json"
"""Its name in the user's folder of settings."""

_MOST = 1000
_LIMITS = Limits(file_bytes=16 * MIB, json_bytes=16 * MIB, json_depth=4, json_values=10_000)

_Pair = tuple[str, str]


class UntrustedDataError(DataError):
    """The project names data outside its folder, and the user has not agreed to read it.

    Attributes:
        paths: what would be read.
    """

    def __init__(self, message: str, paths: tuple[Path, ...] = (), who: str = "", hint: str = "",
                 origin: str = "") -> None:  # fmt: skip
        super().__init__(message, who=who, hint=hint, origin=origin)
        self.paths = paths


class TrustedData:
    """What the user has agreed to have read, as pairs of a project's folder and a path.

    Safe to ask from any thread.

    Args:
        memory: the file that remembers it; None remembers nothing beyond this object.
        own: folders whose projects the studio itself makes, such as copies of samples: they are
            trusted.
    """

    def __init__(self, memory: Path | None = None, own: Iterable[Path] = ()) -> None:
        self._memory = memory
        self._own = tuple(_resolved(folder) for folder in own)
        self._session: set[_Pair] = set()
        self._lock = Lock()

    def untrusted(self, reference: Mapping[str, object], folder: Path) -> tuple[Path, ...]:
        """What a data reference names outside the folder without the user having agreed.

        Args:
            reference: ``{"source": …, option: value, …}`` of a project.
            folder: the project's folder.
        """
        place = _resolved(folder)
        if any(place.is_relative_to(own) for own in self._own):
            return ()
        found = _outside(reference, folder)
        if not found:
            return ()
        with self._lock:
            agreed = self._session | set(self._remembered())
        return tuple(path for path in found if (str(place), str(path)) not in agreed)

    def check(self, reference: Mapping[str, object], folder: Path, who: str = "data") -> None:
        """UntrustedDataError where a reference names data that may not be read; nothing is opened.

        Args:
            reference: of a project.
            folder: the project's folder.
            who: how errors name the project.
        """
        found = self.untrusted(reference, folder)
        if found:
            named = ", ".join(cleaned(str(path)) for path in found)
            raise UntrustedDataError(
                f"the project uses data outside its folder, which needs your permission: {named}",
                found,
                who=who,
            )

    def trust(
        self, reference: Mapping[str, object], folder: Path, *, remember: bool = True
    ) -> None:
        """The user agrees to what a reference names.

        Args:
            reference: of a project.
            folder: the project's folder.
            remember: beyond this session.

        Raises:
            StudioError: it holds for this session, but cannot be remembered.
        """
        found = self.untrusted(reference, folder)
        pairs = [(str(_resolved(folder)), str(path)) for path in found]
        with self._lock:
            self._session.update(pairs)
        if pairs and remember and self._memory is not None:
            kept = [*(pair for pair in self._remembered() if pair not in pairs), *pairs][-_MOST:]
            listed = [{"project folder": folder, "data": data} for folder, data in kept]
            try:
                self._memory.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise FormatError(
                    f"the folder cannot be created: {error.strerror or error}",
                    who=str(self._memory),
                ) from error
            write_atomic(self._memory, json.dumps(listed, indent=1).encode("utf-8"))

    def _remembered(self) -> list[_Pair]:
        """The pairs in the file; it is read each time, since other windows write it too."""
        if self._memory is None or not self._memory.is_file():
            return []
        try:
            listed = load_json(self._memory, _LIMITS)
        except StudioError:
            # A damaged list trusts nothing: the user is asked again.
            return []
        found: list[_Pair] = []
        for entry in listed if isinstance(listed, list) else ():
            if isinstance(entry, Mapping):
                folder, data = entry.get("project folder"), entry.get("data")
                if isinstance(folder, str) and isinstance(data, str):
                    found.append((folder, data))
        return found


def _outside(reference: Mapping[str, object], folder: Path) -> tuple[Path, ...]:
    """Files and folders a reference leads to that do not lie in the project's folder."""
    place = _resolved(folder)
    # A relative path that leaves the folder is refused where it is read, agreed to or not.
    found = (_resolved(path) for path in paths_of(reference, Path()) if path.is_absolute())
    return tuple(dict.fromkeys(path for path in found if not path.is_relative_to(place)))


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return path.absolute()
