"""The line of notices: the newest always, errors until they are seen, never the focus."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QPushButton, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from studio.session.core.theme import Theme
from studio.session.notices.notices import Notices
from studio.widgets.labels import notice_line
from studio.widgets.labels.notice_line import NoticeLine

LEFT = Qt.MouseButton.LeftButton
LONG_MS = 60_000


@pytest.fixture
def notices() -> Notices:
    return Notices()


@pytest.fixture
def window(qtbot: QtBot, dark: Theme) -> QWidget:
    made = QWidget()
    row = QHBoxLayout(made)
    row.addWidget(QLineEdit(made), 1)
    qtbot.addWidget(made)
    made.resize(1200, 60)
    made.show()
    made.activateWindow()
    qtbot.waitUntil(made.isActiveWindow, timeout=LONG_MS)
    made.findChild(QLineEdit).setFocus()
    QCursor.setPos(made.mapToGlobal(QPoint(20, 300)))
    return made


@pytest.fixture
def line(window: QWidget, notices: Notices) -> NoticeLine:
    made = NoticeLine(notices, window)
    window.layout().addWidget(made)
    return made


def said(line: NoticeLine) -> str:
    label = line.findChild(QLabel, "notice_text")
    return label.whole if line.isVisible() else ""


def times(line: NoticeLine) -> str:
    label = line.findChild(QLabel, "notice_times")
    return label.text() if label.isVisible() else ""


def more(line: NoticeLine) -> str:
    button = line.findChild(QToolButton, "notice_more")
    return button.text() if button.isVisible() else ""


def press(qtbot: QtBot, line: NoticeLine, name: str) -> None:
    button = next(b for b in line.findChildren(QWidget, name) if b.isVisible())
    qtbot.waitUntil(lambda: button.width() > 0, timeout=LONG_MS)
    qtbot.mouseClick(button, LEFT)


def test_a_notice_appears_beside_what_has_the_keyboard_and_leaves_it_there(
    window: QWidget, notices: Notices, line: NoticeLine
) -> None:
    assert not line.isVisible()
    notices.add("Saved digits", "ok", details="In a folder\nwith a long name")
    assert said(line) == "Saved digits"
    details = line.findChild(QLabel, "notice_details")
    assert details.isVisible()
    assert details.whole == "In a folder · with a long name"
    assert window.findChild(QLineEdit).hasFocus()
    assert "Saved digits" in line.accessibleName()


def test_the_newest_is_shown_however_many_errors_wait(
    qtbot: QtBot, notices: Notices, line: NoticeLine
) -> None:
    for number in range(12):
        notices.add(f"failure {number}", "error")
        assert said(line) == f"failure {number}"
        assert more(line) == (f"+{number}" if number else "")
    notices.add("Saved", "ok")
    assert (said(line), more(line)) == ("Saved", "+12")
    press(qtbot, line, "notice_close")
    assert (said(line), more(line)) == ("failure 11", "+11")
    press(qtbot, line, "notice_close")
    assert (said(line), more(line)) == ("failure 10", "+10")


def test_identical_notices_are_one_with_a_count(
    qtbot: QtBot, notices: Notices, line: NoticeLine
) -> None:
    for _ in range(3):
        notices.add("The disk is full", "error")
    notices.add("another", "error")
    notices.add("The disk is full", "error")
    assert [(each.text, each.times) for each in notices.all] == [
        ("another", 1), ("The disk is full", 4),
    ]  # fmt: skip
    assert (said(line), times(line)) == ("The disk is full", "(4 times)")
    long = "A long sentence about what is wrong with the disk. " * 10
    for _ in range(2):
        notices.add(long, "error")
    text, count = line.findChild(QLabel, "notice_text"), line.findChild(QLabel, "notice_times")
    qtbot.waitUntil(lambda: text.text().endswith("…"), timeout=LONG_MS)
    assert times(line) == "(2 times)"
    assert count.width() >= count.sizeHint().width()
    assert "(2 times)" in line.accessibleName()
    notices.see(notices.all[-1])
    assert more(line) == "+1"
    assert notices.unseen == 2
    notices.see()
    notices.add("The disk is full", "error")
    assert said(line) == "The disk is full"


@pytest.mark.slow
def test_notices_go_by_themselves_but_errors_stay(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, notices: Notices, line: NoticeLine
) -> None:
    monkeypatch.setattr(notice_line, "SECONDS", 0.02)
    notices.add("failure", "error")
    notices.add("passing")
    assert said(line) == "passing"
    qtbot.waitUntil(lambda: said(line) == "failure", timeout=LONG_MS)
    # What only ran out has not been seen, so the bell still counts it.
    assert notices.unseen == 2
    press(qtbot, line, "notice_close")
    assert not line.isVisible()
    assert notices.unseen == 1


def test_an_error_leaves_when_what_it_is_about_is_over(notices: Notices, line: NoticeLine) -> None:
    notices.add("data", "error", about="document.data")
    notices.add("disk", "error", about="document.save")
    notices.add("elsewhere", "error", about="documents")
    notices.settle("document.save")
    assert (said(line), more(line)) == ("elsewhere", "+1")
    notices.settle("document")
    assert (said(line), more(line)) == ("elsewhere", "")
    assert notices.unseen == 1
    notices.see()
    assert not line.isVisible()


def test_an_offer_that_applies_no_more_is_taken_back(
    qtbot: QtBot, notices: Notices, line: NoticeLine
) -> None:
    notice = notices.add("Deleted 3 layers", action=("Undo", lambda: None), about="undo")
    assert line.findChild(QPushButton, "notice_action").isVisible()
    notices.settle("undo")
    assert not line.isVisible()
    assert notice.action is None
    assert notices.unseen == 0
    seen = notices.add("Deleted 1 layer", action=("Undo", lambda: None), about="undo")
    notices.see()
    notices.settle("undo")
    assert seen.action is None


def test_the_action_runs_once_and_the_notice_is_seen(
    qtbot: QtBot, notices: Notices, line: NoticeLine
) -> None:
    ran: list[int] = []
    notices.add("Deleted 3 layers", action=("Undo", lambda: ran.append(1)))
    press(qtbot, line, "notice_action")
    assert ran == [1]
    assert not line.isVisible()
    assert notices.unseen == 0


@pytest.mark.slow
def test_what_an_action_says_is_shown_after_it(
    qtbot: QtBot, notices: Notices, line: NoticeLine
) -> None:
    notices.add("failure", "error", action=("Again", lambda: notices.add("failed again", "error")))
    press(qtbot, line, "notice_action")
    assert (said(line), more(line)) == ("failed again", "")


def test_an_error_that_was_pointed_at_for_a_moment_is_seen(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, window: QWidget, notices: Notices,
    line: NoticeLine,
) -> None:  # fmt: skip
    notices.add("failure", "error")
    qtbot.waitUntil(lambda: line.width() >= 320, timeout=LONG_MS)
    middle, away = line.geometry().center(), QPoint(20, 30)
    # Only passing over it is not reading it.
    monkeypatch.setattr(notice_line, "READ_SECONDS", 1e9)
    for spot in (middle, middle + QPoint(3, 0), away):
        QTest.mouseMove(window.windowHandle(), spot)
        qtbot.wait(1)
    assert said(line) == "failure"
    monkeypatch.setattr(notice_line, "READ_SECONDS", 0.0)
    for spot in (middle, middle + QPoint(3, 0), away):
        QTest.mouseMove(window.windowHandle(), spot)
        qtbot.wait(1)
    qtbot.waitUntil(lambda: not line.isVisible(), timeout=LONG_MS)
    assert notices.unseen == 0


@pytest.mark.slow
def test_a_press_on_the_words_asks_for_the_list(
    qtbot: QtBot, notices: Notices, line: NoticeLine
) -> None:
    asked: list[int] = []

    def ask() -> None:
        asked.append(1)

    line.list_wanted.connect(ask)
    for number in range(2):
        notices.add(f"failure {number}", "error")
    label = line.findChild(QLabel, "notice_text")
    qtbot.mouseClick(label, LEFT)
    assert asked == [1]
    press(qtbot, line, "notice_more")
    assert asked == [1, 1]


def test_long_words_are_cut_and_whole_in_the_tip(
    qtbot: QtBot, window: QWidget, notices: Notices, line: NoticeLine
) -> None:
    text = "a_layer_with_a_name_that_is_far_too_long_for_any_card_on_the_canvas" * 4
    notices.add(text, "error", ("Show culprit", lambda: None), text)
    window.resize(600, 60)
    label = line.findChild(QLabel, "notice_text")
    qtbot.waitUntil(lambda: label.text().endswith("…"), timeout=LONG_MS)
    assert text in label.toolTip()
    for name in ("notice_action", "notice_close"):
        button = line.findChild(QWidget, name)
        assert button.isVisible()
        assert line.rect().contains(button.geometry())
    assert window.rect().contains(line.geometry())


def test_the_line_stays_while_it_is_pointed_at(
    qtbot: QtBot, window: QWidget, notices: Notices, line: NoticeLine
) -> None:
    notices.add("pointed at", "ok")
    qtbot.waitUntil(lambda: line.width() >= 320, timeout=LONG_MS)
    timer = line.findChild(QTimer)
    assert timer.isActive()
    middle = line.geometry().center()
    for spot in (middle, middle + QPoint(3, 0)):
        QTest.mouseMove(window.windowHandle(), spot)
        qtbot.wait(1)
    qtbot.waitUntil(lambda: not timer.isActive(), timeout=LONG_MS)
    QTest.mouseMove(window.windowHandle(), QPoint(20, 30))
    qtbot.waitUntil(timer.isActive, timeout=LONG_MS)


def test_a_line_that_comes_under_a_resting_pointer_goes_all_the_same(
    qtbot: QtBot, window: QWidget, notices: Notices, line: NoticeLine
) -> None:
    notices.add("where it stands", "ok")
    qtbot.waitUntil(lambda: line.width() >= 320, timeout=LONG_MS)
    place = line.geometry().center()
    notices.see()
    QCursor.setPos(window.mapToGlobal(place))
    qtbot.waitUntil(lambda: window.mapFromGlobal(QCursor.pos()) == place, timeout=LONG_MS)
    notices.add("where it stands", "ok")
    # What Qt says once more of a pointer that has not moved.
    QTest.mouseMove(window.windowHandle(), place)
    qtbot.waitUntil(line.underMouse, timeout=LONG_MS)
    timer = line.findChild(QTimer)
    assert timer.isActive()
    QTest.mouseMove(window.windowHandle(), place + QPoint(3, 0))
    qtbot.waitUntil(lambda: not timer.isActive(), timeout=LONG_MS)
