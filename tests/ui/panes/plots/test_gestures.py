"""What is done to plots with real pointers, keys and actions."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QWheelEvent
from PySide6.QtWidgets import QApplication, QComboBox, QFileDialog, QSlider
from pytestqt.qtbot import QtBot

from studio.ui.panes.plots.pane import PlotsPane
from studio.widgets import theme
from tests.ui.panes.plots.plot_hands import count, drag, move, place
from tests.ui.panes.trainings import Trainings


@pytest.mark.slow
def test_a_drag_zooms_every_plot_and_a_double_click_follows_again(
    trained: PlotsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    display, plot = trainings.studio.plots, trained.plot("loss")
    low, high = display.extent
    drag(qtbot, plot, Qt.MouseButton.LeftButton, place(plot, 0.25, 0.2), place(plot, 0.5, 0.8))
    assert display.view is not None
    width = high - low
    assert display.view[0] == pytest.approx(low + 0.25 * width, abs=0.02 * width)
    assert display.view[1] == pytest.approx(low + 0.50 * width, abs=0.02 * width)
    assert set(display.heights) == {"loss"}
    trained.draw()
    (left, right), _ = trained.plot("accuracy").box.viewRange()
    assert (left, right) == pytest.approx(display.view)
    qtbot.mouseDClick(plot.viewport(), Qt.MouseButton.LeftButton, pos=place(plot, 0.5, 0.5))
    assert display.follows


@pytest.mark.slow
def test_a_flat_drag_takes_all_values_there(
    trained: PlotsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    plot = trained.plot("loss")
    drag(qtbot, plot, Qt.MouseButton.LeftButton, place(plot, 0.3, 0.5), place(plot, 0.6, 0.51))
    assert trainings.studio.plots.view is not None
    assert trainings.studio.plots.heights == {}


@pytest.mark.slow
def test_the_middle_button_moves_what_is_shown(
    trained: PlotsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    display, plot = trainings.studio.plots, trained.plot("loss")
    display.zoom((20.0, 40.0))
    trained.draw()
    drag(qtbot, plot, Qt.MouseButton.MiddleButton, place(plot, 0.5, 0.5), place(plot, 0.25, 0.5))
    assert display.view == pytest.approx((25.0, 45.0), abs=0.5)


@pytest.mark.slow
def test_the_space_bar_and_a_drag_move_until_it_is_let_go_or_the_focus_goes(
    trained: PlotsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    display, plot = trainings.studio.plots, trained.plot("loss")
    left = Qt.MouseButton.LeftButton
    display.zoom((20.0, 40.0))
    trained.draw()
    plot.setFocus()
    qtbot.waitUntil(plot.hasFocus, timeout=60_000)
    qtbot.keyPress(plot, Qt.Key.Key_Space)
    drag(qtbot, plot, left, place(plot, 0.5, 0.5), place(plot, 0.25, 0.5))
    assert display.view == pytest.approx((25.0, 45.0), abs=0.5)
    # The bar is let go of somewhere else, where nobody hears it.
    trained.controls.findChild(QComboBox, "plot_axis").setFocus()
    qtbot.waitUntil(lambda: not plot.hasFocus())
    trained.draw()
    drag(qtbot, plot, left, place(plot, 0.25, 0.5), place(plot, 0.75, 0.5))
    assert display.view == pytest.approx((30.0, 40.0), abs=0.5)


@pytest.mark.slow
def test_ctrl_and_the_wheel_zoom_at_the_pointer(trained: PlotsPane, trainings: Trainings) -> None:
    display, plot = trainings.studio.plots, trained.plot("loss")
    low, high = display.extent

    def turn(notches: int, modifiers: Qt.KeyboardModifier) -> None:
        at = place(plot, 0.75, 0.5)
        event = QWheelEvent(
            QPointF(at), QPointF(plot.viewport().mapToGlobal(at)), QPoint(0, 0),
            QPoint(0, 120 * notches), Qt.MouseButton.NoButton, modifiers,
            Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        QApplication.sendEvent(plot.viewport(), event)

    turn(1, Qt.KeyboardModifier.NoModifier)
    assert display.follows
    turn(1, Qt.KeyboardModifier.ControlModifier)
    assert display.view is not None
    left, right = display.view
    assert right - left == pytest.approx((high - low) / 1.2, rel=1e-6)
    # What lies under the pointer stays there.
    assert left + 0.75 * (right - left) == pytest.approx(low + 0.75 * (high - low), rel=0.02)
    for _ in range(3):
        turn(-1, Qt.KeyboardModifier.ControlModifier)
    assert display.follows


@pytest.mark.slow
def test_the_pointer_is_shared_by_all_plots_with_values(
    trained: PlotsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    plot = trained.plot("loss")
    view = plot.viewport()
    for x in (0.4, 0.45, 0.5):
        move(view, place(plot, x, 0.5), Qt.MouseButton.NoButton)
    qtbot.waitUntil(lambda: trained.plot("accuracy").reading_text != "")
    place_x = trainings.studio.plots.cursor
    assert place_x is not None
    readings = trainings.studio.plots.readings("accuracy", place_x)
    assert len(readings) == 2
    assert f"{100 * readings[1].value:.3g}" in trained.plot("accuracy").reading_text
    trainings.studio.plots.move_cursor(None)
    qtbot.waitUntil(lambda: trained.plot("accuracy").reading_text == "")


@pytest.mark.slow
def test_the_legend_hides_shows_alone_and_raises(
    trained: PlotsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    display = trainings.studio.plots
    training, validation = trained.legend.chips
    qtbot.mouseClick(training, Qt.MouseButton.LeftButton)
    assert [e.visible for e in display.entries()] == [False, True]
    trained.draw()
    assert count(trained.plot("loss").grab().toImage(), theme.colour("series.0")) < 5
    qtbot.mouseClick(training, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(validation, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier)
    assert [e.visible for e in display.entries()] == [False, True]
    qtbot.mouseClick(validation, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier)
    assert [e.visible for e in display.entries()] == [True, True]
    qtbot.keyClick(training, Qt.Key.Key_Space)
    assert [e.visible for e in display.entries()] == [False, True]
    display.hover(validation.entry.key)
    trained.draw()
    assert trained.plot("loss").end_labels[0].strong


@pytest.mark.slow
def test_axis_and_smoothing_are_chosen_above_the_plots(
    trained: PlotsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    display = trainings.studio.plots
    axis = trained.findChild(QComboBox, "plot_axis")
    slider = trained.findChild(QSlider, "plot_smoothing")
    assert isinstance(axis, QComboBox)
    assert isinstance(slider, QSlider)
    axis.setFocus()
    qtbot.keyClick(axis, Qt.Key.Key_Down)
    assert display.axis == "epoch"
    assert display.extent == (0.0, 12.0)
    before = slider.value()
    slider.setFocus()
    qtbot.keyClick(slider, Qt.Key.Key_Right)
    assert slider.value() > before
    assert display.weight > 0.6
    qtbot.keyClick(slider, Qt.Key.Key_Home)
    assert display.weight == 0.0


@pytest.mark.slow
def test_the_actions_of_the_plots_act_on_the_one_in_hand(
    trained: PlotsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    studio, display, plot = trainings.studio, trainings.studio.plots, trained.plot("accuracy")
    plot.setFocus()
    qtbot.waitUntil(plot.hasFocus, timeout=60_000)
    actions = studio.actions
    actions.trigger("plots.log_y")
    assert display.log == {"accuracy"}
    weight = display.weight
    actions.trigger("plots.smoother")
    assert display.weight > weight
    actions.trigger("plots.rougher")
    actions.trigger("plots.outliers")
    assert actions.is_checked("plots.outliers")
    display.zoom((3.0, 9.0))
    assert not actions.is_checked("plots.follow")
    actions.trigger("plots.follow")
    assert display.follows


@pytest.mark.slow
def test_the_picture_is_copied(trained: PlotsPane, trainings: Trainings) -> None:
    QGuiApplication.clipboard().clear()
    trainings.studio.actions.trigger("plots.copy")
    image = QGuiApplication.clipboard().image()
    assert image.width() > 300
    assert count(image, theme.colour("series.0")) > 50
    assert trainings.studio.notices.all[-1].severity == "ok"


@pytest.mark.slow
def test_the_numbers_are_exported_whole(
    trained: PlotsPane, trainings: Trainings, tmp_path: Path, qtbot: QtBot
) -> None:
    trainings.studio.actions.trigger("plots.export_csv")
    dialog = trained.findChild(QFileDialog, "export_csv")
    assert isinstance(dialog, QFileDialog)
    target = tmp_path / "numbers.csv"
    dialog.fileSelected.emit(str(target))
    dialog.close()
    trainings.until(target.is_file)
    rows = list(csv.DictReader(target.read_text().splitlines()))
    curves = trainings.studio.training.curves
    assert curves is not None
    values = [float(r["value"]) for r in rows if r["curve"] == "loss"]
    assert values == [float(v) for v in curves.segments[0].steps["loss"].values]
    trainings.until(lambda: any("numbers.csv" in n.text for n in trainings.studio.notices.all))


def test_plots_without_a_run_offer_no_actions(pane: PlotsPane, trainings: Trainings) -> None:
    assert trainings.studio.actions.why_not("plots.copy") == "there is no run yet"
