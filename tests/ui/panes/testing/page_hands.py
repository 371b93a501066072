"""Hands for the test page: strokes of a pen, and what was found."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication, QWidget

from studio.engine.train.network.measures import Classification
from tests.ui.panes.trainings import Trainings

SIZE = (1200, 460)
"""Of a page where everything stands beside each other."""


def outcome_of(trainings: Trainings) -> Classification:
    results = trainings.studio.evaluation.results
    assert results is not None
    assert isinstance(results.outcome, Classification)
    return results.outcome


def press(widget: QWidget, kind: QEvent.Type, at: QPointF, button: Qt.MouseButton) -> None:
    held = Qt.MouseButton.NoButton if kind is QEvent.Type.MouseButtonRelease else button
    cause = Qt.MouseButton.NoButton if kind is QEvent.Type.MouseMove else button
    event = QMouseEvent(
        kind, at, QPointF(widget.mapToGlobal(at.toPoint())), cause, held,
        Qt.KeyboardModifier.NoModifier,
    )  # fmt: skip
    QApplication.sendEvent(widget, event)


def stroke(
    widget: QWidget, *places: QPointF, button: Qt.MouseButton = Qt.MouseButton.LeftButton
) -> None:
    press(widget, QEvent.Type.MouseButtonPress, places[0], button)
    for place in places:
        press(widget, QEvent.Type.MouseMove, place, button)
    press(widget, QEvent.Type.MouseButtonRelease, places[-1], button)
