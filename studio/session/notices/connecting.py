"""Offers to connect again to trainings on a cluster that nobody here follows."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from studio.engine.core.errors import StudioError
from studio.engine.scale.remote.tickets import Ticket, ticket_of
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.run_lock import holder_of
from studio.session.core.run_notes import read_notes, title_of
from studio.session.core.tasks import TaskHandle, TaskList
from studio.session.live.tensors import LiveTensors
from studio.session.notices.notices import NoticeAction, Notices
from studio.session.notices.settling import TRAINING
from studio.session.profiling.profiling import ProfilingModel
from studio.session.training.state import BUSY, State, TrainingOutcome
from studio.session.training.training import TrainingModel

CONNECT = "Connect again"
_IF_GONE = (
    "If that cluster has ended, choose This computer and continue the run from the last checkpoint "
    "that arrived."
)


class Reconnect:
    """Tells where trainings go on out of sight: after a connection was lost, and at opening.

    Args:
        training: connects again.
        live: shows nothing of a training elsewhere.
        profiling: measures nothing of one.
    """

    def __init__(
        self, notices: Notices, training: TrainingModel, tasks: TaskList, live: LiveTensors,
        profiling: ProfilingModel,
    ) -> None:  # fmt: skip
        self._live = live
        self._profiling = profiling
        training.state_changed.connect(self._state_changed)
        self._notices = notices
        self._training = training
        self._tasks = tasks
        training.ended.connect(self._ended)

    def follow(self) -> None:
        """Another project is open: look which of its runs are elsewhere."""
        runs = self._training.runs_path

        def found(ticket: tuple[RunFolder, Ticket] | None) -> None:
            if ticket is not None and runs == self._training.runs_path:
                run, where = ticket
                title = title_of(run.name, read_notes(run))
                text = f"Run {title} was sent to the cluster at {where.address}"
                self._notices.add(
                    text, "info", self._action(run), f"It may train there still. {_IF_GONE}",
                    about=TRAINING,
                )  # fmt: skip

        self._tasks.start(
            "Look for trainings elsewhere", partial(_newest_elsewhere, runs), found, quiet=True
        )

    def _state_changed(self, state: State) -> None:
        """Tensors and steps of a training elsewhere stay there: live views say so."""
        is_there = bool(self._training.address) and state in BUSY
        self._live.train_elsewhere(is_there)
        self._profiling.train_elsewhere(is_there)

    def _ended(self, outcome: TrainingOutcome) -> None:
        run = self._training.run
        if outcome.is_lost:
            text = f"{outcome.reason[:1].upper()}{outcome.reason[1:]}"
            action = None if run is None else self._action(run)
            self._notices.add(text, "warning", action, _IF_GONE, about=TRAINING)

    def _action(self, run: RunFolder) -> NoticeAction:
        def connect() -> None:
            try:
                self._training.connect_again(run)
            except StudioError as error:
                self._notices.add_error(error)

        return (CONNECT, connect)


def _newest_elsewhere(runs: Path, _: TaskHandle) -> tuple[RunFolder, Ticket] | None:
    """The newest run that trains on a cluster and that no process here follows."""
    folders = sorted(runs.iterdir(), reverse=True) if runs.is_dir() else []
    for folder in folders:
        run = RunFolder(folder)
        ticket = ticket_of(run)
        if ticket is not None and holder_of(folder) is None:
            return run, ticket
    return None
