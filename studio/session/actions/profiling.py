"""What can be done to measure the steps of a training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from studio.session.core.action_table import Action, ActionTable

if TYPE_CHECKING:
    from studio.session.studio import Studio

NOTHING_MEASURED = "no step was measured yet"


def _switch_live(studio: Studio) -> None:
    studio.preferences.set("profile_live", not studio.preferences.flag("profile_live"))


def _why_nothing_measured(studio: Studio) -> str:
    return "" if studio.profiling.measurement is not None else NOTHING_MEASURED


ACTIONS: ActionTable[Studio] = ActionTable(
    70,
    Action(
        "profiler.dry_run",
        "Dry run",
        "Run a few training steps on the project's data and measure them; weights are not kept.",
        menu="Profile",
        aliases=("measure a step", "benchmark"),
        group="measure",
        needs="sight",
        run=lambda studio: studio.profiling.start_dry_run(),
        enabled=lambda studio: studio.profiling.why_no_dry_run(),
    ),
    Action(
        "profiler.live",
        "Profile while training",
        "Measure a step from time to time while training; the step bar shows the overhead.",
        menu="Profile",
        aliases=("sample",),
        group="measure",
        run=_switch_live,
        checked=lambda studio: studio.preferences.flag("profile_live"),
    ),
    Action(
        "profiler.freeze",
        "Freeze the profiler",
        "Stop updating the numbers shown; measuring continues.",
        menu="Profile",
        aliases=("hold", "snapshot"),
        group="view",
        run=lambda studio: studio.profiling.set_frozen(not studio.profiling.frozen),
        enabled=_why_nothing_measured,
        checked=lambda studio: studio.profiling.frozen,
    ),
    Action(
        "profiler.quiet",
        "Pause live views",
        "Pause all live views to leave the whole machine to training.",
        menu="Profile",
        aliases=("silence", "pause views", "full speed"),
        group="view",
        run=lambda studio: studio.profiling.set_quiet(not studio.profiling.quiet),
        checked=lambda studio: studio.profiling.quiet,
    ),
    Action(
        "profiler.measure_peaks",
        "Measure the device's peaks",
        "Measure the peak GFLOP/s and GB/s of the device for the roofline.",
        menu="Profile",
        aliases=("calibrate", "roofline"),
        group="measure",
        run=lambda studio: studio.profiling.measure_peaks(),
        enabled=lambda studio: studio.profiling.why_no_peaks(),
    ),
)
"""What needs no pane, in menu order."""
