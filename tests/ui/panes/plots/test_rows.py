"""Where not all plots fit, those in sight are whole, and the wheel goes from row to row."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QScrollArea
from pytestqt.qtbot import QtBot

from studio.ui.panes.plots.metric_plot import MetricPlot
from studio.ui.panes.plots.pane import PlotsPane, row_height


def scrolled(pane: PlotsPane) -> QScrollArea:
    found = next(
        area for area in pane.findChildren(QScrollArea) if area.isAncestorOf(pane.plots[0])
    )
    assert isinstance(found, QScrollArea)
    return found


def in_sight(pane: PlotsPane) -> dict[str, float]:
    """The part of each plot that is in sight."""
    view = scrolled(pane).viewport()

    def part(plot: MetricPlot) -> float:
        top = plot.mapTo(view, QPoint(0, 0)).y()
        seen = min(top + plot.height(), view.height()) - max(top, 0)
        return max(0.0, seen / plot.height())

    return {plot.metric_name: part(plot) for plot in pane.plots}


def notch(plot: MetricPlot, down: int) -> None:
    """Turn the wheel over a plot."""
    window = plot.window()
    at = QPointF(plot.mapTo(window, plot.rect().center()))
    # As the display server has it: an event made here would go to nobody but the plot.
    QTest.wheelEvent(window.windowHandle(), at, QPoint(0, -120 * down))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wide", "high", "first", "then"),
    [
        (400, 240, ["loss"], ["accuracy"]),
        (510, 240, ["loss", "accuracy"], ["learning_rate"]),
        (510, 200, ["loss", "accuracy"], ["learning_rate"]),
        (400, 330, ["loss", "accuracy"], ["accuracy", "learning_rate"]),
    ],
)
def test_plots_in_sight_are_whole_and_the_wheel_goes_to_the_next_row(
    trained: PlotsPane, qtbot: QtBot, wide: int, high: int,
    first: list[str], then: list[str],
) -> None:  # fmt: skip
    # A dock may be made narrower than its pane would like.
    trained.setMinimumSize(200, 96)
    trained.resize(wide, high)

    def seen() -> list[str]:
        parts = in_sight(trained)
        # A wheel turns by three lines, whole pixels each.
        assert all(part < 0.03 or part > 0.97 for part in parts.values()), parts
        return [metric for metric, part in parts.items() if part > 0.5]

    qtbot.waitUntil(lambda: seen() == first)
    notch(trained.plot("loss"), 1)
    qtbot.waitUntil(lambda: seen() == then)
    notch(trained.plot(then[-1]), -1)
    qtbot.waitUntil(lambda: seen() == first)


@pytest.mark.parametrize(
    ("rows", "high", "tall"),
    [
        (1, 80, 0),
        (2, 300, 0),
        (3, 332, 0),
        (2, 152, 152),
        (3, 152, 152),
        (3, 300, 149),
        (3, 60, 96),
    ],
)
def test_rows_share_the_place_or_some_of_them_fill_it(rows: int, high: int, tall: int) -> None:
    assert row_height(rows, high) == tall
