"""Opening, saving, closing and dropping, with the questions that go with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QLineEdit, QToolButton
from pytestqt.qtbot import QtBot

from studio.samples import open_copy
from studio.session.document.document import Document
from studio.session.document.edits.comments import add_note
from studio.session.document.edits.layers import add_layer
from studio.session.document.edits.sections import set_notes, set_training
from studio.ui.shell.window import MainWindow
from tests.engine.interop.formats_from_elsewhere import MODULE, format_from_elsewhere
from tests.ui.shell.driving import answer, press, question


def change(window: MainWindow, text: str = "a note") -> None:
    document = window.studio.document
    document.apply("Add a note", add_note(document.state, 0, 0, text))


def dialog(qtbot: QtBot, window: MainWindow, name: str) -> QFileDialog:
    qtbot.waitUntil(lambda: window.findChild(QFileDialog, name) is not None)
    found = window.findChild(QFileDialog, name)
    assert found is not None
    return found


def choose(found: QFileDialog, path: Path) -> None:
    found.fileSelected.emit(str(path))
    found.close()


def test_opening_shows_the_canvas_and_remembers_the_file(
    qtbot: QtBot, window: MainWindow, project: Path
) -> None:
    assert window.is_welcoming
    press("Ctrl+O")
    choose(dialog(qtbot, window, "open_dialog"), project)
    assert not window.is_welcoming
    assert window.studio.document.path == project
    assert [file.path for file in window.studio.recent.files] == [project.resolve()]
    assert window.windowTitle().startswith("iris.glassbox")


def test_a_file_that_cannot_be_read_is_told_and_changes_nothing(
    qtbot: QtBot, opened: MainWindow, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.glassbox"
    broken.write_text("{")
    before = opened.studio.document
    opened.documents.open_path(broken)
    assert opened.studio.document is before
    assert opened.studio.notices.all[-1].severity == "error"
    opened.documents.open_path(tmp_path / "missing.glassbox")
    assert opened.studio.notices.all[-1].severity == "error"


def test_saving_writes_the_file_and_clears_the_mark(
    qtbot: QtBot, opened: MainWindow, project: Path
) -> None:
    change(opened)
    assert opened.isWindowModified()
    opened.canvas.setFocus()
    press("Ctrl+S")
    assert not opened.isWindowModified()
    notes = [n for n in Document.open(project).state.nodes.values() if n.kind == "note"]
    assert len(notes) == 1


def test_nothing_can_be_saved_where_nothing_is_open(qtbot: QtBot, window: MainWindow) -> None:
    button = window.top_bar.findChild(QToolButton, "tool.file.save")
    qtbot.waitUntil(lambda: not button.isEnabled())
    assert "No project is open" in button.toolTip()
    window.documents.new()
    qtbot.waitUntil(button.isEnabled)
    # What is not saved may be saved from the welcome page.
    change(window)
    window.show_welcome()
    assert window.studio.actions.why_not("file.save") == ""
    window.studio.document.undo()
    window.studio.document.history.mark_clean()
    window.studio.actions.trigger("file.close")
    qtbot.waitUntil(lambda: not button.isEnabled())


def test_what_is_being_typed_belongs_to_the_project_it_is_typed_for(
    qtbot: QtBot, opened: MainWindow, project: Path
) -> None:
    def type_seed(text: str) -> QLineEdit:
        qtbot.waitUntil(lambda: opened.findChild(QLineEdit, "field_seed") is not None,
                        timeout=60_000)  # fmt: skip
        field = opened.findChild(QLineEdit, "field_seed")
        field.setFocus()
        qtbot.waitUntil(field.hasFocus)
        field.selectAll()
        qtbot.keyClicks(field, text)
        return field

    change(opened)
    field = type_seed("41")
    press("Ctrl+S")
    assert Document.open(project).state.training["seed"] == 41
    assert field.hasFocus()
    type_seed("42")
    press("Ctrl+N")
    assert "Save the changes to iris?" in question(qtbot, opened).text()
    answer(qtbot, opened, "save")
    qtbot.waitUntil(lambda: opened.studio.document.path is None)
    assert Document.open(project).state.training["seed"] == 42
    opened.canvas.setFocus()
    assert not opened.studio.document.dirty
    assert opened.studio.document.state.training["seed"] == 0


def test_a_project_without_a_file_asks_where(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    window.documents.new()
    change(window)
    target = tmp_path / "mine.glassbox"
    window.studio.actions.trigger("file.save")
    choose(dialog(qtbot, window, "save_dialog"), target)
    assert target.is_file()
    assert window.studio.document.path == target
    assert not window.studio.document.dirty


@pytest.mark.parametrize("reply", ["elsewhere", "overwrite", "cancel"])
def test_a_file_that_something_else_has_written_is_not_overwritten_unasked(
    qtbot: QtBot, opened: MainWindow, project: Path, tmp_path: Path, reply: str
) -> None:
    change(opened, "mine")
    opened.studio.actions.trigger("file.save")
    assert not opened.studio.document.dirty
    other = Document.open(project)
    other.apply("Add a note", add_note(other.state, 50, 50, "theirs, and longer"))
    other.save()
    theirs = project.read_bytes()
    change(opened, "mine again")
    opened.studio.actions.trigger("file.save")
    assert "changed by another program" in question(qtbot, opened).text()
    answer(qtbot, opened, reply)
    if reply == "elsewhere":
        choose(dialog(qtbot, opened, "save_dialog"), tmp_path / "both.glassbox")
        assert (tmp_path / "both.glassbox").is_file()
    assert (project.read_bytes() == theirs) == (reply != "overwrite")
    assert opened.studio.document.dirty == (reply == "cancel")
    if reply != "cancel":
        change(opened, "once more")
        opened.studio.actions.trigger("file.save")
        assert not opened.studio.document.dirty, "nothing is asked twice"


def test_a_newer_file_is_looked_at_and_never_written(
    qtbot: QtBot, window: MainWindow, project: Path
) -> None:
    newer = project.with_name("newer.glassbox")
    newer.write_text(project.read_text().replace('"version": 1', '"version": 99', 1))
    window.documents.open_path(newer)
    assert "(read-only)" in window.windowTitle()
    band = window.findChild(QLabel, "read_only_text")
    assert band.isVisible()
    assert "newer Glassbox" in band.text()
    why = window.studio.actions.why_not("file.save_as")
    assert why == window.studio.document.read_only
    press("Ctrl+Shift+S")
    assert window.findChild(QFileDialog, "save_dialog") is None
    assert "newer Glassbox" in window.status.findChild(QLabel, "hint").text()


def test_saving_elsewhere_goes_on_with_that_file(
    qtbot: QtBot, opened: MainWindow, tmp_path: Path
) -> None:
    target = tmp_path / "other" / "copy.glassbox"
    target.parent.mkdir()
    opened.studio.actions.trigger("file.save_as")
    choose(dialog(qtbot, opened, "save_dialog"), target)
    assert opened.studio.document.path == target
    change(opened)
    opened.studio.actions.trigger("file.save")
    assert any(n.kind == "note" for n in Document.open(target).state.nodes.values())


def test_a_save_that_fails_leaves_the_document_unsaved_with_a_copy(
    qtbot: QtBot, opened: MainWindow, tmp_path: Path
) -> None:
    change(opened)
    opened.studio.actions.trigger("file.save_as")
    choose(dialog(qtbot, opened, "save_dialog"), tmp_path / "no such folder" / "x.glassbox")
    notice = opened.studio.notices.all[-1]
    assert notice.severity == "error"
    assert "a copy was saved" in notice.details
    assert opened.studio.document.dirty
    assert opened.isWindowModified()
    word, act = notice.action
    assert word == "Save elsewhere…"
    act()
    choose(dialog(qtbot, opened, "save_dialog"), tmp_path / "x.glassbox")
    assert not opened.studio.document.dirty
    assert (tmp_path / "x.glassbox").is_file()


@pytest.mark.parametrize("reply", ["save", "discard", "cancel"])
def test_unsaved_changes_are_asked_about_before_another_project(
    qtbot: QtBot, opened: MainWindow, project: Path, tmp_path: Path, reply: str
) -> None:
    change(opened)
    other = open_copy("spirals", tmp_path)
    opened.documents.open_path(other)
    answer(qtbot, opened, reply)
    expected = project if reply == "cancel" else other
    qtbot.waitUntil(lambda: opened.studio.document.path == expected)
    saved = any(n.kind == "note" for n in Document.open(project).state.nodes.values())
    assert saved == (reply == "save")
    assert opened.studio.document.dirty == (reply == "cancel")


def test_the_question_names_what_was_changed_since_it_was_saved(
    qtbot: QtBot, opened: MainWindow
) -> None:
    document = opened.studio.document
    for text in ("one", "two"):
        document.apply("Note", set_notes(document.state, text))
    press("Ctrl+S")
    qtbot.waitUntil(lambda: not document.dirty)
    document.apply("Add", add_layer(document.state, "Flatten"))
    opened.close()
    asked = question(qtbot, opened).informativeText()
    assert asked.startswith("Since it was saved: +1 layer.")
    assert "notes" not in asked
    answer(qtbot, opened, "cancel")
    qtbot.waitUntil(lambda: QApplication.activeModalWidget() is None)
    fresh = opened.studio.new()
    fresh.apply("Add", add_layer(fresh.state, "Flatten"))
    opened.close()
    assert question(qtbot, opened).informativeText().startswith("Never saved: +1 layer.")
    answer(qtbot, opened, "cancel")


def test_nothing_is_asked_where_nothing_would_be_lost(
    qtbot: QtBot, opened: MainWindow, tmp_path: Path
) -> None:
    other = open_copy("spirals", tmp_path)
    opened.documents.open_path(other)
    assert opened.studio.document.path == other


@pytest.mark.parametrize("reply", ["save", "discard", "cancel"])
def test_closing_the_window_asks_about_unsaved_changes(
    qtbot: QtBot, opened: MainWindow, project: Path, reply: str
) -> None:
    change(opened)
    press("Ctrl+Q")
    assert opened.isVisible()
    answer(qtbot, opened, reply)
    qtbot.waitUntil(lambda: opened.isVisible() == (reply == "cancel"))
    saved = any(n.kind == "note" for n in Document.open(project).state.nodes.values())
    assert saved == (reply == "save")


def test_escape_is_the_answer_that_keeps_everything(qtbot: QtBot, opened: MainWindow) -> None:
    change(opened)
    opened.close()
    press("Esc", question(qtbot, opened))
    qtbot.waitUntil(lambda: QApplication.activeModalWidget() is None)
    assert opened.isVisible()
    assert opened.studio.document.dirty


def drawn(window: MainWindow) -> list[tuple[object, ...]]:
    """Layers with their options and wires; where they lie, the file does not say."""
    nodes = window.studio.document.state.nodes.values()
    return [(node.id, node.type_name, node.config, node.inputs) for node in nodes]


def test_reverting_reads_the_file_and_can_be_undone(qtbot: QtBot, opened: MainWindow) -> None:
    registry = opened.studio.actions
    assert "no unsaved changes" in registry.why_not("file.revert")
    before = drawn(opened)
    change(opened)
    changed = opened.studio.document.state
    assert drawn(opened) != before
    registry.trigger("file.revert")
    assert drawn(opened) == before
    opened.studio.document.undo()
    assert opened.studio.document.state == changed


def test_closing_the_project_leads_to_the_welcome_page(qtbot: QtBot, opened: MainWindow) -> None:
    assert opened.studio.actions.why_not("file.close") == ""
    press("Ctrl+W")
    qtbot.waitUntil(lambda: opened.is_welcoming)
    assert opened.studio.document.path is None
    assert opened.windowTitle() == "Glassbox"
    assert opened.studio.actions.why_not("file.close")
    assert not any(opened.docks.is_in_front(dock) for dock in opened.docks.all.values())


def drop(window: MainWindow, *paths: Path) -> bool:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    middle = window.rect().center()
    buttons, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(middle), Qt.DropAction.CopyAction, data, buttons, keys)
    QApplication.sendEvent(window, enter)
    event = QDropEvent(QPointF(middle), Qt.DropAction.CopyAction, data, buttons, keys)
    QApplication.sendEvent(window, event)
    return enter.isAccepted() and event.isAccepted()


def test_dropping_a_project_opens_it(qtbot: QtBot, window: MainWindow, project: Path) -> None:
    assert drop(window, project)
    assert window.studio.document.path == project


def test_dropping_a_folder_opens_the_project_in_it(
    qtbot: QtBot, window: MainWindow, project: Path
) -> None:
    assert drop(window, project.parent)
    assert window.studio.document.path == project


def test_dropping_data_attaches_it(qtbot: QtBot, opened: MainWindow, tmp_path: Path) -> None:
    table = tmp_path / "numbers.csv"
    rows = "\n".join(f"{i},{i * 2},{'ab'[i % 2]}" for i in range(40))
    table.write_text(f"x,y,kind\n{rows}\n")
    assert drop(opened, table)
    qtbot.waitUntil(lambda: "numbers.csv" in str(opened.studio.document.state.data))


def test_dropped_data_are_named_with_what_became_of_reading_them(
    qtbot: QtBot, opened: MainWindow, tmp_path: Path
) -> None:
    bad, good = tmp_path / "bad.csv", tmp_path / "good.csv"
    good.write_text("one,two,label\n" + "1,2,a\n3,4,b\n" * 20)
    bad.write_text(good.read_text() + "5,oops,a\n")
    (tmp_path / "empty.csv").write_text("")

    def last() -> tuple[str, str]:
        (*_, notice) = [("", ""), *((n.severity, n.text) for n in opened.studio.notices.all)]
        return notice

    for name, said in (
        ("bad.csv", ("warning", "Attached bad.csv as table; it could not be read yet")),
        ("good.csv", ("ok", "Attached good.csv as table")),
        ("empty.csv", ("error", "empty.csv: the file is empty")),
    ):
        assert drop(opened, tmp_path / name)
        qtbot.waitUntil(lambda said=said: last() == said, timeout=60_000)


def test_dropping_data_on_a_network_without_an_input_adds_one_that_fits(
    qtbot: QtBot, opened: MainWindow, tmp_path: Path
) -> None:
    table = tmp_path / "numbers.csv"
    rows = "\n".join(f"{i},{i * 2},{i * 3},{'ab'[i % 2]}" for i in range(40))
    table.write_text(f"long,wide,high,kind\n{rows}\n")
    opened.studio.replace(Document.new())
    assert drop(opened, table)
    document = opened.studio.document
    qtbot.waitUntil(lambda: len(document.state.nodes) == 1)
    (node,) = document.state.nodes.values()
    assert node.type_name == "Input"
    assert node.config["shape"] == [3]
    assert document.history.undo_text.startswith("Add an input")


def test_a_dropped_file_is_taken_for_weights_by_its_format(
    qtbot: QtBot, opened: MainWindow, tmp_path: Path
) -> None:
    notices = opened.studio.notices
    with format_from_elsewhere(tmp_path / "modules", MODULE):
        broken = tmp_path / "weights.reversed"
        broken.write_bytes(b"nothing of the kind")
        assert drop(opened, broken)
        qtbot.waitUntil(
            lambda: any("or .weights.h5 or .reversed, got" in n.text
                        for n in notices.all),
            timeout=60_000,
        )  # fmt: skip


def test_text_that_is_dragged_is_not_taken(window: MainWindow) -> None:
    data = QMimeData()
    data.setText("no file")
    middle = QPoint(window.rect().center())
    enter = QDragEnterEvent(
        middle, Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )  # fmt: skip
    enter.ignore()
    QApplication.sendEvent(window, enter)
    assert not enter.isAccepted()


def test_weights_are_brought_into_a_saved_project(
    qtbot: QtBot, opened: MainWindow, tmp_path: Path
) -> None:
    change(opened)
    assert "save the project" in opened.studio.actions.why_not("file.import")
    opened.studio.document.save()
    broken = tmp_path / "weights.safetensors"
    broken.write_bytes(b"nothing of the kind")
    opened.studio.actions.trigger("file.import")
    choose(dialog(qtbot, opened, "import_dialog"), broken)
    notices = opened.studio.notices
    qtbot.waitUntil(lambda: any(n.severity == "error" for n in notices.all))


def test_weights_that_fit_become_a_run(qtbot: QtBot, opened: MainWindow, tmp_path: Path) -> None:
    document, training = opened.studio.document, opened.studio.training
    document.apply("Train shortly", set_training(document.state, {"epochs": 1}))
    document.save()
    opened.studio.preferences.set("backend", "cpu")
    training.start()
    qtbot.waitUntil(lambda: training.state == "finished")
    made = training.run.best_result()
    assert made is not None
    weights = tmp_path / "elsewhere.safetensors"
    weights.write_bytes(made.read_bytes())
    before = set(training.runs_path.iterdir())
    opened.documents.imports.take_weights(weights)
    qtbot.waitUntil(lambda: len(set(training.runs_path.iterdir()) - before) == 1)
    notices = opened.studio.notices
    qtbot.waitUntil(lambda: any("elsewhere.safetensors" in n.text for n in notices.all))
