"""The log pane: lines appear, are filtered, read and copied."""

from __future__ import annotations

import logging

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import (
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QStyle,
    QStyleOptionComboBox,
    QToolButton,
)
from pytestqt.qtbot import QtBot

from studio.session.notices.logbook import MOST, LogLine
from studio.session.studio import Studio
from studio.ui.panes.log.pane import LogPane
from tests.ui.panes.stage import Stage

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def pane(studio: Studio, stage: Stage) -> LogPane:
    return stage.show(LogPane(studio), 600, 300)


def shown(pane: LogPane) -> list[str]:
    return [line.text for line in pane.view.entries.rows]


def fill(studio: Studio, pane: LogPane, qtbot: QtBot) -> None:
    studio.notify("Saved", "ok")
    logging.getLogger("studio.engine.gl").warning("the driver is old")
    studio.log.add("the loss is no number", "error", "training", "step 41\nlayer conv1")
    qtbot.waitUntil(lambda: len(shown(pane)) == 3)


@pytest.mark.slow
def test_what_happens_is_listed_from_every_part(
    pane: LogPane, studio: Studio, qtbot: QtBot
) -> None:
    assert pane.is_empty
    fill(studio, pane, qtbot)
    assert not pane.is_empty
    assert shown(pane) == ["Saved", "the driver is old", "the loss is no number"]


def test_lines_are_filtered_by_severity_source_and_words(
    pane: LogPane, studio: Studio, qtbot: QtBot
) -> None:
    fill(studio, pane, qtbot)
    level = pane.findChild(QComboBox, "log_level")
    level.setCurrentText("Warnings")
    assert shown(pane) == ["the driver is old", "the loss is no number"]
    assert pane.note == "2 of 3"
    level.setCurrentText("Errors")
    assert shown(pane) == ["the loss is no number"]
    level.setCurrentIndex(0)
    pane.findChild(QComboBox, "log_source").setCurrentText("engine")
    assert shown(pane) == ["the driver is old"]
    pane.findChild(QComboBox, "log_source").setCurrentIndex(0)
    qtbot.keyClicks(pane.findChild(QLineEdit, "log_filter"), "conv1")
    assert shown(pane) == ["the loss is no number"]


def test_details_of_the_line_in_hand_are_shown(pane: LogPane, studio: Studio, qtbot: QtBot) -> None:
    fill(studio, pane, qtbot)
    details = pane.findChild(QPlainTextEdit, "log_details")
    assert not details.isVisible()
    view = pane.view
    last = view.model().index(2, 0)
    qtbot.mouseClick(view.viewport(), LEFT, pos=view.visualRect(last).center())
    assert details.isVisible()
    assert details.toPlainText() == "step 41\nlayer conv1"
    first = view.model().index(0, 0)
    qtbot.mouseClick(view.viewport(), LEFT, pos=view.visualRect(first).center())
    assert not details.isVisible()


def test_lines_are_copied_by_key_and_button(pane: LogPane, studio: Studio, qtbot: QtBot) -> None:
    fill(studio, pane, qtbot)
    view = pane.view
    spot = view.visualRect(view.model().index(1, 0)).center()
    qtbot.mouseClick(view.viewport(), LEFT, pos=spot)
    qtbot.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text().endswith("the driver is old")
    view.clearSelection()
    qtbot.mouseClick(pane.findChild(QToolButton, "log.copy"), LEFT)
    assert len(QGuiApplication.clipboard().text().splitlines()) == 5
    qtbot.mouseClick(pane.findChild(QToolButton, "log.clear"), LEFT)
    qtbot.waitUntil(lambda: pane.is_empty)


@pytest.mark.slow
def test_a_reader_who_scrolled_up_is_left_there(
    pane: LogPane, studio: Studio, qtbot: QtBot
) -> None:
    for number in range(100):
        studio.log.add(f"line {number}")
    qtbot.waitUntil(lambda: len(shown(pane)) == 100)
    bar = pane.view.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.value() == bar.maximum())
    studio.log.add("one more")
    qtbot.waitUntil(lambda: len(shown(pane)) == 101)
    qtbot.waitUntil(lambda: bar.value() == bar.maximum())
    bar.setValue(0)
    studio.log.add("another")
    qtbot.waitUntil(lambda: len(shown(pane)) == 102)
    assert bar.value() == 0
    pane.view.setCurrentIndex(pane.view.model().index(4, 0))
    studio.log.add("and another")
    qtbot.waitUntil(lambda: len(shown(pane)) == 103)
    assert [line.text for line in pane.chosen_lines()] == ["line 4"]


def test_a_full_log_keeps_the_line_that_was_chosen(
    pane: LogPane, studio: Studio, qtbot: QtBot
) -> None:
    for number in range(MOST):
        studio.log.add(f"line {number}")
    qtbot.waitUntil(lambda: len(pane.view.entries.rows) == MOST)
    pane.view.go_to(MOST - 2)
    (chosen,) = pane.chosen_lines()
    studio.log.add("one more")
    qtbot.waitUntil(lambda: shown(pane)[-1] == "one more")
    assert len(pane.view.entries.rows) == MOST
    assert pane.chosen_lines() == (chosen,)


def test_in_a_narrow_pane_the_sentence_stays_in_sight(
    pane: LogPane, studio: Studio, qtbot: QtBot
) -> None:
    fill(studio, pane, qtbot)
    pane.setFixedSize(200, 182)
    bar = pane.view.horizontalScrollBar()
    qtbot.waitUntil(lambda: pane.view.viewport().width() < 200)
    assert bar.maximum() == 0

    def picture(sentence: str) -> QImage:
        """The line of a sentence that was said twice."""
        pane.view.entries.take([LogLine(1, 0.0, "info", "compiler", sentence, times=2)])
        return pane.view.viewport().grab().toImage()

    assert picture("Compiled digits") == picture("Compiled digits")
    assert picture("Compiled digits") != picture("Trained digits")


@pytest.mark.slow
@pytest.mark.parametrize("width", [200, 260, 359, 400, 640])
def test_every_filter_can_be_read_and_used_at_every_width(
    pane: LogPane, studio: Studio, qtbot: QtBot, width: int
) -> None:
    fill(studio, pane, qtbot)
    pane.resize(width, 300)
    words = pane.findChild(QLineEdit, "log_filter")
    boxes = [pane.findChild(QComboBox, name) for name in ("log_level", "log_source")]
    buttons = pane.findChildren(QToolButton)
    qtbot.waitUntil(lambda: pane.width() == width and words.width() >= 80)
    placed = [each.geometry() for each in (words, *boxes)]
    assert not any(a.intersects(b) for a in placed for b in placed if a is not b)
    for each in (words, *boxes, *(b for b in buttons if b.isVisible())):
        right = each.mapTo(pane, each.rect().bottomRight()).x()
        assert right < width, each.objectName()
    for box in boxes:
        option = QStyleOptionComboBox()
        box.initStyleOption(option)
        room = box.style().subControlRect(
            QStyle.ComplexControl.CC_ComboBox, option, QStyle.SubControl.SC_ComboBoxEditField, box
        )
        assert room.width() >= box.fontMetrics().horizontalAdvance(box.currentText())
    qtbot.mouseClick(words, LEFT)
    qtbot.keyClicks(words, "driver")
    assert shown(pane) == ["the driver is old"]


def test_the_filters_come_back_into_one_line(pane: LogPane, studio: Studio, qtbot: QtBot) -> None:
    fill(studio, pane, qtbot)
    words, level = pane.findChild(QLineEdit, "log_filter"), pane.findChild(QComboBox, "log_level")

    def beside() -> bool:
        return level.y() == words.y() and level.x() > words.geometry().right()

    pane.resize(220, 300)
    qtbot.waitUntil(lambda: level.y() > words.geometry().bottom())
    pane.resize(640, 300)
    qtbot.waitUntil(beside)


def test_a_line_that_is_asked_for_is_chosen_with_its_details_whatever_is_filtered(
    pane: LogPane, studio: Studio, qtbot: QtBot
) -> None:
    fill(studio, pane, qtbot)
    for number in range(60):
        studio.log.add(f"line {number}", "warning")
    pane.findChild(QLineEdit, "log_filter").setText("driver")
    qtbot.waitUntil(lambda: len(studio.log.lines) == 63)
    assert shown(pane) == ["the driver is old"]
    studio.log.point_at("the loss is no number")
    (chosen,) = pane.chosen_lines()
    assert chosen.text == "the loss is no number"
    details = pane.findChild(QPlainTextEdit, "log_details")
    assert details.isVisible()
    assert details.toPlainText() == "step 41\nlayer conv1"
    place = pane.view.visualRect(pane.view.currentIndex())
    qtbot.waitUntil(lambda: pane.view.viewport().rect().intersects(place))


def test_a_log_that_is_made_when_it_is_asked_for_shows_the_line(
    studio: Studio, qtbot: QtBot, stage: Stage
) -> None:
    studio.log.add("the loss is no number", "error", "training", "step 41")
    studio.log.add("afterwards")
    qtbot.waitUntil(lambda: len(studio.log.lines) == 2)
    studio.log.point_at("the loss is no number")
    made = stage.show(LogPane(studio), 600, 300)
    assert [line.details for line in made.chosen_lines()] == ["step 41"]
