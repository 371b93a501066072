"""What can be done with the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from studio.session.core.action_table import Action, ActionTable

if TYPE_CHECKING:
    from studio.ui.panes.log.pane import LogPane

ACTIONS: ActionTable[LogPane] = ActionTable(
    73,
    Action(
        "log.copy",
        "Copy the log",
        "Copy the log lines shown.",
        menu="Help",
        aliases=("report",),
        group="log",
        needs="sight",
        run=lambda pane: pane.copy(),
        enabled=lambda pane: pane.why_empty(),
    ),
    Action(
        "log.clear",
        "Clear the log",
        "Delete all log lines.",
        menu="Help",
        group="log",
        needs="sight",
        run=lambda pane: pane.clear(),
        enabled=lambda pane: pane.why_empty(),
    ),
)
"""The actions of the log, in menu order."""
