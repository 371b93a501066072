"""Files dropped on the window: what each is taken for."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QMimeData

from studio.ui.models.studio import Studio
from studio.ui.shell.documents import PROJECT, Documents

WEIGHTS = ".safetensors"


def paths_of(data: QMimeData) -> list[Path]:
    """The local files in something that is dragged."""
    if not data.hasUrls():
        return []
    return [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]


def take(studio: Studio, documents: Documents, paths: list[Path]) -> None:
    """Open a project, bring in weights, or attach a data set; the first file decides."""
    first = paths[0]
    if first.suffix.lower() == PROJECT or (first.is_dir() and any(first.glob(f"*{PROJECT}"))):
        documents.open_path(first)
    elif first.suffix.lower() == WEIGHTS:
        documents.import_path(first)
    else:
        studio.data.attach_path(first)
