"""File dialogs: where they begin, and what happens to files that are none."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QLineEdit
from pytestqt.qtbot import QtBot

from studio.samples import open_copy
from studio.session.document.document import Document
from studio.session.document.edits.comments import add_note
from studio.session.document.edits.sections import set_name
from studio.ui.shell.window import MainWindow
from tests.ui.shell.driving import press

DIALOGS = {
    "file.open": "open_dialog",
    "data.attach": "attach_dialog",
    "file.import": "import_dialog",
}
"""Actions that ask for a file to read, with the dialog each opens."""


def opened_dialog(qtbot: QtBot, window: MainWindow, name: str) -> QFileDialog:
    def found() -> list[QFileDialog]:
        return [each for each in window.findChildren(QFileDialog, name) if each.isVisible()]

    qtbot.waitUntil(lambda: bool(found()))
    (dialog,) = found()
    dialog.activateWindow()
    qtbot.waitUntil(dialog.isActiveWindow)
    return dialog


def type_path(qtbot: QtBot, dialog: QFileDialog, path: Path | str) -> None:
    """Type a path into the field of a dialog, and press Enter."""
    field = dialog.findChild(QLineEdit, "fileNameEdit")
    assert field is not None
    field.setFocus()
    qtbot.waitUntil(field.hasFocus)
    field.selectAll()
    qtbot.keyClicks(field, str(path))
    qtbot.keyClick(field, Qt.Key.Key_Return)


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    made = tmp_path / "pipe.csv"
    os.mkfifo(made)
    return made


@pytest.fixture
def listening(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    # The name of a socket may not be long.
    folder = tmp_path_factory.mktemp("s")
    here = Path.cwd()
    os.chdir(folder)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("s")
        os.chdir(here)
        yield folder / "s"


@pytest.fixture
def no_files(pipe: Path, listening: Path) -> tuple[Path, ...]:
    """What can be chosen and is no file."""
    devices = tuple(Path("/dev") / name for name in ("zero", "random"))
    return (*(device for device in devices if device.exists()), pipe, listening)


@pytest.mark.parametrize("action", DIALOGS)
def test_what_is_no_file_is_refused_at_once(
    qtbot: QtBot, opened: MainWindow, no_files: tuple[Path, ...], action: str
) -> None:
    studio = opened.studio
    before, recent = studio.document, [file.path for file in studio.recent.files]
    state = before.state
    for path in no_files:
        told = len(studio.notices.all)
        opened.studio.actions.trigger(action)
        type_path(qtbot, opened_dialog(qtbot, opened, DIALOGS[action]), path)
        refused = one_more_notice(qtbot, opened, told)
        assert "must be a regular file, got a device or a pipe" in refused
    assert studio.document is before
    assert studio.document.state == state
    assert [file.path for file in studio.recent.files] == recent
    qtbot.waitUntil(lambda: not studio.tasks.running)


def test_a_device_that_is_dropped_on_the_window_is_refused(
    qtbot: QtBot, opened: MainWindow, no_files: tuple[Path, ...]
) -> None:
    for path in no_files:
        told = len(opened.studio.notices.all)
        opened.take_files([path])
        assert "must be a regular file" in one_more_notice(qtbot, opened, told)


def one_more_notice(qtbot: QtBot, window: MainWindow, told: int) -> str:
    """The text of the error that is told next."""
    notices = window.studio.notices
    qtbot.waitUntil(lambda: len(notices.all) > told, timeout=60_000)
    assert notices.all[-1].severity == "error"
    return notices.all[-1].text


# -- where they begin ------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["file.open", "data.attach", "file.import"])
def test_a_dialog_begins_where_the_last_of_its_kind_ended(
    qtbot: QtBot, another: Callable[[], MainWindow], tmp_path: Path, action: str
) -> None:
    there = tmp_path / "there"
    there.mkdir()
    wrong = there / "wrong.csv"
    wrong.write_text("nothing")
    window = another()
    project = open_copy("iris", tmp_path)
    window.documents.open_path(project)
    window.studio.actions.trigger(action)
    dialog = opened_dialog(qtbot, window, DIALOGS[action])
    assert Path(dialog.directory().absolutePath()) == project.parent
    type_path(qtbot, dialog, wrong)
    qtbot.waitUntil(lambda: not window.findChildren(QFileDialog, DIALOGS[action]))
    qtbot.waitUntil(lambda: not window.studio.tasks.running)
    for _ in range(2):
        window.studio.actions.trigger(action)
        dialog = opened_dialog(qtbot, window, DIALOGS[action])
        assert Path(dialog.directory().absolutePath()) == there
        press("Escape", dialog)
        window.studio.document.history.mark_clean()
        # The next start remembers it as well.
        window = another()
        window.documents.open_path(project)


def test_save_as_begins_beside_the_last_project_and_names_it_after_the_file(
    qtbot: QtBot, another: Callable[[], MainWindow], tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    project = open_copy("iris", folder)
    window = another()
    window.documents.open_path(project)
    window = another()
    press("Ctrl+N")
    qtbot.waitUntil(lambda: not window.is_welcoming)
    document = window.studio.document
    document.apply("Add a note", add_note(document.state, 0, 0, "mine"))
    press("Ctrl+Shift+S")
    dialog = opened_dialog(qtbot, window, "save_dialog")
    assert Path(dialog.directory().absolutePath()) == project.parent
    field = dialog.findChild(QLineEdit, "fileNameEdit")
    assert field is not None
    assert field.text() == "untitled.glassbox"
    type_path(qtbot, dialog, "flowers")
    qtbot.waitUntil(lambda: document.path == project.with_name("flowers.glassbox"))
    qtbot.waitUntil(window.isActiveWindow)
    assert document.title == "flowers"
    assert document.state.name == "flowers"
    assert Document.open(project.with_name("flowers.glassbox")).state.name == "flowers"
    assert not document.dirty
    # Saved under another name it takes that one, whatever is undone.
    press("Ctrl+Shift+S")
    type_path(qtbot, opened_dialog(qtbot, window, "save_dialog"), "petals")
    qtbot.waitUntil(lambda: document.state.name == "petals")
    qtbot.waitUntil(window.isActiveWindow)
    document.undo()
    assert document.title == "petals"
    document.redo()
    assert not document.dirty
    # A name of its own stays.
    document.apply("Rename project", set_name(document.state, "My network"))
    press("Ctrl+Shift+S")
    type_path(qtbot, opened_dialog(qtbot, window, "save_dialog"), "other")
    qtbot.waitUntil(lambda: document.path == project.with_name("other.glassbox"))
    assert document.title == "My network"
