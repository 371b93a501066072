"""What the pane of plots says while there are no curves."""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest
from PySide6.QtWidgets import QPushButton

from studio.engine.cpu.run.executable import CpuExecutable
from studio.engine.train.network import network as network_module
from studio.ui.panes.plots.pane import PlotsPane
from studio.widgets.frames.empty_state import EmptyState
from tests.ui.panes.trainings import Trainings


def said(pane: PlotsPane) -> tuple[str, bool]:
    """The sentence in sight, and whether a button stands below it."""
    found = pane.findChild(EmptyState)
    assert found is not None
    button = found.findChild(QPushButton, "empty_action")
    return found.accessibleName(), button is not None and button.isVisible()


@pytest.mark.slow
def test_a_training_before_its_first_step_is_not_called_no_run(
    pane: PlotsPane, trainings: Trainings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert said(pane) == ("No run yet", True)
    run, may_go = CpuExecutable.run, Event()

    def later(*given: Any) -> int:
        may_go.wait(30)
        return run(*given)

    monkeypatch.setattr(CpuExecutable, "run", later)
    trainings.studio.training.start()
    trainings.until_state("running")
    trainings.until(lambda: said(pane) == ("No data yet", False))
    may_go.set()
    trainings.until(lambda: pane.plots)
    trainings.until_state("finished")


def test_a_training_that_failed_before_its_first_step_is_not_called_no_run(
    pane: PlotsPane, trainings: Trainings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network_module, "free_memory", lambda: 1)
    trainings.studio.training.start()
    trainings.until_state("failed")
    trainings.until(lambda: said(pane) == ("No data", True))
