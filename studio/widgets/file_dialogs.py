"""File dialogs that do not stop the window, each beginning where the last of its kind ended."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from PySide6.QtWidgets import QFileDialog, QWidget

from studio.session.core.folders import LastFolders

Purpose: TypeAlias = Literal["project", "data", "weights", "samples", "export", "keys"]
"""What the files are for; dialogs of one purpose share a folder."""


class _InForce:
    """The memory of the window that is open."""

    def __init__(self) -> None:
        self.folders = LastFolders()


_in_force = _InForce()


def remember_in(folders: LastFolders) -> None:
    """Note from now on in these folders where files are chosen."""
    _in_force.folders = folders


def file_dialog(
    parent: QWidget, name: str, title: str, purpose: Purpose, *, begin: Path | None = None
) -> QFileDialog:
    """A dialog to be set up further and opened; it is deleted once it is closed.

    Args:
        parent: the widget it stands over.
        name: its object name.
        title: what it asks for.
        purpose: which folder it begins in and remembers.
        begin: where it begins while none is remembered.
    """
    folders = _in_force.folders
    made = QFileDialog(parent, title, str(folders.of(purpose) or begin or ""))
    made.setObjectName(name)
    made.fileSelected.connect(lambda chosen: folders.note(purpose, Path(chosen)))
    made.filesSelected.connect(lambda chosen: folders.note(purpose, Path(chosen[0])))
    made.finished.connect(made.deleteLater)
    return made
