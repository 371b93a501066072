"""Whole models in one HDF5 file, in the form that Keras 2 and Keras 3 both open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from studio.engine.core.errors import StudioError
from studio.engine.core.progress import Progress
from studio.engine.formats.hdf5_reading import SIGNATURE
from studio.engine.interop.file_format import Array, Exportable, FileFormat
from studio.engine.interop.imported import ImportedModel
from studio.engine.interop.keras.files_in import hdf5_summary, read_keras_hdf5
from studio.engine.interop.keras.files_out import why_not_hdf5, write_keras_hdf5


class KerasHdf5(FileFormat):
    """A model in the HDF5 form of Keras 2."""

    name = "hdf5"
    title = "Keras model (HDF5)"
    ending = ".h5"
    about = "The network with its weights and its training, for Keras 2 and Keras 3."
    holds = "model"
    order = 51
    words = ("legacy", "keras 2")

    def sniff(self, head: bytes) -> bool:
        return head.startswith(SIGNATURE)

    def why_not(self, model: Exportable) -> StudioError | None:
        return why_not_hdf5(model)

    def write(self, model: Exportable, path: Path) -> None:
        write_keras_hdf5(model, path)

    def read_model(self, path: Path, progress: Progress | None = None) -> ImportedModel:
        return read_keras_hdf5(path, self.title, progress)

    def summary(self, content: bytes) -> Iterator[str | Mapping[str, Array]]:
        return hdf5_summary(content, self.title)
