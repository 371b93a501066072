"""The plots with real trainings, real pointers and real keys."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, Qt
from PySide6.QtGui import (
    QColor,
    QGuiApplication,
    QHelpEvent,
    QImage,
    QTextDocument,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QFileDialog,
    QLabel,
    QSlider,
    QToolButton,
    QToolTip,
)
from pytestqt.qtbot import QtBot

from studio.ui.kit import theme
from studio.ui.models.curves import RATE
from studio.ui.panes.plots.axes import spread
from studio.ui.panes.plots.metric_plot import MetricPlot, value_text
from studio.ui.panes.plots.pane import PlotsPane, best_columns
from tests.ui.painted import Painted
from tests.ui.panes.plots.conftest import move
from tests.ui.panes.trainings import Trainings


def title(plot: MetricPlot) -> str:
    """What is written above a plot."""
    written = QTextDocument()
    written.setHtml(plot.findChild(QLabel, "plot_title").text())
    return written.toPlainText()


def place(plot: MetricPlot, x: float, y: float) -> QPoint:
    """Where on the widget a place of the plot is, in shares of its area."""
    area = plot.box.sceneBoundingRect()
    scene = QPointF(area.left() + x * area.width(), area.top() + y * area.height())
    found: QPoint = plot.mapFromScene(scene)
    return found


def drag(qtbot: QtBot, plot: MetricPlot, button: Qt.MouseButton, *places: QPoint) -> None:
    view = plot.viewport()
    qtbot.mousePress(view, button, pos=places[0])
    for start, end in itertools.pairwise(places):
        for part in range(1, 6):
            step = start + (end - start) * part / 5
            # Qt's own test events name no pressed buttons while they move.
            move(view, step, button)
    qtbot.mouseRelease(view, button, pos=places[-1])
    QApplication.processEvents()


def colours(image: QImage) -> np.ndarray:
    """The picture as [height, width, 3]."""
    made = image.convertToFormat(QImage.Format.Format_RGB888)
    flat = np.frombuffer(made.constBits(), np.uint8, made.bytesPerLine() * made.height())
    rows = flat.reshape(made.height(), made.bytesPerLine())[:, : 3 * made.width()]
    return rows.reshape(made.height(), made.width(), 3).astype(int)


def count(image: QImage, colour: QColor, off: int = 12) -> int:
    """Points of (nearly) a colour."""
    wanted = np.array([colour.red(), colour.green(), colour.blue()])
    return int((np.abs(colours(image) - wanted).max(axis=2) <= off).sum())


# -- what is shown ------------------------------------------------------------------------------


def test_before_a_run_the_pane_offers_to_train(
    pane: PlotsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    from PySide6.QtWidgets import QPushButton

    assert pane.is_empty
    button = next(b for b in pane.findChildren(QPushButton) if b.isVisible())
    assert "F5" in button.text()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert trainings.studio.training.is_busy
    trainings.until_state("finished")


def test_a_training_draws_itself_while_it_runs(pane: PlotsPane, trainings: Trainings) -> None:
    trainings.settings(epochs=100_000)
    trainings.studio.training.start()
    trainings.until(lambda: not pane.is_empty and pane.plots and pane.plots[0].content)
    first = trainings.studio.training.standing.steps
    trainings.until(lambda: trainings.studio.training.standing.steps > first + 200)
    content = pane.plot("loss").content
    assert content is not None
    trainings.until(lambda: (c := pane.plot("loss").content) is not None
                    and c.drawn[0].strokes[0].line.x[-1] > first + 200)  # fmt: skip
    trainings.studio.training.stop()
    trainings.until_state("stopped")


@pytest.mark.parametrize("top", [2.0, 2e7], ids=["as-wide", "wider"])
def test_new_numbers_paint_every_plot_once(
    trained: PlotsPane, trainings: Trainings, monkeypatch: pytest.MonkeyPatch, top: float
) -> None:
    curves = trainings.studio.training.curves
    assert curves is not None
    asked: list[MetricPlot] = []
    set_left_width = MetricPlot.set_left_width

    def counted(plot: MetricPlot, width: int) -> None:
        asked.append(plot)
        set_left_width(plot, width)

    # Once each time the pane draws. It may do so by itself at any time, even while what is
    # already there settles, for something the training says at its end.
    monkeypatch.setattr(MetricPlot, "set_left_width", counted)
    painted = [Painted(plot.viewport()) for plot in trained.plots]
    asked.clear()
    for each in painted:
        each.times = 0
    left = trained.plot("loss").box.sceneBoundingRect().left()
    for name in ("loss", "accuracy", RATE):
        curves.segments[-1].steps[name].extend(np.linspace(0.2, top, 300, dtype=np.float32))
    trained.draw()
    for each in painted:
        each.settle()
    for plot, each in zip(trained.plots, painted, strict=True):
        assert 1 <= each.times <= asked.count(plot)
    assert (trained.plot("loss").box.sceneBoundingRect().left() > left) == (top > 2.0)


def test_controls_are_written_only_when_they_say_something_else(
    trained: PlotsPane, trainings: Trainings, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow = trained.controls.findChild(QToolButton, "plot_switch.plots.follow")
    written: list[object] = []
    monkeypatch.setattr(
        trained.controls.findChild(QComboBox, "plot_axis"), "setCurrentIndex", written.append
    )
    trained.draw()
    assert written == []
    trainings.studio.plots.smooth(0.5)
    trained.draw()
    assert len(written) == 1
    # A press turns the switch by itself, and there is nothing to turn: it is set right.
    assert follow.isChecked()
    qtbot.mouseClick(follow, Qt.MouseButton.LeftButton)
    assert follow.isChecked()
    assert follow.text() == "Following"


def test_plots_that_stay_where_they_are_are_not_laid_out_anew(trained: PlotsPane) -> None:
    area = trained.plots[0].parentWidget()
    asked: list[QEvent.Type] = []

    class Watch(QObject):
        def eventFilter(self, _watched: QObject, event: QEvent) -> bool:  # noqa: N802
            asked.append(event.type())
            return False

    watch = Watch(area)
    area.installEventFilter(watch)
    trained.draw()
    QApplication.sendPostedEvents()
    assert QEvent.Type.LayoutRequest not in asked
    trained.resize(400, 700)
    QApplication.sendPostedEvents()
    assert QEvent.Type.LayoutRequest in asked


def test_curves_are_drawn_in_their_colours_in_both_themes(
    trained: PlotsPane, trainings: Trainings
) -> None:
    for mode in ("dark", "light"):
        trainings.studio.theme.choose(mode)
        QApplication.processEvents()
        trained.draw()
        picture = trained.plot("loss").grab().toImage()
        assert count(picture, theme.colour("series.0")) > 50, mode
        assert count(picture, theme.colour("series.1")) > 20, mode
        assert count(picture, theme.colour("dock"), 2) > 0.5 * picture.width() * picture.height()


def test_the_latest_values_stand_at_the_right_edge(
    trained: PlotsPane, trainings: Trainings
) -> None:
    curves = trainings.studio.training.curves
    assert curves is not None
    labels = trained.plot("accuracy").end_labels
    latest = curves.latest("accuracy", "validation")
    assert latest is not None
    assert labels[1].text == f"{100 * latest:.3g}\u202f%"
    assert labels[0].colour == theme.colour("series.0")


def test_a_smoothed_value_says_so_and_tells_the_recorded_one(
    trained: PlotsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    curves = trainings.studio.training.curves
    assert curves is not None
    plot = trained.plot("loss")
    smoothed = plot.end_labels[0].text
    recorded = value_text("loss", curves.latest("loss", "training"))
    assert smoothed != recorded
    assert title(plot) == "Loss smoothed"
    assert title(trained.plot(RATE)) == "Learning rate"
    edge = place(plot, 1.0, 0.5) + QPoint(20, 0)
    where = plot.viewport().mapToGlobal(edge)
    QApplication.sendEvent(plot.viewport(), QHelpEvent(QEvent.Type.ToolTip, edge, where))
    qtbot.waitUntil(lambda: bool(QToolTip.text()))
    lines = QToolTip.text().splitlines()
    assert lines[0] == f"Training: {smoothed} smoothed; {recorded} at the last step"
    assert lines[1] == f"Validation: {plot.end_labels[1].text}, as recorded last"
    QToolTip.hideText()
    qtbot.waitUntil(lambda: not QToolTip.isVisible())
    slider = trained.findChild(QSlider, "plot_smoothing")
    slider.setFocus()
    qtbot.keyClick(slider, Qt.Key.Key_Home)
    qtbot.waitUntil(lambda: title(plot) == "Loss")
    assert plot.end_labels[0].text == recorded


def test_a_number_that_is_none_is_a_red_tick_with_a_count(
    trained: PlotsPane, trainings: Trainings
) -> None:
    plot = trained.plot("loss")
    assert plot.note_text == ""
    before = count(plot.grab().toImage(), theme.colour("error"))
    curves = trainings.studio.training.curves
    assert curves is not None
    bad = np.array([np.nan] * 40 + [np.inf, 0.1], np.float32)
    curves.segments[-1].steps["loss"].extend(bad)
    trained.draw()
    assert plot.note_text == "41 numbers not finite"
    QApplication.processEvents()
    assert count(plot.grab().toImage(), theme.colour("error")) > before + 10


def test_a_changed_learning_rate_is_a_labelled_mark_in_every_plot(
    pane: PlotsPane, trainings: Trainings
) -> None:
    training = trainings.studio.training
    training.step_epoch()
    trainings.until_state("paused")
    training.set_learning_rate(0.0025)
    training.start()
    trainings.until_state("finished")
    trainings.until(lambda: pane.plots and all(p.content and p.content.marks for p in pane.plots))
    for plot in pane.plots:
        labels = [w for w in plot.findChildren(QLabel, "plot_mark") if w.isVisible()]
        assert [label.text() for label in labels] == ["rate 0.0025"]
    for mode in ("light", "dark"):
        trainings.studio.theme.choose(mode)
        (label,) = (w for w in pane.plot("loss").findChildren(QLabel, "plot_mark") if w.isVisible())
        ground = label.grab().toImage().pixelColor(0, 0)
        assert ground == QColor(trainings.studio.theme.colour("dock"))


def test_two_runs_are_drawn_in_two_colours(trained: PlotsPane, trainings: Trainings) -> None:
    studio = trainings.studio
    trainings.settings(seed=5)
    trainings.train()
    studio.runs.overlay.choose(studio.runs.runs[1].name)
    trainings.until(lambda: len(trained.legend.chips) == 4)
    trainings.until(lambda: (c := trained.plot("loss").content) is not None and len(c.drawn) == 4)
    assert trained.note == "2 runs"
    picture = trained.plot("loss").grab().toImage()
    assert count(picture, theme.colour("series.0")) > 20
    assert count(picture, theme.colour("series.1")) > 20


# -- the pointer --------------------------------------------------------------------------------


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


def test_a_flat_drag_takes_all_values_there(
    trained: PlotsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    plot = trained.plot("loss")
    drag(qtbot, plot, Qt.MouseButton.LeftButton, place(plot, 0.3, 0.5), place(plot, 0.6, 0.51))
    assert trainings.studio.plots.view is not None
    assert trainings.studio.plots.heights == {}


def test_the_middle_button_moves_what_is_shown(
    trained: PlotsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    display, plot = trainings.studio.plots, trained.plot("loss")
    display.zoom((20.0, 40.0))
    trained.draw()
    drag(qtbot, plot, Qt.MouseButton.MiddleButton, place(plot, 0.5, 0.5), place(plot, 0.25, 0.5))
    assert display.view == pytest.approx((25.0, 45.0), abs=0.5)


def test_the_space_bar_and_a_drag_move_until_it_is_let_go_or_the_focus_goes(
    trained: PlotsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    display, plot = trainings.studio.plots, trained.plot("loss")
    left = Qt.MouseButton.LeftButton
    display.zoom((20.0, 40.0))
    trained.draw()
    trained.activateWindow()
    plot.setFocus()
    qtbot.waitUntil(plot.hasFocus)
    qtbot.keyPress(plot, Qt.Key.Key_Space)
    drag(qtbot, plot, left, place(plot, 0.5, 0.5), place(plot, 0.25, 0.5))
    assert display.view == pytest.approx((25.0, 45.0), abs=0.5)
    # The bar is let go of somewhere else, where nobody hears it.
    trained.controls.findChild(QComboBox, "plot_axis").setFocus()
    qtbot.waitUntil(lambda: not plot.hasFocus())
    trained.draw()
    drag(qtbot, plot, left, place(plot, 0.25, 0.5), place(plot, 0.75, 0.5))
    assert display.view == pytest.approx((30.0, 40.0), abs=0.5)


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


def test_the_pointer_is_shared_by_all_plots_with_values(
    trained: PlotsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    plot = trained.plot("loss")
    view = plot.viewport()
    for x in (0.4, 0.45, 0.5):
        move(view, place(plot, x, 0.5), Qt.MouseButton.NoButton)
    qtbot.waitUntil(lambda: trained.plot("accuracy").reading_text != "", timeout=5000)
    place_x = trainings.studio.plots.cursor
    assert place_x is not None
    readings = trainings.studio.plots.readings("accuracy", place_x)
    assert len(readings) == 2
    assert f"{100 * readings[1].value:.3g}" in trained.plot("accuracy").reading_text
    trainings.studio.plots.move_cursor(None)
    qtbot.waitUntil(lambda: trained.plot("accuracy").reading_text == "", timeout=5000)


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


# -- controls, keys, export ---------------------------------------------------------------------


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


def test_the_actions_of_the_plots_act_on_the_one_in_hand(
    trained: PlotsPane, trainings: Trainings
) -> None:
    studio, display = trainings.studio, trainings.studio.plots
    trained.plot("accuracy").setFocus()
    QApplication.processEvents()
    actions = studio.actions
    actions.trigger("plots.log_y")
    assert display.log == ({"accuracy"} if trained.plot("accuracy").hasFocus() else {"loss"})
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


def test_the_picture_is_copied(trained: PlotsPane, trainings: Trainings) -> None:
    QGuiApplication.clipboard().clear()
    trainings.studio.actions.trigger("plots.copy")
    image = QGuiApplication.clipboard().image()
    assert image.width() > 300
    assert count(image, theme.colour("series.0")) > 50
    assert trainings.studio.notices.all[-1].severity == "ok"


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


# -- layout -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "wide", "high", "columns"),
    [(3, 1100, 300, 3), (3, 560, 700, 1), (4, 1000, 500, 2), (1, 1000, 300, 1), (3, 300, 200, 1)],
)
def test_plots_stand_beside_each_other_where_they_fit(
    number: int, wide: int, high: int, columns: int
) -> None:
    assert best_columns(number, wide, high) == columns


def test_the_pane_rearranges_when_it_becomes_narrow(trained: PlotsPane, qtbot: QtBot) -> None:
    loss, accuracy = trained.plot("loss"), trained.plot("accuracy")
    assert loss.y() == accuracy.y()
    trained.resize(480, 700)
    qtbot.waitUntil(lambda: loss.x() == accuracy.x() and loss.y() < accuracy.y(), timeout=5000)
    assert trained.legend.y() > trained.controls.y()


@pytest.mark.parametrize(
    "wanted", [[5.0, 6.0, 7.0], [50.0, 50.0], [95.0, 99.0, 98.0], [], [30.0], [1.0] * 6]
)
def test_labels_keep_apart_and_inside(wanted: list[float]) -> None:
    found = spread(wanted, 12.0, 0.0, 100.0)
    assert len(found) == len(wanted)
    ordered = sorted(found)
    assert all(b - a >= 12.0 - 1e-9 for a, b in itertools.pairwise(ordered))
    assert all(6.0 <= y <= 94.0 for y in found)
    assert [found.index(v) for v in sorted(found)] == sorted(
        range(len(wanted)), key=lambda i: (wanted[i], found[i])
    )


@pytest.mark.parametrize("wide", [330, 420, 560, 1100])
def test_no_word_of_the_controls_is_cut_in_a_narrow_pane(
    trained: PlotsPane, qtbot: QtBot, wide: int
) -> None:
    # A dock may be made narrower than its pane would like.
    trained.setMinimumSize(200, 96)
    trained.resize(wide, 360)
    QApplication.processEvents()
    controls = trained.controls
    buttons = [each for each in controls.findChildren(QToolButton) if each.isVisible()]
    assert len(buttons) == 3
    assert all(each.width() >= each.sizeHint().width() for each in buttons)
    assert controls.mapTo(trained, controls.rect().bottomRight()).x() <= trained.width()
    named = [each.text() for each in controls.findChildren(QLabel) if each.isVisible()]
    assert ("Smoothing" in named) == (wide > 420)
