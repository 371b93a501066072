"""Toasts: at most three, never the focus, errors until they are seen."""

from __future__ import annotations

from itertools import pairwise

import pytest
from PySide6.QtCore import Qt
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
