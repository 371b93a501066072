"""Weights as NumPy's archive of arrays, in Keras' names and layout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from studio.engine.formats.npz import load_npz, save_npz
from studio.engine.interop.file_format import Array, Exportable, FileFormat, ModelFile
from studio.engine.layers.graph import LayerGraph


class NumpyArchive(FileFormat):
    """All weights by name, as NumPy reads them."""

    name = "npz"
    title = "Weights (NumPy)"
    ending = ".npz"
    about = "All weights by name in Keras' layout, for NumPy."
    holds = "weights"
    order = 40
    # Such a file is more often data.
    can_drop = False
    words = ("numpy",)

    def sniff(self, head: bytes) -> bool:
        return head.startswith(b"PK")

    def write(self, model: Exportable, path: Path) -> None:
        save_npz(path, model.public)

    def read(self, path: Path, graph: LayerGraph | None = None) -> ModelFile:
        arrays = load_npz(path)
        return ModelFile(arrays if graph is None else self.weights_of(arrays, graph, str(path)))

    def summary(self, content: bytes) -> Iterator[str | Mapping[str, Array]]:
        yield "zip archive of arrays"
        yield load_npz(content)
