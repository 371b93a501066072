"""Makes a project of a model's file: network, settings, and a run that holds its weights."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from studio.engine.core.errors import CheckpointError, DataError, StudioError, quoted
from studio.engine.core.options import Plain
from studio.engine.core.progress import Progress, unheard
from studio.engine.formats.atomic import write_error
from studio.engine.formats.checkpoint import Checkpoint, Position
from studio.engine.interop.imported import Array, ImportedModel, ImportedTraining, ImportReport
from studio.engine.interop.reading import is_main_file, model_format
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.named_parameters import named_parameters
from studio.engine.train.importing.report import save_report
from studio.engine.train.project.blocks import blocks_of
from studio.engine.train.project.project import MAX_NAME, MAX_NOTES, SUFFIX, Project
from studio.engine.train.project.sample_facts import facts_of_file
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.settings import TrainingSettings

_READ = 0.85
"""Share of the progress that reading takes; the rest is writing."""
_MOST_FACT = 2000


@dataclass(frozen=True)
class ImportedProject:
    """A project that was made of a file.

    Attributes:
        project: as it is saved.
        run: holds the weights.
        report: what became of what was in the file; it lies in the run, too.
    """

    project: Project
    run: RunFolder
    report: ImportReport


def default_project(source: Path | str, folder: Path | str) -> Path:
    """Where a model becomes a project unless told: in a folder, by the name of its file.

    The first of several files of a model says less than the folder they are in.
    """
    path = Path(source)
    if is_main_file(path) and path.absolute().parent.name:
        path = path.absolute().parent
    stem = path.name.partition(".")[0] or path.stem
    return Path(folder) / f"{stem}{SUFFIX}"


def read_model(source: Path | str, progress: Progress | None = None) -> ImportedModel:
    """The network of a file with its weights, checked against one another.

    Args:
        source: a file of any format that holds a model, recognised by its content.
        progress: hears how far it is, from 0 to 1; may raise to stop.

    Raises:
        FormatError: it is damaged, or no model.
        StudioError: something in it is not known here.
        CheckpointError: it has no weights for a layer, or weights of another shape.
    """
    model = model_format(source).read_model(Path(source), progress)
    model.graph.check()
    _check_weights(model.graph, model.weights, str(source))
    return model


def import_project(
    source: Path | str, output: Path | str, progress: Progress | None = None
) -> ImportedProject:
    """Make a project of a model: a new project file, and beside it a run that holds the weights.

    Both are there in the end, or nothing is.

    Args:
        source: a file of any format that holds a model.
        output: the project to make; its folder must exist.
        progress: hears how far it is, from 0 to 1; may raise to stop.

    Raises:
        DataError: there is a project, or runs, of that name.
        StudioError: as `read_model`; or the project cannot be written.
    """
    target = Path(output)
    _require_new(target)
    tell = progress or unheard

    def reading(share: float | None, text: str) -> None:
        tell(None if share is None else share * _READ, text)

    model = read_model(source, reading)
    tell(_READ, "writing the project")
    project, report = project_of(model)
    with workshop(target) as folder:
        project.save(folder / target.name)
        run = _write_run(project, model, report)
        tell(0.98, "writing the project")
        place(folder, target)
    project.path = target
    return ImportedProject(project, RunFolder(project.runs_path / run.name), report)


def project_of(model: ImportedModel) -> tuple[Project, ImportReport]:
    """The project a model becomes, without its weights, and the report with what was left out."""
    training, problem = _settings(model)
    samples, left_out = facts_of_file(model.facts, model.graph)
    report = model.report.with_left_out([*filter(None, [problem]), *left_out])
    name = " ".join("".join(c if c.isprintable() else " " for c in model.name).split())
    project = Project(
        name[:MAX_NAME] or "model",
        model.graph,
        training=training,
        notes=_notes(model, report),
        blocks=blocks_of(model.graph),
        samples=samples,
    )
    return project, report


def checkpoint_of(model: ImportedModel) -> Checkpoint:
    """Weights, optimiser state and count of steps as a run holds them."""
    training = model.training or ImportedTraining()
    tensors = {**model.weights, **training.slots}
    return Checkpoint(
        tensors, Position(total_step=training.steps), 0, TrainingSettings().batch_size
    )


# -- settings and notes ---------------------------------------------------------------------------


def _settings(model: ImportedModel) -> tuple[TrainingSettings, str]:
    """How it is trained, and what of it had to be left out; a training begins with its weights."""
    begin = TrainingSettings(begin_with="imported")
    if model.training is None:
        return begin, ""
    try:
        return begin.replace(**training_options(model.graph, model.training)), ""
    except StudioError as error:
        return begin, f"how the model was compiled: {error.message}"


def training_options(graph: LayerGraph, training: ImportedTraining) -> dict[str, object]:
    """Training settings that say what a file does; one output's stand for themselves."""
    names = graph.output_names()
    made: dict[str, object] = {}
    if training.optimizer is not None:
        made["optimizer"] = training.optimizer
    losses = dict(training.loss)
    if len(names) == 1:
        if losses.get(names[0]) is not None:
            made["loss"] = losses[names[0]]
        for what in ("metrics", "weighted_metrics"):
            given: Mapping[str, tuple[Plain, ...]] = getattr(training, what)
            if names[0] in given:
                made[what] = list(given[names[0]])
        return made
    if any(each is not None for each in losses.values()):
        made["loss"] = losses
        # An output whose metrics are not said would get those that its data suggests.
        made["metrics"] = {name: list(training.metrics.get(name, ())) for name in names}
    if training.weighted_metrics:
        made["weighted_metrics"] = {n: list(m) for n, m in training.weighted_metrics.items()}
    if training.loss_weights:
        made["loss_weights"] = dict(training.loss_weights)
    return made


def _notes(model: ImportedModel, report: ImportReport) -> str:
    """Where it comes from, and all that the file says of its data, for people."""
    lines = [f"Imported from {report.source} ({report.form})."]
    for name, text in sorted(model.facts.items()):
        lines.append(f"{name.replace('_', ' ')}: {text[:_MOST_FACT]}")
    return "\n".join(lines)[:MAX_NOTES]


# -- weights --------------------------------------------------------------------------------------


def _check_weights(graph: LayerGraph, weights: Mapping[str, Array], who: str) -> None:
    wanted = {each.name: each.parameter.shape for each in named_parameters(graph)}
    for name, shape in wanted.items():
        found = weights.get(name)
        if found is None:
            raise CheckpointError(f"there is nothing for {quoted(name)}", who=who)
        if tuple(found.shape) != shape:
            raise CheckpointError(
                f"{quoted(name)}: expected {list(shape)}, got {list(found.shape)}", who=who
            )
    extra = next((name for name in weights if name not in wanted), None)
    if extra is not None:
        raise CheckpointError(f"{quoted(extra)} fits no layer", who=who)


def _write_run(project: Project, model: ImportedModel, report: ImportReport) -> RunFolder:
    run = RunFolder.create(project)
    checkpoint_of(model).save(run.checkpoint_path("final"))
    save_report(run, report)
    run.write_summary({"state": "imported", "source": report.source, "started": run.name})
    return run


# -- files ----------------------------------------------------------------------------------------


def _require_new(target: Path) -> None:
    """DataError where the project, or runs beside it, are there."""
    if target.suffix.lower() != SUFFIX:
        raise DataError(
            f"expected a name that ends with {SUFFIX}, got {quoted(target.name)}", who="import"
        )
    for path in (target, target.with_suffix(".runs")):
        if path.exists() or path.is_symlink():
            raise DataError(
                "there is a project of that name" if path == target
                else "there are runs of a project of that name",
                who=str(path),
                hint="an import makes a new project: choose another name",
            )  # fmt: skip
    if not target.parent.is_dir():
        raise DataError("there is no such folder", who=str(target.parent), hint="make it first")


@contextmanager
def workshop(target: Path) -> Iterator[Path]:
    """A folder beside a new project, gone in the end; DataError where none can be made."""
    folder = target.with_name(f".{target.stem[:40]}.{secrets.token_hex(6)}.tmp")
    try:
        folder.mkdir()
    except OSError as error:
        raise write_error(error, target) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def place(folder: Path, target: Path) -> None:
    """Move project and runs to their places; nothing is there where that fails."""
    runs = target.with_suffix(".runs")
    _require_new(target)
    has_runs = False
    try:
        (folder / runs.name).rename(runs)
        has_runs = True
        (folder / target.name).rename(target)
    except OSError as error:
        if has_runs:
            shutil.rmtree(runs, ignore_errors=True)
        raise write_error(error, target) from error
