"""The export dialog beside a training: what is possible by now, and whose weights a file holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from studio.engine.train.settings import MAX_EPOCHS
from studio.session.studio import Studio
from studio.ui.panes.export.dialog import ExportDialog
from tests.ui.panes.stage import Stage
from tests.ui.panes.trainings import Trainings

LEFT = Qt.MouseButton.LeftButton
TAKEN = "weights of the last checkpoint"


def write(dialog: ExportDialog, studio: Studio, trainings: Trainings, path: Path) -> str:
    """Click on Export; the note once the file was read."""
    dialog.path.setFocus()
    dialog.path.selectAll()
    QTest.keyClicks(dialog.path, str(path))
    trainings.until(dialog.start.isEnabled)
    QTest.mouseClick(dialog.start, LEFT)
    trainings.until(lambda: studio.exporting.task is None and studio.exporting.result is not None)
    trainings.until(lambda: dialog.note.text().split(",")[0].endswith("KiB"))
    return dialog.note.text()


@pytest.mark.slow
def test_a_checkpoint_makes_possible_what_was_not_and_the_file_says_whose_weights_it_holds(
    studio: Studio,
    qtbot: QtBot,
    sample: Callable[..., Trainings],
    stage: Stage,
    tmp_path: Path,
) -> None:
    trainings = sample("iris", epochs=MAX_EPOCHS)
    dialog = stage.show(ExportDialog(studio), 760, 620)
    dialog.choose("safetensors")
    assert dialog.note.text() == "" or "Train the network first" in dialog.preview.toPlainText()
    assert not dialog.start.isEnabled()
    studio.training.start()
    trainings.until(dialog.start.isEnabled)
    trainings.until(lambda: dialog.note.text().endswith(TAKEN))
    note = write(dialog, studio, trainings, tmp_path / "early.safetensors")
    assert note.endswith(TAKEN)
    assert studio.training.is_busy
    studio.training.stop()
    trainings.until_state("stopped")
    # It is still so: the file was written before the end.
    assert dialog.note.text() == note
    note = write(dialog, studio, trainings, tmp_path / "late.safetensors")
    assert TAKEN not in note
    early, late = (tmp_path / f"{name}.safetensors" for name in ("early", "late"))
    assert early.read_bytes() != late.read_bytes()
