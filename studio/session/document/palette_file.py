"""Keeps the palette's favourites and recent layers between starts."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from studio.engine.core.errors import StudioError
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import load_json
from studio.session.document.palette import Palette

_LIMITS = Limits(file_bytes=MIB, json_bytes=MIB, json_depth=4, json_values=1000)


def load_palette(path: Path) -> Palette:
    """The palette as it was left; as new where the file is missing or damaged."""
    try:
        data = load_json(path, _LIMITS) if path.is_file() else {}
    except StudioError:
        data = {}
    given = data if isinstance(data, dict) else {}
    return Palette(_names(given.get("favourites")), _names(given.get("recent")))


def save_palette(palette: Palette, path: Path) -> None:
    """Keep it; FormatError when the file cannot be written."""
    with suppress(OSError):
        # Where the folder cannot be made, the write below says why.
        path.parent.mkdir(parents=True, exist_ok=True)
    data = {"favourites": list(palette.favourites), "recent": list(palette.recent)}
    write_atomic(path, (json.dumps(data, indent=2) + "\n").encode())


def _names(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
