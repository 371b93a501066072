"""The test page, before and after a real training."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from studio.ui.panes.testing.pane import TestingPane
from tests.ui.panes.stage import Stage
from tests.ui.panes.testing.page_hands import SIZE
from tests.ui.panes.trainings import Trainings


@pytest.fixture
def digits(sample: Callable[..., Trainings]) -> Trainings:
    return sample("digits-mlp", epochs=6)


@pytest.fixture
def pane(digits: Trainings, stage: Stage) -> TestingPane:
    return stage.show(TestingPane(digits.studio), *SIZE)


@pytest.fixture
def tested(pane: TestingPane, digits: Trainings) -> TestingPane:
    digits.tested()
    digits.until(lambda: not pane.is_empty and pane.matrix.matrix.counts is not None)
    return pane
