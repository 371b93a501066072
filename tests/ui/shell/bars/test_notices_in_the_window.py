"""Notices have a place of their own: they cover and move nothing, and go when they are over."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QTabBar,
    QWidget,
)
from pytestqt.qtbot import QtBot

from studio.engine.core.errors import DataError, MemoryShortageError
from studio.graph_editor.canvas.commands import CanvasCommands
from studio.samples import open_copy
from studio.session.core import entities
from studio.session.document.edits.layers import set_option
from studio.session.document.edits.sections import set_training
from studio.session.studio import Studio
from studio.session.training.state import TrainingOutcome
from studio.ui.shell.bars.popups import NoticesPopup
from studio.ui.shell.start.failures import Guard
from studio.ui.shell.window import MainWindow
from tests.ui.shell.driving import press

LEFT = Qt.MouseButton.LeftButton
LONG_MS = 60_000
CONTROLS = (
    QAbstractButton, QAbstractScrollArea, QAbstractSlider, QAbstractSpinBox, QComboBox, QLineEdit,
    QTabBar,
)  # fmt: skip


def place_of(window: MainWindow, widget: QWidget) -> QRect:
    """The part of a widget that is in sight, in the window."""
    seen = widget.visibleRegion().boundingRect()
    return seen.translated(widget.mapTo(window, QPoint(0, 0)))


def controls(window: MainWindow) -> dict[QWidget, QRect]:
    """Everything that can be pressed, typed in or scrolled, and where; notices left out."""
    line = window.notice_line
    return {
        each: place_of(window, each)
        for each in window.findChildren(QWidget)
        if isinstance(each, CONTROLS)
        and each.isVisible()
        and not each.visibleRegion().isEmpty()
        and not line.isAncestorOf(each)
    }


def said(window: MainWindow) -> str:
    line = window.notice_line
    label = line.findChild(QLabel, "notice_text")
    times = line.findChild(QLabel, "notice_times")
    return f"{label.whole} {times.text()}".strip() if line.isVisible() else ""


def act(qtbot: QtBot, window: MainWindow) -> None:
    """Press the button of the notice."""
    button = window.notice_line.findChild(QPushButton, "notice_action")
    qtbot.waitUntil(lambda: button.isVisible() and button.width() > 20, timeout=LONG_MS)
    qtbot.mouseClick(button, LEFT)


def nodes(window: MainWindow) -> list[str]:
    return list(window.studio.document.state.nodes)


@pytest.mark.parametrize("size", [(1024, 640), (1400, 900)], ids=["least", "usual"])
@pytest.mark.parametrize("workspace", ["build", "train", "profile"])
def test_a_notice_covers_no_control_and_moves_no_pane(
    qtbot: QtBot, opened: MainWindow, workspace: str, size: tuple[int, int]
) -> None:
    studio = opened.studio
    opened.resize(*size)
    studio.actions.trigger(f"workspace.{workspace}")
    qtbot.waitUntil(lambda: opened.is_ready, timeout=LONG_MS)
    qtbot.waitUntil(lambda: studio.compilation.result is not None, timeout=LONG_MS)
    studio.bus.select([entities.node(nodes(opened)[1])], source="canvas")
    opened.canvas.setFocus()
    qtbot.waitUntil(lambda: not studio.tasks.running, timeout=LONG_MS)
    before = opened.centralWidget().geometry()
    for number in range(5):
        text = f"conv{number}: expected 3 numbers in the size of the kernel, got 4 of them"
        studio.notify(text, "error", ("Show culprit", lambda: None), "kernel_size is 3 by 3")
        assert said(opened) == text
    line = opened.notice_line
    qtbot.waitUntil(lambda: line.width() >= 320, timeout=LONG_MS)
    assert opened.canvas.hasFocus()
    assert opened.centralWidget().geometry() == before
    place = place_of(opened, line)
    assert place.size() == line.size()
    found = controls(opened)
    assert len(found) > 20
    covered = [each for each, where in found.items() if where.intersects(place)]
    assert [each.objectName() for each in covered] == []
    for name in ("notice_action", "notice_more", "notice_close"):
        button = line.findChild(QWidget, name)
        assert button.isVisible()
        assert line.rect().contains(button.geometry())


@pytest.mark.parametrize("action", ["workspace.train", "pane.log", "pane.tensor_view"])
def test_an_error_stays_in_sight_whatever_pane_comes(
    qtbot: QtBot, opened: MainWindow, action: str
) -> None:
    opened.studio.notify("Something is wrong", "error", details="and nobody has seen it")
    assert opened.studio.actions.trigger(action)
    qtbot.waitUntil(lambda: opened.is_ready, timeout=LONG_MS)
    middle = place_of(opened, opened.notice_line).center()
    found = opened.childAt(middle)
    assert found is opened.notice_line or opened.notice_line.isAncestorOf(found)


def test_a_notice_is_seen_in_focus_mode_and_while_a_pane_has_the_window(
    qtbot: QtBot, opened: MainWindow
) -> None:
    opened.set_focus_mode(True)
    assert not opened.notice_line.isVisible()
    opened.studio.notify("Something is wrong", "error")
    assert opened.notice_line.isVisible()
    opened.studio.notices.see()
    row = opened.notice_line.parentWidget().parentWidget().parentWidget()
    assert not row.isVisible()
    opened.set_focus_mode(False)
    assert row.isVisible()
    opened.docks.show("log")
    assert opened.studio.actions.trigger("window.maximise_pane")
    opened.studio.notify("Something is wrong", "error")
    assert opened.notice_line.isVisible()


def test_pressing_the_words_opens_the_list_and_that_is_seeing_all(
    qtbot: QtBot, opened: MainWindow
) -> None:
    for number in range(3):
        opened.studio.notify(f"failure {number}", "error")
    label = opened.notice_line.findChild(QLabel, "notice_text")
    qtbot.waitUntil(lambda: label.width() > 20, timeout=LONG_MS)
    qtbot.mouseClick(label, LEFT)
    popup = opened.findChild(NoticesPopup)
    assert popup is not None
    assert not opened.notice_line.isVisible()
    assert opened.studio.notices.unseen == 0
    popup.close()


# -- what is over ---------------------------------------------------------------------------------


def delete_one(window: MainWindow) -> str:
    """Delete a layer by key, as the notice then tells."""
    node = nodes(window)[1]
    window.studio.bus.select([entities.node(node)], source="canvas")
    window.canvas.setFocus()
    press("Delete")
    assert node not in nodes(window)
    return node


def test_undo_by_key_takes_the_offer_to_undo_away(qtbot: QtBot, opened: MainWindow) -> None:
    node = delete_one(opened)
    assert said(opened).startswith("Deleted 1 layer")
    press("Ctrl+Z")
    assert node in nodes(opened)
    assert said(opened) == ""
    assert opened.studio.notices.unseen == 0
    # Done again by key, it is not told again; deleted again, the offer is there and works.
    press("Ctrl+Y")
    assert said(opened) == ""
    press("Ctrl+Z")
    delete_one(opened)
    act(qtbot, opened)
    assert node in nodes(opened)


def test_another_step_takes_the_offer_to_undo_away(qtbot: QtBot, opened: MainWindow) -> None:
    delete_one(opened)
    document = opened.studio.document
    document.apply("Epochs", set_training(document.state, {"epochs": 77}))
    assert said(opened) == ""
    assert all(notice.action is None for notice in opened.studio.notices.all)


def test_another_project_leaves_nothing_said_of_the_one_before(
    qtbot: QtBot, opened: MainWindow
) -> None:
    studio = opened.studio
    delete_one(opened)
    studio.fail(DataError("row 7 is short", who="iris.csv"), "document.data")
    studio.notify("of the machine", "error")
    studio.document.history.mark_clean()
    opened.documents.new()
    assert said(opened) == "of the machine"
    assert studio.notices.unseen == 1


def test_a_refused_action_leaves_when_it_is_done_after_all(
    qtbot: QtBot, opened: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    studio, answers = opened.studio, [DataError("no room", who="disk")] * 2

    def work(_commands: CanvasCommands) -> None:
        if answers:
            raise answers.pop()

    monkeypatch.setattr(CanvasCommands, "paste", work)
    for _ in range(2):
        studio.actions.trigger("edit.paste")
    assert said(opened) == "disk: no room (2 times)"
    studio.actions.trigger("edit.select_all")
    assert said(opened) == "disk: no room (2 times)"
    studio.actions.trigger("edit.paste")
    assert said(opened) == ""


def test_a_save_that_failed_is_over_when_the_project_is_saved(
    qtbot: QtBot, opened: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = opened.studio.document
    document.apply("Epochs", set_training(document.state, {"epochs": 77}))
    home = document.path
    document.path = tmp_path / "a file" / "x.glassbox"
    (tmp_path / "a file").write_text("in the way of the folder")
    opened.documents.save()
    assert "x.glassbox" in said(opened)
    button = opened.notice_line.findChild(QPushButton, "notice_action")
    assert button.text() == "Save elsewhere…"
    document.path = home
    opened.documents.save()
    assert said(opened) == f"Saved {home.name}"
    assert [n.text for n in opened.studio.notices.all if n.severity == "error" and not n.seen] == []


def test_work_that_cannot_be_kept_aside_is_over_when_it_is_saved(
    qtbot: QtBot, opened: MainWindow, tmp_path: Path
) -> None:
    journals = opened.studio.dirs.state / "journals"
    # What was opened before may write into a file that it has open already.
    opened.studio.new()
    shutil.rmtree(journals, ignore_errors=True)
    journals.write_text("a file where the folder would be")
    opened.studio.open(open_copy("spirals", tmp_path))
    document = opened.studio.document
    document.apply("Epochs", set_training(document.state, {"epochs": 77}))
    qtbot.waitUntil(lambda: "unsaved work cannot" in said(opened), timeout=LONG_MS)
    opened.documents.save()
    assert said(opened).startswith("Saved")
    assert [n.text for n in opened.studio.notices.all if n.severity == "error" and not n.seen] == []


def end_badly(studio: Studio, error: DataError | MemoryShortageError) -> None:
    """A training fails; the notice of it appears."""
    outcome = TrainingOutcome("failed", "", error, {}, 1.0)
    with patch.object(type(studio.training), "outcome", outcome):
        studio.training.ended.emit(outcome)


def test_the_offer_of_a_batch_goes_when_the_batch_fits(qtbot: QtBot, opened: MainWindow) -> None:
    studio = opened.studio
    error = MemoryShortageError("expected at most 1 GiB, got 2 GiB", who="training")
    error.fitting = 8
    end_badly(studio, error)
    button = opened.notice_line.findChild(QPushButton, "notice_action")
    assert button.text() == "Batch size 8"
    document = studio.document
    document.apply("Epochs", set_training(document.state, {"epochs": 77}))
    assert said(opened)
    document.apply("Batch", set_training(document.state, {"batch_size": 4}))
    assert said(opened) == ""


def test_an_error_of_a_training_leaves_with_its_layer_and_with_the_next_training(
    qtbot: QtBot, opened: MainWindow
) -> None:
    studio = opened.studio
    name = studio.document.state.nodes[nodes(opened)[1]].name
    end_badly(studio, DataError("gives no number", who=name))
    assert said(opened) == f"{name}: gives no number"
    delete_one(opened)
    assert said(opened).startswith("Deleted 1 layer")
    studio.document.undo()
    assert said(opened) == ""
    end_badly(studio, DataError("gives no number", who=name))
    studio.preferences.set("backend", "cpu")
    document = studio.document
    document.apply("Once", set_training(document.state, {"epochs": 1}))
    qtbot.waitUntil(lambda: not studio.compilation.is_compiling, timeout=LONG_MS)
    press("F5")
    qtbot.waitUntil(lambda: studio.training.state == "finished", timeout=LONG_MS)
    assert all(n.seen for n in studio.notices.all if n.severity == "error")


# -- the log --------------------------------------------------------------------------------------


@pytest.fixture
def guarded(opened: MainWindow) -> Iterator[MainWindow]:
    guard = Guard(opened.studio)
    yield opened
    guard.close()


def test_show_the_log_leads_to_the_traceback(qtbot: QtBot, guarded: MainWindow) -> None:
    studio = guarded.studio

    def broken(_task: object) -> None:
        raise AssertionError

    studio.tasks.start("Count", broken, lambda _: None)
    qtbot.waitUntil(
        lambda: said(guarded) == "studio: Count failed: AssertionError", timeout=LONG_MS
    )
    act(qtbot, guarded)
    details = guarded.findChild(QPlainTextEdit, "log_details")
    qtbot.waitUntil(lambda: _log_shows(guarded, "in broken"), timeout=LONG_MS)
    assert details is None or "AssertionError" in details.toPlainText()


def _log_shows(window: MainWindow, text: str) -> bool:
    found = window.findChild(QPlainTextEdit, "log_details")
    return found is not None and found.isVisible() and text in found.toPlainText()


# -- projects that can only be looked at ----------------------------------------------------------


def band(window: MainWindow) -> str:
    label = window.findChild(QLabel, "read_only_text")
    return label.text() if label.isVisible() else ""


def newer(project: Path, name: str = "newer.glassbox") -> Path:
    content = json.loads(project.read_text())
    content["version"] = 99
    made = project.with_name(name)
    made.write_text(json.dumps(content))
    return made


def test_a_newer_project_has_a_lasting_band_and_no_notice(
    qtbot: QtBot, opened: MainWindow, project: Path
) -> None:
    studio = opened.studio
    assert band(opened) == ""
    opened.documents.open_path(newer(project))
    assert band(opened) == (
        "Read-only: the file was written by a newer Glassbox (format version 99); update "
        "Glassbox to change it."
    )
    assert studio.notices.all == ()
    for workspace in ("train", "profile", "build"):
        studio.actions.trigger(f"workspace.{workspace}")
        qtbot.waitUntil(lambda: opened.is_ready, timeout=LONG_MS)
        assert band(opened)
    opened.set_focus_mode(True)
    assert band(opened)
    opened.set_focus_mode(False)
    # An edit is refused; that is said in passing and leaves with the project.
    studio.bus.select([entities.node(nodes(opened)[1])], source="canvas")
    opened.canvas.setFocus()
    press("Delete")
    assert "newer Glassbox" in said(opened)
    opened.documents.open_path(project)
    assert band(opened) == ""
    assert said(opened) == ""


def test_layers_that_are_unknown_are_named_in_the_band(
    qtbot: QtBot, opened: MainWindow, project: Path
) -> None:
    made = newer(project)
    content = json.loads(made.read_text())
    layer = next(n for n in content["graph"]["nodes"] if n["type"] == "Dense")
    layer["type"] = "QuantumDense"
    made.write_text(json.dumps(content))
    opened.documents.open_path(made)
    assert "a newer Glassbox" in band(opened)
    assert "missing: QuantumDense" in band(opened)
    label = opened.findChild(QLabel, "read_only_text")
    opened.resize(1024, 640)
    qtbot.waitUntil(lambda: label.height() >= label.heightForWidth(label.width()), timeout=LONG_MS)
    opened.show_welcome()
    assert band(opened) == ""
    opened.show_canvas()
    assert band(opened)


def test_a_project_that_can_be_changed_has_no_band(qtbot: QtBot, opened: MainWindow) -> None:
    state = opened.studio.document.state
    dense = next(n for n in state.nodes.values() if n.type_name == "Dense")
    opened.studio.document.apply("Units", set_option(state, dense.id, "units", 9))
    assert band(opened) == ""
