"""``glassbox export`` and ``import``: trained projects to files and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from studio.cli import console
from studio.cli.commands.using import RunOption, origin_of, run_of, say_origin
from studio.cli.options import JsonOption, ProjectArgument, find_project, load_trusted, open_project
from studio.engine.interop.file_format import format_named
from studio.engine.train.devices import open_backend
from studio.engine.train.exporting import EXPORT_FORMATS, export_file
from studio.engine.train.importing import IMPORT_FORMATS, import_weights
from studio.engine.train.sources import refuse_source
from studio.engine.train.trained import Trained


def export_project(
    project: ProjectArgument,
    form: Annotated[
        str, typer.Option("--format", help="What to write.", metavar="|".join(EXPORT_FORMATS))
    ],
    output: Annotated[Path, typer.Option("-o", help="File to write.", metavar="FILE")],
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a trained project to a file, reload it, and say how far the answers differ."""
    chosen = format_named(form)
    opened = open_project(project)
    data = None if opened.data is None else opened.data.reference
    refuse_source(output, opened.path, data, opened.folder)
    folder = run_of(opened, run)
    with open_backend("cpu") as device, Trained.of_run(folder, device.backend) as trained:
        origin = origin_of(trained, opened, run)
        done = export_file(trained, chosen.name, output)
    if as_json:
        console.answer_json(
            {
                "format": done.format,
                "path": str(done.path),
                "difference": done.difference,
                "weights": origin.to_json(),
            }
        )
    else:
        console.say(
            f"{done.path}: reloaded, its answers on {done.rows} samples differ by at most "
            f"{done.difference:.1e}"
        )
        say_origin(origin)


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
