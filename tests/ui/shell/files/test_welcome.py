"""The page the studio begins with: examples, recent and missing projects, recovered work."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QFileDialog,
    QFrame,
    QLabel,
    QMessageBox,
    QPushButton,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from studio.samples import open_copy, sample_names
from studio.session.document.document import Document
from studio.session.document.edits.sections import set_training
from studio.ui.shell.files.thumbnails import GraphPicture
from studio.ui.shell.files.welcome import Card
from studio.ui.shell.window import MainWindow
from tests.ui.shell.driving import answer, press, question

# Edits a document in a process of its own, which ends without a word while that is unsaved.
CRASH = """
import os, sys
from pathlib import Path
from studio.session.document.edits.comments import add_note
from studio.engine.core.app_dirs import AppDirs
from studio.session.core.scheduling import ManualScheduler
from studio.session.studio import Studio
scheduler = ManualScheduler()
studio = Studio(scheduler, AppDirs.below(Path(sys.argv[1])))
document = studio.open(sys.argv[2])
document.apply("Add a note", add_note(document.state, 0, 0, "lost?"))
scheduler.advance(2.0)
os._exit(9)
"""


def row(window: MainWindow, name: str) -> QFrame:
    found = window.welcome.findChild(QFrame, name)
    assert found is not None
    return found


def button(owner: QWidget, text: str) -> QPushButton:
    return next(b for b in owner.findChildren(QPushButton) if b.text().strip() == text)


def test_the_window_begins_with_nothing_but_the_page(window: MainWindow) -> None:
    assert window.is_welcoming
    assert not any(window.docks.is_in_front(dock) for dock in window.docks.all.values())
    assert window.windowTitle() == "Glassbox"


def test_the_page_names_four_keys_that_do_what_it_says(window: MainWindow) -> None:
    caps = [label.text() for label in window.welcome.findChildren(QLabel, "key_cap")]
    assert caps == ["Ctrl+Shift+P", "?", "Tab", "F5"]


def test_every_sample_is_a_card_with_a_picture_of_its_graph(window: MainWindow) -> None:
    cards = {each.objectName(): each for each in window.welcome.findChildren(Card)}
    assert set(cards) == {f"sample.{name}" for name in sample_names()}
    for card in cards.values():
        picture = card.findChild(GraphPicture)
        image = picture.grab().toImage()
        seen = {image.pixel(x, y) for x in range(0, 200, 4) for y in range(0, 88, 4)}
        assert len(seen) > 3
        assert card.accessibleName()


def test_a_sample_opens_as_a_copy_of_ones_own(qtbot: QtBot, window: MainWindow) -> None:
    card = window.welcome.findChild(Card, "sample.iris")
    qtbot.mouseClick(card, Qt.MouseButton.LeftButton)
    assert not window.is_welcoming
    path = window.studio.document.path
    assert path.is_relative_to(window.studio.dirs.data)
    assert window.studio.document.title == "iris"


def test_a_network_laid_out_for_the_window_leaves_nothing_to_recover(
    qtbot: QtBot, window: MainWindow, project: Path
) -> None:
    studio, journals = window.studio, window.studio.dirs.state / "journals"
    content = json.loads(project.read_text("utf-8"))
    content.pop("layout", None)
    project.write_text(json.dumps(content), "utf-8")
    window.documents.open_path(project)
    before = Document.open(project).state
    qtbot.waitUntil(lambda: window.is_ready)
    qtbot.waitUntil(lambda: studio.document.state != before)
    assert not studio.document.dirty
    assert not list(journals.glob("*"))
    press("Ctrl+W")
    qtbot.waitUntil(lambda: window.is_welcoming)
    assert not list(journals.glob("*"))
    window.documents.open_path(project)
    qtbot.waitUntil(lambda: not window.is_welcoming)
    press("Ctrl+A")
    press("Del")
    qtbot.waitUntil(lambda: studio.document.dirty)
    assert len(list(journals.glob("*.journal"))) == 1, "what was edited can be recovered"


def test_an_example_is_as_it_came_whatever_became_of_earlier_copies(
    qtbot: QtBot, window: MainWindow
) -> None:
    def click() -> None:
        window.show_welcome()
        card = window.welcome.findChild(Card, "sample.iris")
        qtbot.mouseClick(card, Qt.MouseButton.LeftButton)
        assert not window.is_welcoming

    click()
    studio = window.studio
    # Where its layers stand follows from the size of the window until it is edited.
    first, came = studio.document.path, studio.document.project().text()
    assert "(copy of the example iris)" in window.windowTitle()
    assert studio.notices.all == ()
    studio.document.apply("epochs", set_training(studio.document.state, {"epochs": 3}))
    changed = studio.document.state
    studio.actions.trigger("file.save")
    assert not studio.document.dirty
    click()
    second = studio.document.path
    assert second != first
    assert studio.document.project().text() == came
    assert window.windowTitle().startswith(f"{second.name}")
    assert "(copy of the example iris)" in window.windowTitle()
    click()
    assert studio.document.path == second, "it is as it came: no third one is made"
    # The changed copy is kept, says what it is, and is one click away.
    label, act = studio.notices.all[-1].action
    assert first.name in studio.notices.all[-1].text
    window.show_welcome()
    rows = [r.accessibleName() for r in window.welcome.findChildren(QFrame, "recent.iris")]
    assert len(rows) == 2
    assert all("Copy of the example" in name for name in rows)
    assert label == "Open my copy"
    act()
    assert studio.document.path == first
    assert studio.document.state == changed


def test_a_sample_opens_by_keyboard(qtbot: QtBot, window: MainWindow) -> None:
    card = window.welcome.findChild(Card, "sample.spirals")
    card.setFocus()
    qtbot.keyClick(card, Qt.Key.Key_Space)
    assert window.studio.document.title == "spirals"


def test_blank_begins_an_empty_project(qtbot: QtBot, window: MainWindow) -> None:
    blank = window.welcome.findChild(QPushButton, "welcome_blank")
    qtbot.mouseClick(blank, Qt.MouseButton.LeftButton)
    assert not window.is_welcoming
    assert next(window.studio.document.state.layers(), None) is None


def test_recent_projects_have_their_picture_and_open(
    qtbot: QtBot, opened: MainWindow, project: Path
) -> None:
    opened.show_welcome()
    found = row(opened, "recent.iris")
    pictures = [label for label in found.findChildren(QLabel) if not label.pixmap().isNull()]
    assert pictures
    opened.studio.new()
    qtbot.mouseClick(button(found, "Open"), Qt.MouseButton.LeftButton)
    assert opened.studio.document.path == project.resolve()


def test_a_missing_project_is_grey_and_can_be_located(
    qtbot: QtBot, opened: MainWindow, project: Path, tmp_path: Path
) -> None:
    moved = tmp_path / "moved.glassbox"
    project.rename(moved)
    opened.show_welcome()
    found = row(opened, "recent.iris")
    assert "Missing" in found.accessibleName()
    qtbot.mouseClick(button(found, "Locate…"), Qt.MouseButton.LeftButton)
    dialog = opened.findChild(QFileDialog, "locate_dialog")
    dialog.fileSelected.emit(str(moved))
    dialog.close()
    assert opened.studio.document.path == moved
    assert not opened.studio.recent.files[0].is_missing


def test_a_recent_project_can_be_taken_off_the_list(qtbot: QtBot, opened: MainWindow) -> None:
    opened.show_welcome()
    tool = row(opened, "recent.iris").findChild(QToolButton)
    qtbot.mouseClick(tool, Qt.MouseButton.LeftButton)
    assert opened.studio.recent.files == ()
    qtbot.waitUntil(lambda: opened.welcome.findChild(QFrame, "recent.iris") is None)


@pytest.fixture
def crashed(project: Path, tmp_path: Path) -> Path:
    """Unsaved work of a process that has died."""
    answer = subprocess.run(
        [sys.executable, "-c", CRASH, str(tmp_path / "places"), str(project)],
        capture_output=True, text=True, timeout=120, check=False,
        cwd=Path(__file__).resolve().parents[4],
    )  # fmt: skip
    assert answer.returncode == 9, answer.stderr
    return project


def test_work_of_a_crashed_window_is_offered_and_opens_unsaved(
    qtbot: QtBot, crashed: Path, another: Callable[[], MainWindow]
) -> None:
    bytes_before = crashed.read_bytes()
    window = another()
    window.studio.recovery.look()
    qtbot.waitUntil(lambda: window.welcome.findChild(QFrame, "recovered.iris") is not None)
    found = row(window, "recovered.iris")
    assert "+1 other change" in found.accessibleName()
    qtbot.mouseClick(button(found, "Open"), Qt.MouseButton.LeftButton)
    document = window.studio.document
    assert any(node.kind == "note" for node in document.state.nodes.values())
    assert document.dirty
    assert document.path == crashed
    assert crashed.read_bytes() == bytes_before


def test_work_of_a_crashed_window_can_be_compared_first(
    qtbot: QtBot, crashed: Path, another: Callable[[], MainWindow]
) -> None:
    window = another()
    window.studio.recovery.look()
    qtbot.waitUntil(lambda: window.welcome.findChild(QFrame, "recovered.iris") is not None)
    qtbot.mouseClick(button(row(window, "recovered.iris"), "Compare…"), Qt.MouseButton.LeftButton)
    asked = question(qtbot, window)
    assert "compared with the file" in asked.text()
    assert asked.informativeText() == "\n".join(window.studio.recovery.sessions[0].details)
    assert "added" in asked.informativeText()
    answer(qtbot, window, "close")
    assert len(window.studio.recovery.sessions) == 1
    qtbot.mouseClick(button(row(window, "recovered.iris"), "Compare…"), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: len(window.findChildren(QMessageBox, "question")) == 1)
    answer(qtbot, window, "open")
    assert window.studio.document.dirty


def test_work_of_a_crashed_window_can_be_discarded(
    qtbot: QtBot, crashed: Path, another: Callable[[], MainWindow]
) -> None:
    window = another()
    window.studio.recovery.look()
    qtbot.waitUntil(lambda: window.welcome.findChild(QFrame, "recovered.iris") is not None)
    qtbot.mouseClick(button(row(window, "recovered.iris"), "Discard"), Qt.MouseButton.LeftButton)
    assert window.studio.recovery.sessions == ()
    qtbot.waitUntil(lambda: window.welcome.findChild(QFrame, "recovered.iris") is None)


@pytest.mark.parametrize("width", [1024, 1400, 2200])
def test_cards_use_the_room_there_is_and_none_is_cut(
    qtbot: QtBot, window: MainWindow, width: int
) -> None:
    window.resize(width, 900)
    qtbot.waitUntil(lambda: window.welcome.viewport().width() > width - 40)
    page = window.welcome

    def inside() -> bool:
        cards = page.findChildren(Card)
        rights = [card.mapTo(page.viewport(), card.rect().bottomRight()).x() for card in cards]
        return bool(rights) and max(rights) < page.viewport().width()

    qtbot.waitUntil(inside)


@pytest.mark.parametrize("width", [1024, 1400])
def test_a_deep_folder_does_not_widen_the_page(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, width: int
) -> None:
    deep = tmp_path.joinpath(*("a folder with a long name" for _ in range(7)))
    window.studio.recent.add(deep / "iris.glassbox", "iris <b>&amp; others")
    window.resize(width, 700)
    name = "recent.iris <b>&amp; others"
    qtbot.waitUntil(lambda: window.welcome.findChild(QFrame, name) is not None)
    page = window.welcome
    qtbot.waitUntil(lambda: page.viewport().width() > width - 40)
    assert page.horizontalScrollBar().maximum() == 0
    shown = row(window, name)
    assert "iris <b>&amp; others" in [each.text() for each in shown.findChildren(QLabel)]
    assert str(deep) in shown.accessibleName()


@pytest.mark.parametrize("way", ["example", "path"])
def test_what_is_opened_is_seen_whole_whatever_size_the_window_gets(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, way: str
) -> None:
    if way == "example":
        card = window.welcome.findChild(Card, "sample.digits-cnn")
        qtbot.mouseClick(card, Qt.MouseButton.LeftButton)
    else:
        window.take_files([open_copy("digits-cnn", tmp_path)])
    qtbot.waitUntil(lambda: not window.is_welcoming)
    canvas = window.canvas

    def is_whole() -> bool:
        whole = canvas.navigation.visible.contains(canvas.graph.content_area())
        return not canvas.is_growing and whole and canvas.navigation.keeps == "beginning"

    qtbot.waitUntil(is_whole)
    for size in ((1500, 940), (1100, 720), (1300, 900)):
        window.resize(*size)
        qtbot.waitUntil(lambda size=size: window.size().toTuple() == size and is_whole())
    assert not window.studio.document.dirty
