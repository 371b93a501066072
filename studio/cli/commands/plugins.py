"""``glassbox plugins``: which plugins there are, and switching them on and off."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from studio.cli import console
from studio.cli.options import JsonOption
from studio.engine.core.app_dirs import AppDirs
from studio.engine.core.errors import ParameterError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.plugins.enabling import FILE, VARIABLE, enabled_plugins, set_enabled, why_off
from studio.engine.plugins.finding import FOLDER, Found, find_plugins
from studio.engine.plugins.loading import State, load_plugins
from studio.engine.plugins.plugin import Plugin

EnableOption = Annotated[
    list[str], typer.Option("--enable", help="Turn a plugin on, for its installed version.",
                            metavar="NAME")
]  # fmt: skip
DisableOption = Annotated[
    list[str], typer.Option("--disable", help="Turn a plugin off.", metavar="NAME")
]


def plugins(
    enable: EnableOption = [],  # noqa: B006
    disable: DisableOption = [],  # noqa: B006
    as_json: JsonOption = False,
) -> None:
    """List plugins and turn them on or off.

    A plugin is an installed package with an entry point in the group glassbox.plugins, or a .py
    file in the folder plugins of the user's configuration. It runs as part of Glassbox: turn
    on only what you trust.
    """
    config = AppDirs.of_user().config
    there = {each.plugin.name: each for each in find_plugins(config) if not each.shadowed}
    for name in enable:
        set_enabled(config, _named(name, there), on=True)
    switched_on = enabled_plugins(config)
    for name in disable:
        known = {**there, **dict.fromkeys(switched_on)}
        if name not in known:
            _named(name, there)
        set_enabled(config, Plugin(name, ""), on=False)
    if (enable or disable) and VARIABLE in os.environ:
        console.note(f"{VARIABLE} is set and says which plugins are on; the list was changed")
    states = _states()
    if as_json:
        console.answer_json([_facts(state) for state in states])
    elif states:
        rows = [(s.found.plugin.name, s.found.plugin.version, s.found.place, s.problem or "on")
                for s in states]  # fmt: skip
        console.table(("plugin", "version", "from", "state"), rows)
    else:
        console.say(f"no plugins; {config / FOLDER} holds .py files, {config / FILE} the list")


def _states() -> tuple[State, ...]:
    config = AppDirs.of_user().config
    loaded = load_plugins(config)
    if loaded:
        return loaded
    enabled = enabled_plugins(config)
    return tuple(State(found, why_off(found, enabled)) for found in find_plugins(config))


def _named(name: str, there: dict[str, Found]) -> Plugin:
    if name not in there:
        raise ParameterError(
            f"there is no plugin {quoted(name)}",
            who="plugins",
            hint=did_you_mean(name, there, f"there are {', '.join(there) or 'none'}"),
        )
    found = there[name]
    if found.problem:
        raise ParameterError(f"{name} cannot be turned on: {found.problem}", who="plugins")
    return found.plugin


def _facts(state: State) -> dict[str, object]:
    found = state.found
    return {
        "name": found.plugin.name,
        "version": found.plugin.version,
        "from": found.place,
        "loaded": not state.problem,
        "problem": state.problem,
        "traceback": state.trace,
    }
