"""Networks with drawn weights, ready to be written to files for Keras."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from studio.engine.compiler.lower import objective_of
from studio.engine.interop.file_format import Exportable, ExportedTraining
from studio.engine.layers.graph_json import graph_from_json
from studio.engine.layers.named_parameters import named_parameters, stored_weights
from studio.engine.optim.optimizers import Optimizer

Array = npt.NDArray[Any]
FACTS = {"class_names": '["cat", "dög"]', "normalization": "none"}


def exported(name: str, document: dict[str, Any], optimizer: object = "adam") -> Exportable:
    """A network of a graph document; compiled where it has weights."""
    graph = graph_from_json(document)
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    public = {
        each.name: np.abs(rng.normal(size=each.public_shape)).astype(np.float32)
        for each in named_parameters(graph)
    }
    training = None
    if public:
        objective = objective_of(graph.output_names(), "mse", ("mae",))
        training = ExportedTraining(Optimizer.resolve(optimizer), objective)
    stored = stored_weights(graph, public, name)
    return Exportable("a case", graph, stored, FACTS, training=training)


def inputs_of(model: Exportable, rows: int = 3) -> list[Array]:
    """Drawn samples for every input, 4 in place of lengths that may be any."""
    rng = np.random.default_rng(5)
    found = []
    for node in model.graph.inputs:
        shape = [4 if d is None else d for d in node.layer.option_values["shape"]]  # type: ignore[attr-defined]
        values = rng.normal(size=(rows, *shape)) * 2
        found.append(values.astype(str(node.layer.option_values["dtype"])))
    return found
