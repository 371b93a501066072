"""Weights alone as Keras 3 keeps them in HDF5, with the state of the optimiser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from studio.engine.core.errors import StudioError
from studio.engine.formats.hdf5_reading import SIGNATURE
from studio.engine.interop.file_format import Array, Exportable, FileFormat, ModelFile
from studio.engine.interop.keras.files_in import hdf5_summary, named_weights, weights_for
from studio.engine.interop.keras.files_out import why_not_weights, write_keras_weights
from studio.engine.layers.graph import LayerGraph


class KerasWeights(FileFormat):
    """Weights for ``model.load_weights`` of the same network in Keras 3."""

    name = "keras-weights"
    title = "Keras weights"
    ending = ".weights.h5"
    about = "Weights by their place in the network, for a model of Keras 3 with the same layers."
    holds = "weights"
    order = 52

    def sniff(self, head: bytes) -> bool:
        # Names of the first groups and attributes stand near the beginning.
        is_model = any(name in head for name in (b"model_config", b"model_weights"))
        return head.startswith(SIGNATURE) and not is_model

    def why_not(self, model: Exportable) -> StudioError | None:
        return why_not_weights(model)

    def write(self, model: Exportable, path: Path) -> None:
        write_keras_weights(model, path)

    def read(self, path: Path, graph: LayerGraph | None = None) -> ModelFile:
        weights, facts = named_weights(path) if graph is None else weights_for(path, graph)
        return ModelFile(weights, facts=facts)

    def summary(self, content: bytes) -> Iterator[str | Mapping[str, Array]]:
        return hdf5_summary(content, self.title)
