"""The way of a learning rate from the bar to the device, by the files that run on it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from studio.engine.cpu.run.session import CpuSession
from studio.ui.panes.transport.bar import TransportBar
from tests.called_files import CalledFiles, called_files
from tests.ui.panes.stage import Stage
from tests.ui.panes.trainings import Trainings

FIELD = {"widgets/fields/scrub_field.py", "widgets/fields/arithmetic.py", "widgets/numbers.py"}
"""What reads a typed number, whatever it is for."""
WAY = [
    "ui/panes/transport/bar.py",
    "session/training/training.py",
    "engine/train/loop/control.py",
    "engine/train/loop/epoch_loop.py",
    "engine/train/loop/rates.py",
]


@pytest.mark.slow
def test_a_typed_rate_reaches_the_device_through_five_files(
    sample: Callable[..., Trainings], stage: Stage, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainings = sample("spirals", epochs=100_000, early_stopping=None)
    training = trainings.studio.training
    bar = stage.show(TransportBar(trainings.studio), 900, 32)
    with called_files() as called:
        written = _until_written(monkeypatch, called)
        training.start()
        trainings.until(lambda: training.status.steps > 0)
        # What a running training does meanwhile is not on the way.
        training.pause()
        trainings.until_state("paused")
        trainings.until(bar.learning_rate.isEnabled)
        bar.learning_rate.setFocus()
        bar.learning_rate.selectAll()
        qtbot.keyClicks(bar.learning_rate, "0.002")
        called.is_on = True
        qtbot.keyClick(bar.learning_rate, Qt.Key.Key_Return)
        assert written.wait(60)
    assert [name for name in called.names if name not in FIELD] == WAY


def _until_written(monkeypatch: pytest.MonkeyPatch, called: CalledFiles) -> threading.Event:
    """Look no further than the write of the rates."""
    plain, written = CpuSession.write, threading.Event()

    def write(session: CpuSession, name: str, values: np.ndarray, row: int = 0) -> None:
        if name == "train/rates" and called.is_on:
            called.is_on = False
            written.set()
        plain(session, name, values, row)

    monkeypatch.setattr(CpuSession, "write", write)
    return written
