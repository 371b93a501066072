"""``glassbox export``, ``verify`` and ``import``: trained projects to files and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from studio.cli import console
from studio.cli.app import CHECK_FAILED
from studio.cli.commands.using import RunOption, origin_of, run_of, say_origin
from studio.cli.exports import complain_of_exports, export_to_json, say_exports
from studio.cli.options import (
    JsonOption,
    LengthOption,
    ProjectArgument,
    find_project,
    lengths_given,
    load_trusted,
    open_project,
)
from studio.cli.progress_bar import share_bar
from studio.engine.core.errors import ParameterError
from studio.engine.interop.file_format import (
    format_for,
    format_named,
    require_ending,
    require_weights,
)
from studio.engine.interop.reading import format_of, model_names
from studio.engine.interop.small_weights import WEIGHT_FORMS, weight_form
from studio.engine.train.devices import open_backend
from studio.engine.train.export.check.report import verify_file
from studio.engine.train.export.exporting import EXPORT_FORMATS, export
from studio.engine.train.importing.project import default_project, import_project
from studio.engine.train.importing.weights import IMPORT_FORMATS, import_weights
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.project import SUFFIX
from studio.engine.train.project.sources import refuse_source

OPENED = model_names()


def export_project(
    project: ProjectArgument,
    output: Annotated[Path, typer.Option("-o", help="File to write.", metavar="FILE")],
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Format; by default from the file extension.",
            metavar="|".join(EXPORT_FORMATS),
        ),
    ] = None,
    run: RunOption = None,
    length: LengthOption = None,
    weights: Annotated[
        str,
        typer.Option(
            help="How kernels are stored; small ones are measured.",
            metavar="|".join(WEIGHT_FORMS),
        ),
    ] = "float32",
    opset: Annotated[
        int | None,
        typer.Option(help="Operator set of an ONNX file, 13 to 21; 17 by default.", metavar="N"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Export a trained project to a file, and verify in a new process that results are equal.

    A report is written next to the file. Exit code 1: the results differ (the previous file stays),
    or could not be compared. Exit code 2: the file could not be written.
    """
    lengths = lengths_given(length)
    chosen = format_named(form) if form is not None else format_for(output)
    require_ending(output, chosen)
    kept = weight_form(weights)
    require_weights(chosen, kept)
    if opset is not None:
        chosen = chosen.with_opset(opset)
    opened = open_project(project)
    data = None if opened.data is None else opened.data.reference
    refuse_source(output, opened.path, data, opened.folder)
    folder = run_of(opened, run)
    with (
        open_backend("cpu", compiled=False) as device,
        Trained.of_run(folder, device.backend) as trained,
    ):
        origin = origin_of(trained, opened, run)
        files = [(chosen, output)]
        (made,) = export(trained, files, folder.project(), lengths=lengths, weights=kept)
    made.require_written()
    if as_json:
        console.answer_json({**export_to_json(made), "weights": origin.to_json()})
    else:
        say_exports([made])
        if made.problem is None:
            say_origin(origin)
    raise typer.Exit(complain_of_exports([made]))


def verify_export(
    file: Annotated[Path, typer.Argument(help="Exported file.", metavar="FILE")],
    as_json: JsonOption = False,
) -> None:
    """Compare an exported file with the report that was written next to it.

    Exit code 1: it is not the file that was verified, or it was not found to be the same model.
    Exit code 2: there is no report.
    """
    found = verify_file(file)
    problem = found.problem
    if as_json:
        console.answer_json(
            {
                "path": str(found.path),
                "unchanged": found.is_unchanged,
                "sha256": found.sha256,
                "expected": found.expected,
                "same": found.same,
                "finding": found.finding,
                "read_by": found.read_by or None,
                "made": found.made,
            }
        )
    elif problem is None:
        console.say(f"{file}: unchanged since {found.made}, {found.finding}")
        console.say(f"read by {found.read_by}")
    if problem is not None:
        console.complain(str(problem))
        raise typer.Exit(CHECK_FAILED)


def import_file(
    source: Annotated[
        Path, typer.Argument(help=f"File to import ({', '.join((*OPENED, *IMPORT_FORMATS))}).")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            help="Project to make of a model, by default named after its file in the current "
            "folder; or the project that weights are imported into.",
            metavar="PROJECT",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a project of a model, or import weights into a project.

    A model becomes a new project with a run that holds its weights; a report says what became of
    its layers and what was left out. A project that is there already is never overwritten. Weights
    alone become a new run of the project named with -o.
    """
    holds_weights = _holds_weights(source, output)
    if holds_weights and output is None:
        raise ParameterError(
            "the file holds weights: name the project they are for",
            who=str(source),
            hint=f"glassbox import {source} -o PROJECT",
        )
    if output is None:
        output = default_project(source, Path())
    if holds_weights:
        _import_weights(source, output, as_json=as_json)
    else:
        _import_model(source, output, as_json=as_json)


def _holds_weights(source: Path, output: Path | None) -> bool:
    """Whether a file is taken for weights: by its content, else by what is to be done with it."""
    found = format_of(source)
    if found is not None:
        return found.can_import and not found.can_open
    is_project = output is not None and output.exists()
    return is_project and not source.name.lower().endswith(model_names())


def _import_weights(source: Path, output: Path, *, as_json: bool) -> None:
    project = find_project(str(output), samples=False)
    load_trusted(project)
    run = import_weights(source, project)
    if as_json:
        console.answer_json({"project": str(project), "run": str(run.path)})
    else:
        console.say(f"{project}: weights of {source} are now its last run, {run.path}")


def _import_model(source: Path, output: Path, *, as_json: bool) -> None:
    target = output if output.suffix.lower() == SUFFIX else output.with_name(output.name + SUFFIX)
    with share_bar(quiet=as_json) as tell:
        made = import_project(source, target, tell)
    if as_json:
        console.answer_json(
            {"project": str(target), "run": str(made.run.path), "report": made.report.to_json()}
        )
        return
    for line in made.report.lines():
        console.say(line)
    console.say(f"{target}: a new project, its weights are the run {made.run.path}")
