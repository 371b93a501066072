"""Weights as safetensors, in Keras' names and layout."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

from studio.engine.formats import safetensors
from studio.engine.interop.file_format import Array, Exportable, FileFormat, ModelFile
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.named_parameters import stored_weights

FORMAT = "glassbox-weights"
_SHOWN = 100


class Safetensors(FileFormat):
    """All weights by name, as other tools read them."""

    name = "safetensors"
    title = "Weights (safetensors)"
    ending = ".safetensors"
    about = "All weights by name in Keras' layout, for other tools."
    holds = "weights"
    order = 30

    def sniff(self, head: bytes) -> bool:
        # Behind the length of its header the file goes on with that header, an object.
        return head[8:9] == b"{" and not head.startswith(b"PK")

    def write(self, model: Exportable, path: Path) -> None:
        facts = {"format": FORMAT, "name": model.name, **model.facts}
        safetensors.save(path, dict(model.public), facts)

    def read(self, path: Path, graph: LayerGraph | None = None) -> ModelFile:
        arrays, facts = safetensors.load(path)
        if graph is not None:
            arrays = stored_weights(graph, arrays, str(path))
        return ModelFile(arrays, facts=facts)

    def summary(self, content: bytes) -> Iterator[str | Mapping[str, Array]]:
        arrays, facts = safetensors.load(content)
        yield f"safetensors, header of {struct.unpack_from('<Q', content)[0]} bytes"
        for key, value in facts.items():
            yield f"{key}: {value[:_SHOWN]}"
        yield arrays
