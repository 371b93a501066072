"""Small projects trained in a moment and recorded, for the tests of exports."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.layers.normalization import BatchNormalization
from studio.engine.layers.shaping import Flatten
from studio.engine.train.devices import open_backend
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder

DIGITS = {"source": "digits", "normalization": "unit"}


def classifier(shape: tuple[int, ...] = (8, 8, 1), classes: int = 10) -> LayerGraph:
    """A batch normalisation in it, so that an export folds something."""
    graph = LayerGraph("classifier")
    x = graph.add(Flatten(), graph.add(Input(shape, name="pixels")))
    x = graph.add(Dense(24, activation="relu", name="hidden"), x)
    x = graph.add(BatchNormalization(name="norm"), x)
    graph.outputs = (graph.add(Dense(classes, activation="softmax", name="answer"), x),)
    return graph


def train(
    folder: Path,
    data: Mapping[str, object] | None = None,
    graph: LayerGraph | None = None,
    epochs: int = 2,
) -> tuple[Project, RunFolder]:
    """A project saved in a folder and trained there."""
    project = Project.new(
        "small", graph or classifier(), data or DIGITS, {"epochs": epochs, "batch_size": 64}
    )
    project.save(folder / "small.glassbox")
    run = RunFolder.create(project)
    with (
        open_backend("cpu") as opened,
        Trainer(Task.of_project(project), opened.backend, run=run) as trainer,
    ):
        trainer.run()
    return project, run
