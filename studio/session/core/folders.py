"""Where files of each purpose were chosen last, kept from one start to the next."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path

from studio.engine.core.errors import StudioError
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import load_json

_LOG = logging.getLogger(__name__)
_LIMITS = Limits(file_bytes=MIB, json_bytes=MIB, json_depth=3, json_values=200)


class LastFolders:
    """A folder for each purpose, such as ``project`` or ``data``.

    Args:
        memory: the file, made when the first folder is noted; None keeps them for this session.
    """

    def __init__(self, memory: Path | None = None) -> None:
        self._memory = memory
        self._folders: dict[str, str] = _read(memory)

    def of(self, purpose: str) -> Path | None:
        """The folder chosen last; None where there is none, or it is gone."""
        found = self._folders.get(purpose, "")
        try:
            return Path(found) if found and Path(found).is_dir() else None
        except (OSError, ValueError):
            return None

    def note(self, purpose: str, chosen: Path) -> None:
        """A file or folder was chosen: the next dialog begins beside it."""
        folder = str(chosen.absolute().parent)
        if self._folders.get(purpose) == folder:
            return
        self._folders[purpose] = folder
        if self._memory is None:
            return
        try:
            self._memory.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(self._memory, (json.dumps(self._folders, indent=1) + "\n").encode())
        except (OSError, ValueError, StudioError) as error:
            _LOG.warning("the folders of file dialogs are not kept: %s", error)


def _read(memory: Path | None) -> dict[str, str]:
    """The folders as they were kept; what is not understood is left out."""
    if memory is None or not memory.is_file():
        return {}
    try:
        given = load_json(memory, _LIMITS)
    except StudioError as error:
        _LOG.warning("the folders of file dialogs are forgotten: %s", error)
        return {}
    found = given.items() if isinstance(given, Mapping) else ()
    return {name: folder for name, folder in found if isinstance(folder, str)}
