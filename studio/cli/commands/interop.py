"""``glassbox export`` and ``import``: trained projects to files and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from studio.cli import console
from studio.cli.app import CHECK_FAILED
from studio.cli.commands.using import RunOption, origin_of, run_of, say_origin
from studio.cli.options import JsonOption, ProjectArgument, find_project, load_trusted, open_project
from studio.engine.interop.file_format import format_for, format_named
from studio.engine.train.devices import open_backend
from studio.engine.train.exporting import EXPORT_FORMATS, Export, export
from studio.engine.train.importing import IMPORT_FORMATS, import_weights
from studio.engine.train.sources import refuse_source
from studio.engine.train.trained import Trained


def export_project(
    project: ProjectArgument,
    output: Annotated[Path, typer.Option("-o", help="File to write.", metavar="FILE")],
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="What to write; else the file's ending says it.",
            metavar="|".join(EXPORT_FORMATS),
        ),
    ] = None,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a trained project to a file, and check in a new process that it answers the same.

    A report of the check is written beside the file. Ends with code 1 where the answers differ,
    which leaves what was there before, or where the file could not be compared.
    """
    chosen = format_named(form) if form is not None else format_for(output)
    opened = open_project(project)
    data = None if opened.data is None else opened.data.reference
    refuse_source(output, opened.path, data, opened.folder)
    folder = run_of(opened, run)
    with (
        open_backend("cpu", compiled=False) as device,
        Trained.of_run(folder, device.backend) as trained,
    ):
        origin = origin_of(trained, opened, run)
        (made,) = export(trained, [(chosen, output)], folder.project())
    if as_json:
        console.answer_json({**_plain(made), "weights": origin.to_json()})
    elif made.problem is None:
        console.say(_sentence(made))
        if made.report is not None:
            console.say(f"report: {made.report}")
        say_origin(origin)
    if made.unreported is not None:
        console.note(f"note: no report was written: {made.unreported.message}")
    if made.problem is not None:
        console.complain(str(made.problem))
        raise typer.Exit(CHECK_FAILED)


def _sentence(made: Export) -> str:
    if made.check is None or not made.check.is_checked:
        return f"{made.path}: written, {'' if made.check is None else made.check.sentence}"
    kind = "samples" if made.check.part else "made-up samples"
    return (
        f"{made.path}: reloaded, its answers on {made.rows} {kind} differ by at most "
        f"{made.difference:.1e}"
    )


def _plain(made: Export) -> dict[str, object]:
    found = made.check
    return {
        "format": made.format,
        "path": str(made.path),
        "written": made.is_placed,
        "same": found.is_same if found is not None and found.is_checked else None,
        "finding": "not compared" if found is None else found.sentence,
        "samples": made.rows,
        "difference": made.difference,
        "report": None if made.report is None else str(made.report),
    }


def import_file(
    source: Annotated[Path, typer.Argument(help=f"File to import ({', '.join(IMPORT_FORMATS)}).")],
    output: Annotated[
        Path, typer.Option("-o", help="Project to bring it into.", metavar="PROJECT")
    ],
    as_json: JsonOption = False,
) -> None:
    """Bring weights into a project as a new run, so that it evaluates, predicts and exports."""
    project = find_project(str(output), samples=False)
    load_trusted(project)
    run = import_weights(source, project)
    if as_json:
        console.answer_json({"project": str(project), "run": str(run.path)})
    else:
        console.say(f"{project}: weights of {source} are now its last run, {run.path}")
