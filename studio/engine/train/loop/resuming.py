"""Finds the checkpoint a training is resumed from, and checks that it fits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from studio.engine.core.errors import CheckpointError, DataError, cleaned
from studio.engine.formats.checkpoint import Checkpoint, Position
from studio.engine.train.callbacks.early_stopping import EarlyStopping
from studio.engine.train.loop.epoch_loop import EpochLoop
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder, list_runs
from studio.engine.train.runs.run_lock import require_free


@dataclass(frozen=True, eq=False)
class ResumePoint:
    """Where a run goes on.

    Attributes:
        run: which one.
        path: its checkpoint that was trained furthest.
        checkpoint: what that file holds.
        passed_over: names of newer runs without a checkpoint to resume from.
    """

    run: RunFolder
    path: Path
    checkpoint: Checkpoint
    passed_over: tuple[str, ...] = ()

    def require_newest(self) -> None:
        """DataError where the run has gone on since; call it while holding the run's lock."""
        head = self.run.last_head()
        if head is None or head.position != self.checkpoint.position:
            raise DataError(
                "another process trained this run in the meantime",
                who=self.run.name,
                hint="try again",
            )


def resume_point(project: Project) -> ResumePoint:
    """Where the newest run that can go on stands.

    Imported weights cannot: they come without the state of a training.

    Raises:
        DataError: no run has a checkpoint to go on from, or another process trains it, or trains
            a newer one.
        FormatError, CheckpointError: the checkpoint is damaged.
    """
    passed: list[str] = []
    for run in reversed(list_runs(project)):
        require_free(run.path)
        if run.last_checkpoint() is not None:
            return replace(point_of(run), passed_over=tuple(passed))
        passed.append(run.name)
    raise DataError(
        "no run has a checkpoint to continue from",
        who=project.name,
        hint="train without --resume first",
    )


def point_of(run: RunFolder) -> ResumePoint:
    """Where a run stands; raises what `resume_point` raises."""
    path = run.last_checkpoint()
    if path is None:
        raise DataError(
            "there is no checkpoint to continue from", who=run.name, hint="start a new run"
        )
    return ResumePoint(run, path, Checkpoint.load(path))


def require_fit(task: Task, found: Checkpoint) -> None:
    """CheckpointError for a checkpoint of another seed, batch size or data set."""
    settings = task.settings
    for what, here, there in (
        ("seed", settings.seed, found.seed),
        ("batch size", settings.batch_size, found.batch_size),
        ("data hash", task.data_hash[:12], found.data_hash[:12]),
    ):
        if here != there:
            raise CheckpointError(
                f"the {what} is {here}, the checkpoint was made with {cleaned(str(there))}",
                who=task.name,
                hint="start a new run, or set it back",
            )


def require_place(position: Position, loop: EpochLoop) -> None:
    """CheckpointError where a checkpoint stands at a step that an epoch here does not have."""
    feeder, columns = loop.feeder, loop.metrics_reader.columns
    if (
        position.step > feeder.steps
        or position.rows > len(feeder.samples)
        or len(position.sums) not in (0, columns)
    ):
        raise CheckpointError(
            f"step {position.step} of an epoch and {position.rows} rows do not fit its "
            f"{feeder.steps} steps and {len(feeder.samples)} rows",
            who="checkpoint",
            hint="it was made with other data or metrics; train without --resume",
        )


def beyond_an_early_stop(found: Checkpoint) -> Checkpoint:
    """The checkpoint for training on after a callback has ended the training.

    Early stopping counts its patience from here. Any other checkpoint stays as it is, so that a
    training that was only interrupted ends in the same bytes.
    """
    if found.stop_reason is None:
        return found
    callbacks = tuple(
        (kind, {**state, "wait": 0} if kind == EarlyStopping.__name__ else state)
        for kind, state in found.callbacks
    )
    return replace(found, callbacks=callbacks, stop_reason=None)
