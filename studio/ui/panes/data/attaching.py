"""Choosing files and folders of the user's, by dialogs and by dropping them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QMimeData
from PySide6.QtWidgets import QFileDialog, QWidget

from studio.engine.core.errors import StudioError
from studio.session.data.mapping import needed_text
from studio.session.data.opening import Attachment
from studio.session.notices.settling import DATA
from studio.session.studio import Studio
from studio.widgets.file_dialogs import file_dialog

FILTER = (
    "Data (*.csv *.tsv *.txt *.data *.npz *.npy *ubyte* *.gz);;Tables (*.csv *.tsv *.txt *.data);;"
    "NumPy arrays (*.npz *.npy);;IDX files (*ubyte* *.gz);;All files (*)"
)


class Attaching:
    """Brings files and folders into the project and says what they were taken for."""

    def __init__(self, studio: Studio, parent: QWidget) -> None:
        self._studio = studio
        self._folder: Callable[[], Path] = lambda: studio.document.folder
        self._parent = parent

    def ask_file(self) -> None:
        """Let the user choose a file, or samples and labels in two."""
        self._ask("Attach a data file", QFileDialog.FileMode.ExistingFiles)

    def ask_folder(self) -> None:
        """Let the user choose a folder."""
        self._ask("Attach a folder of images", QFileDialog.FileMode.Directory)

    def attach(self, *paths: Path) -> None:
        """Bring a file or folder in, or two files that belong together."""
        attach(self._studio, *paths)

    def _ask(self, title: str, mode: QFileDialog.FileMode) -> None:
        begin = self._folder()
        dialog = file_dialog(self._parent, "attach_dialog", title, "data", begin=begin)
        dialog.setFileMode(mode)
        if mode is QFileDialog.FileMode.ExistingFiles:
            dialog.setNameFilters(FILTER.split(";;"))
            dialog.filesSelected.connect(lambda names: self.attach(*map(Path, names)))
        else:
            dialog.fileSelected.connect(lambda name: self.attach(Path(name)))
        dialog.open()


def attach(studio: Studio, *paths: Path, then: Callable[[], object] = lambda: None) -> None:
    """Bring files of the user's into the project, and say what they were taken for.

    Args:
        studio: the models.
        paths: a file or folder, or two files that belong together.
        then: called on the window's thread once they are attached.
    """
    first, *beside = paths

    def attached(made: Attachment) -> None:
        found = made.found
        text = f"Attached {first.name} as {found.kind}"
        if made.dataset is None:
            # The Data pane says what is wrong: a success beside that would deny it.
            data = studio.data
            why = needed_text(data.data, data.mapping.ends) or "it could not be read yet"
            studio.notify(f"{text}; {why}", "warning", about=DATA)
        else:
            details = "\n".join(note[:1].upper() + note[1:] for note in found.notes)
            studio.notify(text, "ok", details=details)
        then()

    def refused(error: StudioError) -> None:
        studio.fail(error, DATA)

    studio.data.attach_path(first, attached, refused, beside)


def dropped_paths(data: QMimeData) -> tuple[Path, ...]:
    """The dragged file or folder, or the two files; None for anything else."""
    urls = data.urls() if data.hasUrls() else []
    paths = tuple(Path(url.toLocalFile()) for url in urls if url.isLocalFile())
    is_data = all(path.suffix.lower() != ".glassbox" for path in paths)
    return paths if is_data and len(paths) == len(urls) and len(paths) in (1, 2) else ()
