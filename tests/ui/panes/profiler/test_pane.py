"""The profiler pane on real measurements, through real events."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QTextDocumentFragment
from PySide6.QtWidgets import (
    QComboBox,
    QFileDialog,
    QLabel,
    QLineEdit,
    QPushButton,
    QSlider,
    QToolButton,
)
from pytestqt.qtbot import QtBot

from studio.engine.profiler.events import KernelEvent, Profile
from studio.engine.profiler.totals import Peaks
from studio.engine.train.devices import open_backend
from studio.engine.train.loop.trainer import Trainer
from studio.samples import open_copy
from studio.session.core import entities
from studio.session.document.edits.layers import set_option
from studio.session.document.edits.sections import set_training
from studio.session.profiling.columns import COLUMNS
from studio.session.profiling.kernel_rows import KernelTimes
from studio.session.studio import Studio
from studio.ui.panes.profiler.kernel_card import KernelCard
from studio.ui.panes.profiler.kernel_table import shown_text
from studio.ui.panes.profiler.pane import ProfilerPane
from studio.ui.panes.profiler.roofline_view import RooflineView
from studio.widgets import numbers
from studio.widgets.labels.elided_label import ElidedLabel
from tests.ui.panes.stage import Stage

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def pane(studio: Studio, qtbot: QtBot, tmp_path: Path, stage: Stage) -> ProfilerPane:
    """The pane of a compiled project, nothing measured, 360 wide."""
    studio.preferences.set("backend", "cpu")
    studio.open(open_copy("digits-mlp", tmp_path / "project"))
    qtbot.waitUntil(lambda: studio.compilation.result is not None)
    return stage.show(ProfilerPane(studio), 360, 760)


@pytest.fixture
def measured(pane: ProfilerPane, studio: Studio, qtbot: QtBot) -> ProfilerPane:
    """The same after a dry run."""
    qtbot.waitUntil(lambda: studio.profiling.why_no_dry_run() == "")
    studio.profiling.start_dry_run()
    qtbot.waitUntil(lambda: not studio.profiling.is_busy)
    qtbot.waitUntil(lambda: pane.table.entries.rowCount() > 0)
    return pane


def row_point(pane: ProfilerPane, place: int) -> QPoint:
    return pane.table.visualRect(pane.table.entries.index(place, 0)).center()


def click_row(qtbot: QtBot, pane: ProfilerPane, place: int) -> None:
    qtbot.mouseClick(pane.table.viewport(), LEFT, pos=row_point(pane, place))


def place_of(pane: ProfilerPane, word: str, section: str) -> int:
    return next(
        n for n, row in enumerate(pane.table.entries.rows)
        if word in row.owners and row.section == section
    )  # fmt: skip


@pytest.mark.slow
def test_nothing_measured_offers_a_dry_run_that_shows_a_step(
    pane: ProfilerPane, studio: Studio, qtbot: QtBot
) -> None:
    assert pane.is_empty
    qtbot.waitUntil(lambda: bool(pane.findChild(QPushButton, "empty_action").isVisible()))
    button = pane.findChild(QPushButton, "empty_action")
    assert button.text() == "Dry run"
    qtbot.mouseClick(button, LEFT)
    assert button.text() == "Cancel"
    qtbot.waitUntil(lambda: not pane.is_empty)
    bar = studio.profiling.bar
    assert bar is not None
    assert pane.step_bar.bar is bar
    assert pane.table.entries.rowCount() == len(studio.profiling.rows())
    assert pane.note == "dry run"
    found = studio.profiling.measurement
    assert found is not None
    shown = pane.findChild(object, "profiled_device").whole
    assert shown == found.subject.device
    assert found.clock in pane.findChild(object, "profiled_steps").whole


@pytest.mark.slow
def test_the_foot_says_how_kernels_timed_one_by_one_relate_to_a_step(
    measured: ProfilerPane, studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, bar = studio.profiling.measurement, studio.profiling.bar
    assert found is not None
    assert found.times is not None
    assert bar is not None
    foot = measured.findChild(ElidedLabel, "profiled_steps")
    together = found.times.together_us()
    assert f"kernels {numbers.duration(together * 1e-6)} (" in foot.whole
    for factor, is_longer in ((2.0, True), (0.5, False)):
        spent = bar.seconds * factor * 1e6
        monkeypatch.setattr(found.times, "together_us", lambda spent=spent: spent)
        measured._show_subject()
        assert ("longer than the whole step" in foot.toolTip()) is is_longer


@pytest.mark.slow
def test_the_bar_fills_its_width_in_order(measured: ProfilerPane, studio: Studio) -> None:
    view = measured.step_bar
    bar = studio.profiling.bar
    assert bar is not None
    y = 5.0
    seen = []
    for x in range(view.width()):
        part = view.part_at(QPointF(x + 0.5, y))
        if part is not None and (not seen or seen[-1][0] != part):
            seen.append((part, x))
    parts = [part for part, _ in seen]
    assert parts == sorted(parts, key=list(bar.parts).index)
    ends = [x for _, x in seen[1:]] + [view.width()]
    for (part, begin), end in zip(seen, ends, strict=True):
        wide = (end - begin) / view.width()
        whole = max(1.0, sum(max(0.0, bar.share(p)) for p in bar.parts))
        assert wide == pytest.approx(max(0.0, bar.share(part)) / whole, abs=0.02)
    assert "forward" in view.accessibleDescription()


@pytest.mark.slow
def test_clicking_a_row_selects_its_kernels_everywhere(
    measured: ProfilerPane, studio: Studio, qtbot: QtBot
) -> None:
    place = place_of(measured, "hidden1", "forward")
    row = measured.table.entries.rows[place]
    click_row(qtbot, measured, place)
    chosen = studio.bus.selection
    assert {e.kind for e in chosen.entities} == {"kernel"}
    assert len(chosen.entities) == len(row.indices)
    assert studio.bus.path.node == entities.node("hidden1")


@pytest.mark.slow
def test_a_selection_elsewhere_marks_rows_and_brings_the_primary_into_sight(
    measured: ProfilerPane, studio: Studio, qtbot: QtBot
) -> None:
    measured.resize(360, 420)
    click_row(qtbot, measured, 0)
    table = measured.table
    last = next(
        n for n in reversed(range(table.entries.rowCount()))
        if table.entries.rows[n].owners[0] in studio.document.state.nodes
    )  # fmt: skip
    owner = table.entries.rows[last].owners[0]
    studio.bus.select([entities.node(owner)], source="canvas")
    marked = table.marked_rows()
    assert marked
    assert {r.id for r in table.entries.rows if owner in r.owners} <= {r.id for r in marked}
    assert not table.selectionModel().hasSelection()
    first = next(n for n, r in enumerate(table.entries.rows) if table.mark_of(r) == "primary")
    top = table.rowViewportPosition(first)
    assert 0 <= top <= table.viewport().height() - table.rowHeight(first)


@pytest.mark.slow
def test_a_mark_in_sight_scrolls_nothing(
    measured: ProfilerPane, studio: Studio, qtbot: QtBot
) -> None:
    measured.resize(360, 420)
    bar = measured.table.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    before = bar.value()
    table = measured.table
    middle = table.rowAt(table.viewport().height() // 2)
    found = studio.profiling.measurement
    assert found is not None
    studio.bus.select(found.entities_of(table.entries.rows[middle]), source="listing")
    assert bar.value() == before
    assert table.mark_of(table.entries.rows[middle]) == "primary"


@pytest.mark.slow
def test_a_pinned_pane_ignores_selections(measured: ProfilerPane, studio: Studio) -> None:
    measured.set_pinned(True)
    studio.bus.select([entities.node("hidden1")], source="canvas")
    assert measured.table.marked_rows() == ()
    measured.set_pinned(False)
    studio.bus.select([entities.node("hidden2")], source="canvas")
    assert measured.table.marked_rows()


@pytest.mark.slow
def test_double_click_shows_where_a_kernel_comes_from(
    measured: ProfilerPane, studio: Studio, qtbot: QtBot
) -> None:
    shown: list[entities.Entity] = []

    def show(entity: entities.Entity, _: str) -> None:
        shown.append(entity)

    studio.bus.revealed.connect(show)
    click_row(qtbot, measured, 0)
    qtbot.mouseDClick(measured.table.viewport(), LEFT, pos=row_point(measured, 0))
    (entity,) = shown
    found = studio.profiling.measurement
    assert found is not None
    assert entity in found.entities_of(measured.table.entries.rows[0])


@pytest.mark.slow
def test_typing_filters_and_a_section_narrows(measured: ProfilerPane, qtbot: QtBot) -> None:
    every = measured.table.entries.rowCount()
    field = measured.findChild(QLineEdit, "kernel_filter")
    qtbot.keyClicks(field, "hidden1")
    qtbot.waitUntil(lambda: measured.table.entries.rowCount() < every)
    assert all("hidden1" in row.owners for row in measured.table.entries.rows)
    sections = measured.findChild(QComboBox, "kernel_section")
    sections.setCurrentText("backward")
    assert {row.section for row in measured.table.entries.rows} == {"backward"}
    field.clear()
    sections.setCurrentIndex(0)
    assert measured.table.entries.rowCount() == every


@pytest.mark.slow
def test_a_click_on_a_heading_sorts_and_the_choice_goes_along(
    measured: ProfilerPane, qtbot: QtBot
) -> None:
    table = measured.table
    click_row(qtbot, measured, 2)
    (chosen,) = table.chosen()
    header = table.horizontalHeader()
    layer = next(n for n, column in enumerate(COLUMNS) if column.id == "layer")
    spot = QPoint(header.sectionViewportPosition(layer) + 20, header.height() // 2)
    qtbot.mouseClick(header.viewport(), LEFT, pos=spot)
    for _ in range(2):
        column, descending = table.entries.order
        assert column == "layer"
        names = [row.layers.casefold() for row in table.entries.rows]
        assert names == sorted(names, reverse=descending)
        assert table.chosen() == (chosen,)
        qtbot.mouseClick(header.viewport(), LEFT, pos=spot)
        assert table.entries.order == (column, not descending)


@pytest.mark.slow
def test_columns_are_chosen_and_one_always_stays(measured: ProfilerPane, qtbot: QtBot) -> None:
    table = measured.table
    before = table.shown_columns()
    menu = table.column_menu(table)
    action = next(a for a in menu.actions() if a.objectName() == "column.wasted")
    assert not action.isChecked()
    action.trigger()
    assert set(table.shown_columns()) == {*before, "wasted"}
    for column in COLUMNS:
        table.show_column(column.id, False)
    assert len(table.shown_columns()) == 1
    menu.deleteLater()


@pytest.mark.slow
def test_the_usual_columns_fit_a_narrow_pane(measured: ProfilerPane) -> None:
    table = measured.table
    assert table.horizontalScrollBar().maximum() == 0
    assert table.shown_columns() == ("instruction", "layer", "median", "share", "peak")


@pytest.mark.slow
def test_a_wide_pane_shows_waste_and_history_until_columns_are_chosen(
    measured: ProfilerPane, qtbot: QtBot
) -> None:
    table = measured.table
    measured.resize(900, 760)
    qtbot.waitUntil(lambda: {"recent", "wasted"} <= set(table.shown_columns()))
    assert table.horizontalScrollBar().maximum() == 0
    measured.resize(360, 760)
    qtbot.waitUntil(lambda: not {"recent", "wasted"} & set(table.shown_columns()))
    table.show_column("bytes")
    measured.resize(900, 760)
    qtbot.waitUntil(lambda: table.viewport().width() > 800)
    assert "wasted" not in table.shown_columns()


@pytest.mark.slow
def test_the_menu_sorts_by_what_is_wasted(measured: ProfilerPane, studio: Studio) -> None:
    table = measured.table
    assert table.entries.order == ("share", True)
    menu = table.sort_menu(measured)
    next(a for a in menu.actions() if a.objectName() == "sort.wasted").trigger()
    assert table.entries.order == ("wasted", True)
    assert "wasted" in table.shown_columns()
    wasted = [row.wasted_us for row in table.entries.rows if row.wasted_us is not None]
    assert wasted
    assert wasted == sorted(wasted, reverse=True)
    table.sort_by("layer")
    assert table.entries.order == ("layer", False)
    menu.deleteLater()


@pytest.mark.slow
def test_the_slider_leaves_the_slowest_kernels(measured: ProfilerPane, qtbot: QtBot) -> None:
    slider = measured.findChild(QSlider, "kernel_percentile")
    assert slider is not None
    every = measured.table.entries.rows
    slider.setFocus()
    qtbot.keyClick(slider, Qt.Key.Key_End)
    assert measured.table.entries.rows == (max(every, key=lambda row: row.share),)
    assert slider.toolTip().endswith("100")
    qtbot.keyClick(slider, Qt.Key.Key_Home)
    assert len(measured.table.entries.rows) == len(every)


@pytest.mark.slow
def test_a_click_pins_a_card_that_stays_until_it_is_closed(
    measured: ProfilerPane, studio: Studio, qtbot: QtBot
) -> None:
    card, text = measured.findChild(KernelCard), measured.findChild(QLabel, "kernel_card.text")
    assert card is not None
    assert text is not None
    assert card.isHidden()
    click_row(qtbot, measured, 1)
    row = measured.table.entries.rows[1]
    assert card.row == row
    assert card.isVisible()
    plain = "".join(QTextDocumentFragment.fromHtml(text.text()).toPlainText().split())
    for column in COLUMNS:
        if column.form != "line":
            assert "".join(shown_text(column, row).split()) in plain
    studio.bus.clear()
    measured.group_by("section")
    assert card.isHidden()
    measured.group_by("kernel and layer")
    click_row(qtbot, measured, 0)
    close = card.findChild(QToolButton, "kernel_card.close")
    assert close is not None
    qtbot.mouseClick(close, LEFT)
    assert card.isHidden()


@pytest.mark.slow
def test_a_low_pane_leaves_the_room_to_the_table(measured: ProfilerPane, qtbot: QtBot) -> None:
    click_row(qtbot, measured, 0)
    card = measured.findChild(KernelCard)
    assert card is not None
    assert card.isVisible()
    measured.resize(410, 280)
    qtbot.waitUntil(card.isHidden)
    qtbot.waitUntil(lambda: measured.table.viewport().height() >= 3 * measured.table.rowHeight(0))
    bar = measured.step_bar
    assert bar.part_at(QPointF(bar.width() * 0.3, 5)) is not None
    assert bar.part_at(QPointF(bar.width() * 0.3, 40)) is None
    measured.resize(410, 760)
    qtbot.waitUntil(card.isVisible)
    qtbot.waitUntil(lambda: bar.part_at(QPointF(20, 40)) is not None)


@pytest.mark.slow
def test_letters_lead_to_kernels_whatever_column_the_caret_is_in(
    measured: ProfilerPane, qtbot: QtBot
) -> None:
    table = measured.table
    places = [n for n, row in enumerate(table.entries.rows) if row.mnemonic.startswith("UPDATE")]
    share = next(n for n, column in enumerate(COLUMNS) if column.id == "share")
    table.setCurrentIndex(table.entries.index(0, share))
    qtbot.keyClicks(table, "upd")
    assert table.currentIndex().row() in places


@pytest.mark.slow
def test_copying_gives_exact_numbers(measured: ProfilerPane, qtbot: QtBot) -> None:
    table = measured.table
    click_row(qtbot, measured, 1)
    row = table.entries.rows[1]
    qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    head, line = QGuiApplication.clipboard().text().split("\n")
    cells = dict(zip(head.split("\t"), line.split("\t"), strict=True))
    assert float(cells["Median µs"]) == row.median_us
    assert cells["Layer"] == row.layers


@pytest.mark.slow
def test_a_rectangle_on_the_roofline_filters_the_table(
    measured: ProfilerPane, qtbot: QtBot
) -> None:
    every = measured.table.entries.rowCount()
    measured.findChild(object, "profiler_tabs").setCurrentIndex(1)
    view = measured.roofline
    row = next(r for r in measured.table.entries.rows if r.flops and r.traffic_bytes)
    at = view.place_of(row.flops / row.traffic_bytes, row.gflops)
    qtbot.mousePress(view, LEFT, pos=(at - QPointF(3, 3)).toPoint())
    for away in (1, 2, 3, 4):
        qtbot.mouseMove(view, (at + QPointF(away, away)).toPoint())
    qtbot.mouseRelease(view, LEFT, pos=(at + QPointF(4, 4)).toPoint())
    few = measured.table.entries.rowCount()
    assert row.id in {r.id for r in measured.table.entries.rows}
    assert few < every
    back = measured.findChild(QPushButton, "clear_roofline_choice")
    assert str(few) in back.text()
    measured.findChild(object, "profiler_tabs").setCurrentIndex(0)
    qtbot.mouseClick(back, LEFT)
    assert measured.table.entries.rowCount() == every


@pytest.mark.slow
def test_a_dot_says_what_it_is_and_a_click_selects_it(
    measured: ProfilerPane, studio: Studio, qtbot: QtBot
) -> None:
    measured.findChild(object, "profiler_tabs").setCurrentIndex(1)
    view = measured.roofline
    rows = [r for r in measured.table.entries.rows if r.flops and r.traffic_bytes]
    row = max(rows, key=lambda r: r.gflops)
    at = view.place_of(row.flops / row.traffic_bytes, row.gflops)
    found = view.point_at(at)
    assert found is not None
    card = " ".join(view.card(found.id))
    assert f"bound by {row.bound}" in card
    qtbot.mouseClick(view, LEFT, pos=at.toPoint())
    assert studio.bus.selection.primary is not None
    assert studio.bus.selection.primary.kind == "kernel"


def test_no_dot_lies_above_the_roof_and_a_roof_in_doubt_says_so(qtbot: QtBot) -> None:
    view = RooflineView()
    qtbot.addWidget(view)
    view.resize(420, 320)
    # 4 kB and 1000 operations in a microsecond: 4 GB/s where memory was measured to move two.
    event = KernelEvent(0, "forward", 0, "ADD", "add", ("a",), 0.0, 1.0, 1000, 4000)
    profile = Profile("device", "wall clock", 1, 1.0, (event,))
    times = KernelTimes(profile)
    for _ in range(3):
        times.add(profile)
    pictures = []
    for gbytes, share in ((2.0, "100%"), (8.0, "50%")):
        peaks = times.raise_peaks(Peaks(gflops=100.0, gbytes=gbytes))
        (row,) = times.rows(peaks=peaks)
        view.show_rows([row], peaks)
        card = view.card(row.id)
        assert f"bound by memory, {share} of the peak" in card
        assert any("µs shorter" in line for line in card)
        doubtful = gbytes < 4.0
        assert ("may be wrong: ADD (a) was faster" in view.accessibleDescription()) == doubtful
        pictures.append((view.grab().toImage(), replace(peaks, doubt="")))
        view.show_rows([row], pictures[-1][1])
        assert (view.grab().toImage() != pictures[-1][0]) == doubtful, "the words are drawn"


@pytest.mark.slow
def test_files_are_exported_without_stopping_the_window(
    measured: ProfilerPane, studio: Studio, qtbot: QtBot, tmp_path: Path
) -> None:
    for action, name in (("export_trace", "trace.json"), ("export_csv", "kernels.csv")):
        assert studio.actions.trigger(f"profiler.{action}")
        dialog = measured.findChild(QFileDialog, "export_dialog")
        dialog.fileSelected.emit(str(tmp_path / name))
        dialog.reject()
        qtbot.waitUntil(
            lambda name=name: any(name in notice.text for notice in studio.notices.all),
        )
        qtbot.waitUntil(lambda: measured.findChild(QFileDialog, "export_dialog") is None)
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert (tmp_path / "kernels.csv").read_text().startswith("instruction,layer,kernel")


@pytest.mark.slow
def test_a_live_training_is_frozen_made_quiet_and_let_go_by_buttons(
    pane: ProfilerPane, studio: Studio, qtbot: QtBot
) -> None:
    result = studio.compilation.result
    assert result is not None
    assert result.task is not None
    with (
        open_backend("cpu") as opened,
        Trainer(result.task.with_settings(epochs=100_000), opened.backend) as trainer,
    ):
        trainer.start()
        studio.profiling.follow(trainer)
        qtbot.waitUntil(lambda: studio.profiling.bar is not None)
        qtbot.waitUntil(lambda: pane.note == "live")
        freeze = pane.findChild(QToolButton, "profiler.freeze")
        qtbot.mouseClick(freeze, LEFT)
        assert studio.profiling.frozen
        assert freeze.isChecked()
        assert pane.note == "frozen"
        rows = pane.table.entries.rows
        qtbot.wait(700)
        assert pane.table.entries.rows == rows
        qtbot.mouseClick(freeze, LEFT)
        assert pane.note == "live"
        quiet = pane.findChild(QPushButton, "profiler.quiet")
        gain = studio.profiling.quiet_gain
        assert gain is not None
        assert quiet.text().startswith("Pause views")
        qtbot.mouseClick(quiet, LEFT)
        assert studio.profiling.quiet
        assert not studio.profiling.is_live
        assert quiet.isChecked()
        assert pane.note == "earlier measurement"
        qtbot.mouseClick(quiet, LEFT)
        assert not studio.profiling.quiet
        studio.profiling.close()


@pytest.mark.slow
def test_times_of_a_network_that_was_changed_since_say_so(
    pane: ProfilerPane, studio: Studio, qtbot: QtBot
) -> None:
    document = studio.document
    studio.preferences.set("backend", "cpu")
    document.apply("Long", set_training(document.state, {"epochs": 100_000}))
    studio.training.start()
    qtbot.waitUntil(lambda: pane.note == "live")
    studio.training.stop()
    qtbot.waitUntil(lambda: pane.note == "training")
    dense = next(n for n in document.state.layers() if n.type_name == "Dense")
    document.apply("Units", set_option(document.state, dense.id, "units", 23))
    qtbot.waitUntil(lambda: pane.note == "training, older graph")
    document.undo()
    qtbot.waitUntil(lambda: pane.note == "training")
