"""``glassbox train``: trains a project without a window, with a bar, an ETA and a recorded run."""

from __future__ import annotations

import time
from concurrent.futures import Future
from pathlib import Path
from typing import Annotated

import typer

from studio.cli import console
from studio.cli.options import BackendOption, JsonOption, ProjectArgument, find_project
from studio.cli.progress_bar import ProgressBar
from studio.engine.core.errors import DataError
from studio.engine.train.devices import open_backend
from studio.engine.train.project import Project
from studio.engine.train.runs import RunFolder, latest_run
from studio.engine.train.task import Task
from studio.engine.train.trainer import Trainer, TrainingResult

_TICK = 0.1


def train(
    project: ProjectArgument,
    backend: BackendOption = "auto",
    epochs: Annotated[
        int | None, typer.Option("--epochs", help="Passes over the data.", min=1)
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Seed of everything random.", min=0)
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the last checkpoint of the last run.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder the trained model is written to.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Train a project, record the run beside it, and evaluate on the test part."""
    from studio.engine.train.exporting import export_all

    path = find_project(project)
    opened = Project.load(path).with_training(epochs=epochs, seed=seed)
    task = Task.of_project(opened)
    with open_backend(backend) as device:
        _remark(device.why, quiet=as_json)
        run, checkpoint = _run_folder(opened, resume)
        with Trainer(task, device.backend, run=run) as trainer:
            if checkpoint is not None:
                trainer.resume(checkpoint)
            result = train_with_bar(trainer, quiet=as_json)
            test = trainer.evaluate("test")
            exports = export_all(trainer.trained(), out) if out is not None else []
    if as_json:
        console.answer_json(
            {
                "device": device.backend.device,
                "run": str(run.path),
                "epochs": len(result.epochs),
                "seconds": result.seconds,
                "outcome": result.outcome,
                "reason": result.reason,
                "history": result.history,
                "test": test,
                "exports": [str(e.path) for e in exports],
            }
        )
        return
    report(result, test)
    console.say(f"run: {run.path}")
    for export in exports:
        console.say(f"{export.format}: {export.path}")


def train_with_bar(trainer: Trainer, *, quiet: bool) -> TrainingResult:
    """Train on the trainer's own thread while a bar shows how far it is; Ctrl-C stops cleanly."""
    with ProgressBar(trainer.progress, quiet=quiet) as bar:
        future = trainer.start()
        try:
            _wait(future, bar)
        except KeyboardInterrupt:
            console.note("stopping after this step; go on later with --resume")
            trainer.control.stop()
        return future.result()


def report(result: TrainingResult, test: dict[str, float]) -> None:
    """Say what came out of a training."""
    if result.outcome != "finished":
        console.say(f"stopped: {result.reason or 'as you asked'}")
    console.say(f"trained {result.steps:,} steps in {result.seconds:.1f} s")
    for name, value in test.items():
        console.say(f"test {name}: {value:.4f}")


def _wait(future: Future[TrainingResult], bar: ProgressBar) -> None:
    while not future.done():
        bar.refresh()
        time.sleep(_TICK)
    bar.refresh()


def _run_folder(project: Project, resume: bool) -> tuple[RunFolder, Path | None]:
    if not resume:
        return RunFolder.create(project), None
    run = latest_run(project)
    checkpoint = run.last_checkpoint() if run is not None else None
    if run is None or checkpoint is None:
        raise DataError(
            "there is no run with a checkpoint to go on from",
            who=project.name,
            hint="train without --resume first",
        )
    return run, checkpoint


def _remark(why: str, *, quiet: bool) -> None:
    if why and not quiet:
        console.note(why)
