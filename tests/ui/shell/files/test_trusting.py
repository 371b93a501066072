"""A project that names data outside its folder is asked about before anything of it is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from studio.engine.formats.npz import save_npz
from studio.engine.layers.named_parameters import public_weights
from studio.engine.train.data import references
from studio.engine.train.project.project import Project
from studio.engine.train.weights import initial_weights
from studio.samples import open_copy
from studio.ui.shell.window import MainWindow
from tests.session.data.files import write_table
from tests.ui.shell.driving import answer, question

SECONDS = 60_000


@pytest.fixture
def opened_sets(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What was opened, of whatever kind."""
    found: list[object] = []
    for name, original in tuple(references._OPENERS.items()):

        def opener(options: object, original: Callable[..., object] = original) -> object:
            found.append(options)
            return original(options)

        monkeypatch.setitem(references._OPENERS, name, opener)
    return found


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A project whose data lies elsewhere."""
    (tmp_path / "private").mkdir()
    table = write_table(tmp_path / "private")
    graph = Project.load(open_copy("iris", tmp_path / "sample")).graph
    data = {"source": "csv", "path": str(table), "label": "kind", "drop": ["id", "town"]}
    (tmp_path / "theirs").mkdir()
    return Project.new("theirs", graph, data).save(tmp_path / "theirs" / "theirs.glassbox")


def questions(window: MainWindow) -> list[QMessageBox]:
    return [b for b in window.findChildren(QMessageBox, "question") if b.isVisible()]


def idle(window: MainWindow) -> Callable[[], bool]:
    return lambda: not window.studio.tasks.running and not window.studio.compilation.is_compiling


def test_it_is_asked_about_and_nothing_is_read_before(
    qtbot: QtBot, window: MainWindow, foreign: Path, opened_sets: list[object]
) -> None:
    window.documents.open_path(foreign)
    box = question(qtbot, window)
    assert "May theirs read data outside its folder?" in box.text()
    assert str(foreign.parent.parent / "private" / "houses.csv") in box.informativeText()
    data = window.studio.data
    qtbot.waitUntil(idle(window), timeout=SECONDS)
    assert data.status == "failed"
    assert data.is_untrusted
    assert opened_sets == []
    answer(qtbot, window, "leave")
    qtbot.waitUntil(idle(window), timeout=SECONDS)
    assert opened_sets == []
    assert data.columns == ()
    # The pane says why, and reads it when it is told to.
    window.docks.show("data")
    qtbot.waitUntil(
        lambda: any(b.isVisible() for b in window.findChildren(QPushButton, "banner_action")),
        timeout=SECONDS,
    )
    banner = [b for b in window.findChildren(QPushButton, "banner_action") if b.isVisible()]
    QTest.mouseClick(banner[0], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: data.status == "ready", timeout=SECONDS)
    assert opened_sets


def test_the_answer_is_remembered_and_lies_in_no_project(
    qtbot: QtBot, window: MainWindow, foreign: Path, another: Callable[[], MainWindow]
) -> None:
    before = foreign.read_bytes()
    window.documents.open_path(foreign)
    answer(qtbot, window, "read")
    data = window.studio.data
    qtbot.waitUntil(lambda: data.status == "ready", timeout=SECONDS)
    assert foreign.read_bytes() == before
    window.studio.new()
    window.documents.open_path(foreign)
    qtbot.waitUntil(lambda: data.status == "ready", timeout=SECONDS)
    assert questions(window) == []
    # The same project in another folder is another one.
    moved = foreign.parent.parent / "moved" / "theirs.glassbox"
    moved.parent.mkdir()
    moved.write_bytes(before)
    window.documents.open_path(moved)
    assert question(qtbot, window).isVisible()
    answer(qtbot, window, "leave")


def test_a_late_answer_is_not_for_the_next_project(
    qtbot: QtBot, window: MainWindow, foreign: Path, project: Path, opened_sets: list[object]
) -> None:
    window.documents.open_path(foreign)
    asked = question(qtbot, window)
    window.documents.open_path(project)
    qtbot.waitUntil(lambda: asked not in questions(window), timeout=SECONDS)
    data = window.studio.data
    qtbot.waitUntil(lambda: data.status == "ready", timeout=SECONDS)
    window.documents.open_path(foreign)
    assert data.is_untrusted
    answer(qtbot, window, "leave")


def test_what_the_user_attaches_is_never_asked_about(
    qtbot: QtBot, window: MainWindow, foreign: Path, tmp_path: Path
) -> None:
    table = tmp_path / "private" / "houses.csv"
    studio = window.studio
    window.documents.new()
    studio.data.attach_path(table)
    qtbot.waitUntil(lambda: studio.data.status == "ready", timeout=SECONDS)
    mine = tmp_path / "mine" / "mine.glassbox"
    mine.parent.mkdir()
    assert window.documents._written(mine)
    qtbot.waitUntil(idle(window), timeout=SECONDS)
    studio.data.set_field("test_fraction", 0.3)
    window.documents.save()
    studio.new()
    window.documents.open_path(mine)
    qtbot.waitUntil(lambda: studio.data.status == "ready", timeout=SECONDS)
    assert questions(window) == []


def test_changing_what_was_not_agreed_to_agrees_to_nothing(
    qtbot: QtBot, window: MainWindow, foreign: Path, tmp_path: Path, opened_sets: list[object]
) -> None:
    window.documents.open_path(foreign)
    answer(qtbot, window, "leave")
    data = window.studio.data
    data.set_field("test_fraction", 0.3)
    assert data.is_untrusted
    mine = tmp_path / "mine" / "mine.glassbox"
    mine.parent.mkdir()
    assert window.documents._written(mine)
    assert data.is_untrusted
    # Other data of the user's own is read; the first is not, whichever way it comes back.
    data.choose("digits")
    qtbot.waitUntil(lambda: data.status == "ready", timeout=SECONDS)
    assert len(opened_sets) == 1
    window.studio.document.undo()
    assert data.is_untrusted
    assert questions(window) == [], "it is asked once"
    assert len(opened_sets) == 1


def test_a_training_of_it_reads_nothing_either(
    qtbot: QtBot, window: MainWindow, foreign: Path, opened_sets: list[object]
) -> None:
    window.documents.open_path(foreign)
    answer(qtbot, window, "leave")
    training = window.studio.training
    training.start()
    qtbot.waitUntil(lambda: training.state in ("idle", "failed"), timeout=SECONDS)
    assert opened_sets == []


def test_weights_brought_into_it_read_nothing_either(
    qtbot: QtBot, window: MainWindow, foreign: Path, opened_sets: list[object]
) -> None:
    window.documents.open_path(foreign)
    answer(qtbot, window, "leave")
    graph, weights = Project.load(foreign).graph, foreign.parent / "weights.npz"
    save_npz(weights, public_weights(graph, initial_weights(graph, 0)))
    window.documents.imports.take_weights(weights)
    qtbot.waitUntil(lambda: window.studio.importing.task is None, timeout=SECONDS)
    qtbot.waitUntil(idle(window), timeout=SECONDS)
    assert opened_sets == []
    told = [notice.text for notice in window.studio.notices.all if notice.severity == "error"]
    assert any("which needs your permission" in text for text in told), told
