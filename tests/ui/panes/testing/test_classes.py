"""Best and last weights, the table of classes, top-k and tables on the test page, by hand."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QFileDialog, QLabel, QToolButton
from pytestqt.qtbot import QtBot

from studio.engine.formats.npz import save_npz
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.optim.losses import BinaryCrossentropy
from studio.engine.train.callbacks.model_checkpoint import ModelCheckpoint
from studio.engine.train.network.measures import Labels
from studio.engine.train.project.project import Project
from studio.ui.panes.testing.pane import TestingPane
from studio.widgets import numbers
from tests.ui.panes.stage import Stage
from tests.ui.panes.testing.page_hands import SIZE, outcome_of
from tests.ui.panes.trainings import Trainings


def choose(box: QComboBox, text: str, qtbot: QtBot) -> None:
    """Choose an entry with the keyboard."""
    box.setFocus()
    down = box.findText(text) > box.currentIndex()
    qtbot.keyClick(box, Qt.Key.Key_Down if down else Qt.Key.Key_Up)
    assert box.currentText() == text


def show_classes(pane: TestingPane, qtbot: QtBot) -> None:
    """Click on the tab of the classes."""
    tabs = pane.matrix.tabs
    qtbot.mouseClick(tabs, Qt.MouseButton.LeftButton, pos=tabs.tabRect(1).center())
    qtbot.waitUntil(pane.matrix.classes.isVisible)


def weights_box(pane: TestingPane) -> QComboBox:
    box = pane.findChild(QComboBox, "test_weights")
    assert box is not None
    return box


@pytest.mark.slow
def test_best_or_last_weights_are_chosen(
    sample: Callable[..., Trainings], stage: Stage, qtbot: QtBot
) -> None:
    digits = sample("digits-mlp", epochs=4, early_stopping=None,
                    checkpoints=ModelCheckpoint(monitor="loss", mode="max"))  # fmt: skip
    pane = stage.show(TestingPane(digits.studio), *SIZE)
    digits.tested()
    evaluation, box = digits.studio.evaluation, weights_box(pane)
    digits.until(lambda: box.isVisible() and box.isEnabled())
    assert box.currentText() == "Last weights"
    last = evaluation.results
    assert last is not None
    pane.activateWindow()
    choose(box, "Best weights", qtbot)
    digits.until(lambda: evaluation.results is not last and evaluation.status == "ready")
    assert evaluation.results is not None
    assert evaluation.results.metrics["loss"] > last.metrics["loss"]
    digits.until(lambda: "epoch 1, best.safetensors" in pane.head.note)
    choose(box, "Last weights", qtbot)
    digits.until(lambda: "final.safetensors" in pane.head.note)


@pytest.mark.slow
def test_without_best_weights_the_choice_is_off_and_says_why(
    sample: Callable[..., Trainings], stage: Stage
) -> None:
    digits = sample("digits-mlp", epochs=1, checkpoints=ModelCheckpoint(best=False))
    pane = stage.show(TestingPane(digits.studio), *SIZE)
    digits.tested()
    digits.until(lambda: "settings" in weights_box(pane).toolTip())
    assert not weights_box(pane).isEnabled()
    assert "keep no best checkpoint" in weights_box(pane).toolTip()


@pytest.mark.slow
def test_the_table_of_classes_shows_the_scores_and_sorts_with_means_below(
    tested: TestingPane, digits: Trainings, qtbot: QtBot
) -> None:
    show_classes(tested, qtbot)
    table, outcome = tested.matrix.classes.table, outcome_of(digits)
    rows = list(outcome.scores.rows())
    assert [row.name for row in table.entries.rows] == [
        *outcome.names, "macro mean", "weighted mean",
    ]  # fmt: skip

    def text(row: int, key: str) -> str:
        return str(table.entries.data(table.entries.at(row, key)))

    confusion = outcome.confusion()
    recall = confusion[3, 3] / confusion[3].sum()
    assert text(3, "recall") == numbers.share(float(recall))
    assert text(3, "support") == str(int(confusion[3].sum()))
    header = table.horizontalHeader()
    place = table.entries.place_of("f1")
    middle = header.sectionViewportPosition(place) + header.sectionSize(place) // 2
    spot = header.viewport().rect().center()
    spot.setX(middle)
    qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=spot)
    shown = [row.f1 for row in table.entries.rows[:-2]]
    assert shown in (sorted(shown), sorted(shown, reverse=True))
    assert sorted(shown) == sorted(row.f1 for row in rows)
    assert [row.is_mean for row in table.entries.rows[-2:]] == [True, True]


@pytest.mark.slow
def test_k_is_typed_and_capped_by_the_classes(
    tested: TestingPane, digits: Trainings, qtbot: QtBot
) -> None:
    show_classes(tested, qtbot)
    classes, outcome = tested.matrix.classes, outcome_of(digits)
    assert classes.k.value == 3
    assert numbers.share(outcome.top_k(3)) in classes.text
    assert f"Accuracy {numbers.share(outcome.accuracy)}" in classes.text
    tested.activateWindow()
    for typed, k in (("2", 2), ("25", 10), ("0", 1)):
        classes.k.setFocus()
        classes.k.selectAll()
        qtbot.keyClicks(classes.k, typed)
        qtbot.keyClick(classes.k, Qt.Key.Key_Return)
        assert classes.k.value == k
        shown = tested.findChild(QLabel, "top_k_accuracy")
        assert shown is not None
        assert shown.text() == numbers.share(outcome.top_k(k))


@pytest.mark.slow
def test_both_tables_are_exported(
    tested: TestingPane, digits: Trainings, qtbot: QtBot, tmp_path: Path
) -> None:
    button = tested.findChild(QToolButton, "test_export")
    assert button is not None
    outcome = outcome_of(digits)
    for kind in ("classes", "samples"):
        menu = button.menu()
        menu.popup(button.mapToGlobal(button.rect().bottomLeft()))
        qtbot.waitUntil(menu.isVisible)
        action = next(a for a in menu.actions() if a.objectName() == f"test_export.{kind}")
        spot = menu.actionGeometry(action).center()
        qtbot.mouseClick(menu, Qt.MouseButton.LeftButton, pos=spot)
        qtbot.waitUntil(lambda: tested.findChild(QFileDialog, "export_test") is not None)
        dialog = tested.findChild(QFileDialog, "export_test")
        # The second begins where the first file went.
        assert kind == "classes" or Path(dialog.directory().absolutePath()) == tmp_path
        path = tmp_path / f"{kind}.csv"
        dialog.fileSelected.emit(str(path))
        dialog.close()
        digits.until(path.is_file)
        qtbot.waitUntil(lambda: tested.findChild(QFileDialog, "export_test") is None)
    with (tmp_path / "samples.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    said = [outcome.names.index(row["predicted"]) for row in rows]
    assert said == outcome.predicted.tolist()
    with (tmp_path / "classes.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == len(outcome.names) + 2


@pytest.mark.slow
def test_two_classes_have_a_table_and_no_top_k(
    sample: Callable[..., Trainings], stage: Stage, qtbot: QtBot
) -> None:
    spirals = sample("spirals", epochs=2, early_stopping=None)
    pane = stage.show(TestingPane(spirals.studio), *SIZE)
    spirals.tested()
    show_classes(pane, qtbot)
    spirals.until(lambda: len(pane.matrix.classes.table.entries.rows) > 0)
    assert not pane.matrix.classes.k.isVisible()
    assert len(pane.matrix.classes.table.entries.rows) == 2 + 2


@pytest.mark.slow
def test_labels_have_their_scores_and_no_matrix(
    studio: object, qtbot: QtBot, stage: Stage, tmp_path: Path, rng: np.random.Generator
) -> None:
    x = rng.normal(size=(200, 4)).astype(np.float32)
    y = (x[:, :3] > 0).astype(np.float32)
    save_npz(tmp_path / "labels.npz", {"x": x, "y": y})
    graph = LayerGraph("labels")
    graph.outputs = (graph.add(Dense(3, "sigmoid"), graph.add(Input((4,)))),)
    data = {"source": "npz", "path": "labels.npz", "task": "regression"}
    settings = {"epochs": 2, "batch_size": 16, "loss": BinaryCrossentropy()}
    path = tmp_path / "labels.glassbox"
    Project.new("labels", graph, data, settings).save(path)
    trainings = Trainings(studio, qtbot, tmp_path, path)  # type: ignore[arg-type]
    pane = stage.show(TestingPane(trainings.studio), *SIZE)
    trainings.tested()
    results = trainings.studio.evaluation.results
    assert results is not None
    assert isinstance(results.outcome, Labels)
    trainings.until(pane.matrix.classes.isVisible)
    assert not pane.matrix.tabs.isVisible()
    assert not pane.matrix.matrix.isVisible()
    assert not pane.matrix.classes.k.isVisible()
    assert "All labels right" in pane.matrix.classes.text
    assert [row.name for row in pane.matrix.classes.table.entries.rows[:3]] == [
        "output 0", "output 1", "output 2",
    ]  # fmt: skip
