"""Lines of plots are as thick on every screen."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPen
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.ui.panes.plots.pane import PlotsPane
from tests.ui.panes.plots.plot_hands import move

pytestmark = pytest.mark.slow


def thickness(pen: QPen, ratio: float) -> float:
    """How thick a line of a pen is on a screen, in device-independent pixels."""
    picture = QImage(round(40 * ratio), round(40 * ratio), QImage.Format.Format_ARGB32)
    picture.setDevicePixelRatio(ratio)
    solid = QPen(pen)
    solid.setStyle(Qt.PenStyle.SolidLine)
    solid.setColor(QColor("white"))
    picture.fill(QColor("black"))
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(solid)
    painter.drawLine(QPointF(0, 20), QPointF(40, 20))
    painter.end()
    column = (picture.pixelColor(picture.width() // 2, y) for y in range(picture.height()))
    return sum(colour.lightnessF() for colour in column) / ratio


@pytest.mark.parametrize("ratio", [1.0, 1.5, 3.0])
def test_lines_at_rest_are_as_thick_at_any_scale(
    trained: PlotsPane, monkeypatch: pytest.MonkeyPatch, ratio: float
) -> None:
    plot = trained.plot("loss")
    monkeypatch.setattr(type(plot), "devicePixelRatioF", lambda _self: ratio)
    trained.draw()
    pens = [line.opts["pen"] for line in plot._lines if line.isVisible()]
    assert pens
    for pen in pens:
        thick = thickness(pen, ratio)
        assert thick in (pytest.approx(1.0, abs=0.05), pytest.approx(1.75, abs=0.05))


@pytest.mark.parametrize("ratio", [1.0, 1.5, 2.0, 3.0])
def test_cursor_grid_marks_and_zoom_frame_are_as_thick_at_any_scale(
    trained: PlotsPane, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, ratio: float
) -> None:
    plot = trained.plot("loss")
    monkeypatch.setattr(type(plot), "devicePixelRatioF", lambda _self: ratio)
    # As when the window has come to another screen.
    QApplication.sendEvent(plot, QEvent(QEvent.Type.DevicePixelRatioChange))
    start = plot.mapFromScene(plot.box.sceneBoundingRect().center())
    qtbot.mousePress(plot.viewport(), Qt.MouseButton.LeftButton, pos=start)
    for by in (10, 25, 40):
        move(plot.viewport(), start + QPoint(by, by), Qt.MouseButton.LeftButton)
    assert plot.box.frame.isVisible()
    pens = {
        "frame": plot.box.frame.pen(),
        "cursor": plot._cursor.pen,
        "grid": plot._grid.opts["pen"],
        "minor": plot._minor.opts["pen"],
        "marks": plot._marks.opts["pen"],
        "bad": plot._bad.opts["pen"],
        "zone": plot._zone.pen(),
    }
    assert {name: thickness(pen, ratio) for name, pen in pens.items()} == {
        name: pytest.approx(1.0, abs=0.05) for name in pens
    }
    qtbot.mouseRelease(plot.viewport(), Qt.MouseButton.LeftButton, pos=start)
