"""What can be done in the profiler, the list of problems and the log."""

from __future__ import annotations

from collections.abc import Callable

from studio.ui.models.actions import ActionRegistry, ActionSpec
from studio.ui.models.preferences import Preferences
from studio.ui.models.problems import ProblemItem, ProblemList
from studio.ui.models.profiling import ProfilingModel

NOTHING_MEASURED = "no step has been measured"

ACTIONS: tuple[ActionSpec, ...] = (
    ActionSpec(
        "profiler.dry_run",
        "Dry run",
        "Run some steps on the project's data without keeping the weights, to see what they take.",
        menu="Profile",
        aliases=("measure a step", "benchmark"),
        group="measure",
        needs="sight",
    ),
    ActionSpec(
        "profiler.live",
        "Profile while training",
        "Measure a step now and then while training; what that costs is part of the step bar.",
        menu="Profile",
        aliases=("sample",),
        checkable=True,
        group="measure",
    ),
    ActionSpec(
        "profiler.freeze",
        "Freeze the profiler",
        "Keep the numbers that are shown, to read them; measuring goes on.",
        menu="Profile",
        aliases=("hold", "snapshot"),
        checkable=True,
        group="view",
    ),
    ActionSpec(
        "profiler.quiet",
        "Quiet",
        "Stop all live views, so that the training has the machine for itself.",
        menu="Profile",
        aliases=("silence", "pause views", "full speed"),
        checkable=True,
        group="view",
    ),
    ActionSpec(
        "profiler.measure_peaks",
        "Measure the device's peaks",
        "Find out how fast the device multiplies and copies at its best, for the roofline.",
        menu="Profile",
        aliases=("calibrate", "roofline"),
        group="measure",
    ),
    ActionSpec(
        "profiler.export_trace",
        "Export trace…",
        "Write the measured steps as a Chrome trace, which Perfetto opens.",
        menu="Profile",
        aliases=("perfetto", "chrome", "timeline"),
        group="export",
        needs="sight",
    ),
    ActionSpec(
        "profiler.export_csv",
        "Export kernel table…",
        "Write the kernel table with all columns as CSV.",
        menu="Profile",
        aliases=("csv", "spreadsheet"),
        group="export",
        needs="sight",
    ),
    ActionSpec(
        "problems.next",
        "Next problem",
        "Go to the next problem and show where it is.",
        keys=("F4",),
        menu="Graph",
        aliases=("error", "warning"),
        group="problems",
        needs="sight",
    ),
    ActionSpec(
        "problems.previous",
        "Previous problem",
        "Go to the problem before and show where it is.",
        keys=("Shift+F4",),
        menu="Graph",
        aliases=("error", "warning"),
        group="problems",
        needs="sight",
    ),
    ActionSpec(
        "log.copy",
        "Copy the log",
        "Copy the lines of the log that are shown.",
        menu="Help",
        aliases=("report",),
        group="log",
        needs="sight",
    ),
    ActionSpec(
        "log.clear",
        "Clear the log",
        "Forget the lines of the log.",
        menu="Help",
        group="log",
        needs="sight",
    ),
)


def bind_profiling(
    actions: ActionRegistry, profiling: ProfilingModel, preferences: Preferences
) -> None:
    """Carry out those actions of the profiler that need no window."""

    def switch_live() -> None:
        preferences.set("profile_live", not preferences.flag("profile_live"))

    actions.bind("profiler.dry_run", profiling.start_dry_run, profiling.why_no_dry_run)
    actions.bind("profiler.live", switch_live, checked=lambda: preferences.flag("profile_live"))
    actions.bind(
        "profiler.freeze",
        lambda: profiling.set_frozen(not profiling.frozen),
        lambda: "" if profiling.measurement is not None else NOTHING_MEASURED,
        lambda: profiling.frozen,
    )
    actions.bind(
        "profiler.quiet",
        lambda: profiling.set_quiet(not profiling.quiet),
        checked=lambda: profiling.quiet,
    )
    actions.bind("profiler.measure_peaks", profiling.measure_peaks, profiling.why_no_peaks)


def bind_problems(actions: ActionRegistry, problems: ProblemList) -> None:
    """Walk the list of problems."""

    def why_not() -> str:
        return "" if problems.items else "there are no problems"

    def walk(step: Callable[[], ProblemItem | None]) -> None:
        """Go there; a problem that is nowhere on the canvas is read in its pane."""
        item = step()
        pane = "pane.problems"
        if item is not None and item.entity is None and not actions.is_checked(pane):
            actions.trigger(pane)

    actions.bind("problems.next", lambda: walk(problems.next), why_not)
    actions.bind("problems.previous", lambda: walk(problems.previous), why_not)
