"""Parallel coordinates, by real events."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor
from pytestqt.qtbot import QtBot

from studio.session.core.theme import Theme
from studio.ui.panes.sweeps.parallel_view import ParallelView
from tests.session.sweeps.tables import ACTIVATION, DROPOUT, RATE, UNITS, table, trial
from tests.ui.fixtures import shown

AXES = (RATE, UNITS, DROPOUT)
ROWS = [
    trial(0, {"learning_rate": 1e-4, "hidden.units": 16, "dropout.rate": 0.0}, 3.0),
    trial(1, {"learning_rate": 1e-2, "hidden.units": 32, "dropout.rate": 0.1}, 1.0),
    trial(2, {"learning_rate": 1e-1, "hidden.units": 64, "dropout.rate": 0.5}, 2.0),
    trial(3, {"learning_rate": 1e-3, "hidden.units": 64, "dropout.rate": 0.3}, None),
]


@pytest.fixture
def view(dark: Theme, qtbot: QtBot) -> ParallelView:
    made = ParallelView()
    qtbot.addWidget(made)
    made.resize(600, 240)
    made.show_trials(ROWS, AXES, False, "val_loss")
    return shown(qtbot, made)


def at(view: ParallelView, axis: int, place: float, beside: int = 0) -> QPoint:
    return QPoint(round(view.grid.axis_x(axis)) + beside, round(view.grid.place_y(place)))


def drag(qtbot: QtBot, view: ParallelView, axis: int, low: float, high: float) -> None:
    qtbot.mousePress(view, Qt.MouseButton.LeftButton, pos=at(view, axis, low))
    qtbot.mouseMove(view, at(view, axis, (low + high) / 2))
    qtbot.mouseMove(view, at(view, axis, high))
    qtbot.mouseRelease(view, Qt.MouseButton.LeftButton, pos=at(view, axis, high))


def test_the_pointer_reads_a_trial_and_a_click_chooses_it(view: ParallelView, qtbot: QtBot) -> None:
    heard: list[int] = []
    view.chosen.connect(heard.append)
    place = at(view, 0, 2 / 3, beside=2)
    qtbot.mouseMove(view, place)
    qtbot.waitUntil(lambda: view.hovered == 1)
    assert view.tip_of(1).splitlines() == [
        "Trial 1, the best", "learning_rate 0.01", "hidden.units 32", "dropout.rate 0.1",
        "val_loss 1",
    ]  # fmt: skip
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=place)
    assert heard == [1]
    assert view.selected == 1
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=at(view, 0, 0.18, beside=25))
    assert heard == [1], "there is no line"


def test_a_drag_along_an_axis_leaves_trials_out_until_esc(view: ParallelView, qtbot: QtBot) -> None:
    heard: list[object] = []
    view.brushed.connect(heard.append)
    drag(qtbot, view, 1, 0.4, 1.0)
    assert heard[-1] == (1, 2, 3)
    assert view.note == "3 of 4 trials, 1 without a result, drawn faintly"
    drag(qtbot, view, 3, 0.4, 0.6)
    assert heard[-1] == (2,)
    # A trial that is left out cannot be chosen.
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=at(view, 0, 2 / 3, beside=12))
    assert view.selected is None
    # A click on a range takes that one back.
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=at(view, 3, 0.5))
    assert heard[-1] == (1, 2, 3)
    qtbot.keyClick(view, Qt.Key.Key_Escape)
    assert heard[-1] is None
    assert view.note == "1 without a result, drawn faintly"


def test_the_arrow_keys_go_from_the_best_trial_to_worse_ones(
    view: ParallelView, qtbot: QtBot
) -> None:
    heard: list[int] = []
    view.chosen.connect(heard.append)
    for _ in range(4):
        qtbot.keyClick(view, Qt.Key.Key_Down)
    assert heard == [1, 2, 0, 0]
    qtbot.keyClick(view, Qt.Key.Key_Up)
    assert heard[-1] == 2


def test_ranges_and_choice_stay_while_trials_come_and_go_with_other_axes(
    view: ParallelView, qtbot: QtBot
) -> None:
    drag(qtbot, view, 1, 0.4, 1.0)
    view.select(2)
    more = trial(4, {"learning_rate": 0.1, "hidden.units": 16, "dropout.rate": 0.2}, 0.5)
    view.show_trials([more, *ROWS], AXES, False, "val_loss")
    assert view.selected == 2
    assert view.note.startswith("3 of 5 trials")
    view.show_trials(ROWS, AXES[:2], False, "val_loss")
    assert view.note == "1 without a result, drawn faintly"
    view.select(99)
    assert view.selected is None


def test_the_best_is_painted_brightest(view: ParallelView) -> None:
    picture = view.grab().toImage()
    ratio = picture.devicePixelRatio()

    def light(axis: float, place: float) -> float:
        x, y = (
            view.grid.axis_x(0) * (1 - axis) + view.grid.axis_x(1) * axis,
            view.grid.place_y(place),
        )
        return QColor(picture.pixel(round(x * ratio), round(y * ratio))).lightnessF()

    def brightest(low: float, high: float) -> float:
        return max(light(0.4, p) for p in np.linspace(low, high, 30))

    # Two fifths of the way from the first axis to the second.
    best, worst = 2 / 3 + 0.4 * (0.5 - 2 / 3), 0.0
    assert brightest(best - 0.03, best + 0.03) > brightest(worst, worst + 0.03) + 0.05


@pytest.mark.parametrize("width", [200, 300, 700])
def test_names_of_axes_never_overlap(view: ParallelView, width: int) -> None:
    view.show_trials(ROWS, (*AXES, ACTIVATION), False, "val_loss")
    view.resize(width, 200)
    boxes = [view.grid.name_box(axis) for axis in range(5)]
    for left, right in pairwise(boxes):
        assert left.right() <= right.left() + 1
    assert boxes[0].left() >= 0
    assert boxes[-1].right() <= width


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_trials_and_odd_ones_are_painted(dark: Theme, qtbot: QtBot, count: int) -> None:
    made = ParallelView()
    qtbot.addWidget(made)
    odd = trial(7, {"learning_rate": math.nan, "hidden.units": None}, math.inf)
    made.show_trials([odd, *ROWS][:count], AXES, True)
    shown(qtbot, made)
    made.grab()
    qtbot.keyClick(made, Qt.Key.Key_Down)
    assert made.selected == (0 if count == 2 else None)


@pytest.mark.slow
def test_ten_thousand_trials_are_painted_once(dark: Theme, qtbot: QtBot) -> None:
    made = ParallelView()
    qtbot.addWidget(made)
    made.resize(600, 240)
    rows = table(AXES, 10_000, lambda v: float(v["learning_rate"]))  # type: ignore[arg-type]
    made.show_trials(rows, AXES, True, "accuracy")
    shown(qtbot, made)
    first = made.lines()
    qtbot.mouseMove(made, at(made, 1, 0.5, beside=20))
    qtbot.waitUntil(lambda: made.hovered is not None)
    made.grab()
    assert made.lines() is first, "hovering paints nothing again"
    drag(qtbot, made, 3, 0.5, 1.0)
    assert made.lines() is not first
