"""Brings weights made elsewhere into a project, as a run of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from studio.engine.core.errors import CheckpointError, ShapeError
from studio.engine.core.tensor import Role
from studio.engine.formats.checkpoint import Checkpoint, Position
from studio.engine.interop.file_format import Array
from studio.engine.interop.reading import format_of, import_endings, load_weights
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.importing.matching import (
    MatchTable,
    match_weights,
    matched_weights,
    report_of,
    weight_arrays,
)
from studio.engine.train.importing.report import save_report
from studio.engine.train.network.network import check_fit
from studio.engine.train.network.programs import Programs
from studio.engine.train.project.blocks import nested_of
from studio.engine.train.project.data_settings import DataSettings
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.weights import initial_weights

if TYPE_CHECKING:
    IMPORT_FORMATS: tuple[str, ...]


def import_weights(
    source: Path | str,
    project_path: Path | str,
    dataset: Callable[[DataSettings, Path], Dataset] = DataSettings.open,
) -> RunFolder:
    """Record the weights of a file as a finished run of a project.

    Args:
        source: weights in Keras' layout and names, or a checkpoint.
        project_path: the project, whose network they must fit.
        dataset: opens the project's data, from its settings and the project's folder.

    Raises:
        StudioError: file or project is damaged, or they do not fit one another.
    """
    project = _loaded(project_path)
    task = _task(project, dataset)
    try:
        weights = load_weights(source, project.graph)
    except (CheckpointError, ShapeError):
        found = format_of(source)
        if found is None or found.holds != "weights":
            raise
        # In files of Keras the place of a weight depends on models that are nested there.
        arrays = weight_arrays(source)
        table = match_weights(project.graph, arrays)
        if not table.is_exact:
            raise
        weights = matched_weights(project.graph, arrays, table, dict, str(source))
    return _record(project, task, weights, source)


def import_matched(
    source: Path | str,
    project_path: Path | str,
    table: MatchTable,
    dataset: Callable[[DataSettings, Path], Dataset] = DataSettings.open,
) -> RunFolder:
    """Record the arrays of a file that a table takes as a finished run of a project.

    Parameters that nothing is taken for hold what they hold before training.

    Args:
        source: a file of weights.
        project_path: the project.
        table: which array is which parameter.
        dataset: opens the project's data.

    Raises:
        CheckpointError: nothing is taken, or the network is another than the table is of.
        StudioError: file or project is damaged.
    """
    project = _loaded(project_path)
    task = _task(project, dataset)
    arrays = weight_arrays(source)
    if match_weights(project.graph, arrays).rows_by_name.keys() != table.rows_by_name.keys():
        raise CheckpointError("the file was changed in the meantime", who=str(source))
    weights = matched_weights(
        project.graph, arrays, table,
        lambda: initial_weights(project.graph, task.settings.seed), str(source),
    )  # fmt: skip
    run = _record(project, task, weights, source)
    form = format_of(source)
    title = "weights" if form is None else form.title
    save_report(run, report_of(table, Path(source).name, title))
    return run


def _loaded(path: Path | str) -> Project:
    """The project; its graph knows of nested models, by which formats name what is in them."""
    project = Project.load(path)
    project.graph.nested = nested_of(project.blocks)
    return project


def _task(project: Project, dataset: Callable[[DataSettings, Path], Dataset]) -> Task:
    data = project.data
    return Task.of_project(project, None if data is None else dataset(data, project.folder))


def _record(
    project: Project, task: Task, weights: Mapping[str, Array], source: Path | str
) -> RunFolder:
    tensors = Programs(task).lowered("infer").of_role(Role.PARAM, Role.STATE)
    check_fit(tensors, weights, str(source))
    run = RunFolder.create(project)
    checkpoint = Checkpoint(
        {t.name: weights[t.name] for t in tensors},
        Position(),
        task.settings.seed,
        task.settings.batch_size,
        data_hash=task.data_hash,
    )
    checkpoint.save(run.checkpoint_path("final"))
    run.write_summary({"state": "imported", "source": Path(source).name, "started": run.name})
    return run


def __getattr__(name: str) -> tuple[str, ...]:
    """``IMPORT_FORMATS``, the endings of files that can be read; a later module may add one."""
    if name == "IMPORT_FORMATS":
        return import_endings()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
