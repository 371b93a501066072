"""The table of runs with real trainings, real clicks and real keys."""

from __future__ import annotations

import itertools
import shutil
import threading
from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import QItemSelectionModel, QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QApplication,
    QInputDialog,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QScrollArea,
    QToolButton,
)
from pytestqt.qtbot import QtBot

from studio import __version__
from studio.session.core import entities
from studio.session.training import session as training_session
from studio.ui.panes.runs.cells import exact_text, shown_text
from studio.ui.panes.runs.pane import RunsPane
from studio.widgets.frames.side_fades import FADE
from tests.ui.panes.stage import Stage
from tests.ui.panes.trainings import Trainings


@pytest.fixture
def trainings(sample: Callable[..., Trainings]) -> Trainings:
    return sample("iris", epochs=2)


@pytest.fixture
def pane(trainings: Trainings, stage: Stage) -> RunsPane:
    return stage.show(RunsPane(trainings.studio), 1000, 600)


@pytest.fixture
def three(pane: RunsPane, trainings: Trainings) -> RunsPane:
    for seed, batch in ((0, 16), (1, 16), (2, 8)):
        trainings.settings(seed=seed, batch_size=batch)
        trainings.train()
        trainings.until(lambda: trainings.studio.evaluation.status == "ready")
    trainings.until(
        lambda: ["loss" in run.metrics for run in pane.table.entries.rows] == [True] * 3
    )
    return pane


def cell(pane: RunsPane, row: int, column: str) -> QPoint:
    table = pane.table
    index = table.entries.index(row, table.entries.place_of(column))
    return table.visualRect(index).center()


def choose(pane: RunsPane, *rows: int) -> None:
    table = pane.table
    table.clearSelection()
    for row in rows:
        flags = QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows
        table.selectionModel().select(table.entries.index(row, 0), flags)


def actions(menu: QMenu) -> dict[str, bool]:
    return {a.text(): a.isEnabled() for a in menu.actions() if a.text()}


def test_an_empty_list_says_what_will_stand_there(pane: RunsPane) -> None:
    assert pane.is_empty
    assert pane.note == ""


def test_while_a_training_is_prepared_it_says_so_and_offers_no_other(
    pane: RunsPane, trainings: Trainings, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    real = training_session.prepare

    def held(*args: Any, **named: Any) -> Any:
        assert gate.wait(120)
        return real(*args, **named)

    monkeypatch.setattr(training_session, "prepare", held)
    button = pane.findChild(QPushButton, "empty_action")
    assert button.text() == "Train (F5)"

    def said() -> list[str]:
        return [label.text() for label in button.parentWidget().findChildren(QLabel)]

    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    try:
        qtbot.waitUntil(lambda: "Preparing training" in said(), timeout=60_000)
        assert pane.is_empty
        assert not button.isVisible()
    finally:
        gate.set()
    qtbot.waitUntil(lambda: not pane.is_empty, timeout=60_000)
    trainings.until(lambda: not trainings.studio.training.is_busy)


@pytest.mark.slow
def test_runs_are_listed_with_what_they_reached(three: RunsPane, trainings: Trainings) -> None:
    table = three.table
    assert [run.name for run in table.entries.rows] == [
        run.name for run in trainings.studio.runs.runs
    ]
    trainings.until(lambda: bool(trainings.studio.runs.runs[0].test))
    newest = trainings.studio.runs.runs[0]
    text = f"{100 * newest.test['accuracy']:.3g}\u202f%"
    trainings.until(lambda: table.entries.place_of("test.accuracy") >= 0)
    place = table.entries.place_of("test.accuracy")
    trainings.until(lambda: table.entries.index(0, place).data() == text)
    assert three.note == "3 runs"


@pytest.mark.slow
def test_the_arrow_of_the_sorted_column_stands_beside_its_title(
    three: RunsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    table, header = three.table, three.table.horizontalHeader()
    trainings.until(lambda: table.entries.place_of("test.accuracy") >= 0)
    place = table.entries.place_of("test.accuracy")
    for arrow in ("▾", "▴", "▾"):
        at = QPoint(header.sectionViewportPosition(place) + 8, header.height() // 2)
        qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=at)
        title = table.entries.headerData(place, Qt.Orientation.Horizontal)
        assert title == f"{arrow} Test acc."
        assert not header.isSortIndicatorShown()
        assert header.sectionSize(place) >= header.fontMetrics().horizontalAdvance(title)
        values = [run.test["accuracy"] for run in table.entries.rows]
        assert values == sorted(values, reverse=arrow == "▾")


@pytest.mark.slow
def test_a_click_on_the_star_marks_a_run_and_the_filter_shows_those(
    three: RunsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    runs = trainings.studio.runs
    qtbot.mouseClick(three.table.viewport(), Qt.MouseButton.LeftButton, pos=cell(three, 1, "star"))
    assert [run.notes.star for run in runs.runs] == [False, True, False]
    button = three.findChild(QToolButton, "run_starred")
    assert isinstance(button, QToolButton)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert [run.name for run in three.table.entries.rows] == [runs.runs[1].name]
    assert three.note == "1 of 3 runs"


@pytest.mark.slow
def test_a_tick_draws_a_run_over_the_others(
    three: RunsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    runs, table = trainings.studio.runs, three.table
    index = table.entries.index(1, table.entries.place_of("title"))
    left = table.visualRect(index)
    spot = QPoint(left.left() + 12, left.center().y())
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=spot)
    assert runs.overlay.chosen == (runs.runs[1].name,)
    choose(three, 2)
    table.setFocus()
    qtbot.keyClick(table, Qt.Key.Key_Space)
    assert runs.overlay.chosen == (runs.runs[1].name, runs.runs[2].name)
    # The run trained last is always drawn: its tick cannot be taken away.
    choose(three, 0)
    qtbot.keyClick(table, Qt.Key.Key_Space)
    assert len(trainings.studio.plots.runs) >= 1
    title = table.entries.index(0, table.entries.place_of("title"))
    assert not table.entries.flags(title) & Qt.ItemFlag.ItemIsUserCheckable


@pytest.mark.slow
def test_the_run_drawn_of_a_project_opened_again_is_ticked(
    three: RunsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    studio, table = trainings.studio, three.table
    studio.training.reset()
    trainings.until(lambda: [name for name, _ in studio.plots.runs] == [studio.runs.runs[0].name])

    def ticks() -> list[bool]:
        place = table.entries.place_of("title")
        role = Qt.ItemDataRole.CheckStateRole
        cells = [table.entries.index(row, place) for row in range(3)]
        return [cell.data(role) == Qt.CheckState.Checked for cell in cells]

    def click(row: int) -> None:
        left = table.visualRect(table.entries.index(row, table.entries.place_of("title")))
        spot = QPoint(left.left() + 12, left.center().y())
        qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=spot)

    assert ticks() == [True, False, False]
    click(0)
    assert ticks() == [True, False, False], "what is drawn anyway cannot be left out"
    click(1)
    assert ticks() == [True, True, False], "a second run is laid over the first"
    trainings.until(lambda: len(studio.plots.runs) == 2)
    click(0)
    assert ticks() == [False, True, False]
    click(1)
    assert ticks() == [True, False, False]
    trainings.until(lambda: [name for name, _ in studio.plots.runs] == [studio.runs.runs[0].name])


@pytest.mark.slow
def test_a_run_that_is_paused_is_called_so(pane: RunsPane, trainings: Trainings) -> None:
    training, table = trainings.studio.training, pane.table
    trainings.settings(epochs=100_000)

    def word() -> object:
        rows = table.entries.rows
        return rows and table.entries.index(0, table.entries.place_of("state")).data()

    training.start()
    trainings.until(lambda: word() == "Training")
    training.pause()
    trainings.until_state("paused")
    trainings.until(lambda: word() == "Paused")
    training.start()
    trainings.until(lambda: word() == "Training")
    training.stop()
    trainings.until_state("stopped")
    trainings.until(lambda: word() == "Stopped")


@pytest.mark.slow
def test_runs_are_sorted_by_a_click_on_a_heading(
    three: RunsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    table = three.table
    place = table.entries.place_of("batch_size")
    header = table.horizontalHeader()
    table.horizontalScrollBar().setValue(table.horizontalScrollBar().maximum())
    x = header.sectionViewportPosition(place) + 20
    spot = QPoint(x, header.height() // 2)
    for expected in ([16, 16, 8], [8, 16, 16]):
        qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=spot)
        found = [r.project.training.batch_size for r in table.entries.rows if r.project]
        assert found == expected


@pytest.mark.slow
def test_the_filter_finds_runs_by_words(
    three: RunsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    runs = trainings.studio.runs
    runs.set_tags(runs.runs[2].name, ("baseline",))
    field = three.findChild(QLineEdit, "run_filter")
    assert isinstance(field, QLineEdit)
    field.setFocus()
    qtbot.keyClicks(field, "BASE")
    assert [run.name for run in three.table.entries.rows] == [runs.runs[2].name]


@pytest.mark.slow
def test_the_last_measure_in_sight_is_seen_whole(three: RunsPane, qtbot: QtBot) -> None:
    table = three.table
    for wide in range(240, 640, 50):
        three.resize(wide, 400)
        qtbot.waitUntil(lambda wide=wide: three.width() == wide)
        room = table.viewport().width()
        for place in range(table.entries.columnCount()):
            left, width = table.columnViewportPosition(place), table.columnWidth(place)
            if not table.isColumnHidden(place):
                # What is cut begins under the fade that tells of it.
                assert left + width <= room or left >= room - FADE, (wide, place)
        titles = [each.title for each in table.entries.columns]
        assert table.columnViewportPosition(titles.index("Val. acc.")) < room, wide


@pytest.mark.slow
def test_columns_are_the_users_choice(three: RunsPane) -> None:
    table = three.table
    assert "device" in table.shown_columns()
    assert "seed" not in table.shown_columns()
    menu = table.column_menu(three)
    by_name = {action.objectName(): action for action in menu.actions()}
    by_name["column.seed"].trigger()
    by_name["column.device"].trigger()
    assert "seed" in table.shown_columns()
    assert "device" not in table.shown_columns()
    menu.deleteLater()
    table.show_column("title", False)
    assert "title" in table.shown_columns()


@pytest.mark.slow
def test_a_run_is_renamed_in_place(three: RunsPane, trainings: Trainings, qtbot: QtBot) -> None:
    runs, table = trainings.studio.runs, three.table
    table.setCurrentIndex(table.entries.index(1, table.entries.place_of("title")))
    three.activateWindow()
    table.setFocus()
    qtbot.keyClick(table, Qt.Key.Key_F2)
    editor = table.findChild(QLineEdit)
    assert isinstance(editor, QLineEdit)
    editor.selectAll()
    qtbot.keyClicks(editor, "wide net")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    trainings.until(lambda: runs.runs[1].notes.title == "wide net")
    trainings.until(lambda: table.entries.index(1, 1).data() == "wide net")


@pytest.mark.slow
def test_notes_and_tags_are_kept_with_the_run(
    three: RunsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    runs = trainings.studio.runs
    choose(three, 0)
    name = runs.runs[0].name
    assert three.notes.isVisible()
    three.activateWindow()
    three.notes.text.setFocus()
    qtbot.keyClicks(three.notes.text, "better than before")
    three.notes.tags.setFocus()
    qtbot.keyClicks(three.notes.tags, "wide, best")
    qtbot.keyClick(three.notes.tags, Qt.Key.Key_Return)
    record = runs.run(name)
    assert record is not None
    assert record.notes.text == "better than before"
    assert record.notes.tags == ("wide", "best")


@pytest.mark.slow
def test_several_runs_chosen_are_compared(three: RunsPane) -> None:
    choose(three, 0, 1, 2)
    names = {row.name for row in three.differences.rows}
    assert {"seed", "batch size", "loss"} <= names
    assert "epochs" not in names
    assert three.differences.isVisible()
    assert not three.notes.isVisible()
    lines = three.differences.text().splitlines()
    assert lines[0].count("\t") == 3
    assert any(line.startswith("batch size\t8\t16\t16") for line in lines)


@pytest.mark.slow
def test_rows_are_copied_with_every_digit(three: RunsPane, qtbot: QtBot) -> None:
    choose(three, 0)
    three.activateWindow()
    three.table.setFocus()
    qtbot.keyClick(three.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    clipboard = QGuiApplication.clipboard()
    qtbot.waitUntil(lambda: clipboard.text().count("\n") == 1)
    head, line = clipboard.text().splitlines()
    values = dict(zip(head.split("\t"), line.split("\t"), strict=True))
    assert float(values["Loss"]) == three.table.entries.rows[0].metrics["loss"]


@pytest.mark.slow
def test_the_menu_offers_nothing_for_runs_that_are_not_chosen(three: RunsPane) -> None:
    three.table.clearSelection()
    menu = three.menu()
    assert [a.objectName() for a in menu.actions() if a.text()] == ["show_archived"]
    menu.deleteLater()


@pytest.mark.slow
def test_the_menu_says_why_something_cannot_be_done(three: RunsPane, trainings: Trainings) -> None:
    trainings.settings(epochs=100_000)
    trainings.studio.training.start()
    trainings.until(lambda: len(three.table.entries.rows) == 4)
    choose(three, 0)
    menu = three.menu()
    found = {a.text(): a for a in menu.actions() if a.text()}
    assert not found["Delete"].isEnabled()
    assert found["Delete"].toolTip() == "It is being trained."
    assert not found["Continue training…"].isEnabled()
    menu.deleteLater()
    trainings.studio.training.stop()
    trainings.until_state("stopped")


@pytest.mark.slow
def test_a_deleted_run_is_brought_back_from_the_notice(
    three: RunsPane, trainings: Trainings
) -> None:
    studio = trainings.studio
    choose(three, 1)
    gone = studio.runs.runs[1].name
    three.delete()
    assert studio.runs.run(gone) is None
    notice = studio.notices.all[-1]
    assert notice.action is not None
    assert notice.action[0] == "Undo"
    notice.action[1]()
    assert studio.runs.run(gone) is not None
    trainings.until(lambda: len(three.table.entries.rows) == 3)


@pytest.mark.slow
def test_a_run_that_is_back_or_gone_for_good_is_not_offered_back(
    three: RunsPane, trainings: Trainings
) -> None:
    studio = trainings.studio
    gone = studio.runs.runs[1].name
    for _ in range(2):
        choose(three, next(i for i, run in enumerate(studio.runs.runs) if run.name == gone))
        three.delete()
        notice = studio.notices.all[-1]
        assert notice.action is not None
        menu = three.menu()
        next(a for a in menu.actions() if a.text().startswith("Restore the last")).trigger()
        menu.deleteLater()
        trainings.until(lambda: studio.runs.run(gone) is not None)
        trainings.until(lambda notice=notice: notice.action is None)
        assert studio.notices.unseen == 0
        trainings.until(lambda: len(three.table.entries.rows) == 3)
    choose(three, 0)
    three.delete()
    notice = studio.notices.all[-1]
    (binned,) = studio.runs.binned
    shutil.rmtree(binned.path)
    studio.runs.refresh()
    trainings.until(lambda: notice.action is None)


@pytest.mark.slow
def test_an_archived_run_is_out_of_the_list_until_it_is_asked_for(
    three: RunsPane, trainings: Trainings
) -> None:
    choose(three, 2)
    menu = three.menu()
    next(a for a in menu.actions() if a.text() == "Archive").trigger()
    menu.deleteLater()
    trainings.until(lambda: len(three.table.entries.rows) == 2)
    menu = three.menu()
    next(a for a in menu.actions() if a.objectName() == "show_archived").trigger()
    menu.deleteLater()
    assert len(three.table.entries.rows) == 3


@pytest.mark.slow
def test_a_run_goes_on_for_as_many_epochs_as_the_user_says(
    three: RunsPane, trainings: Trainings
) -> None:
    choose(three, 1)
    run = trainings.studio.runs.runs[1]
    menu = three.menu()
    next(a for a in menu.actions() if a.text() == "Continue training…").trigger()
    menu.deleteLater()
    dialog = three.findChild(QInputDialog, "continue_run")
    assert isinstance(dialog, QInputDialog)
    assert dialog.intValue() == 4
    dialog.setIntValue(5)
    dialog.accept()
    trainings.until(lambda: trainings.studio.training.run == run.folder)
    trainings.until_state("finished")
    assert len(run.folder.metrics()) == 5


@pytest.mark.slow
def test_enter_tests_a_run(three: RunsPane, trainings: Trainings, qtbot: QtBot) -> None:
    evaluation = trainings.studio.evaluation
    choose(three, 2)
    three.activateWindow()
    three.table.setFocus()
    qtbot.keyClick(three.table, Qt.Key.Key_Return)
    assert evaluation.run == trainings.studio.runs.runs[2].name
    trainings.until(lambda: evaluation.status == "ready")


@pytest.mark.slow
def test_a_run_chosen_elsewhere_is_chosen_here(three: RunsPane, trainings: Trainings) -> None:
    bus, runs = trainings.studio.bus, trainings.studio.runs
    bus.select([entities.run(runs.runs[1].name)], source="other")
    assert three.table.chosen() == (runs.runs[1].name,)
    choose(three, 2)
    assert bus.selection.of_kind("run") == (runs.runs[2].name,)
    three.set_pinned(True)
    bus.select([entities.run(runs.runs[0].name)], source="other")
    assert three.table.chosen() == (runs.runs[2].name,)
    QApplication.processEvents()


@pytest.mark.parametrize(
    ("kind", "value", "shown", "exact"),
    [
        ("share", 0.9231, "92.3\u202f%", "0.9231"),
        ("count", 12345, "12\u202f345", "12345"),
        ("duration", 75.0, "1\u202fmin 15\u202fs", "75.0"),
        ("number", 0.000123, "0.000123", "0.000123"),
        ("text", "SGD", "SGD", "SGD"),
        ("star", True, "", "yes"),
        ("number", None, "", ""),
    ],
    ids=["share", "count", "duration", "number", "text", "star", "none"],
)
def test_cells_are_read_at_a_glance_and_copied_exactly(
    kind: str, value: float, shown: str, exact: str
) -> None:
    assert shown_text(kind, value) == shown  # type: ignore[arg-type]
    assert exact_text(kind, value) == exact  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_pane_opened_late_shows_the_run_that_is_selected(
    three: RunsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    name = three.table.entries.rows[1].name
    trainings.studio.bus.select([entities.run(name)], source="plots")
    late = RunsPane(trainings.studio)
    qtbot.addWidget(late)
    late.show()
    assert late.table.chosen() == (name,)
    late.close()


@pytest.mark.slow
def test_a_run_says_on_what_and_with_what_it_was_trained(
    three: RunsPane, trainings: Trainings
) -> None:
    record = trainings.studio.runs.runs[0]
    summary = trainings.studio.data.summary
    assert summary is not None
    assert record.data_hash == summary.sha256
    assert record.version == __version__
    choose(three, 0)
    labels = [label.text() for label in three.notes.findChildren(QLabel)]
    assert any(f"data {record.data_hash[:12]}, Glassbox {__version__}" in text for text in labels)


@pytest.mark.slow
def test_when_the_last_run_is_deleted_the_one_before_it_goes_on(
    three: RunsPane, trainings: Trainings
) -> None:
    studio = trainings.studio
    newest, second = (run.name for run in studio.runs.runs[:2])
    assert studio.training.run is not None
    assert studio.training.run.name == newest
    studio.runs.delete(newest)
    studio.actions.trigger("train.continue")
    trainings.until_state("finished", "failed", "stopped")
    assert studio.training.run is not None
    assert studio.training.run.name == second
    assert studio.training.state == "finished"


@pytest.mark.slow
def test_details_name_the_run_and_tell_what_happened_to_it(
    pane: RunsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    training, runs = trainings.studio.training, trainings.studio.runs
    trainings.settings(epochs=100_000)
    training.start()
    trainings.until(lambda: training.status.steps > 20 and len(runs.runs) == 1)
    training.set_learning_rate(0.0125)
    trainings.until(lambda: training.status.learning_rate == 0.0125)
    training.stop()
    trainings.until_state("stopped")
    assert training.run is not None
    training.resume_run(training.run, 100_000)
    trainings.until_state("running")
    training.stop()
    trainings.until_state("stopped")
    trainings.until(lambda: runs.runs[0].state == "stopped" and len(runs.runs[0].marks) == 5)
    choose(pane, 0)
    title, facts = pane.findChild(QLabel, "run_title"), pane.findChild(QLabel, "run_facts")
    assert title.isVisible()
    assert title.text() == runs.runs[0].title
    lines = facts.text().splitlines()
    marks = runs.runs[0].marks
    assert [line.partition("  ")[2] for line in lines[-5:]] == [
        "started",
        f"learning rate 0.0125 from step {marks[1].step + 1:,}",
        f"stopped after {marks[2].step:,} steps",
        f"continued after {marks[2].step:,} steps",
        f"stopped after {marks[4].step:,} steps",
    ]
    assert " in 2 parts" in facts.text()
    seconds = runs.runs[0].seconds
    assert seconds == training.run.summary()["seconds"]
    assert seconds >= training.status.elapsed - 1e-3
    runs.rename(runs.runs[0].name, "the long one")
    trainings.until(lambda: title.text() == "the long one")


@pytest.mark.slow
def test_details_are_whole_in_a_low_pane(
    three: RunsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    choose(three, 0)
    trainings.until(lambda: three.notes.isVisible())
    three.resize(200, 220)
    area = three.findChild(QScrollArea, "run_details")
    bar = area.verticalScrollBar()
    trainings.until(lambda: bar.maximum() > 0)
    facts = three.findChild(QLabel, "run_facts")
    assert facts.height() >= facts.heightForWidth(facts.width())
    parts = [three.findChild(QLabel, "run_title"), facts, three.notes.tags, three.notes.text]
    for upper, lower in itertools.pairwise(part.geometry() for part in parts):
        assert upper.bottom() < lower.top()
    three.notes.tags.setFocus()
    qtbot.keyClick(three.notes.tags, Qt.Key.Key_Tab)
    trainings.until(lambda: not three.notes.text.visibleRegion().isEmpty())
    assert bar.value() > 0
