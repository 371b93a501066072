"""A layer of the palette as data that can be dragged."""

from __future__ import annotations

from PySide6.QtCore import QMimeData

from studio.session.document.adding.quick_add import Entry, entries
from studio.session.document.edits.chains import NewLayer

MIME = "application/x-glassbox-layer"


def layer_data(entry: Entry) -> QMimeData:
    """An entry of the palette as something that can be dragged."""
    data = QMimeData()
    data.setData(MIME, entry.title.encode())
    data.setText(entry.title)
    return data


def layer_in(data: QMimeData) -> NewLayer | None:
    """The layer that is dragged; None for anything else."""
    if not data.hasFormat(MIME):
        return None
    title = bytes(data.data(MIME).data()).decode("utf-8", "replace")
    for entry in entries():
        if entry.title == title:
            return NewLayer(entry.type_name, entry.config)
    return None
