"""What can be done with trainings, plots, runs and the test page."""

from __future__ import annotations

from collections.abc import Callable

from studio.engine.train.runs import RunFolder
from studio.ui.models.actions import ActionRegistry, ActionSpec
from studio.ui.models.evaluation import EvaluationModel
from studio.ui.models.runs import RunList
from studio.ui.models.training import NO_DATA, TrainingModel

ACTIONS: tuple[ActionSpec, ...] = (
    ActionSpec(
        "train.start",
        "Train",
        "Train the network from fresh weights, or go on after a pause.",
        keys=("F5", "Ctrl+Return"),
        menu="Train",
        aliases=("run", "fit", "play", "continue"),
        group="transport",
    ),
    ActionSpec(
        "train.pause",
        "Pause",
        "Stand still after the step that runs now, or go on.",
        keys=("F8",),
        menu="Train",
        aliases=("hold", "resume", "break"),
        checkable=True,
        group="transport",
    ),
    ActionSpec(
        "train.step_batch",
        "Step one batch",
        "Train on one batch and stand still.",
        menu="Train",
        aliases=("single step", "one step"),
        group="transport",
    ),
    ActionSpec(
        "train.step_epoch",
        "Step one epoch",
        "Train to the end of the epoch and stand still.",
        menu="Train",
        aliases=("one epoch",),
        group="transport",
    ),
    ActionSpec(
        "train.stop",
        "Stop",
        "End the training after the step that runs now; what was trained is kept.",
        keys=("Shift+F5",),
        menu="Train",
        aliases=("end", "cancel", "abort"),
        group="transport",
    ),
    ActionSpec(
        "train.continue",
        "Continue training",
        "Go on with the last run: to the epochs that were planned, or for as many again.",
        menu="Train",
        aliases=("more epochs", "resume", "extend"),
        group="after",
        needs="sight",
    ),
    ActionSpec(
        "train.reset",
        "Forget weights",
        "Begin from fresh weights; the run stays in the list.",
        menu="Train",
        aliases=("reset", "clear"),
        group="after",
        needs="project",
    ),
    ActionSpec(
        "train.test",
        "Test the network",
        "Measure the network on the test part and show what it gets wrong.",
        menu="Train",
        aliases=("evaluate", "accuracy", "confusion matrix"),
        group="after",
        needs="project",
    ),
)

PLOT_ACTIONS: tuple[ActionSpec, ...] = (
    ActionSpec(
        "plots.follow",
        "Follow the training",
        "Show everything and keep up with what is added.",
        keys=("A",),
        context="plot",
        aliases=("fit", "autoscale", "zoom out"),
        checkable=True,
        group="view",
    ),
    ActionSpec(
        "plots.log_y",
        "Logarithmic values",
        "Show values by their magnitude; those at or below zero get a zone of their own.",
        keys=("Y",),
        context="plot",
        aliases=("log scale",),
        checkable=True,
        group="view",
    ),
    ActionSpec(
        "plots.outliers",
        "Leave outliers out of the range",
        "Fit the vertical range to most of the points, so that a few do not press the rest flat.",
        keys=("O",),
        context="plot",
        aliases=("clip", "percentile"),
        checkable=True,
        group="view",
    ),
    ActionSpec(
        "plots.smoother",
        "Smooth more",
        "Average over more steps.",
        keys=("]",),
        context="plot",
        group="smoothing",
    ),
    ActionSpec(
        "plots.rougher",
        "Smooth less",
        "Average over fewer steps.",
        keys=("[",),
        context="plot",
        group="smoothing",
    ),
    ActionSpec(
        "plots.pin",
        "Pin to the top",
        "Show this plot before the others.",
        context="plot",
        checkable=True,
        group="view",
    ),
    ActionSpec(
        "plots.copy",
        "Copy picture",
        "Copy the plot as it is shown.",
        keys=("Ctrl+C",),
        context="plot",
        aliases=("screenshot", "image"),
        group="export",
    ),
    ActionSpec(
        "plots.export_csv",
        "Export numbers…",
        "Write every point of the curves shown to a CSV file, nothing thinned.",
        context="plot",
        aliases=("csv", "save data"),
        group="export",
    ),
)


def _in_sight() -> str:
    return ""


def bind_training(
    actions: ActionRegistry,
    training: TrainingModel,
    evaluation: EvaluationModel,
    runs: RunList,
    out_of_sight: Callable[[], str] = _in_sight,
) -> None:
    """Carry out those actions that need no window of their own.

    Args:
        actions: the action table.
        training: starts, pauses and stops.
        evaluation: tests the network.
        runs: recorded ones can be continued.
        out_of_sight: why the project cannot be seen, so that no training of it may begin; one
            that is under way can be paused and stopped from everywhere.
    """

    def start() -> None:
        # A graph that cannot be trained shows why, as a broken arrow does.
        reason = "" if training.is_busy else training.why_not_start()
        if reason:
            _show(actions, "data" if reason == NO_DATA else "problems")
        else:
            training.start()

    def why_not_pause() -> str:
        return "" if training.state in ("preparing", "running", "pausing", "paused") else IDLE

    def why_not_step() -> str:
        if training.is_busy:
            return "" if training.state != "stopping" else STOPPING
        return out_of_sight() or training.why_not_start()

    def why_not_stop() -> str:
        return "" if training.is_busy and training.state != "stopping" else IDLE

    def why_not_start() -> str:
        # A project that cannot be trained shows why: that is what the action does then.
        if training.is_busy:
            return _BEGUN.get(training.state, "")
        return out_of_sight()

    actions.bind("train.start", start, why_not_start)
    actions.bind(
        "train.pause", training.toggle_pause, why_not_pause,
        lambda: training.state in ("pausing", "paused"),
    )  # fmt: skip
    actions.bind("train.step_batch", training.step_batch, why_not_step)
    actions.bind("train.step_epoch", training.step_epoch, why_not_step)
    actions.bind("train.stop", training.stop, why_not_stop)
    _bind_after(actions, training, evaluation, runs)


def _bind_after(
    actions: ActionRegistry, training: TrainingModel, evaluation: EvaluationModel, runs: RunList
) -> None:
    """What can be done with a training that is over."""

    def test() -> None:
        _show(actions, "testing")
        evaluation.measure()

    def why_not_reset() -> str:
        if training.is_busy:
            return UNDER_WAY
        return "" if training.trainer is not None else NEVER_TRAINED

    def newest() -> RunFolder | None:
        found = (run.folder for run in runs.runs if run.can_go_on and not run.notes.archived)
        last = training.run
        # What was trained last may have been deleted since.
        return last if last is not None and last.path.is_dir() else next(found, None)

    def go_on() -> None:
        run = newest()
        if run is not None:
            training.resume_run(run)

    def why_not_go_on() -> str:
        if training.is_busy:
            return UNDER_WAY
        return "" if newest() is not None else NEVER_TRAINED

    actions.bind("train.continue", go_on, why_not_go_on)
    actions.bind("train.reset", training.reset, why_not_reset)
    actions.bind("train.test", test, evaluation.why_not)


def _show(actions: ActionRegistry, pane: str) -> None:
    """Show a pane: its action is the window's, and switches one off that is in sight."""
    action = f"pane.{pane}"
    if action in actions and not actions.is_checked(action):
        actions.trigger(action)


IDLE = "no training is under way"
UNDER_WAY = "a training is under way"
NEVER_TRAINED = "nothing was trained yet"
STOPPING = "the training is stopping"
_RUNS = "the training runs already"
_BEGUN = {"preparing": _RUNS, "running": _RUNS, "stopping": STOPPING}
