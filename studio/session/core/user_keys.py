"""The user's own keys: which sequences each action has instead of those it came with."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from studio.engine.core.errors import FormatError, StudioError
from studio.engine.core.signal import Signal
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import load_json

_LOG = logging.getLogger(__name__)
_LIMITS = Limits(file_bytes=MIB, json_bytes=MIB, json_depth=4, json_values=10_000)
_LONGEST, _MOST = 60, 8

FILE = "keys.json"

Keys: TypeAlias = tuple[str, ...]
"""Key sequences such as ``Ctrl+Shift+P``; none for an action without keys."""


class UserKeys:
    """Keys by the id of their action, and the file they are kept in.

    Ids of actions that are not known are kept too: they may be those of a plugin that is off.

    Args:
        folder: where their file is, made at the first change; None keeps them in memory.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.changed: Signal[[]] = Signal()
        self._path = None if folder is None else folder / FILE
        self._keys: dict[str, Keys] = _read(self._path)

    def of(self, action_id: str) -> Keys | None:
        """The keys chosen for an action; None where it has those it came with."""
        return self._keys.get(action_id)

    def __len__(self) -> int:
        """How many actions have keys of the user's own."""
        return len(self._keys)

    def choose(self, wanted: Mapping[str, Keys | None]) -> None:
        """Give actions keys, or with None those they came with, in one step.

        Raises:
            FormatError: the file cannot be written; the keys are in force all the same.
        """
        both = {**self._keys, **wanted}
        made = {name: keys for name, keys in both.items() if keys is not None}
        if made != self._keys:
            self._keys = made
            self.changed.emit()
            self._write()

    def reset(self) -> None:
        """Give all actions the keys they came with; raises what `choose` raises."""
        self.choose(dict.fromkeys(self._keys))

    def export_to(self, path: Path) -> None:
        """Write the keys to a file that `import_from` takes; FormatError where that fails."""
        text = json.dumps(self._keys, indent=2, sort_keys=True) + "\n"
        write_atomic(path, text.encode("utf-8"))

    def import_from(self, path: Path) -> None:
        """Take the keys of a file in place of all there are.

        Raises:
            FormatError: the file holds no keys, or what `choose` raises.
        """
        given = load_json(path, _LIMITS)
        found = _understood(given)
        entries = given if isinstance(given, Mapping) else {}
        wrong = [name for name in entries if name not in found]
        if wrong or given is not entries:
            raise FormatError(
                f"the keys of {wrong[0]!r} are no list of key sequences"
                if wrong else "this is no file of keys",
                who=str(path),
                hint="take a file that was written by Export keys",
            )  # fmt: skip
        self.choose({**dict.fromkeys(self._keys), **found})

    def _write(self) -> None:
        if self._path is not None:
            with suppress(OSError):
                # Where the folder cannot be made, the write below says why.
                self._path.parent.mkdir(parents=True, exist_ok=True)
            self.export_to(self._path)


def _read(path: Path | None) -> dict[str, Keys]:
    """What the file says; what is not understood is left out and logged."""
    if path is None or not path.is_file():
        return {}
    try:
        given = load_json(path, _LIMITS)
    except StudioError as error:
        _LOG.warning("all keys are as they came: %s", error)
        return {}
    found = _understood(given)
    for name in given if isinstance(given, Mapping) else ():
        if name not in found:
            _LOG.warning("the keys of %r are ignored", name)
    return found


def _understood(given: object) -> dict[str, Keys]:
    """The keys in a file's content."""
    found: dict[str, Keys] = {}
    for name, listed in given.items() if isinstance(given, Mapping) else ():
        keys = listed if isinstance(listed, list) else [None]
        texts = tuple(each for each in keys if isinstance(each, str) and 0 < len(each) <= _LONGEST)
        if len(texts) == len(keys) <= _MOST:
            found[name] = texts
    return found
