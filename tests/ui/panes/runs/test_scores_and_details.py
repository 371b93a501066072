"""Runs sorted by their score, and the details of one, with real trainings and clicks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QItemSelectionModel, QPoint, Qt
from PySide6.QtWidgets import QScrollArea
from pytestqt.qtbot import QtBot

from studio.ui.panes.runs.pane import RunsPane
from tests.ui.panes.stage import Stage
from tests.ui.panes.trainings import Trainings


@pytest.fixture
def trainings(sample: Callable[..., Trainings]) -> Trainings:
    return sample("iris", epochs=2)


@pytest.fixture
def pane(trainings: Trainings, stage: Stage) -> RunsPane:
    """Two runs: the newer one with the smaller batch."""
    made = stage.show(RunsPane(trainings.studio), 1000, 700)
    for batch in (16, 8):
        trainings.settings(batch_size=batch)
        trainings.tested()
    trainings.until(
        lambda: ["val_loss" in run.best for run in made.table.entries.rows] == [True] * 2
    )
    return made


def choose(pane: RunsPane, row: int) -> None:
    flags = QItemSelectionModel.SelectionFlag
    index = pane.table.entries.index(row, 0)
    pane.table.selectionModel().select(index, flags.ClearAndSelect | flags.Rows)


@pytest.mark.slow
def test_runs_are_sorted_by_their_score(pane: RunsPane, qtbot: QtBot) -> None:
    table = pane.table
    place = table.entries.place_of("best.val_loss")
    assert not table.isColumnHidden(place)
    header = table.horizontalHeader()
    orders = []
    for _ in range(2):
        x = header.sectionViewportPosition(place) + header.sectionSize(place) // 2
        spot = QPoint(x, header.height() // 2)
        qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=spot)
        orders.append([run.best["val_loss"][0] for run in table.entries.rows])
    lowest = [
        min(record["val_loss"] for record in run.folder.metrics()) for run in table.entries.rows
    ]
    assert orders == [sorted(lowest, reverse=True), sorted(lowest)]


@pytest.mark.slow
def test_the_details_tell_what_happened(pane: RunsPane, qtbot: QtBot) -> None:
    choose(pane, 0)
    details = pane.notes.details
    qtbot.waitUntil(details.isVisible)
    qtbot.waitUntil(lambda: dict(details.texts["Course"])["Epochs"] == "2 of 2")
    run = pane.table.entries.rows[0]
    texts = details.texts
    assert list(texts) == ["Course", "Events", "Metrics", "Settings", "Files"]
    assert dict(texts["Course"])["Epochs"] == "2 of 2"
    assert texts["Events"][0][1] == "started"
    assert dict(texts["Settings"])["Batch size"] == "8"
    epoch = run.best["val_loss"][1]
    assert dict(texts["Metrics"])["Val loss, best"].endswith(f", epoch {epoch}")
    assert "metrics.jsonl" in dict(texts["Files"])
    section = details.section("Files")
    assert not section.is_open
    area = pane.findChild(QScrollArea, "run_details")
    assert area is not None
    area.ensureWidgetVisible(section.heading)
    qtbot.mouseClick(section.heading, Qt.MouseButton.LeftButton)
    assert section.is_open
    choose(pane, 1)
    assert dict(details.texts["Settings"])["Batch size"] == "16"
