"""The test page is asked: drawings, drops, samples, rows and places."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QCheckBox, QLabel, QTabWidget, QWidget
from pytestqt.qtbot import QtBot

from studio.ui.panes.testing.pane import TestingPane
from tests.ui.panes.stage import Stage
from tests.ui.panes.testing.page_hands import SIZE, outcome_of, stroke
from tests.ui.panes.trainings import Trainings


@pytest.mark.slow
def test_a_drawing_is_answered_while_it_grows_and_cleared(
    tested: TestingPane, digits: Trainings, qtbot: QtBot
) -> None:
    draw, evaluation = tested.ask.draw, digits.studio.evaluation
    area = draw.area()

    def at(x: float, y: float) -> QPointF:
        return QPointF(area.left() + x * area.width(), area.top() + y * area.height())

    # A one: a single line from top to bottom.
    stroke(draw, at(0.5, 0.15), at(0.5, 0.35), at(0.5, 0.6), at(0.5, 0.85))
    digits.until(lambda: tested.ask.answer.answer is not None)
    answer = tested.ask.answer.answer
    assert answer is not None
    assert answer.names == ("your drawing",)
    assert answer.inputs[0].shape == (1, 8, 8, 1)
    assert answer.inputs[0].max() > 8
    assert evaluation.answer is not None
    assert evaluation.answer.best[0] == "1"
    drawing = draw.drawing
    assert drawing is not None
    inked = drawing.ink.sum()
    stroke(draw, at(0.5, 0.15), at(0.5, 0.4), button=Qt.MouseButton.RightButton)
    assert drawing.ink.sum() < inked
    tested.activateWindow()
    draw.setFocus()
    qtbot.keyClick(draw, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert drawing.ink.sum() == inked
    qtbot.keyClick(draw, Qt.Key.Key_Delete)
    assert drawing.is_empty
    digits.until(lambda: evaluation.answer is None)


@pytest.mark.slow
def test_a_low_page_can_still_be_drawn_on(tested: TestingPane, qtbot: QtBot) -> None:
    tested.resize(574, 150)
    tabs = tested.findChild(QTabWidget, "testing_tabs")
    assert tabs is not None
    tabs.setCurrentIndex(tabs.count() - 1)
    qtbot.waitUntil(tested.ask.draw.isVisible)
    smallest = tested.ask.draw.minimumSizeHint()
    qtbot.waitUntil(lambda: tested.ask.draw.height() >= smallest.height())
    assert not tested.ask.draw.geometry().intersects(tested.ask.answer.geometry())


@pytest.mark.slow
def test_a_dropped_image_is_answered(
    tested: TestingPane, digits: Trainings, tmp_path: Path
) -> None:
    outcome, results = outcome_of(digits), digits.studio.evaluation.results
    assert results is not None
    sample = int(outcome.losses.argmin())
    pixels = np.rint(results.inputs[0][sample, :, :, 0] * (255 / 16)).astype(np.uint8)
    path = tmp_path / "mine.png"
    Image.fromarray(pixels).save(path)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    place = QPoint(20, 20)
    copy, left = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    enter = QDragEnterEvent(place, copy, data, left, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(tested.ask, enter)
    assert enter.isAccepted()
    drop = QDropEvent(QPointF(place), copy, data, left, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(tested.ask, drop)
    digits.until(lambda: tested.ask.answer.answer is not None)
    answer = tested.ask.answer.answer
    assert answer is not None
    assert answer.names == ("mine.png",)
    assert answer.best == (outcome.names[outcome.truth[sample]],)
    assert outcome.names[outcome.truth[sample]] in tested.ask.answer.text()


@pytest.mark.slow
def test_a_file_that_is_no_picture_is_refused_in_words(
    tested: TestingPane, digits: Trainings, tmp_path: Path
) -> None:
    path = tmp_path / "mine.png"
    path.write_bytes(b"nothing")
    tested.ask.ask_files([path])
    digits.until(lambda: "image" in tested.ask.answer.text())
    assert tested.ask.answer.answer is None


@pytest.mark.slow
def test_a_click_on_a_sample_asks_about_it(
    tested: TestingPane, digits: Trainings, qtbot: QtBot
) -> None:
    view = tested.samples.samples
    spot = view.visualRect(view.entries.at(1)).center()
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=spot)
    sample = view.entries.rows[1]
    digits.until(lambda: (a := digits.studio.evaluation.answer) is not None
                 and a.names == (f"test sample {sample}",))  # fmt: skip
    outcome = outcome_of(digits)
    answer = digits.studio.evaluation.answer
    assert answer is not None
    np.testing.assert_allclose(answer.values[0], outcome.shares[sample], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "tab"), [(400, "Samples"), (574, "Results"), (1200, "")])
def test_what_is_said_of_a_clicked_sample_is_in_sight(
    tested: TestingPane, qtbot: QtBot, width: int, tab: str
) -> None:
    tested.resize(width, 500)
    tabs = tested.findChild(QTabWidget, "testing_tabs")
    assert tabs is not None
    titles = [tabs.tabText(place) for place in range(tabs.count())]
    if tab:
        tabs.setCurrentIndex(titles.index(tab))
    view = tested.samples.samples
    qtbot.waitUntil(lambda: view.isVisible() and view.entries.rowCount() > 0)
    spot = view.visualRect(view.entries.at(0)).center()
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=spot)
    qtbot.waitUntil(tested.ask.answer.isVisible)
    if tab:
        # The keyboard is at the tabs: an arrow key leads back to the samples.
        qtbot.keyClick(tabs.tabBar(), Qt.Key.Key_Left)
        qtbot.waitUntil(view.isVisible)


@pytest.mark.slow
def test_a_row_is_typed_for_a_table(
    sample: Callable[..., Trainings], stage: Stage, qtbot: QtBot
) -> None:
    iris = sample("iris", epochs=30)
    pane = stage.show(TestingPane(iris.studio), *SIZE)
    iris.tested()
    iris.until(lambda: len(pane.ask.fields) == 4)
    field = pane.ask.fields[2]
    assert field.accessibleName() == "petal_length"
    pane.activateWindow()
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, "1.2")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    iris.until(lambda: (a := iris.studio.evaluation.answer) is not None
               and a.inputs[0][0, 2] == np.float32(1.2))  # fmt: skip
    assert iris.studio.evaluation.answer is not None
    assert abs(iris.studio.evaluation.answer.values[0].sum() - 1.0) < 1e-5
    pane.close()


@pytest.mark.slow
def test_a_place_of_the_plane_is_asked_about(
    sample: Callable[..., Trainings], stage: Stage, qtbot: QtBot
) -> None:
    spirals = sample("spirals", epochs=5, early_stopping=None)
    pane = stage.show(TestingPane(spirals.studio), *SIZE)
    spirals.tested()
    spirals.until(pane.ask.plane.isVisible)
    plane = pane.ask.plane
    found = spirals.studio.evaluation.subject
    assert found is not None
    assert len(found.planes) == 1
    area = plane.area()
    spot = QPointF(area.left() + 0.25 * area.width(), area.top() + 0.25 * area.height())
    qtbot.mouseClick(plane, Qt.MouseButton.LeftButton, pos=spot.toPoint())
    spirals.until(lambda: spirals.studio.evaluation.answer is not None)
    answer = spirals.studio.evaluation.answer
    assert answer is not None
    x, y = answer.inputs[0][0]
    low, high = found.planes[0].x
    assert x == pytest.approx(low + 0.25 * (high - low), abs=0.02 * (high - low))
    low, high = found.planes[0].y
    assert y == pytest.approx(high - 0.25 * (high - low), abs=0.02 * (high - low))
    spirals.until(lambda: pane.ask.fields[0].value == pytest.approx(float(x)))
    pane.close()


# -- the truth beside the answer ----------------------------------------------------------------


@pytest.mark.slow
def test_the_truth_of_a_clicked_sample_stands_beside_the_answer(
    tested: TestingPane, digits: Trainings, qtbot: QtBot
) -> None:
    outcome, view = outcome_of(digits), tested.samples.samples
    truth = tested.findChild(QLabel, "sample_truth")
    assert truth is not None
    assert not truth.isVisible()
    # The largest loss comes first: that sample is taken for another class.
    spot = view.visualRect(view.entries.at(0)).center()
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=spot)
    digits.until(truth.isVisible)
    sample = view.entries.rows[0]
    right, said = int(outcome.truth[sample]), int(outcome.predicted[sample])
    assert right != said
    assert truth.text() == f"Truth: {outcome.names[right]}, not {outcome.names[said]}"
    assert f"{outcome.names[right]} " in tested.ask.answer.text()
    assert "(true)" in tested.ask.answer.text()
    best = int(outcome.losses.argmin())
    digits.studio.evaluation.questions.ask_sample(best)
    digits.until(lambda: truth.text() == f"Truth: {outcome.names[outcome.truth[best]]}, recognised")
    # A drawing has no truth.
    area = tested.ask.draw.area()
    stroke(tested.ask.draw, area.center(), area.center() + QPointF(0, area.height() / 4))
    digits.until(lambda: not truth.isVisible())
    assert "(true)" not in tested.ask.answer.text()


# -- inverted images ----------------------------------------------------------------------------


def dropped(view: QWidget, path: Path) -> None:
    """Drop a file on the view."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    place, none = QPoint(20, 20), Qt.KeyboardModifier.NoModifier
    copy, left = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    QApplication.sendEvent(view, QDragEnterEvent(place, copy, data, left, none))
    QApplication.sendEvent(view, QDropEvent(QPointF(place), copy, data, left, none))


@pytest.mark.slow
def test_a_dark_digit_on_light_paper_is_inverted_and_that_can_be_overridden(
    tested: TestingPane, digits: Trainings, qtbot: QtBot, tmp_path: Path
) -> None:
    outcome, evaluation = outcome_of(digits), digits.studio.evaluation
    assert evaluation.results is not None
    sample = int(outcome.losses.argmin())
    as_data = evaluation.results.inputs[0][sample]
    pixels = np.rint(as_data[:, :, 0] * (255 / 16)).astype(np.uint8)
    paper, like_data = tmp_path / "paper.png", tmp_path / "like.png"
    Image.fromarray(255 - pixels).save(paper)
    Image.fromarray(pixels).save(like_data)
    box = tested.findChild(QCheckBox, "invert")
    assert box is not None
    assert not box.isChecked()
    dropped(tested.ask, paper)
    digits.until(box.isChecked)
    answer = evaluation.answer
    assert answer is not None
    assert answer.best == (outcome.names[outcome.truth[sample]],)
    np.testing.assert_allclose(answer.inputs[0][0], as_data, atol=1)
    words = [each.text() for each in tested.ask.findChildren(QLabel)]
    assert "paper.png, inverted to match the data" in words
    qtbot.mouseClick(box, Qt.MouseButton.LeftButton)
    digits.until(lambda: evaluation.answer is not answer)
    assert not box.isChecked()
    assert evaluation.answer is not None
    np.testing.assert_allclose(evaluation.answer.inputs[0][0], 16 - as_data, atol=1)
    # Another file is compared with the data by itself.
    dropped(tested.ask, paper)
    digits.until(box.isChecked)
    dropped(tested.ask, like_data)
    digits.until(lambda: not box.isChecked())


@pytest.mark.slow
def test_a_drawing_is_inverted_by_hand_and_stays_so_while_it_grows(
    tested: TestingPane, digits: Trainings, qtbot: QtBot
) -> None:
    draw, evaluation = tested.ask.draw, digits.studio.evaluation
    box = tested.findChild(QCheckBox, "invert")
    assert box is not None
    area = draw.area()
    middle = area.center().toPoint()
    ground = draw.grab().toImage().pixelColor(middle + QPoint(0, 40)).lightness()
    stroke(draw, area.center(), area.center() + QPointF(0, 20))
    digits.until(lambda: evaluation.answer is not None)

    def corner() -> int:
        assert evaluation.answer is not None
        return int(evaluation.answer.inputs[0][0, 0, 0, 0])

    assert corner() == 0
    qtbot.mouseClick(box, Qt.MouseButton.LeftButton)
    digits.until(lambda: corner() == 16)
    before = evaluation.answer
    stroke(draw, area.center(), area.center() + QPointF(20, 0))
    digits.until(lambda: evaluation.answer is not None and evaluation.answer is not before)
    assert corner() == 16
    assert box.isChecked()
    turned = draw.grab().toImage().pixelColor(middle + QPoint(0, 40)).lightness()
    assert turned > ground
