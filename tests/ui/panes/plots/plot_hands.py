"""Pointers on plots, and what their pictures hold."""

from __future__ import annotations

import itertools

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QImage, QMouseEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from studio.ui.panes.plots.metric_plot import MetricPlot


def move(view: QWidget, at: QPoint, button: Qt.MouseButton) -> None:
    """Move the pointer with a button held down."""
    event = QMouseEvent(
        QEvent.Type.MouseMove, QPointF(at), QPointF(view.mapToGlobal(at)),
        Qt.MouseButton.NoButton, button, Qt.KeyboardModifier.NoModifier,
    )  # fmt: skip
    QApplication.sendEvent(view, event)


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
