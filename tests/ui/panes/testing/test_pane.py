"""The test page with real trainings, real clicks, drawings and drops."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QCheckBox, QComboBox, QLabel, QPushButton, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.train.network.measures import Regression, classify
from studio.engine.train.project.project import Project
from studio.session.core.held_out import SHARED_PART
from studio.session.document.edits.layers import set_option
from studio.session.studio import Studio
from studio.ui.panes.testing.evidence_view import CellFilter
from studio.ui.panes.testing.matrix_view import MatrixView
from studio.ui.panes.testing.pane import TestingPane
from studio.ui.panes.testing.pictures import sample_image
from studio.widgets import theme
from studio.widgets.labels.elided_label import ElidedLabel
from tests.ui.panes.stage import Stage
from tests.ui.panes.testing.page_hands import outcome_of
from tests.ui.panes.trainings import Trainings

# -- what is shown ------------------------------------------------------------------------------


@pytest.mark.slow
def test_before_a_training_the_page_offers_one(
    pane: TestingPane, digits: Trainings, qtbot: QtBot
) -> None:
    assert pane.is_empty
    button = next(b for b in pane.findChildren(QPushButton) if b.isVisible())
    assert "F5" in button.text()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert digits.studio.training.is_busy
    digits.until_state("finished")
    digits.until(lambda: digits.studio.evaluation.status == "ready")


@pytest.mark.slow
def test_the_measures_stand_at_the_top(tested: TestingPane, digits: Trainings) -> None:
    results = digits.studio.evaluation.results
    assert results is not None
    accuracy = f"{100 * results.metrics['accuracy']:.3g}\u202f%"
    assert f"Accuracy {accuracy}" in tested.head.text
    assert "Loss" in tested.head.text
    origin = "weights of epoch 6, final.safetensors"
    assert tested.head.note == f"{len(results)} samples; {origin}"


@pytest.mark.slow
def test_the_matrix_counts_and_shows_shares(
    tested: TestingPane, digits: Trainings, qtbot: QtBot
) -> None:
    matrix, outcome = tested.matrix.matrix, outcome_of(digits)
    np.testing.assert_array_equal(matrix.counts, outcome.confusion())
    assert matrix.text_of((3, 3)) == str(int(outcome.confusion()[3, 3]))
    qtbot.mouseClick(tested.matrix.shares, Qt.MouseButton.LeftButton)
    row = outcome.confusion()[3]
    assert matrix.text_of((3, 3)) == f"{100 * row[3] / row.sum():.0f}"
    assert "3 recognised" in matrix.sentence((3, 3))


@pytest.mark.parametrize("classes", [60, 1000])
def test_a_matrix_of_many_classes_fits_and_is_drawn_at_once(
    stage: Stage, qtbot: QtBot, classes: int
) -> None:
    """Each class is recognised, but the third is always taken for the second last."""
    truth = np.arange(classes).repeat(3)
    found = np.where(truth == 2, classes - 2, truth)
    names = tuple(f"class {n}" for n in range(classes))
    shares = np.eye(classes)[found]
    matrix = stage.show(MatrixView(), 400, 300)
    matrix.show_outcome(classify(shares, truth, names, logits=False))
    last = matrix.cell_rect((classes - 1, classes - 1))
    assert QRectF(matrix.rect()).contains(last)
    seen = matrix.grab().toImage()

    def spot(truth: int, said: int) -> QPoint:
        centre = matrix.cell_rect((truth, said)).center()
        return QPoint(int(centre.x()), int(centre.y()))

    def colour(truth: int, said: int) -> QColor:
        return seen.pixelColor(spot(truth, said))

    assert colour(classes // 2, classes // 2) == theme.mixed("accent", "field", 0.9)
    assert colour(2, classes - 2) == theme.mixed("error", "field", 0.9)
    assert colour(classes // 4, classes // 2) == theme.colour("field")
    chosen: list[object] = []
    matrix.chosen.connect(chosen.append)
    qtbot.mouseClick(matrix, Qt.MouseButton.LeftButton, pos=spot(2, classes - 2))
    assert chosen == [(2, classes - 2)]
    said = f"3 of 3 class 2 predicted class {classes - 2}"
    assert matrix.sentence((2, classes - 2)).startswith(said)


@pytest.mark.slow
def test_a_click_on_a_cell_shows_its_samples_and_another_click_all(
    tested: TestingPane, digits: Trainings, qtbot: QtBot
) -> None:
    matrix, outcome = tested.matrix.matrix, outcome_of(digits)
    off = outcome.confusion()
    np.fill_diagonal(off, 0)
    truth, said = (int(n) for n in np.unravel_index(off.argmax(), off.shape))
    area = matrix.cell_rect((truth, said))
    qtbot.mouseClick(matrix, Qt.MouseButton.LeftButton, pos=area.center().toPoint())
    model = tested.samples.samples.entries
    digits.until(lambda: model.rowCount() == off[truth, said])
    for row in range(model.rowCount()):
        sample = model.rows[row]
        assert (outcome.truth[sample], outcome.predicted[sample]) == (truth, said)
    chip = tested.findChild(CellFilter)
    assert isinstance(chip, CellFilter)
    assert chip.isVisible()
    assert chip.text() == f"{truth} predicted as {said}"
    qtbot.wait(50)
    assert matrix.cell_rect((truth, said)) == area
    chip.show_text("a very long name of a class " * 9)
    qtbot.wait(50)
    assert chip.text().endswith("\N{HORIZONTAL ELLIPSIS}")
    assert matrix.cell_rect((truth, said)) == area
    qtbot.mouseClick(chip, Qt.MouseButton.LeftButton)
    digits.until(lambda: model.rowCount() == len(outcome.truth))


@pytest.mark.slow
def test_the_matrix_is_walked_with_the_keyboard(
    tested: TestingPane, digits: Trainings, qtbot: QtBot
) -> None:
    matrix = tested.matrix.matrix
    tested.activateWindow()
    matrix.setFocus()
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Right):
        qtbot.keyClick(matrix, key)
    assert "2" in matrix.accessibleDescription()
    qtbot.keyClick(matrix, Qt.Key.Key_Return)
    choice = digits.studio.evaluation.choice
    assert (choice.truth, choice.predicted) == (2, 1)
    qtbot.keyClick(matrix, Qt.Key.Key_Escape)
    assert not digits.studio.evaluation.choice.is_cell


@pytest.mark.slow
def test_samples_are_ordered_and_filtered(
    tested: TestingPane, digits: Trainings, qtbot: QtBot
) -> None:
    outcome, model = outcome_of(digits), tested.samples.samples.entries
    first = model.rows[0]
    assert outcome.losses[first] == outcome.losses.max()
    wrong = tested.findChild(QCheckBox, "wrong_only")
    assert isinstance(wrong, QCheckBox)
    wrong.click()
    digits.until(lambda: model.rowCount() == int(outcome.wrong.sum()))
    wrong.click()
    order = tested.findChild(QComboBox, "sample_order")
    assert isinstance(order, QComboBox)
    tested.activateWindow()
    order.setFocus()
    qtbot.keyClick(order, Qt.Key.Key_Down)
    digits.until(lambda: outcome.losses[model.rows[0]] == outcome.losses.min())
    text = model.at(0).data()
    assert text.startswith("Sample ")
    assert "recognised as" in text


@pytest.mark.slow
def test_another_part_can_be_measured(tested: TestingPane, digits: Trainings, qtbot: QtBot) -> None:
    part = tested.findChild(QComboBox, "test_part")
    assert isinstance(part, QComboBox)
    assert part.itemText(0) == "Held-out part"
    assert SHARED_PART in part.toolTip()
    tested.activateWindow()
    part.setFocus()
    qtbot.keyClick(part, Qt.Key.Key_End)
    evaluation = digits.studio.evaluation
    digits.until(lambda: evaluation.results is not None and evaluation.results.part == "training")


@pytest.mark.slow
def test_a_narrow_page_shows_one_thing_at_a_time(tested: TestingPane, qtbot: QtBot) -> None:
    assert tested.matrix.isVisible()
    assert tested.ask.isVisible()
    tested.resize(420, 500)
    qtbot.waitUntil(lambda: not tested.ask.isVisible())
    assert tested.matrix.isVisible()
    assert not tested.samples.isVisible()
    tested.resize(640, 500)
    qtbot.waitUntil(tested.samples.isVisible)
    assert tested.matrix.isVisible()
    assert not tested.ask.isVisible()
    tested.resize(1200, 500)
    qtbot.waitUntil(tested.ask.isVisible)


@pytest.mark.slow
def test_numbers_are_shown_against_the_true_ones(
    studio: Studio, qtbot: QtBot, tmp_path: Path, rng: np.random.Generator
) -> None:
    rows = rng.normal(size=(160, 2))
    target = rows @ [1.0, -2.0]
    lines = ["a,b,y", *(f"{a:.6f},{b:.6f},{y:.6f}" for (a, b), y in zip(rows, target, strict=True))]
    (tmp_path / "line.csv").write_text("\n".join(lines))
    graph = LayerGraph("line")
    graph.outputs = (graph.add(Dense(1), graph.add(Input((2,)))),)
    data = {"source": "csv", "path": "line.csv", "label": "y", "task": "regression"}
    training = {"epochs": 8, "batch_size": 16, "optimizer": "Adam"}
    Project.new("line", graph, data, training).save(tmp_path / "line.glassbox")
    studio.preferences.set("backend", "cpu")
    studio.open(tmp_path / "line.glassbox")
    pane = TestingPane(studio)
    qtbot.addWidget(pane)
    pane.resize(1200, 460)
    pane.show()
    studio.training.start()
    qtbot.waitUntil(lambda: studio.evaluation.status == "ready")
    errors = pane.matrix.errors
    qtbot.waitUntil(errors.isVisible)
    results = studio.evaluation.results
    assert results is not None
    assert isinstance(results.outcome, Regression)
    assert errors.measures == results.outcome.measures()
    assert not pane.matrix.matrix.isVisible()
    place = errors._places(results.outcome, 0)[11][1]
    qtbot.mouseClick(errors, Qt.MouseButton.LeftButton, pos=place.toPoint())
    qtbot.waitUntil(lambda: studio.evaluation.answer is not None)
    pane.close()


# -- while it trains ----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_network_in_training_is_tested_when_asked(
    pane: TestingPane, digits: Trainings, qtbot: QtBot
) -> None:
    digits.settings(epochs=100_000)
    digits.studio.training.start()
    digits.until_state("running")
    button = None
    digits.until(lambda: any(b.isVisible() and b.text() == "Test now"
                             for b in pane.findChildren(QPushButton)))  # fmt: skip
    button = next(b for b in pane.findChildren(QPushButton)
                  if b.isVisible() and b.text() == "Test now")  # fmt: skip
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    digits.until(lambda: not pane.is_empty and pane.matrix.matrix.counts is not None)
    digits.until(lambda: "it has trained on" in pane.head.note)
    digits.studio.training.stop()
    digits.until_state("stopped")
    digits.until(lambda: "samples" in pane.head.note)


def test_a_paused_training_is_not_said_to_go_on(pane: TestingPane, digits: Trainings) -> None:
    def says(words: str) -> bool:
        return any(label.isVisible() and label.text() == words
                   for label in pane.findChildren(QLabel))  # fmt: skip

    digits.settings(epochs=100_000)
    digits.studio.training.start()
    digits.until(lambda: says("Training is running"))
    digits.studio.actions.trigger("train.pause")
    digits.until(lambda: says("Training is paused"))
    assert not says("Training is running")
    digits.studio.training.stop()
    digits.until_state("stopped")


@pytest.mark.slow
def test_a_failed_test_says_why_and_can_be_tried_again(
    tested: TestingPane, digits: Trainings
) -> None:
    studio = digits.studio
    name = studio.runs.runs[0].name
    studio.training.reset()
    digits.until(lambda: studio.training.run is None)
    record = studio.runs.run(name)
    assert record is not None
    (record.folder.path / "settings.json").write_text("{")
    studio.evaluation.test_run(name)
    digits.until(lambda: studio.evaluation.status == "failed")
    digits.until(lambda: tested.is_empty)
    assert studio.evaluation.error is not None


@pytest.mark.parametrize(
    ("shape", "size"),
    [((8, 8, 1), (8, 8)), ((6, 4, 3), (4, 6)), ((5, 7), (7, 5)), ((40,), (32, 2)), ((3,), (3, 1))],
)
def test_any_sample_is_a_picture(shape: tuple[int, ...], size: tuple[int, int]) -> None:
    image = sample_image(np.arange(np.prod(shape), dtype=np.float32).reshape(shape), None)
    assert (image.width(), image.height()) == size


@pytest.mark.slow
def test_weights_of_an_older_graph_are_called_so_with_a_way_back(
    tested: TestingPane, digits: Trainings, qtbot: QtBot
) -> None:
    document, band = digits.studio.document, tested.stale
    assert not band.isVisible()
    before = document.state
    document.apply("units", set_option(document.state, "hidden1", "units", 99))
    digits.until(band.isVisible)
    assert band.text == "The weights are of an older graph: hidden1 changed"
    for name, wanted in (("stale.show", True), ("stale.revert", False)):
        button = band.findChild(QToolButton, name)
        assert isinstance(button, QToolButton)
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        if wanted:
            assert any(w.text() == "Changed: hidden1" and w.isVisible()
                       for w in band.findChildren(QLabel))  # fmt: skip
    digits.until(lambda: not band.isVisible())
    assert document.state.nodes == before.nodes
    document.undo()
    digits.until(band.isVisible)


def _are_whole(head: QWidget) -> bool:
    """Whether every measure in sight has the room its words need, inside the head."""
    labels = [each for each in head.findChildren(QLabel) if each.isVisible() and each.text()]
    return all(
        isinstance(each, ElidedLabel)
        or (
            each.width() >= each.sizeHint().width()
            and each.mapTo(head, each.rect().topRight()).x() < head.width()
        )
        for each in labels
    )


@pytest.mark.slow
def test_recorded_networks_are_chosen_in_the_head(
    tested: TestingPane, digits: Trainings, qtbot: QtBot
) -> None:
    digits.settings(seed=3, epochs=2)
    digits.tested()
    evaluation = digits.studio.evaluation
    box = tested.findChild(QComboBox, "test_network")
    assert isinstance(box, QComboBox)
    digits.until(lambda: box.count() == 2 and box.isVisible())
    assert box.currentIndex() == 0

    def fits(wide: int) -> bool:
        # Asked again, since the head needs less room once its measures stand below.
        tested.resize(wide, 360)
        least = max(wide, tested.minimumSizeHint().width())
        return tested.width() == least and _are_whole(tested.head)

    for wide in (360, 430, 760):
        digits.until(lambda wide=wide: fits(wide))
    tested.activateWindow()
    box.setFocus()
    qtbot.keyClick(box, Qt.Key.Key_Down)
    assert evaluation.run == digits.studio.runs.runs[1].name
    digits.until(lambda: evaluation.status == "ready" and evaluation.results is not None)


@pytest.mark.slow
def test_measures_whose_words_grow_find_room(tested: TestingPane, digits: Trainings) -> None:
    tested.resize(760, 360)
    digits.until(lambda: tested.width() == 760 and _are_whole(tested.head))
    shown = [each for each in tested.head.findChildren(QLabel) if each.isVisible()]
    measure = next(each for each in shown if each.text() and not isinstance(each, ElidedLabel))

    def stand_beside() -> bool:
        return measure.mapTo(tested.head, measure.rect().topLeft()).y() < theme.HIT

    def has_room(words: str, beside: bool) -> bool:
        if measure.text() != words:
            # On a busy machine the head is still shown anew for the training that has ended.
            measure.setText(words)
            return False
        return stand_beside() == beside and _are_whole(tested.head)

    for words, beside in ((measure.text(), True), ("a measure of many words " * 3, False)):
        digits.until(lambda words=words, beside=beside: has_room(words, beside))


@pytest.mark.slow
def test_the_last_run_is_offered_when_a_project_is_opened_again(
    tested: TestingPane, digits: Trainings, qtbot: QtBot
) -> None:
    digits.studio.training.reset()
    digits.until(lambda: tested.is_empty)

    def offered() -> QPushButton | None:
        found = (b for b in tested.findChildren(QPushButton) if b.isVisible())
        return next((b for b in found if b.text() == "Test it"), None)

    digits.until(offered)
    button = offered()
    assert button is not None
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    digits.until(lambda: digits.studio.evaluation.status == "ready" and not tested.is_empty)
    digits.studio.evaluation.close()
