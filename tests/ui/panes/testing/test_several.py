"""The test page on a network with two inputs and two outputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QComboBox, QFileDialog, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from studio.engine.train.data.builtin import load_digits
from studio.engine.train.network.measures import Classification, Regression
from studio.session.studio import Studio
from studio.ui.panes.testing.pane import TestingPane
from tests.engine.train.two_inputs import CLASSES, two_inputs
from tests.engine.train.two_tables import two_tables
from tests.ui.panes.stage import Stage
from tests.ui.panes.testing.page_hands import SIZE
from tests.ui.panes.trainings import Trainings


@pytest.fixture
def two(studio: Studio, qtbot: QtBot, tmp_path: Path) -> Trainings:
    return Trainings(studio, qtbot, tmp_path, two_inputs(tmp_path))


@pytest.fixture
def page(two: Trainings, stage: Stage) -> TestingPane:
    made = stage.show(TestingPane(two.studio), *SIZE)
    two.tested()
    two.until(lambda: bool(made.ask.inputs.groups) and made.head.isVisible() and made.head.text)
    made.activateWindow()
    return made


@pytest.mark.slow
def test_each_output_has_its_evidence(page: TestingPane, two: Trainings, qtbot: QtBot) -> None:
    evaluation = two.studio.evaluation
    results = evaluation.results
    assert results is not None
    assert results.outputs == ("parity", "total")
    assert results.metrics["loss"] == pytest.approx(
        results.metrics["parity_loss"] + results.metrics["total_loss"], rel=1e-5
    )
    first, second = results.outcomes
    assert isinstance(first, Classification)
    assert isinstance(second, Regression)
    assert first.accuracy == pytest.approx(results.metrics["parity_accuracy"])
    assert second.losses.mean() == pytest.approx(results.metrics["total_loss"], rel=1e-4)
    chosen = page.findChild(QComboBox, "test_output")
    assert chosen is not None
    two.until(chosen.isVisible)
    assert [chosen.itemText(n) for n in range(chosen.count())] == ["parity", "total"]
    assert page.matrix.matrix.isVisible()
    assert "Accuracy" in page.head.text
    text = tip_of(page, 0)
    assert any(name in text for name in CLASSES)
    chosen.setFocus()
    qtbot.keyClick(chosen, Qt.Key.Key_Down)
    two.until(page.matrix.errors.isVisible)
    assert evaluation.output == 1
    assert "Accuracy" not in page.head.text
    assert not page.samples.wrong.isVisible()
    assert "predicted" in tip_of(page, 0)
    evaluation.measure()
    two.until(lambda: evaluation.status == "ready")
    assert evaluation.output == 1, "measuring again keeps the output"


@pytest.mark.slow
def test_a_sample_shows_every_input_and_every_answer(
    page: TestingPane, two: Trainings, qtbot: QtBot
) -> None:
    view, results = page.samples.samples, two.studio.evaluation.results
    assert results is not None
    sample = view.entries.rows[0]
    assert "row: " in tip_of(page, 0)
    spot = view.visualRect(view.entries.index(0, 0)).center()
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=spot)
    two.until(lambda: two.studio.evaluation.answer is not None)
    answers = two.studio.evaluation.questions.answers
    assert [each.output for each in answers] == ["parity", "total"]
    for answer, outcome in zip(answers, results.outcomes, strict=True):
        said = outcome.shares if isinstance(outcome, Classification) else outcome.predicted
        np.testing.assert_allclose(answer.values[0], said[sample], rtol=1e-4, atol=1e-6)
    picture, row = page.ask.inputs.groups
    two.until(lambda: [f.value for f in row.fields] == pytest.approx(results.inputs[1][sample]))
    assert picture.seen.isVisible()
    words = [label.text() for label in page.ask.findChildren(QLabel) if label.isVisible()]
    assert {"parity", "total", "picture", "row"} <= set(words)
    assert any("draw only where an image is the only input" in text for text in words)


@pytest.mark.slow
def test_each_input_is_typed_or_read_from_a_file(
    page: TestingPane, two: Trainings, tmp_path: Path, qtbot: QtBot
) -> None:
    evaluation = two.studio.evaluation
    row = page.ask.inputs.groups[1]
    field = row.fields[1]
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, "1.25")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    two.until(lambda: evaluation.answer is not None)
    assert evaluation.answer is not None
    assert evaluation.answer.inputs[1][0, 1] == np.float32(1.25)
    digit = load_digits().x[7]
    np.save(tmp_path / "digit.npy", digit)
    button = page.findChild(QPushButton, "ask_file.picture")
    assert button is not None
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    dialog = page.findChild(QFileDialog, "ask_files")
    assert dialog is not None
    dialog.filesSelected.emit([str(tmp_path / "digit.npy")])
    dialog.close()
    two.until(lambda: evaluation.answer is not None and evaluation.answer.names[0] != "your row")
    answer = evaluation.answer
    assert answer.names == ("picture: digit.npy",)
    np.testing.assert_array_equal(answer.inputs[0][0], digit)
    assert answer.inputs[1][0, 1] == np.float32(1.25), "the other input stays"


@pytest.mark.slow
def test_a_file_that_does_not_fit_is_said_and_the_inputs_stay(
    page: TestingPane, two: Trainings, tmp_path: Path
) -> None:
    evaluation = two.studio.evaluation
    evaluation.questions.ask_values([1.0, 2.0, 3.0], 1)
    two.until(lambda: evaluation.answer is not None)
    (tmp_path / "cut.npy").write_bytes(b"\x93NUMPY\x01")
    np.save(tmp_path / "wide.npy", np.zeros((2, 9)))
    np.save(tmp_path / "nan.npy", np.full((1, 3), np.nan))
    for name, said in (
        ("cut.npy", "not a npy file"),
        ("wide.npy", "inputs must have shape [rows, 3]: got [2, 9]"),
        ("gone.npy", "there is no file"),
        ("nan.npy", "must be a finite number"),
    ):
        evaluation.questions.ask_file(1, tmp_path / name)
        two.until(lambda: evaluation.questions.error is not None)
        assert evaluation.questions.error is not None
        assert said in evaluation.questions.error.message
        two.until(lambda: evaluation.questions.error.message == page.ask.answer.text())
        evaluation.questions.forget()
    evaluation.questions.ask_file(0, tmp_path / "wide.npy")
    two.until(lambda: evaluation.questions.error is not None)
    np.save(tmp_path / "digit.npy", load_digits().x[7])
    evaluation.questions.ask_file(0, tmp_path / "digit.npy")
    two.until(lambda: evaluation.answer is not None)
    assert evaluation.answer is not None
    assert evaluation.answer.inputs[1].tolist() == [[1.0, 2.0, 3.0]]


@pytest.mark.slow
def test_an_archive_with_all_inputs_is_dropped(
    page: TestingPane, two: Trainings, tmp_path: Path
) -> None:
    evaluation = two.studio.evaluation
    x = load_digits().x
    np.savez(tmp_path / "own.npz", picture=x[5:7], row=np.ones((2, 3)))
    drop(page, tmp_path / "own.npz")
    two.until(lambda: evaluation.answer is not None)
    assert evaluation.answer is not None
    assert len(evaluation.answer.names) == 2
    assert evaluation.questions.answers[1].values.shape == (2, 1)
    np.savez(tmp_path / "half.npz", picture=x[5:7])
    drop(page, tmp_path / "half.npz")
    said = "there is no array for the input 'row'"
    two.until(lambda: said in page.ask.answer.text())


@pytest.mark.slow
def test_a_table_with_the_columns_of_all_inputs_is_dropped(
    studio: Studio, stage: Stage, qtbot: QtBot, tmp_path: Path
) -> None:
    houses = Trainings(studio, qtbot, tmp_path, two_tables(tmp_path))
    page = stage.show(TestingPane(studio), *SIZE)
    houses.tested()
    houses.until(lambda: "drop a table with all inputs" in page.ask.answer.text())
    new = tmp_path / "new.csv"
    new.write_text("distance,rooms,area\n0.5,-1,2\n0.25,1,-0.5\n")
    drop(page, new)
    houses.until(lambda: studio.evaluation.answer is not None)
    answer = studio.evaluation.answer
    assert answer is not None
    assert [each.tolist() for each in answer.inputs] == [[[2, -1], [-0.5, 1]], [[0.5], [0.25]]]
    assert answer.names == ("new.csv:0", "new.csv:1")
    new.write_text("distance,rooms\n0.5,-1\n")
    drop(page, new)
    said = "the first row names no column 'area', which the input 'house' takes"
    houses.until(lambda: said in page.ask.answer.text())


def drop(page: TestingPane, path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    place, buttons = QPoint(20, 20), Qt.MouseButton.LeftButton
    keys = Qt.KeyboardModifier.NoModifier
    for event in (
        QDragEnterEvent(place, Qt.DropAction.CopyAction, data, buttons, keys),
        QDropEvent(place, Qt.DropAction.CopyAction, data, buttons, keys),
    ):
        QApplication.sendEvent(page.ask, event)
        assert event.isAccepted()


def tip_of(page: TestingPane, row: int) -> str:
    """What the page says of a sample."""
    found = page.samples.samples.entries.index(row, 0).data(Qt.ItemDataRole.ToolTipRole)
    assert isinstance(found, str)
    return found
