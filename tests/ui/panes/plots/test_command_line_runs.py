"""A run of the command line, drawn step by step in the window."""

from __future__ import annotations

import numpy as np
import pytest

from studio.cli.app import main
from studio.engine.train.runs.step_log import read_steps
from studio.ui.panes.plots.pane import PlotsPane
from tests.ui.panes.trainings import Trainings


@pytest.mark.slow
def test_a_run_of_the_command_line_has_curves_of_its_steps(
    pane: PlotsPane, trainings: Trainings, capsys: pytest.CaptureFixture[str]
) -> None:
    studio = trainings.studio
    path = studio.document.path
    assert path is not None
    assert main(["train", str(path), "--backend", "cpu", "--epochs", "3"]) == 0
    studio.runs.refresh()
    trainings.until(lambda: [name for name, _ in studio.plots.runs])
    ((_, curves),) = studio.plots.runs
    (segment,) = curves.segments
    content = read_steps(studio.runs.runs[0].folder.path)
    assert content is not None
    assert len(segment.steps["loss"]) == len(content.records) == studio.runs.runs[0].steps
    trainings.until(lambda: pane.plots and pane.plot("loss").content)
    trainings.until(lambda: len(pane.plot("loss").content.drawn[0].strokes[0].line.x) > 3)
    line = pane.plot("loss").content.drawn[0].strokes[0].line
    assert line.x[0] == 1.0
    assert line.x[-1] == len(content.records)
    assert np.isfinite(line.y).all()
