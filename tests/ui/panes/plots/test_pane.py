"""The plots with real trainings, real pointers and real keys."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QColor, QHelpEvent, QTextDocument
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QSlider, QToolButton, QToolTip
from pytestqt.qtbot import QtBot

from studio.engine.train.runs.step_log import RATE
from studio.ui.panes.plots.axes import spread
from studio.ui.panes.plots.metric_plot import MetricPlot, value_text
from studio.ui.panes.plots.pane import PlotsPane, best_columns
from studio.widgets import theme
from tests.ui.painted import Painted
from tests.ui.panes.plots.plot_hands import count, place
from tests.ui.panes.trainings import Trainings


def title(plot: MetricPlot) -> str:
    """What is written above a plot."""
    written = QTextDocument()
    written.setHtml(plot.findChild(QLabel, "plot_title").text())
    return written.toPlainText()


# -- what is shown ------------------------------------------------------------------------------


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_training_draws_itself_while_it_runs(pane: PlotsPane, trainings: Trainings) -> None:
    trainings.settings(epochs=100_000)
    trainings.studio.training.start()
    trainings.until(lambda: not pane.is_empty and pane.plots and pane.plots[0].content)
    first = trainings.studio.training.status.steps
    trainings.until(lambda: trainings.studio.training.status.steps > first + 200)
    content = pane.plot("loss").content
    assert content is not None
    trainings.until(lambda: (c := pane.plot("loss").content) is not None
                    and c.drawn[0].strokes[0].line.x[-1] > first + 200)  # fmt: skip
    trainings.studio.training.stop()
    trainings.until_state("stopped")


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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
    assert lines[1] == f"Validation: {plot.end_labels[1].text}, last recorded"
    QToolTip.hideText()
    qtbot.waitUntil(lambda: not QToolTip.isVisible())
    slider = trained.findChild(QSlider, "plot_smoothing")
    slider.setFocus()
    qtbot.keyClick(slider, Qt.Key.Key_Home)
    qtbot.waitUntil(lambda: title(plot) == "Loss")
    assert plot.end_labels[0].text == recorded


@pytest.mark.slow
def test_a_number_that_is_none_is_a_red_tick_with_a_count(
    trained: PlotsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    plot = trained.plot("loss")
    assert plot.note_text == ""
    before = count(plot.grab().toImage(), theme.colour("error"))
    curves = trainings.studio.training.curves
    assert curves is not None
    bad = np.array([np.nan] * 40 + [np.inf, 0.1], np.float32)
    curves.segments[-1].steps["loss"].extend(bad)
    trained.draw()
    assert plot.note_text == "41 NaN or Inf values"
    QApplication.processEvents()
    trained.resize(400, 500)
    note, heading = plot.findChild(QLabel, "plot_note"), plot.findChild(QLabel, "plot_title")
    qtbot.waitUntil(lambda: plot.width() < 260, timeout=60_000)
    assert not note.geometry().intersects(heading.geometry())
    assert plot.rect().contains(note.geometry())
    assert count(plot.grab().toImage(), theme.colour("error")) > before + 10


@pytest.mark.slow
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


@pytest.mark.slow
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


# -- layout -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "wide", "high", "columns"),
    [(3, 1100, 300, 3), (3, 560, 700, 1), (4, 1000, 500, 2), (1, 1000, 300, 1), (3, 300, 200, 1)],
)
def test_plots_stand_beside_each_other_where_they_fit(
    number: int, wide: int, high: int, columns: int
) -> None:
    assert best_columns(number, wide, high) == columns


@pytest.mark.slow
def test_the_pane_rearranges_when_it_becomes_narrow(trained: PlotsPane, qtbot: QtBot) -> None:
    loss, accuracy = trained.plot("loss"), trained.plot("accuracy")
    assert loss.y() == accuracy.y()
    trained.resize(480, 700)
    qtbot.waitUntil(lambda: loss.x() == accuracy.x() and loss.y() < accuracy.y())
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


@pytest.mark.slow
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
