"""The seeds of a trial in the plots: their mean with a band, or each by itself."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from studio.session.studio import Studio
from studio.ui.panes.plots.legend import Chip
from studio.ui.panes.plots.pane import PlotsPane
from studio.widgets import theme
from tests.engine.scale.sweep.sweeping import saved, swept
from tests.ui.panes.plots.plot_hands import count, place
from tests.ui.panes.stage import Stage

SWITCH = "plot_switch.plots.seeds"


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep")
    found = saved(folder / "project", epochs=8)
    swept(found, "dense.units=2,4", sampler="grid", seeds=3)
    return folder / "project"


@pytest.fixture
def pane(sweep: Path, studio: Studio, stage: Stage, qtbot: QtBot, tmp_path: Path) -> PlotsPane:
    shutil.copytree(sweep, tmp_path / "project")
    studio.preferences.set("profile_live", False)
    studio.open(tmp_path / "project" / "small.glassbox")
    made = stage.show(PlotsPane(studio), 1000, 420)
    qtbot.waitUntil(lambda: len(studio.runs.runs) == 6)
    return made


def seeds(studio: Studio, trial: int) -> list[str]:
    names = sorted(run.name for run in studio.runs.runs)
    return [name for name in names if f"-{trial:04d}-" in name]


def draw(studio: Studio, pane: PlotsPane, qtbot: QtBot, *names: str) -> None:
    studio.runs.overlay.only(*names)
    qtbot.waitUntil(lambda: {name for name, _ in studio.plots.runs} == set(names))
    qtbot.waitUntil(lambda: bool(pane.plots) and pane.plot("loss").content is not None)
    pane.draw()


def labels(pane: PlotsPane) -> list[str]:
    return [chip.text() for chip in pane.legend.chips]


@pytest.mark.slow
def test_the_seeds_of_a_trial_are_one_entry_with_a_band(
    studio: Studio, pane: PlotsPane, qtbot: QtBot
) -> None:
    names = seeds(studio, 1)
    draw(studio, pane, qtbot, *names)
    assert labels(pane) == [
        "Training, mean and range of 3 seeds", "Validation, mean and range of 3 seeds",
    ]  # fmt: skip
    assert "from lowest to highest, of 3 seeds" in pane.legend.chips[0].toolTip()
    content = pane.plot("loss").content
    assert content is not None
    validation = content.drawn[1]
    ((low, high),) = validation.bands
    curves = [studio.runs.curves(name) for name in names]
    values = np.stack([c.series("loss", "validation")[0][1].values for c in curves if c])
    assert len(values) == 3
    np.testing.assert_allclose(low.y, values.min(axis=0))
    np.testing.assert_allclose(high.y, values.max(axis=0))
    np.testing.assert_allclose(validation.strokes[0].line.y, values.mean(axis=0))
    # All of the band is in sight.
    assert content.y[0] <= low.y.min() < high.y.max() <= content.y[1]


@pytest.mark.slow
def test_the_band_is_painted_between_the_lowest_and_the_highest(
    studio: Studio, pane: PlotsPane, qtbot: QtBot
) -> None:
    draw(studio, pane, qtbot, *seeds(studio, 0))
    plot = pane.plot("loss")
    # Bands that lie on one another mix their colours.
    qtbot.mouseClick(pane.legend.chips[0], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: plot.content is not None and len(plot.content.drawn) == 1)
    tint = theme.mixed("series.1", "dock", 50 / 255)
    qtbot.waitUntil(lambda: count(plot.picture().toImage(), tint, 6) > 3000)
    qtbot.mouseClick(pane.controls.findChild(QToolButton, SWITCH), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: count(plot.picture().toImage(), tint, 6) < 1000)


@pytest.mark.slow
def test_a_switch_shows_each_seed_by_itself_and_the_mean_again(
    studio: Studio, pane: PlotsPane, qtbot: QtBot
) -> None:
    names = seeds(studio, 0)
    draw(studio, pane, qtbot, *names)
    switch = pane.controls.findChild(QToolButton, SWITCH)
    qtbot.waitUntil(switch.isVisible)
    assert switch.isChecked()
    qtbot.mouseClick(switch, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: len(labels(pane)) == 6)
    assert {text.split(", ")[1] for text in labels(pane)} == {
        "seed 1", "seed 2", "seed 3",
    }  # fmt: skip
    content = pane.plot("loss").content
    assert content is not None
    assert all(not drawn.bands for drawn in content.drawn)
    switch.setFocus()
    qtbot.keyClick(switch, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: len(labels(pane)) == 2)


@pytest.mark.slow
def test_two_trials_are_two_entries_and_a_single_seed_stays_itself(
    studio: Studio, pane: PlotsPane, qtbot: QtBot
) -> None:
    first, second = seeds(studio, 0), seeds(studio, 1)
    draw(studio, pane, qtbot, *first, second[0])
    texts = labels(pane)
    assert len(texts) == 4
    assert texts[0].startswith("Trial 0, ")
    assert texts[0].endswith(" · training, mean and range of 3 seeds")
    assert texts[2].startswith("Trial 1, seed 1, ")
    draw(studio, pane, qtbot, *first[:2], *second)
    texts = labels(pane)
    assert ["of 2 seeds" in text for text in texts] == [True, True, False, False]
    assert ["of 3 seeds" in text for text in texts] == [False, False, True, True]
    draw(studio, pane, qtbot, first[0], second[0])
    switch = pane.controls.findChild(QToolButton, SWITCH)
    qtbot.waitUntil(lambda: not switch.isVisible())


@pytest.mark.slow
def test_over_times_there_is_no_mean(studio: Studio, pane: PlotsPane, qtbot: QtBot) -> None:
    draw(studio, pane, qtbot, *seeds(studio, 0))
    studio.plots.choose_axis("wall")
    qtbot.waitUntil(lambda: len(labels(pane)) == 6)
    studio.plots.choose_axis("epoch")
    qtbot.waitUntil(lambda: len(labels(pane)) == 2)


@pytest.mark.slow
def test_the_pointer_reads_the_mean_and_its_range_and_a_chip_hides_both(
    studio: Studio, pane: PlotsPane, qtbot: QtBot
) -> None:
    draw(studio, pane, qtbot, *seeds(studio, 0))
    plot = pane.plot("loss")
    qtbot.mouseMove(plot.viewport(), place(plot, 0.4, 0.4))
    qtbot.mouseMove(plot.viewport(), place(plot, 0.5, 0.5))
    qtbot.waitUntil(lambda: " to " in plot.reading_text)
    assert plot.reading_text.endswith("validation")
    chip = pane.legend.chips[1]
    assert isinstance(chip, Chip)
    qtbot.mouseClick(chip, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: plot.content is not None and len(plot.content.drawn) == 1)
