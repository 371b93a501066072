"""Small networks and data sets that train in a moment."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from studio.engine.layers.activation_layers import Activation
from studio.engine.layers.convolution import Conv2D
from studio.engine.layers.dense import Dense
from studio.engine.layers.dropout import Dropout
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.layers.normalization import BatchNormalization
from studio.engine.layers.shaping import Flatten
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task

SPIRALS = {"source": "spirals", "n": 100, "noise": 0.02, "normalization": "standard"}
DIGITS = {"source": "digits", "normalization": "unit"}


def mlp(inputs: int = 2, outputs: int = 2, units: int = 8, rate: float = 0.0) -> LayerGraph:
    graph = LayerGraph("mlp")
    x = graph.add(Dense(units, "tanh"), graph.add(Input((inputs,))))
    if rate:
        x = graph.add(Dropout(rate), x)
    graph.outputs = (graph.add(Dense(outputs, "softmax"), x),)
    return graph


def cnn() -> LayerGraph:
    """Convolution, batch normalisation, dropout: everything with a state of its own."""
    graph = LayerGraph("cnn")
    x = graph.add(Conv2D(4, 3, padding="same"), graph.add(Input((8, 8, 1))))
    x = graph.add(Activation("relu"), graph.add(BatchNormalization(momentum=0.9), x))
    x = graph.add(Dropout(0.25), graph.add(Flatten(), x))
    graph.outputs = (graph.add(Dense(10, "softmax"), x),)
    return graph


def project(
    graph: LayerGraph | None = None, data: Mapping[str, object] = SPIRALS, **training: object
) -> Project:
    settings = {"epochs": 3, "batch_size": 16, **training}
    return Project.new("small", graph or mlp(), data, settings)


def task(
    graph: LayerGraph | None = None, data: Mapping[str, object] = SPIRALS, **training: object
) -> Task:
    return Task.of_project(project(graph, data, **training))


def equal_bytes(a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> bool:
    """Whether two sets of arrays have the same names and the same bytes."""
    return a.keys() == b.keys() and all(a[k].tobytes() == b[k].tobytes() for k in a)
