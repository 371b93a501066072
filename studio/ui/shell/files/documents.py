"""Opening, saving and closing projects from the window, with the questions that go with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import shiboken6
from PySide6.QtWidgets import (
    QApplication,
    QFileDialog,
    QLineEdit,
    QMainWindow,
    QMessageBox,
    QPlainTextEdit,
    QWidget,
)

from studio.engine.core.errors import DataError, StudioError, cleaned
from studio.engine.core.signal import Signal
from studio.engine.interop.reading import holds_model
from studio.samples import changed_copies, pristine_copy, sample_of
from studio.session.core.recent import RecentFile
from studio.session.document.change import Change
from studio.session.document.document import Document
from studio.session.notices.settling import OPEN, SAVE
from studio.session.safety.recovery_sessions import RecoverableSession, described
from studio.session.studio import Studio
from studio.ui.shell.dialogs.questions import Answer, ask
from studio.ui.shell.files.imports import Imports, model_filter, model_patterns
from studio.ui.shell.files.thumbnails import thumbnail
from studio.widgets import binding
from studio.widgets.file_dialogs import file_dialog

PROJECT = ".glassbox"
_FILTERS = (f"Projects (*{PROJECT})", "All files (*)")
_MOST_LINES = 20
_LONGEST_PATH = 400

Then = Callable[[], object]
_Stamp = tuple[int, int]


class Documents:
    """What the File menu does.

    Args:
        studio: the models.
        window: asks and shows file dialogs.
        leave: asks whatever has to be asked before the open document is left, other than whether
            to save it; calls back when it may go on.
    """

    def __init__(
        self, studio: Studio, window: QMainWindow, leave: Callable[[Then], object]
    ) -> None:
        self.opened: Signal[[Document]] = Signal()
        self._studio = studio
        self._window = window
        self._leave = leave
        self._stamp: _Stamp | None = None
        self._heard: binding.Delivery | None = None
        self._question: tuple[Document, QMessageBox] | None = None
        self._example: tuple[Path | None, str] | None = None
        self.imports = Imports(studio, window, self.open_path, self._folder)
        binding.connect(window, studio.document_replaced, self._follow)
        binding.connect(window, studio.data.trust_wanted, self._ask_to_trust)
        binding.connect(window, studio.restoring.branched, self._open_branch)
        self._follow(studio.document)

    # -- beginning ----------------------------------------------------------------------------

    def new(self) -> None:
        """Begin an empty project."""
        self.leaving(self._begin)

    def open(self) -> None:
        """Let the user choose a file and open it."""
        begin = self._folder()
        dialog = file_dialog(self._window, "open_dialog", "Open", "project", begin=begin)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters(_open_filters())
        dialog.fileSelected.connect(lambda name: self.open_path(Path(name)))
        dialog.open()

    def open_path(self, path: Path) -> None:
        """Open a project file, or the one of a folder, after asking about unsaved work.

        Of a model of another program a project is made first.
        """
        if path.suffix.lower() != PROJECT and path.exists() and holds_model(path):
            self.imports.open_model(path)
        else:
            self.leaving(lambda: self._open(path))

    def _open_branch(self, path: Path, title: str) -> None:
        """Open the project that was made of a run, after asking about unsaved work."""
        self.open_path(path)
        is_open = self._studio.document.path == path
        again = None if is_open else ("Open it", lambda: self.open_path(path))
        text = f"Branched the run {title} as {path.name}"
        self._studio.notify(text, "ok", again, f"It is in {path.parent}.")

    def open_sample(self, name: str) -> None:
        """Open a sample project as it came, as a copy of the user's own.

        Copies that the user has changed stay as they are; the last one is offered.
        """
        self.leaving(lambda: self._guarded(lambda: self._take_sample(name)))

    def example_of(self, path: Path | None) -> str:
        """Name of the example that a project of the user's is a copy of; empty for any other."""
        if self._example is None or self._example[0] != path:
            self._example = (path, sample_of(path, self._studio.dirs.examples))
        return self._example[1]

    def open_recovered(self, session: RecoverableSession) -> None:
        """Open the unsaved work of a window that crashed."""
        self.leaving(lambda: self._guarded(lambda: self._restore(session)))

    def compare_recovered(self, session: RecoverableSession) -> None:
        """Show what unsaved work has other than the file, and let the user decide."""
        lines = session.details
        shown = [*lines[:_MOST_LINES], f"and {len(lines) - _MOST_LINES} more"]
        base = "an empty project" if session.original is None else "the file"
        answers = (
            Answer("open", "Open"),
            Answer("discard", "Discard", "destroy"),
            Answer("close", "Close", "cancel"),
        )

        def answered(name: str) -> None:
            if name == "open":
                self.open_recovered(session)
            elif name == "discard":
                self._studio.recovery.discard(session)

        ask(
            self._window,
            f"{session.title}: unsaved work compared with {base}",
            "\n".join(lines if len(lines) <= _MOST_LINES else shown),
            answers,
            answered,
        )

    def locate(self, file: RecentFile) -> None:
        """Let the user show where a missing project is now, and open it."""
        title, begin = f"Where is {file.title}?", self._folder()
        dialog = file_dialog(self._window, "locate_dialog", title, "project", begin=begin)
        dialog.setNameFilters([*_FILTERS])
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)

        def found(name: str) -> None:
            self._studio.recent.locate(file, Path(name))
            self.open_path(Path(name))

        dialog.fileSelected.connect(found)
        dialog.open()

    # -- keeping ------------------------------------------------------------------------------

    def save(self, then: Then = lambda: None) -> None:
        """Write the document to its file; asks where for one that has none."""
        typed_in = _finish_typing()
        if typed_in is not None and shiboken6.isValid(typed_in):
            typed_in.setFocus()
        document = self._studio.document
        if document.path is None or document.read_only:
            self.save_as(then)
        elif self._is_changed_outside(document.path):
            self._ask_to_overwrite(document.path, then)
        elif self._written(None):
            then()

    def save_as(self, then: Then = lambda: None) -> None:
        """Ask where, and write the document there."""
        document = self._studio.document
        start = document.path or self._folder() / f"{document.title}{PROJECT}"
        dialog = file_dialog(self._window, "save_dialog", "Save as", "project")
        dialog.setDirectory(str(start.parent))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilter(_FILTERS[0])
        dialog.setDefaultSuffix(PROJECT.removeprefix("."))
        dialog.selectFile(start.name)

        def chosen(name: str) -> None:
            if self._written(Path(name)):
                then()

        dialog.fileSelected.connect(chosen)
        dialog.open()

    def why_not_save(self) -> str:
        """Why there is nothing to save; empty when there is."""
        document = self._studio.document
        if document.dirty or document.path is None:
            return ""
        return "the project has no unsaved changes"

    def why_not_save_as(self) -> str:
        """Why it cannot be written anywhere; empty when it can."""
        return self._studio.document.read_only

    # -- giving up ----------------------------------------------------------------------------

    def why_not_revert(self) -> str:
        """Why the file cannot be read again; empty when it can."""
        document = self._studio.document
        if document.path is None:
            return "the project has no file yet"
        return "" if document.dirty else "the project has no unsaved changes"

    def revert(self) -> None:
        """Read the file again; what was done since stays in the history."""
        document = self._studio.document
        path = document.path
        if path is None:
            return

        def read() -> None:
            state = Document.open(path).state
            document.apply(f"Revert to {path.name}", state)
            self._note()

        self._guarded(read)

    def leaving(self, then: Then) -> None:
        """Call back when the open document may be left: asked about, saved or given up."""
        _finish_typing()
        self._leave(lambda: self._ask_to_save(then))

    def _ask_to_save(self, then: Then) -> None:
        document = self._studio.document
        if not document.dirty:
            then()
            return
        answers = (
            Answer("save", "Save"),
            Answer("discard", "Don't save", "destroy"),
            Answer("cancel", "Cancel", "cancel"),
        )

        def answered(name: str) -> None:
            if name == "save":
                self.save(then)
            elif name == "discard":
                then()

        change = described(Change.between(document.history.saved_state, document.state))
        since = "Never saved" if document.path is None else "Since it was saved"
        ask(
            self._window,
            f"Save the changes to {document.title}?",
            f"{since}: {', '.join(change) or 'small changes'}. Unsaved changes will be lost.",
            answers,
            answered,
        )

    def _ask_to_trust(self, paths: tuple[Path, ...]) -> None:
        """Ask before data is read that the project names outside its folder."""
        self._close_question()
        studio, document = self._studio, self._studio.document
        answers = (Answer("leave", "Don't read it", "cancel"), Answer("read", "Load"))

        def answered(name: str) -> None:
            self._question = None
            if name == "read" and studio.document is document:
                studio.data.trust()

        named = "\n".join(cleaned(str(path))[-_LONGEST_PATH:] for path in paths)
        box = ask(
            self._window,
            f"May {document.title} read data outside its folder?",
            f"It names:\n\n{named}\n\n"
            "A project from someone else could use this to read private files. If you agree, this "
            "is remembered for the project's folder; you can also agree later, in the Data pane.",
            answers,
            answered,
        )
        self._question = (document, box)

    def _close_question(self) -> None:
        question, self._question = self._question, None
        if question is not None:
            question[1].reject()

    def _is_changed_outside(self, path: Path) -> bool:
        now = _stamp_of(path)
        return None not in (now, self._stamp) and now != self._stamp

    def _ask_to_overwrite(self, path: Path, then: Then) -> None:
        answers = (
            Answer("elsewhere", "Save elsewhere…"),
            Answer("overwrite", "Overwrite", "destroy"),
            Answer("cancel", "Cancel", "cancel"),
        )

        def answered(name: str) -> None:
            if name == "elsewhere":
                self.save_as(then)
            elif name == "overwrite" and self._written(None):
                then()

        ask(
            self._window,
            f"{path.name} was changed by another program",
            "Since it was read here something else was written to the file. Overwriting loses "
            "that; saved elsewhere, both are kept.",
            answers,
            answered,
        )

    # -- inside -------------------------------------------------------------------------------

    def _follow(self, document: Document) -> None:
        if self._question is not None and self._question[0] is not document:
            self._close_question()
        if self._heard is not None:
            self._heard.stop()
        self._heard = binding.connect(self._window, document.saved, self._note)
        self._note()

    def _note(self) -> None:
        """What is in the file and what is here are the same now."""
        self._stamp = _stamp_of(self._studio.document.path)

    def _begin(self) -> None:
        self.opened.emit(self._studio.new())

    def _open(self, path: Path) -> None:
        self._guarded(lambda: self._take(_inside(path)))

    def _take(self, path: Path) -> None:
        document = self._studio.open(path)
        self._studio.recent.add(path, document.title, thumbnail(document.state))
        self.opened.emit(document)

    def _take_sample(self, name: str) -> None:
        folder = self._studio.dirs.examples
        self._take(pristine_copy(name, folder))
        changed = changed_copies(name, folder)
        if changed:
            last = changed[0]
            self._studio.notify(
                f"This is the original example {name}; your changed copy is {last.name}",
                "info",
                ("Open my copy", lambda: self.open_path(last)),
                f"Your copies are in {folder}.",
            )

    def _restore(self, session: RecoverableSession) -> None:
        document = self._studio.recovery.restore(session)
        self._studio.replace(document)
        self.opened.emit(document)

    def _write(self, path: Path | None) -> None:
        studio = self._studio
        written = studio.recovery.save(studio.document, studio.data, path)
        studio.recent.add(written, studio.document.title, thumbnail(studio.document.state))
        studio.notify(f"Saved {written.name}", "ok")

    def _written(self, path: Path | None) -> bool:
        """Write it; where that fails, another place is offered. Whether it was written."""
        try:
            self._write(path)
        except StudioError as error:
            self._studio.notices.add_error(error, ("Save elsewhere…", self.save_as), SAVE)
            return False
        return True

    def _guarded(self, work: Then) -> None:
        """Do it; an error of the user's is shown."""
        try:
            work()
        except StudioError as error:
            self._studio.fail(error, OPEN)

    def _folder(self) -> Path:
        studio = self._studio
        if studio.document.path is not None:
            return studio.document.path.parent
        recent = next((file for file in studio.recent.files if not file.is_missing), None)
        return Path.home() if recent is None else recent.path.parent


def _open_filters() -> list[str]:
    """What can be opened: projects, and models that become projects."""
    both = f"Projects and models (*{PROJECT} {model_patterns()})"
    return [both, _FILTERS[0], model_filter(), _FILTERS[1]]


def _finish_typing() -> QWidget | None:
    """Have what is being typed into a field taken into the document it was typed for.

    Fields take it over when the keyboard leaves them, which would otherwise be after another
    document is open. Returns what had the keyboard.
    """
    focused = QApplication.focusWidget()
    if not isinstance(focused, QLineEdit | QPlainTextEdit):
        return None
    focused.clearFocus()
    return focused


def _stamp_of(path: Path | None) -> _Stamp | None:
    """What tells one state of a file from another; None where there is none."""
    try:
        found = None if path is None else path.stat()
    except OSError:
        return None
    return None if found is None else (found.st_mtime_ns, found.st_size)


def _inside(path: Path) -> Path:
    """The project of a folder, or the file itself."""
    if not path.is_dir():
        return path
    found = sorted(path.glob(f"*{PROJECT}"))
    if len(found) != 1:
        raise DataError(
            f"expected one {PROJECT} file in the folder, got {len(found)}", who=str(path)
        )
    return found[0]
