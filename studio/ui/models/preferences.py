"""The user's preferences: declared once, checked, kept in a readable file."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from studio.engine.core.errors import ParameterError, StudioError
from studio.engine.core.signal import Signal
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import load_json

_LOG = logging.getLogger(__name__)
_LIMITS = Limits(file_bytes=MIB, json_bytes=MIB, json_depth=8, json_values=10_000)

Value: TypeAlias = "bool | int | float | str"
Group: TypeAlias = Literal["Look", "Canvas", "Training", "Live views", "Files"]


@dataclass(frozen=True)
class Preference:
    """One thing the user may choose.

    Attributes:
        id: its name in the file.
        group: heading it stands under.
        text: its label.
        doc: one sentence: what it changes.
        default: its value until the user chooses; its type is the preference's type.
        choices: the values allowed, for texts.
        low: smallest number allowed.
        high: largest number allowed.
    """

    id: str
    group: Group
    text: str
    doc: str
    default: Value
    choices: tuple[str, ...] = ()
    low: float = 0
    high: float = 0

    def check(self, value: object) -> Value:
        """The value, if it is one of the allowed; ParameterError otherwise."""
        kind = type(self.default)
        if kind is float and type(value) is int:
            value = float(value)
        good = type(value) is kind
        if good and self.choices:
            good = value in self.choices
        elif good and isinstance(value, int | float) and kind is not bool:
            good = self.low <= value <= self.high
        if not good:
            raise ParameterError(f"{self._wanted()}, got {str(value)[:60]!r}", who=self.text)
        return value  # type: ignore[return-value]

    def _wanted(self) -> str:
        if self.choices:
            return f"expected one of {', '.join(self.choices)}"
        if isinstance(self.default, bool):
            return "expected yes or no"
        return f"expected a number from {self.low:g} to {self.high:g}"


PREFERENCES: tuple[Preference, ...] = (
    Preference("theme", "Look", "Theme", "Colours of the whole window.", "system",
               ("system", "dark", "light")),
    Preference("scale", "Look", "Scale", "Size of everything in the window, in per cent; takes "
               "effect at the next start.", 100, low=75, high=300),
    Preference("reduced_motion", "Look", "Reduced motion", "Change places at once instead of "
               "sliding there.", False),
    Preference("high_contrast", "Look", "High contrast", "Draw all text and outlines in their "
               "strongest colours.", False),
    Preference("search_on_release", "Canvas", "Search on release", "When a wire is dropped on "
               "nothing, open the search for a layer.", "always",
               ("always", "with shift", "never")),
    Preference("wire_style", "Canvas", "Wires", "How wires are drawn.", "curve",
               ("curve", "right-angle", "straight")),
    Preference("wheel", "Canvas", "Wheel", "What the wheel and two fingers on a touchpad do; "
               "automatic zooms with the wheel and scrolls with fingers. With Ctrl both zoom.",
               "automatic", ("automatic", "zoom", "scroll")),
    Preference("minimap", "Canvas", "Minimap", "Show the whole graph small in the corner.", True),
    Preference("previews", "Canvas", "Previews on layers", "Show what a layer makes of a sample.",
               True),
    Preference("backend", "Training", "Train on", "Where networks are trained; automatic takes "
               "OpenGL when the renderer is hardware.", "auto", ("auto", "gl", "cpu")),
    Preference("priority", "Training", "Priority", "Who goes first while a network trains: the "
               "window answers at once, or the training loses least.", "window",
               ("window", "balanced", "training")),
    Preference("shared_views", "Live views", "Draw from device memory", "Draw tensors straight "
               "from the device's buffers; automatic does so where the renderer is hardware.",
               "auto", ("auto", "always", "never")),
    Preference("live_rate", "Live views", "Refresh rate", "Pictures a second of live tensors.",
               10, low=1, high=30),
    Preference("profile_live", "Live views", "Profile while training", "Measure a step now and "
               "then while training, for the profiler.", True),
    Preference("watchdog", "Live views", "Watch for stalls", "Write to the debug log, a file for "
               "developers, where the window stood still for more than a tenth of a second.", True),
    Preference("restore_session", "Files", "Open last project", "Open the last project at start.",
               False),
)  # fmt: skip


class Preferences:
    """The preferences and the file they are kept in.

    Args:
        path: the file, made at the first change; None keeps them in memory.
        declared: what can be chosen.
    """

    def __init__(
        self, path: Path | None = None, declared: tuple[Preference, ...] = PREFERENCES
    ) -> None:
        self.changed: Signal[[str]] = Signal()
        self._path = path
        self._declared = {each.id: each for each in declared}
        self._chosen: dict[str, Value] = {}
        self._overrides: dict[str, Value] = {}
        if path is not None and path.is_file():
            self._chosen = self._read(path)

    def __iter__(self) -> Iterator[Preference]:
        return iter(self._declared.values())

    def __getitem__(self, name: str) -> Value:
        """The value in force; KeyError for a preference nobody declared."""
        if name in self._overrides:
            return self._overrides[name]
        return self._chosen.get(name, self._declared[name].default)

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
        found, before = self._declared[name].check(value), self[name]
        self._overrides.pop(name, None)
        is_new = found != self[name]
        if is_new:
            self._chosen[name] = found
            if found == self._declared[name].default:
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
        self._overrides[name] = self._declared[name].check(value)
        self.changed.emit(name)

    def reset(self, name: str) -> None:
        """Take the default again."""
        self.set(name, self._declared[name].default)

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
                found[name] = self._declared[name].check(value)
            except (KeyError, StudioError) as error:
                _LOG.warning("preference %r is ignored: %s", name, error)
        return found
