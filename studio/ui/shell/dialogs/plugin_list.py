"""The plugins in the preferences: origin, state, and a check box for each."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtWidgets import QCheckBox, QLabel, QVBoxLayout, QWidget

from studio.engine.core.errors import StudioError
from studio.engine.plugins.enabling import VARIABLE, enabled_plugins, set_enabled, why_off
from studio.engine.plugins.finding import FOLDER, Found, find_plugins
from studio.engine.plugins.loading import plugin_states
from studio.engine.plugins.plugin import Plugin, loaded_plugins
from studio.ui.shell.commands import fuzzy
from studio.widgets import theme

_INDENT = 24


@dataclass(frozen=True)
class Listed:
    """A plugin as the list shows it.

    Attributes:
        plugin: its name and version.
        place: its file or package; empty where it is not installed.
        on: whether it is loaded at the next start.
        can_change: whether that can be changed.
        state: one sentence.
    """

    plugin: Plugin
    place: str
    on: bool
    can_change: bool
    state: str


def listed_plugins(config: Path) -> tuple[Listed, ...]:
    """The plugins that are installed, and those that are switched on and not there; by name.

    Raises:
        StudioError: which are switched on cannot be read.
    """
    enabled = enabled_plugins(config)
    there = find_plugins(config)
    found = [_listed(each, enabled) for each in there]
    for name in sorted(enabled.keys() - {each.plugin.name for each in there}):
        plugin = Plugin(name, enabled[name])
        found.append(Listed(plugin, "", True, VARIABLE not in os.environ, "Not installed."))
    return tuple(found)


def _listed(found: Found, enabled: dict[str, str]) -> Listed:
    why = why_off(found, enabled)
    is_asked_for = found.plugin.name in enabled and not found.shadowed
    on = not why or (bool(found.problem) and is_asked_for)
    free = VARIABLE not in os.environ and (on or not found.problem)
    return Listed(found.plugin, found.place, on, free, _state(found, why))


def _state(found: Found, why: str) -> str:
    is_loaded = found.plugin in loaded_plugins() and not found.shadowed
    if is_loaded:
        return "Turned off from the next start." if why else "Loaded."
    if why:
        return f"{why[:1].upper()}{why[1:]}."
    begun = next((s for s in plugin_states() if s.found.plugin == found.plugin), None)
    if begun is not None and begun.failed:
        return f"Not loaded: {begun.problem}."
    return "Loaded at the next start."


class PluginList(QWidget):
    """A box for each plugin, its origin and its state.

    Args:
        config: folder of the user's configuration.
        changed: called when one was switched on or off.
        failed: called with the error when switching one fails.
        parent: the form.
    """

    def __init__(
        self,
        config: Path,
        changed: Callable[[], object],
        failed: Callable[[StudioError], object],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("plugins")
        self._config = config
        self._changed = changed
        self._failed = failed
        self._begun = self._switched_on()
        self._rows: list[QWidget] = []
        heading = QLabel("Plugins", self)
        heading.setFont(theme.font("title"))
        heading.setContentsMargins(0, 12, 0, 4)
        self._remark = QLabel(self)
        self._remark.setObjectName("plugins_remark")
        self._remark.setProperty("role", "faint")
        self._remark.setWordWrap(True)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(4)
        self._column.addWidget(heading)
        self._column.addWidget(self._remark)
        self.refresh()

    @property
    def is_changed(self) -> bool:
        """Whether other plugins are on than when the list was made."""
        return self._switched_on() != self._begun

    def fits(self, typed: str) -> bool:
        """Whether a search means the plugins."""
        names = " ".join(box.text() for box in self.findChildren(QCheckBox))
        return fuzzy.folded(typed) in fuzzy.folded(f"Plugins {names} {self._remark.text()}")

    def refresh(self) -> None:
        """Show the plugins there are now."""
        for row in self._rows:
            self._column.removeWidget(row)
            row.hide()
            row.deleteLater()
        self._rows = []
        try:
            plugins = listed_plugins(self._config)
        except StudioError as error:
            # Switching one on writes the list again; what was on is not known any more.
            plugins = tuple(_listed(found, {}) for found in find_plugins(self._config))
            self._say(f"Cannot read which plugins are on: {error.message}.")
        else:
            self._say("")
        for each in plugins:
            row = self._row(each)
            self._rows.append(row)
            self._column.addWidget(row)

    def _say(self, first: str) -> None:
        words = [first] if first else []
        words.append(
            "Plugins run with your permissions: turn on only those you trust. "
            "Changes take effect at the next start."
        )
        if VARIABLE in os.environ:
            words.append(f"The environment variable {VARIABLE} sets which plugins are on.")
        words.append(f"Plugins are installed packages, or .py files in {self._config / FOLDER}.")
        self._remark.setText("\n".join(words))

    def _row(self, each: Listed) -> QWidget:
        made = QWidget(self)
        box = QCheckBox(f"{each.plugin.name} {each.plugin.version}".rstrip(), made)
        box.setObjectName(f"plugin.{each.plugin.name}")
        box.setAccessibleDescription(each.state)
        box.setChecked(each.on)
        box.setEnabled(each.can_change)
        box.clicked.connect(lambda on: self._switch(each.plugin, on))
        text = QLabel("\n".join(filter(None, (each.state, each.place))), made)
        text.setObjectName(f"state.{each.plugin.name}")
        text.setProperty("role", "faint")
        text.setWordWrap(True)
        text.setContentsMargins(_INDENT, 0, 0, 0)
        column = QVBoxLayout(made)
        column.setContentsMargins(0, 4, 0, 4)
        column.setSpacing(2)
        column.addWidget(box)
        column.addWidget(text)
        return made

    def _switch(self, plugin: Plugin, on: bool) -> None:
        try:
            set_enabled(self._config, plugin, on)
        except StudioError as error:
            self._failed(error)
        self.refresh()
        self._changed()

    def _switched_on(self) -> dict[str, str]:
        try:
            return enabled_plugins(self._config)
        except StudioError:
            return {}
