"""The user's preferences: declared once, checked, kept in a readable file."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias, cast

from studio.engine.core.errors import StudioError
from studio.engine.core.options import AnyOption, choice, flag, integer, named
from studio.engine.core.signal import Signal
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import load_json

_LOG = logging.getLogger(__name__)
_LIMITS = Limits(file_bytes=MIB, json_bytes=MIB, json_depth=8, json_values=10_000)

Value: TypeAlias = "bool | int | float | str"

PREFERENCES: tuple[AnyOption, ...] = named(
    theme=choice(
        "Colours of the window.",
        "system", "dark", "light", group="Appearance",
    ),
    scale=integer(
        "Size of text and controls in percent; takes effect at the next start.",
        100, low=75, high=300, group="Appearance", step=25.0,
    ),
    reduced_motion=flag(
        "Jump instead of animating movements.", False, group="Appearance"
    ),
    high_contrast=flag(
        "Use the strongest colours for text and outlines.", False, group="Appearance"
    ),
    search_on_release=choice(
        "Search for a layer when a wire is dropped on the empty canvas.",
        "always", "with shift", "never", group="Canvas",
    ),
    wire_style=choice(
        "How wires are drawn.",
        "curve", "right-angle", "straight", label="Wires", group="Canvas",
    ),
    wheel=choice(
        "What the mouse wheel and a two-finger swipe do. Automatic: the wheel zooms, "
        "a swipe scrolls. With Ctrl, both zoom.",
        "automatic", "zoom", "scroll", group="Canvas",
    ),
    minimap=flag(
        "Show an overview of the graph in the corner.", True, group="Canvas"
    ),
    previews=flag(
        "Show the output of each layer for a sample.", True, label="Previews on layers",
        group="Canvas"
    ),
    backend=choice(
        "Device to train on. Automatic: OpenGL if it is hardware accelerated, "
        "otherwise the CPU.",
        "auto", "gl", "cpu", label="Train on", group="Training",
    ),
    priority=choice(
        "What has priority during training: a responsive window, or training speed.",
        "window", "balanced", "training", group="Training",
    ),
    shared_views=choice(
        "Draw tensors directly from device memory. Automatic: if OpenGL is hardware "
        "accelerated.",
        "auto", "always", "never", label="Draw from device memory", group="Live views",
    ),
    live_rate=integer(
        "Updates of live tensors per second.",
        10, low=1, high=30, label="Refresh rate", group="Live views",
    ),
    profile_live=flag(
        "Measure a step from time to time while training, for the profiler.", True,
        label="Profile while training", group="Live views",
    ),
    watchdog=flag(
        "Log where the window froze for more than 0.1 s, to the debug log for developers.", True,
        label="Watch for stalls", group="Live views"
    ),
    restore_session=flag(
        "Open the last project at start.", False, label="Open last project", group="Files"
    ),
)  # fmt: skip
"""Each with its default, and the heading it stands under."""


class Preferences:
    """The preferences and the file they are kept in.

    Args:
        path: the file, made at the first change; None keeps them in memory.
        declared: what can be chosen.
    """

    def __init__(
        self, path: Path | None = None, declared: tuple[AnyOption, ...] = PREFERENCES
    ) -> None:
        self.changed: Signal[[str]] = Signal()
        self._path = path
        self._declared = {each.name: each for each in declared}
        self._chosen: dict[str, Value] = {}
        self._overrides: dict[str, Value] = {}
        if path is not None and path.is_file():
            self._chosen = self._read(path)

    def __iter__(self) -> Iterator[AnyOption]:
        return iter(self._declared.values())

    def __getitem__(self, name: str) -> Value:
        """The value in force; KeyError for a preference that is not declared."""
        if name in self._overrides:
            return self._overrides[name]
        return self._chosen.get(name, self._default(name))

    def _default(self, name: str) -> Value:
        return cast("Value", self._declared[name].default)

    def _checked(self, name: str, value: object) -> Value:
        option = self._declared[name]
        return cast("Value", option.check(value, option.label))

    def text(self, name: str) -> str:
        """The value of a text preference."""
        return str(self[name])

    def number(self, name: str) -> float:
        """The value of a number preference."""
        return float(self[name])

    def flag(self, name: str) -> bool:
        """The value of a yes-or-no preference."""
        return bool(self[name])

    def set(self, name: str, value: object) -> None:
        """Choose a value.

        Raises:
            ParameterError: it is not allowed.
            FormatError: the file cannot be written; the value is in force all the same.
        """
        found, before = self._checked(name, value), self[name]
        self._overrides.pop(name, None)
        is_new = found != self[name]
        if is_new:
            self._chosen[name] = found
            if found == self._default(name):
                del self._chosen[name]
        if found != before:
            self.changed.emit(name)
        if is_new:
            self._write()

    def override(self, name: str, value: object) -> None:
        """Have a value in force until the user chooses one; it is not kept.

        Raises:
            ParameterError: it is not allowed.
        """
        self._overrides[name] = self._checked(name, value)
        self.changed.emit(name)

    def reset(self, name: str) -> None:
        """Take the default again."""
        self.set(name, self._default(name))

    def is_default(self, name: str) -> bool:
        """Whether the user has not chosen another value."""
        return name not in self._chosen

    def _write(self) -> None:
        if self._path is not None:
            with suppress(OSError):
                # Where the folder cannot be made, the write below says why.
                self._path.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(self._chosen, indent=2, sort_keys=True) + "\n"
            write_atomic(self._path, text.encode("utf-8"))

    def _read(self, path: Path) -> dict[str, Value]:
        """What the file says; what is not understood is left at its default and logged."""
        try:
            given = load_json(path, _LIMITS)
        except StudioError as error:
            _LOG.warning("preferences are at their defaults: %s", error)
            return {}
        found: dict[str, Value] = {}
        for name, value in given.items() if isinstance(given, Mapping) else ():
            try:
                found[name] = self._checked(name, value)
            except (KeyError, StudioError) as error:
                _LOG.warning("preference %r is ignored: %s", name, error)
        return found
