"""Where panes and window were: two small files, so that one can be kept without the other."""

from __future__ import annotations

import base64
import binascii
import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from studio.engine.core.errors import StudioError
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import load_json

_LOG = logging.getLogger(__name__)
_LIMITS = Limits(file_bytes=4 * MIB, json_bytes=4 * MIB, json_depth=6, json_values=10_000)

VERSION = 1
"""Layouts of another version are forgotten."""


@dataclass
class Layout:
    """How the panes stand.

    Attributes:
        workspace: the one in use.
        states: Qt's record of each workspace that was used.
        panes: the panes there were when it was recorded.
        kept: the workspaces whose panes stand as they do from the start: they fit the window.
    """

    workspace: str = ""
    states: dict[str, bytes] = field(default_factory=dict)
    panes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)


class LayoutStore:
    """Reads and writes the two files.

    Args:
        folder: where they are; None keeps nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self._layout = None if folder is None else folder / "layout.json"
        self._window = None if folder is None else folder / "window.json"

    def layout(self) -> Layout:
        """How the panes stood; empty where nothing usable is recorded."""
        given = _read(self._layout)
        states, panes = given.get("states"), given.get("panes")
        if not isinstance(states, Mapping):
            return Layout()
        if isinstance(panes, list):
            # Layouts once had one list for all workspaces.
            panes = dict.fromkeys(states, panes)
        decoded = {str(name): _decoded(value) for name, value in states.items()}
        return Layout(
            str(given.get("workspace", "")),
            {name: state for name, state in decoded.items() if state},
            {str(name): _names(each) for name, each in panes.items()}
            if isinstance(panes, Mapping)
            else {},
            set(_names(given.get("kept"))),
        )

    def geometry(self) -> bytes:
        """Qt's record of where the window was, or nothing."""
        return _decoded(_read(self._window).get("geometry"))

    def keep_layout(self, layout: Layout) -> None:
        """Write how the panes stand."""
        states = {name: base64.b64encode(each).decode() for name, each in layout.states.items()}
        _write(
            self._layout,
            {
                "workspace": layout.workspace,
                "panes": layout.panes,
                "states": states,
                "kept": sorted(layout.kept),
            },
        )

    def keep_geometry(self, geometry: bytes) -> None:
        """Write where the window is."""
        _write(self._window, {"geometry": base64.b64encode(geometry).decode()})

    def forget(self) -> None:
        """Forget the layout: the next start uses the default one."""
        for path in (self._layout, self._window):
            if path is not None:
                with suppress(OSError):
                    path.unlink(missing_ok=True)


def _read(path: Path | None) -> Mapping[str, object]:
    if path is None or not path.is_file():
        return {}
    try:
        given = load_json(path, _LIMITS)
    except StudioError as error:
        _LOG.warning("the default layout is used: %s", error)
        return {}
    usable = isinstance(given, Mapping) and given.get("version") == VERSION
    return given if usable else {}  # type: ignore[return-value]


def _write(path: Path | None, value: dict[str, object]) -> None:
    if path is None:
        return
    text = json.dumps({"version": VERSION, **value}, indent=1) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, text.encode())
    except (OSError, StudioError) as error:
        # Losing a layout is no reason to stand in the way of closing the window.
        _LOG.warning("the layout could not be kept: %s", error)


def _names(value: object) -> tuple[str, ...]:
    return tuple(str(name) for name in value) if isinstance(value, list) else ()


def _decoded(value: object) -> bytes:
    if not isinstance(value, str):
        return b""
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return b""
