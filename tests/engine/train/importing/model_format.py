"""A format of models for tests: a network as JSON behind a word, with weights by a seed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from studio.engine.core.discovery import all_or_none
from studio.engine.core.errors import FormatError
from studio.engine.core.progress import Progress
from studio.engine.interop.file_format import FileFormat
from studio.engine.interop.imported import (
    ImportedLayer,
    ImportedModel,
    ImportedTraining,
    ImportReport,
)
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.graph_json import graph_from_json, graph_to_json
from studio.engine.optim.optimizers import Optimizer
from studio.engine.train.weights import initial_weights

WORD = b"SEEDED"


@contextmanager
def seeded_format() -> Iterator[type[FileFormat]]:
    """The format is there until the end of the block."""
    try:
        with all_or_none():

            class Seeded(FileFormat):
                """Networks with the weights that a seed makes."""

                name = "seeded"
                title = "Model (seeded)"
                ending = ".seeded"
                about = "A network with the weights that a seed makes."
                holds = "model"

                def sniff(self, head: bytes) -> bool:
                    return head.startswith(WORD)

                def read_model(self, path: Path, progress: Progress | None = None) -> ImportedModel:
                    return _model(path, progress or (lambda _share, _text: None))

        yield Seeded
    finally:
        FileFormat.members.pop("seeded", None)


def write_seeded(path: Path, graph: LayerGraph, **fields: object) -> Path:
    """A file of the format.

    Args:
        path: where.
        graph: the network.
        fields: ``seed``, ``facts``, ``left_out``, ``training``, ``without``, ``wrong``.
    """
    document = {"graph": graph_to_json(graph), "seed": 5, **fields}
    path.write_bytes(WORD + json.dumps(document).encode())
    return path


def _model(path: Path, progress: Progress) -> ImportedModel:
    progress(0.0, "reading the network")
    try:
        fields = json.loads(path.read_bytes().removeprefix(WORD))
    except ValueError as error:
        raise FormatError("the network cannot be read", who=str(path)) from error
    graph = graph_from_json(fields["graph"])
    weights = dict(initial_weights(graph, fields["seed"]))
    progress(0.5, "reading the weights")
    if "without" in fields:
        del weights[fields["without"]]
    if "wrong" in fields:
        weights[fields["wrong"]] = np.zeros((1, 1), np.float32)
    layers = tuple(
        ImportedLayer(f"theirs/{each.name}", type(each).__name__, each.name)
        for each in graph.layers()
    )
    report = ImportReport(path.name, "seeds, version 1", layers, tuple(fields.get("left_out", ())))
    training = fields.get("training")
    progress(1.0, "reading the weights")
    return ImportedModel(
        graph.name, graph, weights, report, fields.get("facts", {}),
        None if training is None else _training(training, weights),
    )  # fmt: skip


def _training(fields: Mapping[str, Any], weights: Mapping[str, Any]) -> ImportedTraining:
    """Slots of Adam that are told from fresh ones: m is 0.01, v is 0.02."""
    slots = {}
    for name in fields.get("slots_of", weights):
        slots[f"{name}/m"] = np.full_like(weights[name], 0.01)
        slots[f"{name}/v"] = np.full_like(weights[name], 0.02)
    return ImportedTraining(
        Optimizer.resolve(fields.get("optimizer", "adam")), fields.get("loss", {}),
        fields.get("loss_weights", {}), fields.get("metrics", {}),
        steps=fields.get("steps", 0), slots=slots,
    )  # fmt: skip
