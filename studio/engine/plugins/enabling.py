"""Which plugins the user has switched on: a list by name and version."""

from __future__ import annotations

import json
import os
from pathlib import Path

from studio.engine.core.errors import FormatError, ParameterError, StudioError, quoted
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import load_json
from studio.engine.plugins.finding import Found
from studio.engine.plugins.plugin import Plugin

VARIABLE = "GLASSBOX_PLUGINS"
"""Names of plugins, separated by commas; ``name==version`` asks for that version alone. Where it is
set, even if empty, the user's list is not read."""
FILE = "plugins.json"

_LIMITS = Limits(file_bytes=MIB, json_bytes=MIB, json_depth=4, json_values=10_000)


def enabled_plugins(config: Path) -> dict[str, str]:
    """Versions of the plugins that are switched on, by name; empty for any version.

    Raises:
        StudioError: the list cannot be read, or the variable names no plugin.
    """
    asked = os.environ.get(VARIABLE)
    return _listed(config / FILE) if asked is None else _asked(asked)


def _asked(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in filter(None, (each.strip() for each in text.split(","))):
        name, _, version = word.partition("==")
        if not name.strip().isidentifier():
            raise ParameterError(
                f"expected names of plugins, got {quoted(word)}",
                who=VARIABLE,
                hint="separate names by commas; name==version asks for that version alone",
            )
        found[name.strip()] = version.strip()
    return found


def _listed(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    found = load_json(path, _LIMITS)
    names = found.get("enabled") if isinstance(found, dict) else None
    if not isinstance(names, dict) or not all(isinstance(each, str) for each in names.values()):
        raise FormatError(
            "expected a list of plugins",
            who=str(path),
            hint="delete the file; plugins can then be turned on again",
        )
    return {str(name): str(version) for name, version in names.items()}


def set_enabled(config: Path, plugin: Plugin, on: bool) -> None:
    """Switch a plugin on or off, for this version of it.

    Raises:
        StudioError: the list cannot be written.
    """
    try:
        names = _listed(config / FILE)
    except StudioError:
        names = {}
    names.pop(plugin.name, None)
    if on:
        names[plugin.name] = plugin.version
    try:
        config.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormatError(f"cannot be made: {error.strerror}", who=str(config)) from None
    text = json.dumps({"enabled": names}, indent=2, sort_keys=True) + "\n"
    write_atomic(config / FILE, text.encode())


def why_off(found: Found, enabled: dict[str, str]) -> str:
    """Why a plugin is not to be loaded; empty when it is."""
    if found.problem:
        return found.problem
    if found.plugin.name not in enabled:
        return "turned off"
    wanted = enabled[found.plugin.name]
    if wanted and wanted != found.plugin.version:
        return f"version {wanted} was turned on, this is {found.plugin.version}"
    return ""
