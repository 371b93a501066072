"""``glassbox train``: trains a project without a window, with a bar, an ETA and a recorded run."""

from __future__ import annotations

from concurrent.futures import Future, wait
from pathlib import Path
from typing import Annotated

import typer

from studio.cli import console
from studio.cli.app import CHECK_FAILED
from studio.cli.options import (
    BackendOption,
    JsonOption,
    ProjectArgument,
    SeedOption,
    find_project,
    make_folder,
)
from studio.cli.progress_bar import ProgressBar
from studio.engine.core.errors import DataError
from studio.engine.train.checkpoint import Checkpoint
from studio.engine.train.devices import open_backend
from studio.engine.train.exporting import export_all
from studio.engine.train.project import Project
from studio.engine.train.runs import RunFolder, latest_run
from studio.engine.train.task import Task
from studio.engine.train.trainer import Trainer, TrainingResult

_TICK = 0.1


def train(
    project: ProjectArgument,
    backend: BackendOption = "auto",
    epochs: Annotated[
        int | None,
        typer.Option("--epochs", help="Passes over the data, resumed ones included.", metavar="N"),
    ] = None,
    seed: SeedOption = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the last checkpoint of the last run.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder the trained model is written to.", metavar="DIR"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Train a project, record the run beside it, and evaluate on the test part.

    Ends with code 1 where the training did not learn.
    """
    opened = Project.load(find_project(project)).with_training(epochs=epochs, seed=seed)
    run, checkpoint = _last_place(opened) if resume else (None, None)
    if checkpoint is not None and seed is None:
        # A seed given to the first part holds for the rest.
        opened = opened.with_training(seed=checkpoint.seed)
    task = Task.of_project(opened)
    if out is not None:
        make_folder(out)
    with open_backend(backend) as device:
        if not as_json:
            console.note(device.why)
            if checkpoint is not None:
                console.note(_where(checkpoint, task.settings.epochs))
        run = run or RunFolder.create(opened)
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
                "total_seconds": result.total_seconds,
                "outcome": result.outcome,
                "reason": result.reason,
                "verdict": None if result.verdict is None else result.verdict.to_json(),
                "history": result.history,
                "test": test,
                "exports": [str(e.path) for e in exports],
            }
        )
    else:
        report(result, test, opened.path)
        console.say(f"run: {run.path}")
        for export in exports:
            console.say(f"{export.format}: {export.path}")
    if result.unsaved is not None:
        raise result.unsaved
    if result.verdict is not None:
        raise typer.Exit(CHECK_FAILED)


def train_with_bar(trainer: Trainer, *, quiet: bool) -> TrainingResult:
    """Train on the trainer's own thread while a bar shows how far it is; Ctrl-C stops cleanly."""
    with ProgressBar(trainer, quiet=quiet) as bar:
        future = trainer.start()
        try:
            _wait(future, bar)
        except KeyboardInterrupt:
            console.note("stopping after this step")
            trainer.control.stop()
        return future.result()


def report(result: TrainingResult, test: dict[str, float], project: Path | None) -> None:
    """Say what came out of a training, and how to go on with one that was stopped."""
    if result.outcome == "stopped":
        console.say(f"stopped as you asked; go on with: glassbox train {project} --resume")
    elif result.outcome == "early":
        console.say(f"stopped early: {result.reason}")
    whole = result.total_seconds
    in_all = "" if whole - result.seconds < 0.05 else f", {whole:.1f} s in all"
    console.say(f"trained {result.steps:,} steps in all, {result.seconds:.1f} s now{in_all}")
    for name, value in test.items():
        console.say(f"test {name}: {value:.4f}")
    if result.verdict is not None:
        console.complain(f"{result.verdict.text}\n  hint: {result.verdict.hint}")


def _wait(future: Future[TrainingResult], bar: ProgressBar) -> None:
    while not future.done():
        bar.refresh()
        wait([future], timeout=_TICK)
    bar.refresh()


def _last_place(project: Project) -> tuple[RunFolder, Checkpoint]:
    """The last run of a project and its newest checkpoint."""
    run = latest_run(project)
    path = run.last_checkpoint() if run is not None else None
    if run is None or path is None:
        raise DataError(
            "there is no run with a checkpoint to go on from",
            who=project.name,
            hint="train without --resume first",
        )
    return run, Checkpoint.load(path)


def _where(checkpoint: Checkpoint, epochs: int) -> str:
    done = checkpoint.position.epoch
    if done < epochs:
        return f"going on after {done} of {epochs} epochs"
    return f"nothing left to train: all {epochs} epochs are done; ask for more with --epochs"
