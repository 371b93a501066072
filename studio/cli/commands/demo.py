"""``glassbox demo``: the main job, from the digits project to a trained model and its files."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from studio.cli import console
from studio.cli.commands.training import report, train_with_bar
from studio.cli.commands.using import say_origin
from studio.cli.exports import complain_of_exports, say_exports
from studio.cli.options import BackendOption, JsonOption, SeedOption, make_folder
from studio.cli.window import window_of
from studio.engine.train.devices import open_backend
from studio.engine.train.export.exporting import export_all
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.network.programs import Programs
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder
from studio.samples import open_copy

DEMO_PROJECT = "digits-cnn"


def demo(
    context: typer.Context,
    headless: Annotated[
        bool, typer.Option("--headless", help="Stay in the terminal even if there is a display.")
    ] = False,
    out: Annotated[
        Path,
        typer.Option(
            "--out", help="Folder for the project, the model and the files.", metavar="DIR"
        ),
    ] = Path("glassbox-demo"),
    backend: BackendOption = "auto",
    seed: SeedOption = None,
    close: Annotated[
        bool, typer.Option("--exit", help="Close the window when the files are written.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Train the digits network, evaluate it, and write model and instruction files."""
    make_folder(out)
    window = None if headless or as_json else window_of(context)
    if window is not None:
        problem, _ = window.why_not()
        if not problem:
            raise typer.Exit(window.demo(out, close=close, backend=backend, seed=seed))
        if _has_display():
            console.note(f"{problem}: the demo runs in the terminal")
    project = Project.load(open_copy(DEMO_PROJECT, out)).with_training(seed=seed)
    task = Task.of_project(project)
    with open_backend(backend) as device:
        if not as_json:
            program = Programs(task).program("train", 2, device.backend.target)
            console.say(
                f"{project.name}: {task.data_summary}; {len(program)} instructions a step, "
                f"{task.graph.parameter_count():,} parameters"
            )
            console.say(device.why)
        run = RunFolder.create(project)
        with Trainer(task, device.backend, run=run) as trainer:
            result = train_with_bar(trainer, quiet=as_json)
            if result.unsaved is not None:
                raise result.unsaved
            test = trainer.evaluate("test")
            trained = trainer.trained()
            exports = export_all(trained, out, project)
            origin = trained.origin
    if as_json:
        console.answer_json(
            {
                "device": device.backend.device,
                "weights": None if origin is None else origin.to_json(),
                "test": test,
                "files": {e.format: str(e.path) for e in exports if e.is_placed},
                "differences": {e.format: e.difference for e in exports},
                "run": str(run.path),
            }
        )
        raise typer.Exit(complain_of_exports(exports))
    rest = {name: value for name, value in test.items() if name != "accuracy"}
    report(result, rest, project.path)
    console.say(f"test accuracy: {test['accuracy']:.4f}")
    say_exports(exports)
    if origin is not None:
        say_origin(origin)
    raise typer.Exit(complain_of_exports(exports))


def _has_display() -> bool:
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
