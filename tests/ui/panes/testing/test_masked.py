"""The test page on a network with masked positions and weights by position."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox
from pytestqt.qtbot import QtBot

from studio.session.studio import Studio
from studio.ui.panes.testing.pane import TestingPane
from studio.widgets.labels.elided_label import ElidedLabel
from tests.session.evaluation.masked import masked_sequences
from tests.ui.panes.stage import Stage
from tests.ui.panes.testing.page_hands import SIZE, outcome_of
from tests.ui.panes.trainings import Trainings


@pytest.mark.slow
def test_what_is_masked_or_has_weight_0_is_not_counted_and_the_page_says_so(
    studio: Studio, stage: Stage, qtbot: QtBot, tmp_path: Path
) -> None:
    masked = Trainings(studio, qtbot, tmp_path, masked_sequences(tmp_path))
    page = stage.show(TestingPane(masked.studio), *SIZE)
    masked.tested()
    part = page.findChild(QComboBox, "test_part")
    masked.until(lambda: page.matrix.matrix.counts is not None)
    studio.evaluation.choose_part("training")
    masked.until(lambda: studio.evaluation.status == "ready")
    results = studio.evaluation.results
    assert part is not None
    assert results is not None
    counts = (results.inputs[0] != 0).any(axis=-1)
    left = page.findChild(ElidedLabel, "left_out")
    assert left is not None
    masked.until(lambda: left.whole == f"{int((~counts).sum())} left out")
    assert "weight 0" in left.toolTip()
    assert page.matrix.matrix.counts is not None
    assert page.matrix.matrix.counts.sum() == counts.sum()
    accuracy = f"{100 * results.metrics['tags_accuracy']:.3g}\u202f%"
    assert outcome_of(masked).accuracy == pytest.approx(results.metrics["tags_accuracy"], rel=1e-5)
    assert f"Accuracy {accuracy}" in page.head.text
    samples = page.samples.samples
    empty = int(np.flatnonzero(~counts.any(axis=1))[0])
    row = samples.entries.rows.index(empty)
    tip = samples.entries.index(row, 0).data(Qt.ItemDataRole.ToolTipRole)
    assert "not counted" in tip
    assert page.ask.answer.text() == "Drop a file here, or choose a sample"
    chosen = page.findChild(QComboBox, "test_output")
    assert chosen is not None
    chosen.setFocus()
    qtbot.keyClick(chosen, Qt.Key.Key_Down)
    masked.until(page.matrix.errors.isVisible)
    counted = int(results.outcomes[1].counts.sum())
    assert counted < counts.sum()
    masked.until(lambda: left.whole == f"{counts.size - counted} left out")
