"""Whole models as Keras 3 keeps them: a zip archive of JSON and weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from studio.engine.core.errors import StudioError
from studio.engine.core.progress import Progress
from studio.engine.interop.file_format import Array, Exportable, FileFormat
from studio.engine.interop.imported import ImportedModel
from studio.engine.interop.keras.files_in import (
    CONFIG,
    METADATA,
    WEIGHTS,
    archive_summary,
    read_keras_archive,
)
from studio.engine.interop.keras.files_out import why_not_keras, write_keras

_NAME_AT = 30
"""Where the name of the first member stands in a zip archive."""


class KerasFile(FileFormat):
    """A model in one file that Keras 3 opens, with the state of its optimiser."""

    name = "keras"
    title = "Keras model"
    ending = ".keras"
    about = "The network with its weights and its training, for Keras 3.0 and newer."
    holds = "model"
    order = 50

    def sniff(self, head: bytes) -> bool:
        first = head[_NAME_AT : _NAME_AT + 40]
        names = (METADATA, CONFIG, WEIGHTS)
        return head.startswith(b"PK") and first.startswith(tuple(name.encode() for name in names))

    def why_not(self, model: Exportable) -> StudioError | None:
        return why_not_keras(model)

    def write(self, model: Exportable, path: Path) -> None:
        write_keras(model, path)

    def read_model(self, path: Path, progress: Progress | None = None) -> ImportedModel:
        return read_keras_archive(path, self.title, progress)

    def summary(self, content: bytes) -> Iterator[str | Mapping[str, Array]]:
        return archive_summary(content, self.title)
