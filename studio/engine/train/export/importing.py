"""Brings weights made elsewhere into a project, as a run of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from studio.engine.core.tensor import Role
from studio.engine.formats.checkpoint import Checkpoint, Position
from studio.engine.interop.reading import import_endings, load_weights
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.network.network import check_fit
from studio.engine.train.network.programs import Programs
from studio.engine.train.project.data_settings import DataSettings
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder

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
    project = Project.load(project_path)
    data = project.data
    task = Task.of_project(project, None if data is None else dataset(data, project.folder))
    weights = load_weights(source, project.graph)
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
