"""``glassbox train``: trains a project without a window, with a bar, an ETA and a recorded run."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Annotated

import typer

from studio.cli import console
from studio.cli.app import CHECK_FAILED, USER_MISTAKE
from studio.cli.commands.using import cleaning_lines, cleaning_to_json, say_origin
from studio.cli.exports import complain_of_exports, export_to_json, say_exports
from studio.cli.options import (
    BackendOption,
    JsonOption,
    ProjectArgument,
    SeedOption,
    find_project,
    load_trusted,
    make_folder,
)
from studio.cli.progress_bar import ProgressBar
from studio.engine.core.errors import StudioError
from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.train.data.cleaning import Cleaning
from studio.engine.train.devices import open_backend
from studio.engine.train.export.exporting import Export, export_all
from studio.engine.train.loop.resuming import ResumePoint, beyond_an_early_stop, resume_point
from studio.engine.train.loop.starting import begin_as_set
from studio.engine.train.loop.trainer import Trainer, TrainingResult
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder

_TICK = 0.1

InOrderOption = Annotated[
    bool,
    typer.Option(
        "--in-order", help="Run kernels one after another: slower on a GPU, needs less memory."
    ),
]


def train(
    project: ProjectArgument,
    backend: BackendOption = "auto",
    epochs: Annotated[
        int | None,
        typer.Option(
            "--epochs",
            help="Epochs to train in total, including those of a resumed run.",
            metavar="N",
        ),
    ] = None,
    seed: SeedOption = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the last checkpoint of the last run.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the trained model.", metavar="DIR")
    ] = None,
    in_order: InOrderOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train a project, record the run beside it, and evaluate on the test part.

    Exit code 1: the training did not learn, or a file in --out could not be verified. Exit code 2:
    a file could not be written.
    """
    opened = load_trusted(find_project(project)).with_training(epochs=epochs, seed=seed)
    point = resume_point(opened) if resume else None
    checkpoint = None if point is None else _checkpoint_of(point, epochs)
    if checkpoint is not None and seed is None:
        # A seed given to the first part holds for the rest.
        opened = opened.with_training(seed=checkpoint.seed)
    task = Task.of_project(opened)
    if out is not None:
        make_folder(out)
    with open_backend(backend, in_order=in_order) as device:
        if not as_json:
            where = _where(point, checkpoint, task.settings.epochs)
            for line in (device.why, *cleaning_lines(task.cleaning), *where):
                console.note(line)
        run = point.run if point is not None else RunFolder.create(opened)
        with Trainer(task, device.backend, run=run) as trainer:
            if point is not None and checkpoint is not None:
                trainer.resume(checkpoint, project=opened)
                point.require_newest()
            elif (text := _begun(trainer, opened, run)) and not as_json:
                console.note(text)
            result = train_with_bar(trainer, quiet=as_json)
            test = trainer.evaluate("test")
            trained = trainer.trained()
            exports, refusal = _exported(trained, out, opened)
            origin = trained.origin
    if as_json:
        console.answer_json(
            {
                "device": device.backend.device,
                "run": str(run.path),
                "weights": None if origin is None else origin.to_json(),
                **_plain(result, task.cleaning),
                "test": test,
                "exports": [export_to_json(each) for each in exports],
            }
        )
    else:
        report(result, test, opened.path)
        if origin is not None:
            say_origin(origin)
        console.say(f"run: {run.path}")
        say_exports(exports)
    raise typer.Exit(_complain(result, exports, refusal))


def _begun(trainer: Trainer, project: Project, run: RunFolder) -> str:
    """Begin with the weights that the settings ask for; which ones, as a sentence."""
    try:
        return begin_as_set(trainer, project)
    except StudioError as error:
        run.write_summary({"state": "failed", "reason": error.message, "started": run.name})
        raise


def _exported(
    trained: Trained, out: Path | None, project: Project
) -> tuple[list[Export], StudioError | None]:
    """The trained model as files, or why there is none: the training is reported all the same."""
    if out is None:
        return [], None
    try:
        return export_all(trained, out, project), None
    except StudioError as error:
        return [], error


def _complain(result: TrainingResult, exports: list[Export], refusal: StudioError | None) -> int:
    """Name what went wrong; the code to end with."""
    code = complain_of_exports(exports)
    for error in (refusal, result.unsaved):
        if error is not None:
            console.complain(str(error))
            code = USER_MISTAKE
    return max(code, CHECK_FAILED if result.verdict is not None else 0)


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


def _plain(result: TrainingResult, cleaning: Cleaning) -> dict[str, object]:
    return {
        **cleaning_to_json(cleaning),
        "epochs": len(result.epochs),
        "seconds": result.seconds,
        "total_seconds": result.total_seconds,
        "outcome": result.outcome,
        "reason": result.reason,
        "verdict": None if result.verdict is None else result.verdict.to_json(),
        "history": result.history,
    }


def _wait(future: Future[TrainingResult], bar: ProgressBar) -> None:
    while not future.done():
        bar.refresh()
        wait([future], timeout=_TICK)
    bar.refresh()


def _checkpoint_of(point: ResumePoint, epochs: int | None) -> Checkpoint:
    """Where to go on; behind an early stop where more epochs than it has were asked for."""
    found = point.checkpoint
    if epochs is not None and epochs > found.position.epoch:
        return beyond_an_early_stop(found)
    return found


def _where(point: ResumePoint | None, checkpoint: Checkpoint | None, epochs: int) -> Iterator[str]:
    """Which run goes on, where, and what is left to do; nothing where none goes on."""
    if point is None or checkpoint is None:
        return
    if point.passed_over:
        yield f"{point.passed_over[0]} is newer, but has no checkpoint"
    done = checkpoint.position.epoch
    counted = f"{done} epoch{' is' if done == 1 else 's are'} done"
    more = "ask for more with --epochs"
    if checkpoint.stop_reason is not None:
        yield f"nothing left to train: {counted}, then it was stopped early; {more}"
    elif done == epochs:
        yield f"nothing left to train: all {counted}; {more}"
    elif done > epochs:
        yield f"nothing left to train: {counted}, {epochs} asked for; {more}"
    else:
        place = f"{point.path.name} of run {point.run.path}"
        yield f"continuing after {done} of {epochs} epochs, from {place}"
