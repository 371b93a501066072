"""The pane of plots, empty and after a real training."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtWidgets import QApplication

from studio.engine.train.runs.step_log import RATE
from studio.ui.panes.plots.pane import PlotsPane
from tests.ui.panes.stage import Stage
from tests.ui.panes.trainings import Trainings


@pytest.fixture
def trainings(sample: Callable[..., Trainings]) -> Trainings:
    return sample("spirals", epochs=12, early_stopping=None)


@pytest.fixture
def pane(trainings: Trainings, stage: Stage) -> PlotsPane:
    return stage.show(PlotsPane(trainings.studio), 1100, 360)


@pytest.fixture
def trained(pane: PlotsPane, trainings: Trainings) -> PlotsPane:
    trainings.train()
    trainings.until(lambda: [p.metric_name for p in pane.plots] == ["loss", "accuracy", RATE])
    trainings.until(lambda: pane.plot("loss").box.width() > 100 and pane.plot("loss").content)
    pane.draw()
    QApplication.processEvents()
    return pane
