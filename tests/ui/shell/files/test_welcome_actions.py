"""What can be done while the welcome page is shown: the same answer wherever it is asked for."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QFrame, QLabel, QMenu, QPushButton, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from studio.session.document.edits.comments import add_note
from studio.session.studio import COVERED, NO_PROJECT
from studio.ui.shell.window import MainWindow
from tests.ui.shell.driving import press

OF_THE_PROJECT = (
    "file.save", "file.save_as", "file.revert", "file.import", "file.close", "export.dialog",
    "export.again", "train.test", "train.reset", "data.reload", "data.remove", "data.fit_input",
)  # fmt: skip
OF_WHAT_IS_SEEN = (
    "train.start", "train.step_batch", "train.step_epoch", "train.continue", "edit.undo",
    "edit.redo", "edit.copy", "edit.paste", "edit.select_all", "canvas.find", "canvas.quick_add",
    "canvas.frame_all", "canvas.frame_selection", "graph.layout_all", "graph.duplicate",
    "graph.repair", "listing.find", "plots.copy", "tensor.hold", "problems.next", "go.layer",
    "profiler.dry_run", "window.maximise_pane", "window.focus_mode",
)  # fmt: skip


def train_button(window: MainWindow) -> QPushButton:
    found = window.top_bar.findChild(QPushButton, "transport.train")
    assert found is not None
    return found


def hint(window: MainWindow) -> str:
    found = window.status.findChild(QLabel, "hint")
    assert found is not None
    return found.text()


def menu_entry(window: MainWindow, menu_name: str, action_id: str) -> tuple[bool, str]:
    """Whether an entry can be chosen, and its tip, while its menu is open."""
    menu = next(m for m in window.findChildren(QMenu) if m.objectName() == menu_name)
    menu.popup(window.mapToGlobal(QPoint(0, 0)))
    action = window.actions_of_window[action_id]
    found = action.isEnabled(), action.toolTip()
    menu.close()
    return found


def test_without_a_project_nothing_can_be_done_with_one(window: MainWindow) -> None:
    actions = window.studio.actions
    for action_id in OF_THE_PROJECT + OF_WHAT_IS_SEEN:
        assert actions.why_not(action_id) == NO_PROJECT, action_id
        assert not actions.trigger(action_id), action_id
    assert window.is_welcoming


def test_the_train_button_the_menu_and_the_key_give_one_reason(
    qtbot: QtBot, window: MainWindow
) -> None:
    button = train_button(window)
    qtbot.waitUntil(lambda: not button.isEnabled())
    assert button.toolTip().endswith("\nNo project is open.")
    assert "problem" not in button.toolTip()
    assert button.accessibleDescription() == NO_PROJECT
    possible, tip = menu_entry(window, "menu.Train", "train.start")
    assert not possible
    assert tip.endswith("\nNo project is open.")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert window.studio.training.state == "idle"
    press("F5", window.welcome)
    assert hint(window) == f"Train: {NO_PROJECT}"
    assert window.is_welcoming


def test_nothing_is_said_of_a_training_that_no_project_has(
    qtbot: QtBot, window: MainWindow, project: Path
) -> None:
    progress = window.findChild(QWidget, "training_progress")
    rate = window.findChild(QWidget, "transport.learning_rate")
    prompt = window.findChild(QLabel, "path_bar.prompt")
    qtbot.waitUntil(lambda: not progress.isVisible())
    assert not rate.isVisible()
    assert not prompt.isVisible()
    window.documents.open_path(project)
    qtbot.waitUntil(progress.isVisible)
    assert rate.isVisible()
    assert prompt.isVisible()


def test_a_project_behind_the_page_is_open_and_not_worked_on_unseen(opened: MainWindow) -> None:
    opened.show_welcome()
    actions = opened.studio.actions
    for action_id in OF_WHAT_IS_SEEN:
        assert actions.why_not(action_id) == COVERED, action_id
    for action_id in OF_THE_PROJECT:
        assert actions.why_not(action_id) not in (NO_PROJECT, COVERED), action_id


def test_a_project_behind_the_page_is_closed_from_there(qtbot: QtBot, opened: MainWindow) -> None:
    opened.show_welcome()
    qtbot.waitUntil(lambda: opened.welcome.findChild(QPushButton, "welcome_back") is not None)
    press("Ctrl+W", opened.welcome)
    assert opened.studio.document.path is None
    assert opened.is_welcoming
    qtbot.waitUntil(lambda: opened.welcome.findChild(QPushButton, "welcome_back") is None)
    assert opened.studio.actions.why_not("file.close") == NO_PROJECT


def test_the_page_leads_back_to_a_project_that_was_never_saved(
    qtbot: QtBot, window: MainWindow
) -> None:
    assert window.welcome.findChild(QPushButton, "welcome_back") is None
    qtbot.mouseClick(
        window.welcome.findChild(QPushButton, "welcome_blank"), Qt.MouseButton.LeftButton
    )
    document = window.studio.document
    document.apply("Add a note", add_note(document.state, 0, 0, "kept"))
    window.show_welcome()
    back = window.welcome.findChild(QPushButton, "welcome_back")
    qtbot.mouseClick(back, Qt.MouseButton.LeftButton)
    assert not window.is_welcoming
    assert window.studio.document is document
    button = train_button(window)
    qtbot.waitUntil(button.isEnabled)
    # Now it is the graph that is wrong, and a click leads to what is.
    assert "Click to see the problems" in button.toolTip()


def test_a_training_behind_the_page_is_paused_and_continued_from_there(
    qtbot: QtBot, opened: MainWindow
) -> None:
    training = opened.studio.training
    button = train_button(opened)
    qtbot.waitUntil(button.isEnabled)
    opened.studio.actions.trigger("train.step_batch")
    qtbot.waitUntil(lambda: training.state == "paused")
    opened.show_welcome()
    qtbot.waitUntil(lambda: button.text() == "Continue" and button.isEnabled())
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: training.state in ("running", "finished"))
    stop = opened.findChild(QToolButton, "transport.train.stop")
    if training.state == "running":
        qtbot.waitUntil(lambda: stop.isEnabled() or training.state == "finished")
        qtbot.mouseClick(stop, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not training.is_busy)


def test_a_project_that_goes_while_the_page_is_shown_is_missing_when_one_comes_back(
    qtbot: QtBot, opened: MainWindow, project: Path
) -> None:
    opened.show_welcome()
    found = opened.welcome.findChild(QFrame, "recent.iris")
    assert "Missing" not in found.accessibleName()
    project.unlink()
    QApplication.sendEvent(opened.welcome, QEvent(QEvent.Type.ActivationChange))
    found = opened.welcome.findChild(QFrame, "recent.iris")
    assert "Missing" in found.accessibleName()
    texts = {button.text() for button in found.findChildren(QPushButton)}
    assert texts == {"Locate…"}


def drop(window: MainWindow, path: Path) -> None:
    """Drop a file on the middle of the page, as a file manager does."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    at = window.rect().center()
    copy, left, none = (
        Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier,
    )  # fmt: skip
    enter = QDragEnterEvent(at, copy, data, left, none)
    QApplication.sendEvent(window, enter)
    assert enter.isAccepted()
    QApplication.sendEvent(window, QDropEvent(QPointF(at), copy, data, left, none))


def test_a_project_that_is_dropped_on_the_page_opens(window: MainWindow, project: Path) -> None:
    drop(window, project)
    assert window.studio.document.path == project.resolve()
    assert not window.is_welcoming


def test_a_table_that_is_dropped_on_the_page_begins_a_project(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    table = tmp_path / "points.csv"
    rows = [f"{i},{i * 2},{'a' if i % 2 else 'b'}" for i in range(40)]
    table.write_text("\n".join(["x,y,kind", *rows]) + "\n")
    drop(window, table)
    qtbot.waitUntil(lambda: not window.is_welcoming)
    qtbot.waitUntil(lambda: any(window.studio.document.state.layers()))


def test_weights_that_are_dropped_on_the_page_need_a_project(
    window: MainWindow, tmp_path: Path
) -> None:
    weights = tmp_path / "weights.safetensors"
    weights.write_bytes(b"{}")
    drop(window, weights)
    assert window.is_welcoming
    (notice,) = window.studio.notices.all
    assert notice.text == "Open the project before importing weights"
