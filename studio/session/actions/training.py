"""What can be done to train the network and to test it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from studio.engine.train.runs.run_folder import RunFolder
from studio.session.core.action_table import Action, ActionTable
from studio.session.training.training import NO_DATA

if TYPE_CHECKING:
    from studio.session.studio import Studio

IDLE = "no training is running"
UNDER_WAY = "a training is running"
NEVER_TRAINED = "no training was run yet"
STOPPING = "training is stopping"
_RUNS = "training is already running"
_BEGUN = {"preparing": _RUNS, "running": _RUNS, "stopping": STOPPING}


def _show(studio: Studio, pane: str) -> None:
    """Show a pane: its action is the window's, and switches one off that is in sight."""
    action = f"pane.{pane}"
    if action in studio.actions and not studio.actions.is_checked(action):
        studio.actions.trigger(action)


# A training that is under way can be paused and stopped from everywhere; none may begin of a
# project that is out of sight.


def _start(studio: Studio) -> None:
    """A graph that cannot be trained shows why, as a broken arrow does."""
    training = studio.training
    reason = "" if training.is_busy else training.why_not_start()
    if reason:
        _show(studio, "data" if reason == NO_DATA else "problems")
    else:
        training.start()


def _why_not_start(studio: Studio) -> str:
    # A project that cannot be trained shows why: that is what the action does then.
    if studio.training.is_busy:
        return _BEGUN.get(studio.training.state, "")
    return studio.welcome_state.why_out_of_sight()


def _why_not_pause(studio: Studio) -> str:
    busy = studio.training.state in ("preparing", "running", "pausing", "paused")
    return "" if busy else IDLE


def _why_not_step(studio: Studio) -> str:
    if studio.training.is_busy:
        return "" if studio.training.state != "stopping" else STOPPING
    return studio.welcome_state.why_out_of_sight() or studio.training.why_not_start()


def _why_not_stop(studio: Studio) -> str:
    training = studio.training
    return "" if training.is_busy and training.state != "stopping" else IDLE


def _newest(studio: Studio) -> RunFolder | None:
    runs = studio.runs.runs
    found = (run.folder for run in runs if run.can_go_on and not run.notes.archived)
    last = studio.training.run
    # What was trained last may have been deleted since.
    return last if last is not None and last.path.is_dir() else next(found, None)


def _go_on(studio: Studio) -> None:
    run = _newest(studio)
    if run is not None:
        studio.training.resume_run(run)


def _why_not_go_on(studio: Studio) -> str:
    if studio.training.is_busy:
        return UNDER_WAY
    return "" if _newest(studio) is not None else NEVER_TRAINED


def _why_not_reset(studio: Studio) -> str:
    if studio.training.is_busy:
        return UNDER_WAY
    return "" if studio.training.run is not None else NEVER_TRAINED


def _test(studio: Studio) -> None:
    studio.pane_wanted.emit("testing")
    studio.evaluation.measure()


def _plan_sweep(studio: Studio) -> None:
    # First, so that the pane has something to show.
    studio.sweeps.plan_next()
    studio.pane_wanted.emit("sweeps")


ACTIONS: ActionTable[Studio] = ActionTable(
    40,
    Action(
        "train.start",
        "Train",
        "Train the network from initial weights, or resume after a pause.",
        keys=("F5", "Ctrl+Return"),
        menu="Train",
        aliases=("run", "fit", "play", "continue"),
        group="transport",
        icon="play",
        run=_start,
        enabled=_why_not_start,
    ),
    Action(
        "train.pause",
        "Pause",
        "Pause after the current step, or resume.",
        keys=("F8",),
        menu="Train",
        aliases=("hold", "resume", "break"),
        group="transport",
        icon="pause",
        run=lambda studio: studio.training.toggle_pause(),
        enabled=_why_not_pause,
        checked=lambda studio: studio.training.state in ("pausing", "paused"),
    ),
    Action(
        "train.step_batch",
        "Step one batch",
        "Train on one batch, then pause.",
        menu="Train",
        aliases=("single step", "one step"),
        group="transport",
        icon="step-batch",
        run=lambda studio: studio.training.step_batch(),
        enabled=_why_not_step,
    ),
    Action(
        "train.step_epoch",
        "Step one epoch",
        "Train to the end of the epoch, then pause.",
        menu="Train",
        aliases=("one epoch",),
        group="transport",
        icon="step-epoch",
        run=lambda studio: studio.training.step_epoch(),
        enabled=_why_not_step,
    ),
    Action(
        "train.stop",
        "Stop",
        "Stop training after the current step; the trained weights are kept.",
        keys=("Shift+F5",),
        menu="Train",
        aliases=("end", "cancel", "abort"),
        group="transport",
        icon="stop",
        run=lambda studio: studio.training.stop(),
        enabled=_why_not_stop,
    ),
    Action(
        "train.continue",
        "Continue training",
        "Continue the last run up to its planned epochs, or for as many more.",
        menu="Train",
        aliases=("more epochs", "resume", "extend"),
        group="after",
        needs="sight",
        icon="play",
        run=_go_on,
        enabled=_why_not_go_on,
    ),
    Action(
        "train.reset",
        "Reset weights",
        "Start the next training from initial weights; the run stays in the list.",
        menu="Train",
        aliases=("reset", "clear"),
        group="after",
        needs="project",
        icon="revert",
        run=lambda studio: studio.training.reset(),
        enabled=_why_not_reset,
    ),
    Action(
        "train.test",
        "Test the network",
        "Measure the network on the test part and show its errors.",
        menu="Train",
        aliases=("evaluate", "accuracy", "confusion matrix"),
        group="after",
        needs="project",
        icon="testing",
        run=_test,
        enabled=lambda studio: studio.evaluation.why_not(),
    ),
    Action(
        "train.sweep",
        "New sweep…",
        "Train the project many times with other settings and compare the results.",
        menu="Train",
        aliases=("hyperparameters", "tune", "search", "grid", "optuna", "vary"),
        group="sweep",
        needs="sight",
        icon="sweep",
        run=_plan_sweep,
    ),
)
"""The actions of training, in menu order."""
