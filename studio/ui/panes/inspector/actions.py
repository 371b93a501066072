"""What leads to the inspector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from studio.session.core.action_table import Action, ActionTable

if TYPE_CHECKING:
    from studio.ui.panes.inspector.pane import InspectorPane

ACTIONS: ActionTable[InspectorPane] = ActionTable(
    11,
    Action(
        "graph.edit_options", "Edit options", "Go to the layer's first field in the inspector.",
        ("Return", "Enter"), "Graph", "canvas", aliases=("parameters", "inspect"), group="layer",
        after="graph.rename",
        run=lambda pane: pane.edit_options(), enabled=lambda pane: pane.why_no_options(),
    ),
)  # fmt: skip
"""The actions of the inspector."""
