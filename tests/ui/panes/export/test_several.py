"""The export dialog with a network of two inputs and two outputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from studio.engine import execute_all
from studio.session.studio import Studio
from studio.ui.panes.export.dialog import ExportDialog
from tests.engine.train.two_inputs import two_inputs
from tests.ui.panes.export.test_export_dialog import choose, idle, sentence, type_path
from tests.ui.panes.stage import Stage
from tests.ui.panes.trainings import Trainings


@pytest.mark.slow
def test_every_output_is_written_shown_and_compared(
    studio: Studio, stage: Stage, qtbot: QtBot, tmp_path: Path
) -> None:
    two = Trainings(studio, qtbot, tmp_path, two_inputs(tmp_path, epochs=2))
    two.train()
    idle(studio, qtbot)
    dialog = stage.show(ExportDialog(studio), 900, 700)
    choose(dialog, qtbot, "Instruction file")
    preview = dialog.findChild(QPlainTextEdit, "export_preview")
    assert preview is not None
    two.until(lambda: "2 outputs" in preview.toPlainText())
    text = preview.toPlainText()
    assert "2 inputs\n  picture  uint8[N,8,8,1]\n  row  float32[N,3]" in text
    assert "2 outputs\n  parity  float32[N,2]\n  total  float32[N,1]" in text
    path = tmp_path / "two.gbi"
    type_path(dialog, qtbot, path)
    qtbot.mouseClick(dialog.findChild(QPushButton, "export_start"), Qt.MouseButton.LeftButton)
    two.until(lambda: sentence(dialog).startswith("Same model: max difference "))
    details = dialog.findChild(QLabel, "finding_details")
    assert details is not None
    assert "Largest difference by output: parity " in details.text()
    assert ", total " in details.text()
    idle(studio, qtbot)
    rows = {"picture": np.zeros((2, 8, 8, 1), np.uint8), "row": np.ones((2, 3), np.float32)}
    outputs = execute_all(path, rows, "cpu")
    assert {name: values.shape for name, values in outputs.items()} == {
        "parity": (2, 2),
        "total": (2, 1),
    }
    dialog.close()
