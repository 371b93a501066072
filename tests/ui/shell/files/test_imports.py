"""Models of other programs and weights in the window: opened, dropped, cancelled, refused."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QFileDialog,
    QLabel,
    QPushButton,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from studio.engine.formats.npz import save_npz
from studio.engine.interop.file_format import FileFormat, file_formats
from studio.engine.layers.named_parameters import public_weights
from studio.engine.train.project.project import Project
from studio.engine.train.weights import initial_weights
from studio.session.document.edits.comments import add_note
from studio.ui.panes.importing.match_dialog import MatchDialog
from studio.ui.panes.importing.report_dialog import ImportDialog
from studio.ui.shell.window import MainWindow
from studio.widgets.record_table.views import RecordTable
from tests.engine.train.importing.model_format import seeded_format, write_seeded
from tests.engine.train.small_tasks import mlp
from tests.ui.shell.driving import answer, press

pytestmark = pytest.mark.slow

LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Path]:
    """A model in a folder of its own."""
    file_formats()
    folder = tmp_path / "models"
    folder.mkdir()
    with seeded_format():
        yield write_seeded(folder / "net.seeded", mlp(), left_out=["noise: only for training"])


def shown(window: MainWindow) -> ImportDialog | None:
    found = window.findChildren(ImportDialog)
    return next((each for each in found if each.isVisible()), None)


def report(qtbot: QtBot, window: MainWindow) -> ImportDialog:
    """The report that is shown."""

    def is_there() -> bool:
        dialog = shown(window)
        return dialog is not None and not dialog.bar.isVisible()

    qtbot.waitUntil(is_there)
    found = shown(window)
    assert found is not None
    return found


def child(kind: type, place: QWidget, name: str) -> QWidget:
    found = place.findChild(kind, name)
    assert isinstance(found, QWidget), name
    return found


def drop(window: MainWindow, *paths: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    at = window.rect().center()
    copy = Qt.DropAction.CopyAction
    QApplication.sendEvent(window, QDragEnterEvent(at, copy, data, LEFT, NONE))
    QApplication.sendEvent(window, QDropEvent(QPointF(at), copy, data, LEFT, NONE))


def cells(table: QWidget) -> list[list[str]]:
    assert isinstance(table, RecordTable)
    return [[column.text(row) for column in table.entries.columns] for row in table.entries.rows]


def test_a_model_is_opened_as_a_project_and_its_report_is_shown(
    qtbot: QtBot, window: MainWindow, source: Path
) -> None:
    window.studio.actions.trigger("file.open")
    qtbot.waitUntil(lambda: window.findChild(QFileDialog, "open_dialog") is not None)
    chooser = window.findChild(QFileDialog, "open_dialog")
    assert chooser is not None
    assert chooser.nameFilters()[0].startswith("Projects and models (*.glassbox")
    assert any(each.startswith("Models (") and "*.seeded" in each for each in chooser.nameFilters())
    chooser.fileSelected.emit(str(source))
    chooser.close()
    dialog = report(qtbot, window)
    document = window.studio.document
    assert document.path == source.with_name("net.glassbox")
    assert not window.is_welcoming
    assert not document.dirty
    assert dialog.head.text() == "net.seeded"
    assert dialog.text.text() == "Seeds, version 1. 3 layers, all as they were. 1 thing left out."
    table = child(RecordTable, dialog, "import_layers")
    assert cells(table)[1] == ["theirs/dense", "Dense", "dense", ""]
    assert cells(child(RecordTable, dialog, "import_remarks")) == [
        ["Left out", "noise: only for training"]
    ]
    assert not child(QCheckBox, dialog, "import_only_changed").isVisible()
    press("Escape", dialog)
    assert not dialog.isVisible()
    qtbot.waitUntil(lambda: window.studio.actions.trigger("file.import_report"))
    assert cells(child(RecordTable, report(qtbot, window), "import_layers")) == cells(table)


def test_a_model_that_is_dropped_with_its_shards_is_one_model(
    qtbot: QtBot, window: MainWindow, source: Path
) -> None:
    shards = [source.with_name(f"shard{n}.bin") for n in (1, 2)]
    for shard in shards:
        shard.write_bytes(bytes(16))
    drop(window, shards[0], source, shards[1])
    report(qtbot, window)
    assert window.studio.document.path == source.with_name("net.glassbox")
    assert [each.text for each in window.studio.notices.all] == [
        "Imported net.seeded as net.glassbox"
    ]


class Held:
    """Holds the reader of a model until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached, self.gate = threading.Event(), threading.Event()
        form = type(FileFormat.members["seeded"])
        read = form.read_model

        def held(this: FileFormat, path: Path, progress: object = None) -> object:
            self.reached.set()
            assert self.gate.wait(60)
            return read(this, path, progress)  # type: ignore[arg-type]

        monkeypatch.setattr(form, "read_model", held)


def test_an_import_can_be_cancelled(
    qtbot: QtBot, window: MainWindow, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch)
    drop(window, source)
    qtbot.waitUntil(lambda: shown(window) is not None and held.reached.is_set())
    dialog = shown(window)
    assert dialog is not None
    assert dialog.head.text() == "Importing net.seeded"
    button = child(QPushButton, dialog, "import_button")
    assert button.property("text") == "Cancel"
    QTest.mouseClick(button, LEFT)
    assert not dialog.isVisible()
    held.gate.set()
    qtbot.waitUntil(lambda: not window.studio.tasks.running)
    assert [each.name for each in source.parent.iterdir()] == ["net.seeded"]
    assert window.is_welcoming
    assert window.studio.notices.all == ()


def test_closing_the_window_while_a_model_is_read_leaves_nothing(
    qtbot: QtBot, window: MainWindow, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch)
    drop(window, source)
    qtbot.waitUntil(held.reached.is_set)
    window.close()
    qtbot.waitUntil(lambda: not window.isVisible())
    threading.Timer(0.05, held.gate.set).start()
    window.studio.tasks.close()
    assert [each.name for each in source.parent.iterdir()] == ["net.seeded"]


def test_a_damaged_model_gives_a_notice_and_the_project_stays(
    qtbot: QtBot, opened: MainWindow, source: Path, project: Path
) -> None:
    source.write_bytes(b"SEEDED{")
    drop(opened, source)
    notices = opened.studio.notices
    qtbot.waitUntil(lambda: any(each.severity == "error" for each in notices.all))
    assert "the network cannot be read" in notices.all[-1].text
    assert opened.studio.document.path == project
    assert shown(opened) is None


def test_unsaved_work_is_asked_about_before_the_import_is_opened(
    qtbot: QtBot, opened: MainWindow, source: Path, project: Path
) -> None:
    document = opened.studio.document
    document.apply("note", add_note(document.state, 0, 0))
    drop(opened, source)
    answer(qtbot, opened, "cancel")
    assert opened.studio.document is document
    assert source.with_name("net.glassbox").is_file()
    assert shown(opened) is None
    notice = opened.studio.notices.all[-1]
    assert notice.action is not None
    notice.action[1]()
    answer(qtbot, opened, "discard")
    report(qtbot, opened)
    assert opened.studio.document.path == source.with_name("net.glassbox")


def matched(qtbot: QtBot, window: MainWindow) -> MatchDialog:
    qtbot.waitUntil(lambda: window.findChild(MatchDialog) is not None)
    found = window.findChild(MatchDialog)
    assert found is not None
    return found


@pytest.fixture
def weights(opened: MainWindow, tmp_path: Path) -> Path:
    """Weights of the open project under other names."""
    path = opened.studio.document.path
    assert path is not None
    graph = Project.load(path).graph
    given = public_weights(graph, initial_weights(graph, 9)).values()
    save_npz(tmp_path / "w.npz", {f"w{n}": each for n, each in enumerate(given)})
    return tmp_path / "w.npz"


def test_weights_of_other_names_are_confirmed_in_a_table(
    qtbot: QtBot, opened: MainWindow, weights: Path
) -> None:
    opened.documents.imports.take_weights(weights)
    dialog = matched(qtbot, opened)
    table = child(RecordTable, dialog, "match_table")
    assert isinstance(table, RecordTable)
    count = len(table.entries.rows)
    sentence = child(QLabel, dialog, "match_sentence")
    assert sentence.property("text").startswith(f"{count} of {count} arrays taken")
    table.setFocus()
    table.setCurrentIndex(table.entries.at(0, "name"))
    press("Space", table)
    assert sentence.property("text").startswith(f"{count - 1} of {count} arrays taken")
    assert cells(table)[0][-1] == "Left out"
    assert cells(table)[-1][-1] == "Begins fresh"
    QTest.mouseClick(child(QPushButton, dialog, "match_start"), LEFT)
    notices = opened.studio.notices
    qtbot.waitUntil(lambda: any("Imported w.npz as run" in n.text for n in notices.all))
    qtbot.waitUntil(lambda: opened.studio.importing.why_no_report() == "")
    assert opened.studio.actions.trigger("file.import_report")
    shown_report = report(qtbot, opened)
    assert not child(RecordTable, shown_report, "import_layers").isVisible()
    assert "was taken for" in cells(child(RecordTable, shown_report, "import_remarks"))[1][1]


def test_a_table_that_is_cancelled_or_left_brings_nothing_in(
    qtbot: QtBot, opened: MainWindow, weights: Path
) -> None:
    opened.documents.imports.take_weights(weights)
    press("Escape", matched(qtbot, opened))
    assert opened.studio.importing.table is None
    qtbot.waitUntil(lambda: opened.findChild(MatchDialog) is None)
    np.savez(weights, nothing=np.zeros((7, 7, 7)))
    opened.documents.imports.take_weights(weights)
    dialog = matched(qtbot, opened)
    assert not child(QPushButton, dialog, "match_start").isEnabled()
    opened.studio.new()
    qtbot.waitUntil(lambda: not any(d.isVisible() for d in opened.findChildren(MatchDialog)))
    assert not opened.studio.training.runs_path.exists()


def test_another_parameter_is_chosen_by_keys_undone_and_made_again(
    qtbot: QtBot, opened: MainWindow, weights: Path
) -> None:
    path = opened.studio.document.path
    assert path is not None
    graph = Project.load(path).graph
    given = public_weights(graph, initial_weights(graph, 9))
    shapes = [each.shape for each in given.values()]
    name = next(n for n, each in given.items() if shapes.count(each.shape) == 1)
    shape = str(list(given[name].shape))
    other = next(n for n in given if n != name)
    save_npz(weights, {other: given[other], "one": given[name], "two": given[name]})
    opened.documents.imports.take_weights(weights)
    dialog = matched(qtbot, opened)
    table, box = (child(kind, dialog, name) for kind, name in (
        (RecordTable, "match_table"), (QComboBox, "match_parameter"),
    ))  # fmt: skip
    assert isinstance(table, RecordTable)
    assert isinstance(box, QComboBox)
    table.setFocus()
    table.setCurrentIndex(table.entries.at(0, "name"))
    press("Down", table)
    assert [box.itemText(place) for place in range(box.count())] == [
        "No parameter", name
    ]  # fmt: skip
    press("Tab", table)
    qtbot.waitUntil(box.hasFocus)
    qtbot.keyClick(box, Qt.Key.Key_Down)
    assert cells(table)[1] == ["one", shape, name, shape, "By hand"]
    assert box.currentText() == name
    table.setCurrentIndex(table.entries.at(2, "name"))
    assert not box.isEnabled()
    assert box.toolTip() == "No parameter of this shape is free."
    qtbot.keyClick(dialog, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert cells(table)[1][2:] == ["none", "", "No match"]
    assert box.isEnabled()
    QTest.mouseClick(child(QToolButton, dialog, "match_redo"), LEFT)
    assert cells(table)[1][-1] == "By hand"
    QTest.mouseClick(child(QToolButton, dialog, "match_undo"), LEFT)
    assert cells(table)[1][-1] == "No match"
    box.setFocus()
    qtbot.keyClick(box, Qt.Key.Key_Down)
    assert cells(table)[2][2] == name
    QTest.mouseClick(child(QPushButton, dialog, "match_start"), LEFT)
    qtbot.waitUntil(lambda: opened.studio.importing.why_no_report() == "")
    assert opened.studio.actions.trigger("file.import_report")
    remarks = cells(child(RecordTable, report(qtbot, opened), "import_remarks"))
    assert ["", f"two was taken for {name} by hand"] in [["", each[1]] for each in remarks]
