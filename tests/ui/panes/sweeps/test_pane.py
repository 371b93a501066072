"""The sweep pane by mouse and keyboard, with real sweeps of a small project."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QInputDialog,
    QLabel,
    QLineEdit,
    QMenu,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from studio.engine.scale.sweep.folder import CLUSTER, TABLE, SweepFolder
from studio.engine.scale.sweep.planning import Wishes, make_plan
from studio.session.document.edits.sections import set_training
from studio.session.studio import Studio
from studio.ui.panes.sweeps.pane import SweepsPane
from tests.session.sweeps.sweep_bench import iris
from tests.ui.panes.stage import Stage

WAIT = 120_000
KEY = Qt.Key


class Hand:
    """Works in the pane as a user does."""

    def __init__(self, pane: SweepsPane, studio: Studio, qtbot: QtBot) -> None:
        self.pane, self.studio, self.qtbot = pane, studio, qtbot

    def until(self, wanted: Callable[[], object]) -> None:
        self.qtbot.waitUntil(lambda: bool(wanted()), timeout=WAIT)

    def click(self, widget: QWidget | None) -> None:
        assert widget is not None
        assert widget.isVisible()
        assert widget.isEnabled(), widget.toolTip()
        self.qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)

    def plan(self) -> None:
        """From the empty pane to the form."""
        self.until(lambda: self.pane.is_empty)
        self.click(self.pane.findChild(QWidget, "empty_action"))
        self.until(lambda: self.pane.form.axes.field.hasFocus())

    def add(self, name: str, values: str = "") -> None:
        """Add what is varied by keyboard alone."""
        field = self.pane.form.axes.field
        field.setFocus()
        self.qtbot.keyClicks(field, name)
        # Enter in the list of names chooses there; here it is typed whole.
        completer = field.completer()
        assert completer is not None
        completer.popup().hide()
        self.qtbot.keyClick(field, KEY.Key_Return)
        if values:
            row = self.values(name)
            self.until(row.hasFocus)
            row.selectAll()
            self.qtbot.keyClicks(row, values)

    def values(self, name: str) -> QLineEdit:
        found = self.pane.findChild(QLineEdit, f"values.{name}")
        assert found is not None
        return found

    def error(self, name: str) -> str:
        found = self.pane.findChild(QLabel, f"error.{name}")
        assert found is not None
        return found.text() if found.isVisible() else ""

    def checked(self) -> None:
        self.until(lambda: self.studio.sweeps.is_checked)

    def grid(self) -> None:
        """Choose the grid by keyboard."""
        self.pane.form.sampler.setFocus()
        self.qtbot.keyClick(self.pane.form.sampler, KEY.Key_End)
        self.checked()

    def one_worker(self) -> None:
        self.type(self.pane.form.workers, "1")
        self.checked()

    def type(self, field: QLineEdit, text: str) -> None:
        """Type into a field in place of what is there."""
        field.setFocus()
        field.selectAll()
        self.qtbot.keyClicks(field, text)
        self.qtbot.keyClick(field, KEY.Key_Return)

    def tick(self, box: QCheckBox) -> None:
        """Click the box itself: what is right of its text is no part of it."""
        left = Qt.MouseButton.LeftButton
        self.qtbot.mouseClick(box, left, pos=QPoint(10, box.height() // 2))

    def unfold(self) -> None:
        """Show what is seldom asked for."""
        self.click(self.pane.form.more.heading)
        self.until(self.pane.form.cluster.isVisible)

    def start(self) -> None:
        self.until(self.pane.form.start.isEnabled)
        self.click(self.pane.form.start)

    def states(self) -> list[str]:
        return [each.row.state for each in self.pane.view.table.entries.rows]


@pytest.fixture
def hand(studio: Studio, stage: Stage, qtbot: QtBot, tmp_path: Path) -> Hand:
    studio.preferences.set("backend", "cpu")
    studio.open(iris(tmp_path))
    return Hand(stage.show(SweepsPane(studio), 460, 640), studio, qtbot)


@pytest.mark.slow
def test_a_sweep_from_the_empty_pane_to_its_runs(hand: Hand, qtbot: QtBot) -> None:
    pane, studio = hand.pane, hand.studio
    hand.plan()
    assert not pane.form.start.isEnabled()
    hand.add("hidden.units", "4,8")
    hand.grid()
    hand.one_worker()
    assert not pane.form.trials.isEnabled()
    assert pane.form.trials.text() == "2"
    assert "2 trials, compared by the lowest val_loss" in pane.form.summary.text()
    assert "random 10%" in pane.form.summary.text()
    hand.start()
    hand.until(lambda: pane.view.isVisible() and pane.view.stop.isVisible())
    hand.until(lambda: not studio.sweeps.is_busy and hand.states() == ["finished"] * 2)
    record = pane.view.record
    assert record is not None
    hand.until(lambda: pane.view.status.whole == "Finished: 2 of 2 trials")
    best = record.best
    assert best is not None
    assert f"trial {best.number}: hidden.units {best.values['hidden.units']}" in (
        pane.view.best.whole
    )
    keys = [column.key for column in pane.view.table.entries.columns]
    assert keys == [
        "trial", "state", "value", "axis.hidden.units", "epochs", "seconds", "device",
    ]  # fmt: skip
    # The runs are listed, though another process made them.
    hand.until(lambda: len(studio.runs.runs) == 2)
    assert "has finished" in studio.notices.all[-1].text
    # By the heading the best comes first; Enter opens its run.
    table = pane.view.table
    table.sortByColumn(2, Qt.SortOrder.AscendingOrder)
    assert table.entries.rows[0].row.number == best.number
    table.setFocus()
    table.selectRow(0)
    qtbot.keyClick(table, KEY.Key_Return)
    assert studio.bus.selection.of_kind("run") == record.runs_of(best)
    # And both are drawn over one another.
    table.selectAll()
    menu = pane.view.actions_of_trials.menu(record, table.chosen())
    draw = next(each for each in menu.actions() if each.objectName() == "trial.plots")
    assert draw.text() == "Overlay in the plots"
    draw.trigger()
    assert set(studio.runs.overlay.chosen) == {f"{record.name}-{n:04d}" for n in range(2)}
    assert pane.view.parallel.trials.numbers == (0, 1)


@pytest.mark.slow
def test_pause_resume_stop_and_go_on_by_mouse(hand: Hand, qtbot: QtBot) -> None:
    pane, view, studio = hand.pane, hand.pane.view, hand.studio
    hand.plan()
    hand.add("epochs", "2,3000")
    hand.grid()
    hand.one_worker()
    hand.start()
    hand.until(lambda: view.isVisible() and view.pause.isVisible())
    hand.until(lambda: hand.states() == ["finished", "training"])
    hand.click(view.pause)
    hand.until(lambda: view.pause.text() == "Resume")
    assert view.status.whole == "Pausing: 1 of 2 trials, 1 training"
    hand.click(view.pause)
    hand.until(lambda: view.pause.text() == "Pause")
    hand.click(view.stop)
    hand.until(lambda: not studio.sweeps.is_busy and view.resume.isVisible())
    hand.until(lambda: hand.states() == ["finished", "waiting"])
    assert view.status.whole == "Stopped: 1 of 2 trials"
    assert not view.stop.isVisible()
    assert not [each for each in studio.notices.all if each.severity == "error"]
    hand.click(view.resume)
    hand.until(lambda: hand.states() == ["finished", "training"])
    # A new one can be planned meanwhile, and not begun.
    hand.click(pane.new)
    hand.until(pane.form.isVisible)
    assert not pane.form.start.isEnabled()
    assert "A sweep is running" in pane.form.saving.whole
    qtbot.keyClick(pane.chooser, KEY.Key_Down)
    hand.until(view.isVisible)
    hand.click(view.stop)
    hand.until(lambda: not studio.sweeps.is_busy)


@pytest.mark.slow
def test_more_trials_are_asked_for_when_all_are_done(hand: Hand, qtbot: QtBot) -> None:
    pane, view, studio = hand.pane, hand.pane.view, hand.studio
    hand.plan()
    hand.add("hidden.units", "4,8")
    field = pane.form.trials
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, "1")
    qtbot.keyClick(field, KEY.Key_Return)
    hand.checked()
    hand.start()
    hand.until(lambda: not studio.sweeps.is_busy and view.more.isVisible())
    hand.click(view.more)
    dialog = view.findChild(QInputDialog, "more_trials_dialog")
    assert dialog is not None
    assert dialog.intValue() == 2
    qtbot.keyClick(dialog, KEY.Key_Return)
    hand.until(lambda: not studio.sweeps.is_busy and hand.states() == ["finished"] * 2)


def test_mistakes_are_said_where_they_are(hand: Hand, qtbot: QtBot) -> None:
    pane = hand.pane
    hand.plan()
    hand.add("hiden.units")
    assert "There is nothing called hiden.units to vary; did you mean" in hand.error("add_axis")
    pane.form.axes.field.clear()
    hand.add("hidden.units", "4,8,")
    assert hand.error("add_axis") == ""
    assert "expected a whole number" in hand.error("hidden.units")
    hand.checked()
    assert not pane.form.start.isEnabled()
    assert pane.findChild(QLabel, "sweep_problem").isHidden()
    qtbot.keyClicks(hand.values("hidden.units"), "16")
    assert hand.error("hidden.units") == ""
    hand.until(pane.form.start.isEnabled)
    hand.add("hidden.units")
    assert hand.error("add_axis") == "hidden.units is varied already"
    pane.form.axes.field.clear()
    hand.add("seed", "1,2")
    field = pane.form.seeds
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, "2")
    qtbot.keyClick(field, KEY.Key_Return)
    hand.checked()
    assert hand.error("seeds").startswith("The seed is varied already. Leave Seeds out")
    assert not pane.form.start.isEnabled()
    # Without the axis it is right, and the keyboard is where the next is added.
    remove = pane.findChild(QToolButton, "remove.seed")
    assert remove is not None
    remove.setFocus()
    qtbot.keyClick(remove, KEY.Key_Space)
    hand.until(pane.form.start.isEnabled)
    assert hand.error("seeds") == ""
    assert list(pane.form.axes.rows) == ["hidden.units"]
    assert pane.form.axes.field.hasFocus()


def test_what_is_seldom_asked_for_is_folded(hand: Hand, qtbot: QtBot) -> None:
    form = hand.pane.form
    hand.plan()
    hand.add("hidden.units", "4,8")
    assert not form.cluster.isVisible()
    wishes = form.wishes()
    assert (wishes.keep, wishes.synchronous, wishes.seed, form.address) == (1, False, 0, "")
    hand.unfold()
    # What unfolds below the edge is brought into sight.
    hand.until(lambda: not form.cluster.visibleRegion().isEmpty())
    hand.tick(form.synchronous)
    hand.type(form.kept, "3")
    hand.type(form.seed, "7")
    hand.type(form.cluster, "127.0.0.1:8786")
    wishes = form.wishes()
    assert (wishes.keep, wishes.synchronous, wishes.seed) == (3, True, 7)
    assert form.address == "127.0.0.1:8786"
    hand.until(form.start.isEnabled)
    plan = hand.studio.sweeps.check.plan
    assert plan is not None
    assert (plan.keep, plan.synchronous, plan.seed) == (3, True, 7)
    form.keep.setFocus()
    qtbot.keyClick(form.keep, KEY.Key_End)
    assert form.wishes().keep == 0
    assert not form.kept.isEnabled()
    # Folded, its heading says what is not as usual.
    hand.click(form.more.heading)
    assert not form.cluster.isVisible()
    assert form.more.heading.note == "127.0.0.1:8786, keep all, in rounds, seed 7"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("nowhere", "Expected an address such as tls://host:8786, got 'nowhere'"),
        ("10.0.0.1:8786", "is reached without TLS, which is allowed on this machine only"),
    ],
)
def test_a_wrong_address_is_said_below_its_field(hand: Hand, address: str, said: str) -> None:
    form = hand.pane.form
    hand.plan()
    hand.add("hidden.units", "4,8")
    hand.unfold()
    hand.type(form.cluster, address)
    hand.checked()
    assert said in hand.error("cluster")
    assert form.cluster.property("wrong")
    assert not form.start.isEnabled()
    # Nobody looks for it in vain.
    hand.click(form.more.heading)
    form.ask()
    hand.until(lambda: hand.error("cluster"))
    form.cluster.clear()
    hand.until(form.start.isEnabled)
    assert hand.error("cluster") == ""


def test_a_sweep_goes_where_trainings_go(hand: Hand) -> None:
    hand.studio.training.place.use_cluster("127.0.0.1:8786")
    assert hand.pane.form.address == "tcp://127.0.0.1:8786"
    hand.studio.training.place.use_this_computer()
    assert hand.pane.form.address == ""


@pytest.mark.slow
def test_what_was_asked_for_is_kept_when_it_goes_on(hand: Hand, qtbot: QtBot) -> None:
    pane, view, studio = hand.pane, hand.pane.view, hand.studio
    hand.plan()
    hand.add("epochs", "1,3000")
    hand.grid()
    hand.one_worker()
    hand.unfold()
    hand.tick(pane.form.synchronous)
    hand.type(pane.form.seed, "5")
    pane.form.keep.setFocus()
    qtbot.keyClick(pane.form.keep, KEY.Key_End)
    hand.checked()
    hand.start()
    hand.until(lambda: "training" in hand.states())
    hand.click(view.stop)
    hand.until(lambda: not studio.sweeps.is_busy and view.resume.isVisible())
    record = view.record
    assert record is not None
    before = record.plan
    assert before is not None
    assert (before.keep, before.synchronous, before.seed) == (0, True, 5)
    # On this computer there is nothing to choose.
    assert not view.place.isVisible()
    (record.path / CLUSTER).write_text('{"address": "tcp://127.0.0.1:9"}', encoding="utf-8")
    (record.path / TABLE).touch()
    hand.until(view.place.isVisible)
    # A cluster that is gone is said; then it goes on here.
    hand.click(view.resume)
    hand.until(lambda: any("no Dask cluster" in each.text for each in studio.notices.all))
    hand.until(lambda: not studio.sweeps.is_busy and view.resume.isVisible())
    view.place.setFocus()
    qtbot.keyClick(view.place, KEY.Key_Down)
    assert view.place.currentText() == "This computer"
    hand.click(view.resume)
    hand.until(lambda: "training" in hand.states())
    record = view.record
    assert record is not None
    assert (record.plan, record.cluster) == (before, "")
    hand.click(view.stop)
    hand.until(lambda: not studio.sweeps.is_busy)


def test_names_are_completed_by_what_they_hold(hand: Hand, qtbot: QtBot) -> None:
    hand.plan()
    field = hand.pane.form.axes.field
    qtbot.keyClicks(field, "en.uni")
    completer = field.completer()
    assert completer is not None
    popup = completer.popup()
    hand.until(popup.isVisible)
    qtbot.keyClick(popup, KEY.Key_Down)
    qtbot.keyClick(popup, KEY.Key_Return)
    hand.until(lambda: list(hand.pane.form.axes.rows) == ["hidden.units"])
    hand.until(lambda: field.text() == "")
    assert hand.error("add_axis") == ""
    assert hand.values("hidden.units").text()


def test_a_ranged_grid_says_what_it_needs(hand: Hand) -> None:
    hand.plan()
    hand.add("learning_rate", "log:1e-4..1e-1")
    hand.grid()
    problem = hand.pane.findChild(QLabel, "sweep_problem")
    assert problem is not None
    assert problem.isVisible()
    assert "a grid needs values" in problem.text()


def test_unsaved_changes_are_saved_first(hand: Hand) -> None:
    document = hand.studio.document
    hand.plan()
    hand.add("hidden.units", "4,8")
    hand.checked()
    assert hand.pane.form.start.text() == "Start"
    document.apply("settings", set_training(document.state, {"batch_size": 8}))
    hand.studio.sweeps.changed.emit()
    hand.until(lambda: hand.pane.form.start.text() == "Save and start")
    assert "as it is saved" in hand.pane.form.saving.whole


def test_a_missing_package_is_a_notice(hand: Hand, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec",
        lambda name, package=None: None if name == "optuna" else find(name, package),
    )
    hand.plan()
    hand.add("hidden.units", "4,8")
    hand.checked()
    hand.start()
    (notice,) = [each for each in hand.studio.notices.all if each.severity == "error"]
    assert "sweeps need the package optuna, which is not installed" in notice.text
    assert "glassbox-studio[scale]" in notice.details
    assert hand.pane.form.isVisible()


@pytest.mark.slow
def test_a_sweep_of_a_terminal_is_only_looked_at(hand: Hand) -> None:
    project = hand.studio.document.project()
    plan, _ = make_plan(project, Wishes(("hidden.units=4,8,16",), sampler="grid"), 1)
    view = hand.pane.view
    with SweepFolder.create(project, plan):
        hand.until(view.isVisible)
        assert view.status.whole.startswith("0 of 3 trials, trained by this process")
        buttons = (view.pause, view.stop, view.resume, view.more)
        assert not any(each.isVisible() for each in buttons)
    hand.until(view.resume.isVisible)
    assert view.status.whole == "Stopped: 0 of 3 trials"
    assert view.best.whole == "No trial has reached a value yet"
    assert not view.open_best.isEnabled()


@pytest.mark.slow
def test_a_damaged_table_is_said(hand: Hand) -> None:
    project = hand.studio.document.project()
    plan, _ = make_plan(project, Wishes(("hidden.units=4,8,16",), sampler="grid"), 1)
    with SweepFolder.create(project, plan) as folder:
        folder.write_table([])
    hand.until(hand.pane.view.isVisible)
    (folder.path / TABLE).write_text('{"trials": [3]}', encoding="utf-8")
    problem = hand.pane.findChild(QLabel, "sweep_damage")
    assert problem is not None
    hand.until(problem.isVisible)
    assert problem.text().startswith("the table of the sweep is damaged")
    assert hand.pane.view.resume.isVisible()


@pytest.mark.slow
def test_a_trial_without_a_run_offers_nothing(hand: Hand, qtbot: QtBot) -> None:
    project = hand.studio.document.project()
    plan, _ = make_plan(project, Wishes(("hidden.units=4,8",), sampler="grid"), 1)
    from studio.engine.scale.sweep.folder import TrialRow

    with SweepFolder.create(project, plan) as folder:
        folder.write_table([TrialRow(0, {"hidden.units": 4}, is_training=True, reached=3)])
        table = hand.pane.view.table
        hand.until(lambda: hand.states() == ["training"])
        assert table.entries.rows[0].state == "Training"
        assert table.entries.columns[4].text(table.entries.rows[0]) == "3"
        place = table.visualRect(table.entries.at(0)).center()
        qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
        table.customContextMenuRequested.emit(QPoint(place))
        menu = hand.pane.view.findChild(QMenu, "trial_menu")
        assert menu is not None
        hand.until(menu.isVisible)
        items = {each.objectName(): each for each in menu.actions() if each.objectName()}
        assert not any(each.isEnabled() for name, each in items.items() if name != "trial.revert")
        menu.close()
    # Its process is gone: nothing trains.
    hand.until(lambda: table.entries.rows[0].state == "Waiting")
