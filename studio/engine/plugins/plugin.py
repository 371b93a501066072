"""Which plugins are loaded, and which of them a class comes from."""

from __future__ import annotations

import traceback
from dataclasses import dataclass


@dataclass(frozen=True)
class Plugin:
    """A plugin by name and version."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"the plugin {self.name} {self.version}"


_BY_MODULE: dict[str, Plugin] = {}


def note_loaded(module: str, plugin: Plugin) -> None:
    """Record that a module, with its submodules, belongs to a plugin."""
    _BY_MODULE[module] = plugin


def forget(module: str) -> None:
    """Undo `note_loaded`."""
    _BY_MODULE.pop(module, None)


def loaded_plugins() -> tuple[Plugin, ...]:
    """Every plugin that is loaded, by name."""
    return tuple(sorted(_BY_MODULE.values(), key=lambda each: each.name))


def plugin_modules() -> tuple[tuple[Plugin, str], ...]:
    """Every plugin that is loaded and what its module is called, by name."""
    pairs = ((plugin, module) for module, plugin in _BY_MODULE.items())
    return tuple(sorted(pairs, key=lambda each: each[0].name))


def plugin_of(cls: type) -> Plugin | None:
    """The plugin a class comes from; None for one of Glassbox or of the user's own script."""
    return plugin_of_module(cls.__module__)


def plugin_of_module(module: str) -> Plugin | None:
    """The plugin a module belongs to; None for any other module."""
    while module:
        if module in _BY_MODULE:
            return _BY_MODULE[module]
        module = module.rpartition(".")[0]
    return None


def raised_in(error: BaseException) -> str:
    """The plugin an exception was raised in, and where; empty for one raised in no plugin."""
    found = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        plugin = plugin_of_module(frame.f_globals.get("__name__", ""))
        if plugin is not None:
            found = f"{plugin} ({frame.f_code.co_filename}, line {line})"
    return found
