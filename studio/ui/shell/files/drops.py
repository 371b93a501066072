"""Files dropped on the window: what each is taken for."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QMimeData

from studio.engine.interop.file_format import file_formats
from studio.session.document.layer_types import is_input
from studio.session.studio import Studio
from studio.ui.shell.files.documents import PROJECT, Documents
from studio.ui.shell.files.imports import model_in


def paths_of(data: QMimeData) -> list[Path]:
    """The local files in something that is dragged."""
    if not data.hasUrls():
        return []
    return [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]


class DroppedData:
    """A data set that was dropped: attached, and given an input where the network has none.

    It waits for the data to be read, so the caller keeps a reference until then.

    Args:
        studio: the models of the window.
        paths: the file or folder, or two files that belong together.
    """

    def __init__(self, studio: Studio, paths: list[Path]) -> None:
        # Loaded when it is first wanted, so that the window opens sooner.
        from studio.ui.panes.data.attaching import attach

        self._studio = studio
        self._document = studio.document
        attach(studio, *paths, then=self._attached)

    def _attached(self) -> None:
        self._studio.data.changed.connect(self._look)
        self._look()

    def _look(self) -> None:
        studio, data = self._studio, self._studio.data
        if studio.document is self._document and data.status == "opening":
            return
        data.changed.disconnect(self._look)
        layers = self._document.state.layers()
        if studio.document is self._document and not any(is_input(node) for node in layers):
            data.take_offer()


def take(studio: Studio, documents: Documents, paths: list[Path]) -> DroppedData | None:
    """Open a project or a model, bring in weights, or attach a data set.

    A model may be dropped with its shards, or in their folder; of all else the first file decides.
    """
    first, model = paths[0], model_in(paths)
    if first.suffix.lower() == PROJECT or (first.is_dir() and any(first.glob(f"*{PROJECT}"))):
        documents.open_path(first)
    elif model is not None:
        documents.open_path(model)
    elif _is_weights(first):
        documents.imports.take_weights(first)
    else:
        return DroppedData(studio, paths)
    return None


def _is_weights(path: Path) -> bool:
    """Whether a file of that name is taken for weights, not for data."""
    taken = (each.ending for each in file_formats() if each.can_import and each.can_drop)
    return path.name.lower().endswith(tuple(taken))
