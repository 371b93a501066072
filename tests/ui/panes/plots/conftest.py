"""The pane of plots, empty and after a real training."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from studio.ui.models.curves import RATE
from studio.ui.models.studio import Studio
from studio.ui.panes.plots.pane import PlotsPane
from tests.ui.panes.trainings import Trainings


@pytest.fixture
def trainings(studio: Studio, qtbot: QtBot, tmp_path: Path) -> Trainings:
    made = Trainings(studio, qtbot, tmp_path, "spirals")
    made.settings(epochs=12, early_stopping=None)
    return made


@pytest.fixture
def pane(trainings: Trainings, qtbot: QtBot) -> Iterator[PlotsPane]:
    made = PlotsPane(trainings.studio)
    qtbot.addWidget(made)
    made.resize(1100, 360)
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.close()


@pytest.fixture
def trained(pane: PlotsPane, trainings: Trainings) -> PlotsPane:
    trainings.train()
    trainings.until(lambda: [p.metric_name for p in pane.plots] == ["loss", "accuracy", RATE])
    trainings.until(lambda: pane.plot("loss").box.width() > 100 and pane.plot("loss").content)
    pane.draw()
    QApplication.processEvents()
    return pane


def move(view: QWidget, at: QPoint, button: Qt.MouseButton) -> None:
    """Move the pointer with a button held down."""
    event = QMouseEvent(
        QEvent.Type.MouseMove, QPointF(at), QPointF(view.mapToGlobal(at)),
        Qt.MouseButton.NoButton, button, Qt.KeyboardModifier.NoModifier,
    )  # fmt: skip
    QApplication.sendEvent(view, event)
