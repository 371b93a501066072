"""Toasts: few, over little, never the focus, errors until they are seen."""

from __future__ import annotations

from itertools import pairwise

import pytest
from PySide6.QtCore import QPoint, QRect, Qt, QTimer
from PySide6.QtGui import QCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from studio.ui.kit import toasts
from studio.ui.kit.toasts import ToastStack
from studio.ui.models.notices import Notices
from studio.ui.models.theme import Theme


@pytest.fixture
def window(qtbot: QtBot, dark: Theme) -> QWidget:
    made = QWidget()
    field = QLineEdit(made)
    qtbot.addWidget(made)
    made.resize(900, 600)
    made.show()
    made.activateWindow()
    qtbot.waitUntil(made.isActiveWindow)
    field.setFocus()
    return made


@pytest.fixture
def notices() -> Notices:
    return Notices()


@pytest.fixture
def stack(window: QWidget, notices: Notices) -> ToastStack:
    return ToastStack(notices, window, 24)


def texts(stack: ToastStack) -> list[str]:
    return [toast.notice.text for toast in stack.toasts]


def test_a_toast_stands_in_the_corner_and_leaves_the_focus(
    qtbot: QtBot, window: QWidget, notices: Notices, stack: ToastStack
) -> None:
    notices.add("Saved digits", "ok", details="In a folder with a long name")
    assert texts(stack) == ["Saved digits"]
    assert stack.geometry().right() <= window.width()
    assert stack.geometry().bottom() <= window.height() - 24
    assert stack.toasts[0].geometry().height() > 20
    assert window.findChild(QLineEdit).hasFocus()
    window.resize(700, 500)
    assert stack.geometry().right() <= 700


def test_a_word_longer_than_a_toast_is_broken_and_not_cut_off(
    qtbot: QtBot, notices: Notices, stack: ToastStack
) -> None:
    word = "a_layer_with_a_name_that_is_far_too_long_for_any_card_on_the_canvas"
    notices.add(f"expected another name, got {word!r}", "error")
    toast = stack.toasts[0]
    label = next(each for each in toast.findChildren(QLabel) if each.text())
    qtbot.waitUntil(lambda: label.width() > 100)
    assert label.text().replace("\u200b", "") == f"expected another name, got {word!r}"
    assert label.accessibleName() == f"expected another name, got {word!r}"
    room = QRect(0, 0, label.width(), 10_000)
    wrapped = int(Qt.TextFlag.TextWordWrap)
    needed = label.fontMetrics().boundingRect(room, wrapped, label.text())
    assert needed.width() <= label.width()
    assert needed.height() <= label.height()
    short = "nothing long here"
    notices.add(short, "error")
    assert any(each.text() == short for each in stack.toasts[-1].findChildren(QLabel))


def test_words_of_a_toast_stand_at_the_top_without_gaps(
    qtbot: QtBot, notices: Notices, stack: ToastStack
) -> None:
    notices.add("conv2: expected 3 numbers, got 4", "error", ("Show", lambda: None), "3 by 3")
    notices.add("The training has ended")
    for toast in stack.toasts:
        close = toast.findChild(QToolButton, "toast_close")
        words = [each for each in toast.findChildren(QLabel) if each.text()]
        line = words[0].fontMetrics().height()
        qtbot.waitUntil(lambda close=close, words=words: close.y() < words[0].geometry().bottom())
        assert abs(words[0].geometry().center().y() - close.geometry().center().y()) <= 2
        assert all(each.height() < 1.5 * line for each in words)
    for one, other in pairwise(stack.toasts[0].findChildren(QLabel)[1:]):
        assert 0 < other.y() - one.geometry().bottom() <= 8


def test_no_more_than_three_and_errors_are_kept(
    qtbot: QtBot, notices: Notices, stack: ToastStack
) -> None:
    notices.add("first")
    notices.add("failure", "error")
    notices.add("second")
    notices.add("third")
    assert texts(stack) == ["failure", "second", "third"]
    notices.add("failure 2", "error")
    notices.add("failure 3", "error")
    notices.add("failure 4", "error")
    assert texts(stack) == ["failure", "failure 2", "failure 3"]
    close = stack.toasts[0].findChild(QToolButton, "toast_close")
    qtbot.mouseClick(close, Qt.MouseButton.LeftButton)
    assert texts(stack) == ["failure 2", "failure 3", "failure 4"]


def test_toasts_go_by_themselves_but_errors_stay(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, window: QWidget, notices: Notices
) -> None:
    monkeypatch.setattr(toasts, "SECONDS", 0.02)
    stack = ToastStack(notices, window)
    notices.add("failure", "error")
    notices.add("passing")
    qtbot.waitUntil(lambda: texts(stack) == ["failure"])
    # What only ran out has not been seen, so the bell still counts it.
    assert notices.unseen == 2


def test_the_action_runs_once_and_the_notice_is_seen(
    qtbot: QtBot, notices: Notices, stack: ToastStack
) -> None:
    ran: list[int] = []
    notices.add("Deleted 3 layers", action=("Undo", lambda: ran.append(1)))
    button = stack.toasts[0].findChild(QPushButton, "toast_action")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert ran == [1]
    assert stack.toasts == ()
    assert not stack.isVisible()
    assert notices.unseen == 0


def test_seeing_all_under_the_bell_clears_the_corner(
    qtbot: QtBot, notices: Notices, stack: ToastStack
) -> None:
    for number in range(5):
        notices.add(f"failure {number}", "error")
    notices.see()
    assert stack.toasts == ()


# -- on the status bar ----------------------------------------------------------------------------


@pytest.fixture
def bell(window: QWidget) -> QToolButton:
    """At the right end of a bar at the foot of the window, a fact far to the left of it."""
    made = QToolButton(window)
    made.setGeometry(850, 576, 40, 24)
    made.show()
    fact = QToolButton(window)
    fact.setObjectName("fact")
    fact.setGeometry(100, 576, 80, 24)
    fact.show()
    return made


@pytest.fixture
def barred(window: QWidget, notices: Notices, bell: QToolButton) -> ToastStack:
    return ToastStack(notices, window, 24, bell)


def in_window(widget: QWidget) -> QRect:
    return QRect(widget.mapTo(widget.window(), QPoint(0, 0)), widget.size())


def test_few_words_of_success_stand_on_the_bar_beside_the_bell(
    window: QWidget, notices: Notices, bell: QToolButton, barred: ToastStack
) -> None:
    notices.add("The training has finished: accuracy 97 %", "ok")
    line = barred.line
    assert line is not None
    assert barred.toasts == ()
    place = in_window(line)
    assert (place.top(), place.height()) == (576, 24)
    assert place.left() > 180
    assert bell.x() - 8 < place.right() < bell.x()
    label = next(each for each in line.findChildren(QLabel) if each.text())
    assert label.text() == "The training has finished: accuracy 97 %"
    assert label.fontMetrics().horizontalAdvance(label.text()) <= label.width()
    assert window.findChild(QLineEdit).hasFocus()


def test_what_asks_for_something_stands_in_the_corner(notices: Notices, barred: ToastStack) -> None:
    notices.add("Disk is full", "error")
    notices.add("Copies are shown", "warning")
    notices.add("Deleted", "info", ("Undo", lambda: None))
    assert texts(barred) == ["Disk is full", "Copies are shown", "Deleted"]
    notices.add("Wrote a file", "ok", details="/home/me/out")
    notices.add("words " * 60)
    assert texts(barred) == ["Disk is full", "Wrote a file", "words " * 60]
    assert barred.line is None


def test_the_line_goes_by_itself_and_is_still_under_the_bell(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, notices: Notices, barred: ToastStack
) -> None:
    monkeypatch.setattr(toasts, "SECONDS", 0.02)
    notices.add("failure", "error")
    notices.add("first", "ok")
    notices.add("second", "ok")
    line = barred.line
    assert line is not None
    assert line.notice.text == "second"
    qtbot.waitUntil(lambda: barred.line is None)
    assert texts(barred) == ["failure"]
    assert notices.unseen == 3


def test_closing_the_line_is_seeing_it(qtbot: QtBot, notices: Notices, barred: ToastStack) -> None:
    notices.add("first", "ok")
    assert barred.line is not None
    close = barred.line.findChild(QToolButton, "toast_close")
    qtbot.mouseClick(close, Qt.MouseButton.LeftButton)
    assert barred.line is None
    assert notices.unseen == 0
    notices.add("second", "ok")
    notices.see()
    assert barred.line is None


def test_the_line_keeps_to_the_bell_and_cuts_no_fact(
    qtbot: QtBot, window: QWidget, notices: Notices, bell: QToolButton, barred: ToastStack
) -> None:
    text = "The training has finished: accuracy 97 %"
    notices.add(text, "ok")
    line = barred.line
    assert line is not None
    wide = line.width()
    bell.move(700, 576)
    assert in_window(line).right() == 700 - 5
    assert line.width() == wide
    # The line would begin in the middle of the fact, and what was left of it would mislead.
    bell.move(140 + wide, 576)
    assert in_window(line).left() == 100
    bell.move(260, 576)
    label = next(each for each in line.findChildren(QLabel) if each.text())
    qtbot.waitUntil(lambda: label.text().endswith("…"))
    assert line.toolTip() == text


def test_the_line_stays_while_it_is_pointed_at(
    qtbot: QtBot, window: QWidget, notices: Notices, barred: ToastStack
) -> None:
    QTest.mouseMove(window.windowHandle(), QPoint(20, 20))
    notices.add("pointed at", "ok")
    line = barred.line
    assert line is not None
    timer = line.findChild(QTimer)
    assert timer.isActive()
    QTest.mouseMove(window.windowHandle(), in_window(line).center())
    qtbot.waitUntil(lambda: not timer.isActive())
    timer.setInterval(20)
    QTest.mouseMove(window.windowHandle(), QPoint(20, 20))
    qtbot.waitUntil(lambda: barred.line is None)


def test_a_line_that_comes_under_a_resting_pointer_goes_all_the_same(
    qtbot: QtBot, window: QWidget, notices: Notices, barred: ToastStack
) -> None:
    notices.add("where it stands", "ok")
    assert barred.line is not None
    place = in_window(barred.line).center()
    notices.see()
    QCursor.setPos(window.mapToGlobal(place))
    qtbot.waitUntil(lambda: window.mapFromGlobal(QCursor.pos()) == place)
    notices.add("where it stands", "ok")
    line = barred.line
    assert line is not None
    # What Qt says once more of a pointer that has not moved.
    QTest.mouseMove(window.windowHandle(), place)
    qtbot.waitUntil(line.underMouse)
    timer = line.findChild(QTimer)
    assert timer.isActive()
    QTest.mouseMove(window.windowHandle(), place + QPoint(3, 0))
    qtbot.waitUntil(lambda: not timer.isActive())
