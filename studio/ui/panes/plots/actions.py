"""What can be done with plots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from studio.session.core.action_table import Action, ActionTable

if TYPE_CHECKING:
    from studio.ui.panes.plots.pane import PlotsPane

ACTIONS: ActionTable[PlotsPane] = ActionTable(
    50,
    Action(
        "plots.follow",
        "Follow the training",
        "Show the whole course and keep up with new points.",
        keys=("A",),
        context="plot",
        aliases=("fit", "autoscale", "zoom out"),
        group="view",
        icon="fit",
        run=lambda pane: pane.display.follow(),
        enabled=lambda pane: pane.why_no_run(),
        checked=lambda pane: pane.display.follows,
    ),
    Action(
        "plots.log_y",
        "Logarithmic values",
        "Use a logarithmic axis; values at or below zero are drawn in a separate zone.",
        keys=("Y",),
        context="plot",
        aliases=("log scale",),
        group="view",
        run=lambda pane: pane.toggle_log(),
        enabled=lambda pane: pane.why_no_run(),
        checked=lambda pane: pane.metric_in_hand() in pane.display.log,
    ),
    Action(
        "plots.outliers",
        "Ignore outliers in the range",
        "Fit the vertical range to most points, ignoring a few outliers.",
        keys=("O",),
        context="plot",
        aliases=("clip", "percentile"),
        group="view",
        run=lambda pane: pane.display.leave_out_outliers(not pane.display.leaves_out_outliers),
        enabled=lambda pane: pane.why_no_run(),
        checked=lambda pane: pane.display.leaves_out_outliers,
    ),
    Action(
        "plots.seeds",
        "Join the seeds of a trial",
        "Draw the seeds of a trial as their mean with a band from the lowest to the highest.",
        context="plot",
        aliases=("mean", "spread", "average over seeds"),
        group="view",
        run=lambda pane: pane.display.join_seeds(not pane.display.joins_seeds),
        enabled=lambda pane: pane.why_no_seeds(),
        checked=lambda pane: pane.display.joins_seeds,
    ),
    Action(
        "plots.smoother",
        "Smooth more",
        "Average over more steps.",
        keys=("]",),
        context="plot",
        group="smoothing",
        run=lambda pane: pane.display.smooth_by(1),
        enabled=lambda pane: pane.why_no_run(),
    ),
    Action(
        "plots.rougher",
        "Smooth less",
        "Average over fewer steps.",
        keys=("[",),
        context="plot",
        group="smoothing",
        run=lambda pane: pane.display.smooth_by(-1),
        enabled=lambda pane: pane.why_no_run(),
    ),
    Action(
        "plots.pin",
        "Pin to the top",
        "Show this plot before the others.",
        context="plot",
        group="view",
        run=lambda pane: pane.toggle_pin(),
        enabled=lambda pane: pane.why_no_run(),
        checked=lambda pane: pane.metric_in_hand() in pane.display.pinned,
    ),
    Action(
        "plots.copy",
        "Copy image",
        "Copy the plot as shown.",
        keys=("Ctrl+C",),
        context="plot",
        aliases=("screenshot", "image"),
        group="export",
        icon="copy",
        run=lambda pane: pane.copy(),
        enabled=lambda pane: pane.why_no_run(),
    ),
    Action(
        "plots.export_csv",
        "Export data…",
        "Write all points of the curves shown to a CSV file.",
        context="plot",
        aliases=("csv", "save data"),
        group="export",
        icon="export",
        run=lambda pane: pane.ask_for_file(),
        enabled=lambda pane: pane.why_no_run(),
    ),
)
"""The actions of the plots, in menu order."""
