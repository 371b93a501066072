"""The panes of plugins, and the notices about plugins that fail."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Iterable

from studio.engine.core.errors import in_one_line
from studio.engine.plugins.loading import list_problem, plugin_states
from studio.engine.plugins.plugin import Plugin, plugin_modules
from studio.session.core.action_table import ActionRegistry, ActionTable
from studio.session.studio import Studio
from studio.ui.shell.actions import OF_WINDOW
from studio.ui.shell.docks.panes import CANVAS, PANES, PATH_BAR, PaneSpec, action_tables

FUNCTION = "window_panes"
"""What a plugin calls the function that returns the rows of its panes."""

_LOG = logging.getLogger(__name__)


def added_panes(studio: Studio) -> tuple[PaneSpec, ...]:
    """The panes of the plugins that are loaded; one that fails is named and left out.

    Args:
        studio: declares their actions and shows notices.
    """
    # What is declared first keeps its ids.
    studio.actions.declare(*action_tables((CANVAS, PATH_BAR, *PANES)), *OF_WINDOW)
    found: list[PaneSpec] = []
    for plugin, module in plugin_modules():
        make = getattr(sys.modules[module], FUNCTION, None)
        if make is None:
            continue
        try:
            rows = tuple(make())
        except Exception as error:
            _tell(studio, f"The panes of {plugin} could not be loaded", error)
            continue
        for row in rows:
            try:
                _check(studio, row, (*PANES, *found))
                found.append(row)
            except Exception as error:
                _tell(studio, f"A pane of {plugin} could not be loaded", error)
    return tuple(found)


def _check(studio: Studio, row: object, before: Iterable[PaneSpec]) -> None:
    """Declare the actions of a pane; an exception where the window cannot take it."""
    if not isinstance(row, PaneSpec):
        raise TypeError(f"expected a PaneSpec, got {type(row).__name__}")
    if row.id in {pane.id for pane in before}:
        raise ValueError(f"there is a pane {row.id!r} already")
    tables = action_tables((row,))
    for action in (action for table in tables for action in table):
        if action.id.startswith("pane."):
            raise ValueError(f"action {action.id!r}: such ids show and hide panes")
    added = [table for table in tables if any(a.id not in studio.actions for a in table)]
    trial = ActionRegistry()
    trial.declare(ActionTable(0, *studio.actions), *added)
    for keys, holder, action_id in trial.conflicts():
        raise ValueError(f"action {action_id!r}: {keys} does {holder!r}")
    studio.actions.declare(*tables)


def tell_failures(studio: Studio) -> None:
    """Tell the user of plugins that are switched on and were left out."""
    problem = list_problem()
    if problem:
        studio.notify(
            "No plugins loaded: their list cannot be read", "error",
            details=f"{problem}. Turn plugins on again in the preferences.",
        )  # fmt: skip
    for state in plugin_states():
        if state.failed:
            name = _named(state.found.plugin)
            _notify(studio, f"{name} was not loaded: {state.problem}", state.trace)


def _named(plugin: Plugin) -> str:
    return f"The plugin {plugin.name}"


def _tell(studio: Studio, what: str, error: Exception) -> None:
    _LOG.info("%s", what, exc_info=error)
    trace = "".join(traceback.format_exception(error))
    _notify(studio, f"{what}: {in_one_line(error)}", trace)


def _notify(studio: Studio, text: str, trace: str) -> None:
    studio.log.add(text, "error", "studio", trace)
    studio.notices.add(
        text, "error", ("Show the log", lambda: studio.log.point_at(text)), in_log=True
    )
