"""The listing pane while the document is edited: programs, levels, passes, times, cards."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QEnterEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QCheckBox, QLabel, QMenu, QToolButton
from pytestqt.qtbot import QtBot

from studio.engine.compiler import pipeline
from studio.engine.compiler.pipeline import Pass
from studio.engine.core.errors import BackendError
from studio.engine.isa.program import Program
from studio.engine.train.listing.step_calls import step_calls
from studio.instruction_view.listing.line_table import FIRST, PLACES, ROW, Spot
from studio.instruction_view.listing.pane import ListingPane
from studio.instruction_view.passes.diff_view import DiffView
from studio.instruction_view.passes.viewer import PassViewer
from studio.instruction_view.path_bar.bar import PathBar
from studio.session.core import entities
from studio.session.core.quantities import ms_text
from studio.session.core.scheduling import ManualScheduler
from studio.session.core.tasks import TaskList
from studio.session.document.document import Document
from studio.session.document.edits.layers import add_layer, set_option
from studio.session.document.edits.removal import delete
from studio.session.document.edits.wires import connect, disconnect
from studio.session.listing.arrangement import Line
from studio.session.listing.columns import COLUMNS
from studio.session.listing.kernels import Kernels, planned_kernels
from studio.session.studio import Studio
from studio.widgets.frames.empty_state import EmptyState
from studio.widgets.record_table.views import RecordList
from tests.engine.compiler.networks import mixed_program
from tests.instruction_view.listing_hands import (
    age_of,
    click,
    click_line,
    leave,
    move_to,
    place_of,
)

Open = Callable[[str], Document]
Settle = Callable[[], None]


@pytest.mark.slow
def test_an_edit_flashes_what_came_and_strikes_what_went(
    studio: Studio, document: Document, pane: ListingPane, settled: Settle, qtbot: QtBot
) -> None:
    click_line(pane, place_of(pane, "LINEAR"))
    state = delete(document.state, ["dropout1"])
    document.apply("Delete", state)
    assert studio.compilation.stale_edits == 1
    assert age_of(pane) == "1 edit ago"
    settled()
    assert age_of(pane) == ""
    gone = [line.title.split()[0] for line in pane.view.lines if line.kind == "removed"]
    assert gone == ["DROPOUT", "GRADS_DROPOUT"]
    line, rows = pane.listing.caret_line, pane.listing.rows
    assert line is not None
    assert rows is not None
    assert rows.mnemonic(line.row) == "LINEAR"
    qtbot.waitUntil(lambda: not any(x.kind == "removed" for x in pane.view.lines))


@pytest.mark.slow
def test_rows_that_stay_keep_their_place_on_the_screen(
    document: Document, pane: ListingPane, settled: Settle
) -> None:
    bar = pane.view.verticalScrollBar()
    bar.setValue(bar.maximum() - 5)
    place = next(p for p in range(len(pane.view.lines)) if pane.view.is_row_visible(p))
    key, top = pane.view.lines[place].key, place * ROW - bar.value()
    state = disconnect(document.state, "conv2", 0)
    state = add_layer(state, "BatchNormalization", after="conv1")
    document.apply("Insert", connect(state, "batch_normalization", "conv2"))
    settled()
    now = next(p for p, line in enumerate(pane.view.lines) if line.key == key)
    assert now != place
    assert abs(now * ROW - bar.value() - top) <= 1


def test_an_error_keeps_the_listing_and_says_where_it_stopped(
    studio: Studio, document: Document, pane: ListingPane, settled: Settle
) -> None:
    count = len(pane.view.lines)
    state = set_option(document.state, "conv2", "kernel_size", [9, 9])
    document.apply("Kernel", set_option(state, "conv2", "padding", "valid"))
    settled()
    failures = [(p, x) for p, x in enumerate(pane.view.lines) if x.kind == "failure"]
    assert len(pane.view.lines) == count + 1
    ((place, line),) = failures
    assert line.title.startswith("conv2: ")
    assert pane.listing.rows is not None
    assert pane.view.lines[place + 1].row == pane.listing.rows.rows_of("conv2")[0]
    assert age_of(pane) == "1 edit ago"
    document.undo()
    settled()
    assert not any(x.kind == "failure" for x in pane.view.lines)


def test_levels_groups_and_programs_by_their_buttons(
    studio: Studio, pane: ListingPane, qtbot: QtBot
) -> None:
    def press(name: str) -> None:
        button = pane.findChild(QToolButton, f"{name}.button")
        assert button is not None
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)

    press("listing.level_layers")
    assert {line.kind for line in pane.view.lines} == {"heading"}
    press("listing.level_kernels")
    qtbot.waitUntil(lambda: "kernel" in {line.kind for line in pane.view.lines}, timeout=60_000)
    assert {line.kind for line in pane.view.lines} == {"instruction", "kernel"}
    press("listing.level_instructions")
    assert {line.kind for line in pane.view.lines} == {"instruction"}
    press("listing.infer")
    assert pane.listing.rows is not None
    assert pane.listing.rows.program.mode == "infer"
    assert studio.bus.selection.entities == ()
    assert studio.actions.trigger("listing.group_section")
    assert pane.view.lines[0].title == "data"


def test_a_section_that_comes_again_folds_by_itself(
    studio: Studio,
    opened: Open,
    pane: ListingPane,
    settled: Settle,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def mixed(program: Program, _: object) -> Program:
        return mixed_program(program) if program.mode == "train" else program

    monkeypatch.setattr(pipeline, "JOINT", (*pipeline.JOINT, Pass("mix", 2, mixed, "")))
    opened("digits-mlp")
    assert studio.actions.trigger("listing.group_section")
    titles = [line.title for line in pane.view.lines if line.kind == "heading"]
    assert titles[:5] == ["data", "backward", "forward", "loss", "backward"]
    folds = [p for p, x in enumerate(pane.view.lines) if x.title == "backward"]
    count = len(pane.view.lines)
    pane.view.verticalScrollBar().setValue(ROW * (folds[1] - 3))
    click(pane, QPoint(17, pane.view.spot_rect(folds[1]).center().y()))
    assert not pane.listing.is_folded(pane.view.lines[folds[0]])
    assert pane.listing.is_folded(pane.view.lines[folds[1]])
    assert pane.view.lines[folds[0] + 1].kind == "instruction"
    assert pane.view.lines[folds[1] + 1].title == "update"
    assert len(pane.view.lines) < count


def kernels_shown(pane: ListingPane) -> list[Line]:
    return [line for line in pane.view.lines if line.kind == "kernel"]


@pytest.mark.parametrize("backend", ["gl", "cpu"])
def test_kernels_are_planned_aside_and_stand_below_their_lines(
    studio: Studio, document: Document, pane: ListingPane, settled: Settle, qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch, backend: str,
) -> None:  # fmt: skip
    planned_on: list[str] = []

    def planned(*arguments: Any) -> Kernels:
        planned_on.append(threading.current_thread().name)
        return planned_kernels(*arguments)

    monkeypatch.setattr("studio.session.compile.compilation.planned_kernels", planned)
    studio.preferences.set("backend", backend)
    settled()
    order = FIRST + [column.key for column in COLUMNS].index("order")
    assert pane.view.isColumnHidden(order)
    button = pane.findChild(QToolButton, "listing.level_kernels.button")
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(kernels_shown(pane)), timeout=60_000)
    assert not pane.view.isColumnHidden(order)
    assert len(planned_on) == 1
    assert threading.main_thread().name not in planned_on
    rows, shown = pane.listing.rows, studio.compilation.shown
    assert rows is not None
    assert shown is not None
    assert shown.target.name == ("gl-hardware" if backend == "gl" else "cpu")
    expected = step_calls(shown.program, shown.target, shown.batch, shown.data_rows)
    assert {line.row for line in kernels_shown(pane)} == set(rows.entries)
    assert len(kernels_shown(pane)) == sum(map(len, expected.runs.values()))
    place = place_of(pane, "MAXPOOL2D") + 1
    (call,) = expected.runs[pane.view.lines[place].row]
    model = pane.view.model()
    assert call.name in model.index(place, PLACES["instruction"]).data()
    wanted = f"{call.turn}, level {call.level}" if backend == "gl" else ""
    assert str(model.index(place, order).data()).startswith(wanted)
    click_line(pane, place)
    assert studio.bus.selection.primary == entities.Entity("kernel", pane.view.lines[place].key)


def test_kernels_that_cannot_be_planned_are_told_once(
    studio: Studio, pane: ListingPane, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def refuse(*arguments: object) -> Kernels:
        asked.append(arguments)
        raise BackendError("the step does not fit the memory", who="digits-cnn")

    monkeypatch.setattr("studio.session.compile.compilation.planned_kernels", refuse)
    button = pane.findChild(QToolButton, "listing.level_kernels.button")
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(studio.notices.all), timeout=60_000)
    assert "does not fit the memory" in studio.notices.all[-1].text
    assert {line.kind for line in pane.view.lines} == {"instruction"}
    assert studio.actions.trigger("listing.group_section")
    assert pane.listing.grouping == "section"
    assert len(asked) == 1


@pytest.mark.slow
def test_an_edit_at_the_level_of_kernels_plans_them_again(
    studio: Studio, document: Document, pane: ListingPane, settled: Settle, qtbot: QtBot
) -> None:
    assert studio.actions.trigger("listing.level_kernels")
    qtbot.waitUntil(lambda: bool(kernels_shown(pane)), timeout=60_000)
    before = len(kernels_shown(pane))
    document.apply("Delete", delete(document.state, ["dropout1"]))
    settled()
    qtbot.waitUntil(lambda: 0 < len(kernels_shown(pane)) < before, timeout=60_000)
    # Another document takes the place of this one while its kernels are planned.
    studio.compilation.compile_now()
    studio.compilation.follow(None)
    settled()
    assert pane.view.lines == ()


def test_where_there_is_little_room_choices_become_menus(
    studio: Studio, pane: ListingPane, qtbot: QtBot
) -> None:
    buttons = [
        pane.findChild(QToolButton, f"listing.level_{name}.button")
        for name in ("layers", "instructions", "kernels")
    ]
    one = pane.findChild(QToolButton, "listing.level_layers.menu")
    assert one is not None
    assert one.isHidden()
    pane.resize(380, 500)
    qtbot.waitUntil(one.isVisible)
    assert all(button is not None and button.isHidden() for button in buttons)
    assert one.text() == "Instructions"
    assert studio.actions.trigger("listing.level_kernels")
    assert one.text() == "Kernels"
    QTest.mouseClick(one, Qt.MouseButton.LeftButton)
    menu = pane.findChild(QMenu)
    assert menu is not None
    assert [a.objectName() for a in menu.actions()][:2] == [
        "listing.level_layers",
        "listing.level_instructions",
    ]
    menu.close()
    pane.resize(900, 500)
    qtbot.waitUntil(one.isHidden)


@pytest.mark.slow
def test_the_age_of_a_listing_leaves_every_choice_whole(
    document: Document, pane: ListingPane, settled: Settle, qtbot: QtBot
) -> None:
    one = pane.findChild(QToolButton, "listing.level_layers.menu")
    assert one is not None
    pane.setMinimumSize(1, 1)
    for wide in (380, 340, 300):
        pane.resize(wide, 500)
        qtbot.waitUntil(lambda wide=wide: pane.width() == wide and one.isVisible())
        document.apply("Delete", delete(document.state, ["dropout1"]))
        assert age_of(pane) == "1 edit ago"
        QApplication.processEvents()
        assert one.width() >= one.sizeHint().width()
        settled()
        document.undo()
        settled()


@pytest.mark.slow
def test_times_come_with_a_measured_step(
    studio: Studio, pane: ListingPane, settled: Settle, qtbot: QtBot
) -> None:
    # A GPU does the work of some instructions in the kernels of others.
    studio.preferences.set("backend", "cpu")
    settled()
    bar = PathBar(studio)
    qtbot.addWidget(bar)
    studio.bus.select([entities.node("conv1")], source="canvas")
    titles = [column.key for column in COLUMNS]
    place = FIRST + titles.index("ms")
    assert pane.view.isColumnHidden(place)
    studio.profiling.start_dry_run()
    qtbot.waitUntil(lambda: studio.profiling.measurement is not None)
    settled()
    qtbot.waitUntil(lambda: not pane.view.isColumnHidden(place))
    times = studio.profiling.times_ms(studio.compilation.provenance)
    rows = pane.listing.rows
    assert rows is not None
    assert set(times) == set(rows.entries)
    for row, milliseconds in times.items():
        shown = pane.view.model().index(pane.listing.arrangement.place_of(row), place).data()
        assert shown == ms_text(milliseconds)
    bar.refresh()
    begin = rows.group(pane.links.primary_row).first
    assert bar.texts[-1] == f"{ms_text(times[begin])} ms"


def test_passes_show_what_each_changed(studio: Studio, pane: ListingPane, settled: Settle) -> None:
    assert studio.actions.trigger("listing.passes")
    settled()
    shown = studio.compilation.shown
    assert shown is not None
    viewer = pane.passes
    assert viewer.is_ready
    names = [step.name for step in viewer.steps]
    assert names == [step.name for step in shown.passes]
    listed = viewer.findChild(object, "passes.list")
    listed.go_to(names.index("merge_updates"))  # type: ignore[attr-defined]
    diff = viewer.findChild(object, "passes.diff")
    added = [x.after.name for x in diff.lines if x.change == "added"]  # type: ignore[attr-defined]
    assert added == ["FUSE", "END"]
    title = viewer.findChild(QLabel, "passes.title")
    assert title is not None
    assert "merge_updates" in title.text()
    assert studio.actions.trigger("listing.level_instructions")
    assert not pane.shows_passes


def test_differences_of_the_project_before_are_not_shown(
    studio: Studio, document: Document, settled: Settle, qtbot: QtBot
) -> None:
    settled()
    shown = studio.compilation.shown
    assert shown is not None
    clock = ManualScheduler()
    tasks = TaskList(clock)
    viewer = PassViewer(tasks, lambda _: -1)
    qtbot.addWidget(viewer)

    def listed() -> int:
        return viewer.findChild(RecordList, "passes.list").entries.rowCount()

    def over() -> bool:
        clock.advance(0.1)
        return not tasks.running

    viewer.take(shown.passes)
    tasks.leave_document()
    qtbot.waitUntil(over, timeout=60_000)
    assert listed() == 0
    # The same project again: they are worked out once more.
    viewer.take(shown.passes)
    qtbot.waitUntil(over, timeout=60_000)
    assert listed() == len(shown.passes)
    tasks.close()


@pytest.mark.slow
def test_passes_stand_one_above_the_other_in_a_narrow_pane(
    studio: Studio, pane: ListingPane, settled: Settle, qtbot: QtBot
) -> None:
    assert studio.actions.trigger("listing.passes")
    settled()
    viewer = pane.passes
    listed, diff = viewer.findChild(RecordList), viewer.findChild(DiffView)
    title = viewer.findChild(QLabel, "passes.title")
    inline = viewer.findChild(QCheckBox, "passes.inline")
    listed.go_to([step.name for step in viewer.steps].index("make_views"))
    assert diff.model().columnCount() == 2
    assert listed.geometry().top() == diff.parentWidget().geometry().top()
    pane.resize(300, 420)
    qtbot.waitUntil(lambda: listed.geometry().bottom() < diff.parentWidget().geometry().top())
    assert diff.model().columnCount() == 1
    assert not inline.isEnabled()
    qtbot.waitUntil(lambda: title.height() >= title.heightForWidth(title.width()))
    for box in (viewer.findChild(QCheckBox, "passes.hide"), inline):
        assert box.width() >= box.sizeHint().width()
        assert box.mapTo(viewer, box.rect().bottomRight()).x() < viewer.width()
    pane.setMinimumSize(1, 1)
    pane.resize(300, 180)
    qtbot.waitUntil(lambda: title.text() == "<b>make_views</b>")
    assert "reshapes" in title.toolTip()
    qtbot.waitUntil(lambda: title.height() >= title.heightForWidth(title.width()))
    pane.resize(900, 500)
    qtbot.waitUntil(lambda: diff.model().columnCount() == 2)
    assert "reshapes" in title.text()


@pytest.mark.slow
def test_a_baseline_is_compared_with_later_programs(
    studio: Studio, document: Document, pane: ListingPane, settled: Settle
) -> None:
    assert studio.actions.trigger("listing.baseline")
    settled()
    assert pane.passes.steps[0].name == "baseline"
    assert pane.passes.steps[0].is_empty
    document.apply("Delete", delete(document.state, ["dropout1"]))
    settled()
    step = pane.passes.steps[0]
    removed = [x.before.name for x in step.diff if x.change == "removed" and x.before is not None]
    assert "DROPOUT" in removed


def test_nothing_to_show_says_why(studio: Studio, opened: Open, qtbot: QtBot) -> None:
    document = opened("iris")
    studio.replace(Document.new("empty"))
    pane = ListingPane(studio)
    qtbot.addWidget(pane)
    assert pane.is_empty
    empty = pane.findChild(EmptyState)
    assert empty is not None
    assert empty.accessibleName() == "Add a layer and the program appears here"
    studio.replace(document)
    qtbot.waitUntil(lambda: not pane.is_empty)


@pytest.mark.slow
def test_a_graph_with_problems_has_no_program_yet(
    studio: Studio, opened: Open, qtbot: QtBot
) -> None:
    opened("iris")
    document = Document.new("wrong")
    document.apply("Dense", add_layer(document.state, "Dense"))
    studio.replace(document)
    pane = ListingPane(studio)
    qtbot.addWidget(pane)
    empty = pane.findChild(EmptyState)
    assert empty is not None
    assert "No program: the graph has" in empty.accessibleName()


def test_cards_tell_of_opcodes_registers_and_exact_numbers(pane: ListingPane) -> None:
    place = place_of(pane, "CONV2D")
    card = pane.tip_of(Spot(place, "instruction", is_mnemonic=True))
    assert "Two-dimensional cross-correlation" in card
    assert "Weights [kh,kw,in,out]" in card
    card = pane.tip_of(Spot(place, "instruction", 0))
    assert "conv1/kernel" in card
    assert "parameter" in card
    rows = pane.listing.rows
    assert rows is not None
    nbytes = rows.cost(pane.view.lines[place].row).nbytes
    card = pane.tip_of(Spot(place, "bytes"))
    assert card.replace("\N{THIN SPACE}", "") == f"{nbytes} bytes read and written"


def test_the_gutter_is_named_for_screen_readers(pane: ListingPane) -> None:
    model = pane.view.model()
    place = place_of(pane, "CONV2D")
    told = model.index(place, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert told == "conv1"


def test_entering_and_leaving_leaves_nothing_lit(studio: Studio, pane: ListingPane) -> None:
    at = QPointF(5, 5)
    QApplication.sendEvent(pane.view, QEnterEvent(at, at, at))
    move_to(pane, pane.view.spot_rect(3).center())
    assert studio.bus.hover_entity is not None
    leave(pane)
    assert studio.bus.hover_entity is None
