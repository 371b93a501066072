"""Imports the plugins that are switched on; one that fails is named and left out."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from studio.engine.core.app_dirs import CONFIG_VARIABLE
from studio.engine.core.discovery import all_or_none, import_modules
from studio.engine.core.errors import StudioError, in_one_line
from studio.engine.plugins.enabling import VARIABLE, enabled_plugins, why_off
from studio.engine.plugins.finding import FOLDER, MODULES, Found, find_plugins
from studio.engine.plugins.plugin import Plugin, forget, loaded_plugins, note_loaded

_LOG = logging.getLogger(__name__)

_BUILT_IN = (
    "studio.engine.isa.ops",
    "studio.engine.layers",
    "studio.engine.optim",
    "studio.engine.interop",
    "studio.engine.train.callbacks",
)
"""What is imported before a plugin, so that none can take a name of Glassbox."""


@dataclass(frozen=True)
class State:
    """The result of loading a plugin.

    Attributes:
        found: the plugin; for one that is not installed, only its name is meaningful.
        problem: why it is not loaded, empty when it is.
        failed: whether that is an error rather than the user's choice.
        trace: the traceback of a plugin that raised.
    """

    found: Found
    problem: str = ""
    failed: bool = False
    trace: str = ""


_states: tuple[State, ...] = ()
_list_problem = ""
_config: Path | None = None


def plugin_states() -> tuple[State, ...]:
    """What the last `load_plugins` of this process found, by name."""
    return _states


def plugins_config() -> Path | None:
    """The configuration whose plugins this process loads or leaves out; None before either."""
    return _config


def leave_out_plugins(config: Path) -> None:
    """Load none of a configuration's plugins; the preferences still list them."""
    global _config, _states, _list_problem
    _config, _states, _list_problem = config, (), ""


def list_problem() -> str:
    """Why the last `load_plugins` could not read which plugins are on; empty when it could."""
    return _list_problem


def load_plugins(config: Path) -> tuple[State, ...]:
    """Load the plugins that are switched on, those already loaded excepted.

    Args:
        config: folder of the user's configuration.

    Returns:
        Every plugin there is, and every one that is switched on and missing.
    """
    global _config, _states, _list_problem
    _config, _list_problem = config, ""
    try:
        enabled = enabled_plugins(config)
    except StudioError as error:
        _LOG.info("plugins are left out: %s", error)
        enabled, _list_problem = {}, str(error)
    if not enabled and not (config / FOLDER).is_dir():
        # Asking every installed package for entry points takes longer than most commands have.
        _states = ()
        return ()
    states = [_loaded(found, enabled) for found in find_plugins(config)]
    known = {state.found.plugin.name for state in states}
    for name in sorted(enabled.keys() - known):
        missing = Found(Plugin(name, enabled[name]), "", "")
        states.append(State(missing, "it is not installed", failed=True))
    _states = tuple(states)
    return _states


def for_child() -> dict[str, str]:
    """What to add to the environment of another process so that it loads the same plugins."""
    names = ",".join(f"{each.name}=={each.version}" for each in loaded_plugins())
    return {VARIABLE: names, CONFIG_VARIABLE: str(_config)} if names else {VARIABLE: ""}


def _loaded(found: Found, enabled: dict[str, str]) -> State:
    if found.plugin in loaded_plugins() and not found.shadowed:
        return State(found)
    problem = why_off(found, enabled)
    if problem:
        return State(found, problem, failed=found.plugin.name in enabled)
    for package in _BUILT_IN:
        import_modules(package)
    before = set(sys.modules)
    note_loaded(found.module, found.plugin)
    try:
        with all_or_none():
            _import(found)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # A plugin may raise anything, SystemExit included.
        # Callers say it to the user, each in its own way.
        _LOG.info("%s failed", found.plugin, exc_info=error)
        forget(found.module)
        for name in set(sys.modules) - before:
            if name == found.module or name.startswith(f"{found.module}."):
                del sys.modules[name]
        trace = "".join(traceback.format_exception(error))
        return State(found, in_one_line(error), failed=True, trace=trace)
    _LOG.info("%s is loaded from %s", found.plugin, found.place)
    return State(found)


def _import(found: Found) -> None:
    if found.path is None:
        importlib.import_module(found.module)
        return
    # A package of its own, so that a plugin called like a module of Python hides nothing.
    sys.modules.setdefault(MODULES, ModuleType(MODULES))
    spec = importlib.util.spec_from_file_location(found.module, found.path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{found.path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[found.module] = module
    spec.loader.exec_module(module)
