"""A new scale is tried for a moment and kept only if somebody says so, lest it lock them out."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path

from studio.engine.core.errors import StudioError
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import load_json
from studio.session.core.preferences import Preferences

_LOG = logging.getLogger(__name__)
_LIMITS = Limits(file_bytes=MIB, json_bytes=MIB, json_depth=2, json_values=16)

SECONDS = 15
"""How long a scale is tried before the one before it comes back."""

USUAL = 100


class ScaleTrial:
    """Decides at the start which scale to use, and whether it has to be confirmed.

    Args:
        memory: the file that remembers the scale last confirmed, and one that is being tried.
        preferences: hold the scale the user wants.
    """

    def __init__(self, memory: Path, preferences: Preferences) -> None:
        self._memory = memory
        self._preferences = preferences
        self.kept, tried = _read(memory)
        wanted = round(preferences.number("scale"))
        if wanted not in (self.kept, tried):
            self.scale, self.is_trial = wanted, True
            self._write(wanted)
        elif wanted != self.kept:
            # It was tried at the last start and nobody said that it should stay.
            self.scale, self.is_trial = self.kept, False
            self.give_up()
        else:
            self.scale, self.is_trial = self.kept, False

    def keep(self) -> None:
        """The scale stays."""
        self.kept, self.is_trial = self.scale, False
        self._write(None)

    def give_up(self) -> None:
        """The scale before comes back, at the next start."""
        self.is_trial = False
        try:
            self._preferences.set("scale", self.kept)
        except StudioError as error:
            _LOG.warning("the scale could not be put back: %s", error)
        self._write(None)

    def _write(self, trying: int | None) -> None:
        text = json.dumps({"kept": self.kept, "trying": trying}) + "\n"
        try:
            self._memory.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(self._memory, text.encode())
        except (OSError, StudioError) as error:
            _LOG.warning("the scale could not be remembered: %s", error)


def _read(memory: Path) -> tuple[int, int | None]:
    if not memory.is_file():
        return USUAL, None
    try:
        given = load_json(memory, _LIMITS)
    except StudioError as error:
        _LOG.warning("the scale begins anew: %s", error)
        return USUAL, None
    if not isinstance(given, Mapping):
        return USUAL, None
    kept, trying = given.get("kept"), given.get("trying")
    return (
        kept if isinstance(kept, int) and 50 <= kept <= 400 else USUAL,
        trying if isinstance(trying, int) else None,
    )
