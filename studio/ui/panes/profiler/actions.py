"""What can be done with what the profiler shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from studio.session.core.action_table import Action, ActionTable

if TYPE_CHECKING:
    from studio.ui.panes.profiler.pane import ProfilerPane

ACTIONS: ActionTable[ProfilerPane] = ActionTable(
    71,
    Action(
        "profiler.export_trace",
        "Export trace…",
        "Write the measured steps as a Chrome trace, which Perfetto opens.",
        menu="Profile",
        aliases=("perfetto", "chrome", "timeline"),
        group="export",
        needs="sight",
        run=lambda pane: pane.export_trace(),
        enabled=lambda pane: pane.why_nothing_measured(),
    ),
    Action(
        "profiler.export_csv",
        "Export kernel table…",
        "Write the kernel table with all columns as CSV.",
        menu="Profile",
        aliases=("csv", "spreadsheet"),
        group="export",
        needs="sight",
        run=lambda pane: pane.export_csv(),
        enabled=lambda pane: pane.why_nothing_measured(),
    ),
)
"""The actions of the profiler, in menu order."""
