"""The edges of a plot: marks of the learning rate and the latest values, however long they are."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from PySide6.QtCore import QPointF
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QLabel

from studio.engine.train.runs.marks import Mark
from studio.engine.train.runs.step_log import RATE
from studio.ui.panes.plots.metric_plot import MetricPlot
from studio.ui.panes.plots.pane import PlotsPane
from studio.widgets import theme
from tests.ui.panes.trainings import Trainings


def labels(plot: MetricPlot) -> list[QLabel]:
    return [w for w in plot.findChildren(QLabel, "plot_mark") if w.isVisible()]


def right_edge(plot: MetricPlot) -> int:
    return plot.mapFromScene(plot.box.sceneBoundingRect()).boundingRect().right()


def place_of(plot: MetricPlot, mark: float) -> float:
    return float(plot.mapFromScene(plot.box.mapViewToScene(QPointF(mark, 0.0))).x())


def stand_after(trainings: Trainings, steps: int) -> None:
    training = trainings.studio.training
    for _ in range(steps):
        before = training.status.steps
        training.step_batch()
        trainings.until(lambda n=before: training.status.steps > n)
        trainings.until_state("paused")


def begun(trainings: Trainings) -> None:
    trainings.settings(epochs=100, early_stopping=None)
    trainings.studio.training.step_epoch()
    trainings.until_state("paused")


def end(trainings: Trainings) -> None:
    trainings.studio.training.stop()
    trainings.until(lambda: not trainings.studio.training.is_busy)


@pytest.mark.slow
def test_a_mark_at_the_right_edge_is_written_left_of_its_line_away_from_the_values(
    pane: PlotsPane, trainings: Trainings
) -> None:
    begun(trainings)
    trainings.studio.training.set_learning_rate(3e-38)
    stand_after(trainings, 2)
    trainings.until(lambda: pane.plots and all(labels(plot) for plot in pane.plots))
    pane.draw()
    for plot in pane.plots:
        (label,) = labels(plot)
        assert label.text() == "rate 3e-38"
        assert plot.content is not None
        ((place, _),) = plot.content.marks
        assert label.geometry().right() < place_of(plot, place)
        assert label.geometry().right() < right_edge(plot) - 2
    end(trainings)


@pytest.mark.slow
def test_marks_too_near_to_each_other_leave_the_latest(
    pane: PlotsPane, trainings: Trainings
) -> None:
    begun(trainings)
    training = trainings.studio.training
    for rate in (0.011, 0.012, 0.013):
        training.set_learning_rate(rate)
        stand_after(trainings, 1)
    trainings.until(lambda: pane.plots and pane.plots[0].content
                    and len(pane.plots[0].content.marks) == 3)  # fmt: skip
    pane.draw()
    for plot in pane.plots:
        shown = sorted(labels(plot), key=QLabel.x)
        assert shown[-1].text() == "rate 0.013"
        for one, other in pairwise(shown):
            assert one.geometry().right() < other.x()
    end(trainings)


@pytest.mark.slow
def test_very_many_marks_stay_some_way_apart_and_the_latest_is_written(
    trained: PlotsPane, trainings: Trainings
) -> None:
    curves = trainings.studio.training.curves
    assert curves is not None
    last = int(curves.segments[0].last_step)
    # As a callback makes them that sets the rate again and again.
    for number in range(500):
        place = round(last * number / 500)
        curves.mark(Mark("learning_rate", place, 0.0, 1e-3 * (number + 1)))
    trained.draw()
    for plot in trained.plots:
        lines = np.unique(plot._marks.getData()[0])
        assert 30 < len(lines) <= 61
        assert place_of(plot, lines[1]) - place_of(plot, lines[0]) >= 2
        assert len(labels(plot)) >= 1
        assert max(labels(plot), key=QLabel.x).text() == "rate 0.5"


@pytest.mark.slow
@pytest.mark.parametrize("value", [-1.2345e-38, -3.4028e38, 0.25], ids=["small", "large", "usual"])
def test_the_latest_values_are_whole_and_the_plots_stay_in_line(
    trained: PlotsPane, trainings: Trainings, value: float
) -> None:
    curves = trainings.studio.training.curves
    assert curves is not None
    usual = {right_edge(plot) for plot in trained.plots}
    assert len(usual) == 1
    for name in ("loss", "accuracy", RATE):
        curves.segments[-1].steps[name].extend([value] * 400)
    trained.draw()
    bold = theme.font("small")
    bold.setBold(True)
    metrics = QFontMetricsF(bold)
    edges = {right_edge(plot) for plot in trained.plots}
    assert len(edges) == 1
    for plot in trained.plots:
        room = plot.viewport().width() - right_edge(plot) - 7
        for label in plot.end_labels:
            assert metrics.horizontalAdvance(label.text) <= room, label.text
    assert (edges == usual) == (value == 0.25)
