"""The bars of what mattered."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from studio.session.core.theme import Theme
from studio.ui.panes.sweeps.importance_view import ImportanceView
from tests.session.sweeps.tables import RATE, SHUFFLE, UNITS, table
from tests.ui.fixtures import shown

AXES = (SHUFFLE, UNITS, RATE)


@pytest.fixture
def view(dark: Theme, qtbot: QtBot) -> ImportanceView:
    made = ImportanceView()
    qtbot.addWidget(made)
    made.resize(300, made.sizeHint().height())
    return shown(qtbot, made)


def ink(view: ImportanceView, row: int, role: str) -> int:
    """How many pixels of the middle of a row have the colour of a role."""
    from studio.widgets import theme

    picture, wanted = view.grab().toImage(), theme.colour(role).rgb()
    y = round(view.row_box(row).center().y() * picture.devicePixelRatio())
    return sum(picture.pixel(x, y) == wanted for x in range(picture.width()))


def test_bars_are_as_long_as_their_numbers_and_the_first_is_the_longest(
    view: ImportanceView,
) -> None:
    rows = table(
        AXES, 300, lambda v: 3.0 * float(v["learning_rate"]) + 0.002 * int(v["hidden.units"])
    )  # type: ignore[arg-type]
    view.show_trials(rows, AXES)
    view.resize(300, view.sizeHint().height())
    names = [each.name for each in view.report.items]
    assert names == ["learning_rate", "hidden.units", "shuffle"]
    first, second = (each.share for each in view.report.items[:2])
    assert first > second > 0.05
    long, short = ink(view, 0, "accent"), ink(view, 1, "accent")
    assert long / short == pytest.approx(first / second, rel=0.15)
    # What chance may leave has no full colour.
    assert ink(view, 2, "accent") == 0
    assert not view.report.items[2].is_clear


def test_the_tip_says_what_the_number_is_and_from_how_many_trials(
    view: ImportanceView, qtbot: QtBot
) -> None:
    rows = table(AXES, 40, lambda v: float(v["learning_rate"]))  # type: ignore[arg-type]
    view.show_trials(rows, AXES)
    view.resize(300, view.sizeHint().height())
    at = view.row_box(0).center().toPoint()
    help_event = QHelpEvent(QHelpEvent.Type.ToolTip, at, view.mapToGlobal(at))
    QApplication.sendEvent(view, help_event)
    qtbot.waitUntil(lambda: QToolTip.text().startswith("learning_rate: "))
    assert "From 40 trials with a result" in QToolTip.text()
    assert "share of the variance of their ranks" in QToolTip.text()
    QToolTip.hideText()
    qtbot.waitUntil(lambda: not QToolTip.isVisible())
    assert view.tip_at(QPoint(0, 2000).y()).startswith("From 40 trials")


def test_too_few_trials_are_told_in_place_of_bars(view: ImportanceView) -> None:
    view.show_trials(table(AXES, 4, lambda v: 1.0), AXES)
    assert view.tip_at(5).startswith("Too few trials: 4 with a result, at least 10")
    assert ink(view, 0, "accent") == 0
    assert "Too few trials" in view.accessibleDescription()
