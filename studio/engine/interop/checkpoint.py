"""Checkpoints: weights with the state of the training, as safetensors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from studio.engine.core.errors import DataError
from studio.engine.formats.checkpoint import FORMAT, Checkpoint
from studio.engine.interop.file_format import Array, Exportable, FileFormat, ModelFile
from studio.engine.interop.safetensors import Safetensors
from studio.engine.layers.graph import LayerGraph

_STATED = re.compile(rb'"format"\s*:\s*"' + FORMAT.encode() + rb'"')


class CheckpointFile(FileFormat):
    """Everything a training needs to go on."""

    name = "checkpoint"
    title = "Checkpoint"
    ending = ".checkpoint.safetensors"
    about = "Weights and training state, to continue from."
    holds = "checkpoint"
    order = 50

    def sniff(self, head: bytes) -> bool:
        return head[8:9] == b"{" and _STATED.search(head) is not None

    def why_not(self, model: Exportable) -> DataError | None:
        return None if model.checkpoint is not None else _no_state(model)

    def write(self, model: Exportable, path: Path) -> None:
        if model.checkpoint is None:
            raise _no_state(model)
        model.checkpoint.save(path)

    def read(self, path: Path, graph: LayerGraph | None = None) -> ModelFile:
        found = Checkpoint.load(path)
        facts = {"data_sha256": found.data_hash} if found.data_hash else {}
        return ModelFile(found.tensors, facts=facts)

    def summary(self, content: bytes) -> Iterator[str | Mapping[str, Array]]:
        return Safetensors().summary(content)


def _no_state(model: Exportable) -> DataError:
    return DataError(
        "these weights have no optimiser state, so no checkpoint can be written",
        who=model.name,
        hint="export them as safetensors",
    )
