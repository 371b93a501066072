"""Everything between the wish to train and the first step, in the background."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from studio.engine.core.errors import DataError, StudioError
from studio.engine.train.project import SUFFIX, Project
from studio.engine.train.resuming import ResumePoint, beyond_an_early_stop, point_of
from studio.engine.train.runs import RunFolder
from studio.engine.train.task import Task
from studio.engine.train.trainer import Trainer
from studio.session.compile.compilation_result import OpenData
from studio.session.plots.curves import RunCurves
from studio.session.plots.curves_recorded import load_curves
from studio.session.training.device import Device, LentContext
from studio.session.training.news import TrainingNews

UNTITLED = "untitled"


@dataclass(frozen=True)
class Plan:
    """What is to be trained, where, and recorded where.

    Attributes:
        project: network, data and settings; its folder is where relative data paths start.
        runs: folder that gets the run.
        choice: the device: ``auto``, ``gl`` or ``cpu``.
        context: provider of the OpenGL context, if the window has one to share.
        run: the run to go on with, or None for a new one.
        epochs: epochs in all where that differs from the project's settings.
    """

    project: Project
    runs: Path
    choice: str
    context: LentContext | None = None
    run: RunFolder | None = None
    epochs: int | None = None


@dataclass(frozen=True, eq=False)
class Prepared:
    """A training that can start.

    Attributes:
        trainer: what trains.
        run: where it is recorded.
        curves: what was recorded of it before.
        news: what it emits, for the window.
        why: one sentence about the device.
        project: what is trained, as recorded with the run.
    """

    trainer: Trainer
    run: RunFolder
    curves: RunCurves
    news: TrainingNews
    why: str
    project: Project


def runs_folder(path: Path | None, data: Path, uuid: str) -> Path:
    """Where the runs of a project are kept.

    Args:
        path: the project's file; without one, its runs are kept with the user's data.
        data: folder of the user's data.
        uuid: names a project without a file.
    """
    if path is not None:
        return path.with_suffix(".runs")
    return data / UNTITLED / uuid / f"{UNTITLED}.runs"


def prepare(
    plan: Plan,
    device: Device,
    dataset: OpenData,
    told: Callable[[], object],
    step: Callable[[str], object],
) -> Prepared:
    """Open data and device, make the run's folder and the trainer.

    Args:
        plan: what is wanted.
        device: opens the backend.
        dataset: opens data sets, or has them open.
        told: called on the training thread when there is news.
        step: hears what comes next; raises to stop.

    Raises:
        StudioError: what data, graph, device or the folder refuse.
    """
    project = plan.project.with_training(epochs=plan.epochs)
    step("opening the data")
    if project.data is None:
        raise DataError(
            "there is no data to train on", who=project.name, hint="choose data for the project"
        )
    task = Task.of_project(project, dataset(project.data, project.folder))
    point = None if plan.run is None else point_of(plan.run)
    step("opening the device")
    opened = device.open(plan.choice, plan.context)
    step("making the run")
    run = plan.run or _new_run(project, plan.runs)
    curves = load_curves(run) if plan.run is not None else RunCurves(run.name)
    try:
        trainer = Trainer(task, opened.backend, run=run)
        news = TrainingNews(trainer, run, told)
        if point is not None:
            _resume(trainer, point, curves.elapsed, project)
    except StudioError as error:
        if plan.run is None:
            run.write_summary({"state": "failed", "reason": error.message, "started": run.name})
        raise
    return Prepared(trainer, run, curves, news, opened.why, project)


def _resume(trainer: Trainer, point: ResumePoint, seconds: float, project: Project) -> None:
    """Go on from there; behind an early stop, since more was asked for."""
    try:
        trainer.resume(beyond_an_early_stop(point.checkpoint), seconds, project)
        point.require_newest()
    except BaseException:
        trainer.close()
        raise


def _new_run(project: Project, runs: Path) -> RunFolder:
    # A project that has no file is recorded as if it had one beside its runs.
    try:
        runs.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        in_the_way = isinstance(error, FileExistsError | NotADirectoryError)
        why = "a part of the path is not a folder" if in_the_way else error.strerror
        raise DataError(
            f"runs cannot be recorded here: {why}",
            who=str(runs.parent),
            hint="save the project in a folder you may write to",
        ) from error
    recorded = replace(project, path=runs.with_suffix(SUFFIX))
    return RunFolder.create(recorded, datetime.now(UTC))
