"""A project with two outputs, one of classes and one of numbers, and its data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph, Port
from studio.engine.layers.inputs import Input
from studio.engine.train.project.project import Project

SAMPLES = 240


def save_two_outputs(folder: Path, training: Mapping[str, object] | None = None) -> Path:
    """A network that tells of four numbers what kind they are, and how old; saved in a folder.

    The kind follows from the largest of the first three numbers, the ages are sums of them.
    """
    rng = np.random.default_rng(5)
    x = rng.normal(size=(SAMPLES, 4)).astype(np.float32)
    ages = np.stack([x.sum(axis=1), x[:, 0] - x[:, 3]], axis=1).astype(np.float32)
    np.savez(folder / "rows.npz", rows=x, kinds=x[:, :3].argmax(axis=1).astype(np.int32), ages=ages)
    graph = LayerGraph("both")
    graph.add(Input([4], name="row"), node_id="row")
    graph.add(Dense(12, activation="relu", name="hidden"), "row", node_id="hidden")
    graph.add(Dense(3, activation="softmax", name="kind"), "hidden", node_id="kind")
    graph.add(Dense(2, name="age"), "hidden", node_id="age")
    graph.outputs = (Port("kind"), Port("age"))
    data = {
        "source": "arrays", "path": "rows.npz", "inputs": {"row": "rows"},
        "targets": {"kind": {"array": "kinds", "class_names": ["low", "mid", "high"]},
                    "age": "ages"},
    }  # fmt: skip
    settings = {"epochs": 4, "optimizer": "Adam", **(training or {})}
    layout = {
        "row": (0.0, 80.0),
        "hidden": (240.0, 80.0),
        "kind": (480.0, 0.0),
        "age": (480.0, 160.0),
    }
    project = Project.new("both", graph, data, settings)
    project.layout.update(layout)
    return project.save(folder / "both.glassbox")
