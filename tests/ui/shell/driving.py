"""Hands for tests: show a window, press keys where the focus is, answer questions."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QMenu, QMessageBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from studio.ui.shell.window import MainWindow


def show(qtbot: QtBot, window: MainWindow) -> None:
    """Show a window, active, with every pane in sight made."""
    window.resize(1400, 900)
    with qtbot.waitExposed(window, timeout=60_000):
        window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    qtbot.waitUntil(lambda: window.is_ready)


def finish(qtbot: QtBot, window: MainWindow) -> None:
    """Close a window whatever it is in the middle of, without questions."""
    training = window.studio.training
    training.stop()
    qtbot.waitUntil(lambda: not training.is_busy)
    for dialog in window.findChildren(QDialog):
        dialog.close()
    window.studio.document.history.mark_clean()
    window.close()
    qtbot.waitUntil(lambda: not window.isVisible())
    window.deleteLater()


def press(keys: str, widget: QWidget | None = None) -> None:
    """Press a key sequence where the focus is, as the window system would deliver it."""
    target = widget or QApplication.focusWidget() or QApplication.activeWindow()
    assert target is not None
    combination = QKeySequence(keys)[0]
    QTest.keyClick(target, combination.key(), combination.keyboardModifiers())


def question(qtbot: QtBot, window: MainWindow) -> QMessageBox:
    """The question that is being asked."""
    qtbot.waitUntil(lambda: _question(window) is not None)
    found = _question(window)
    assert found is not None
    return found


def _question(window: MainWindow) -> QMessageBox | None:
    boxes = window.findChildren(QMessageBox, "question")
    return next((box for box in boxes if box.isVisible()), None)


def answer(qtbot: QtBot, window: MainWindow, name: str) -> None:
    """Press a button of the question."""
    button = question(qtbot, window).findChild(QPushButton, f"answer.{name}")
    assert button is not None
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def choose(qtbot: QtBot, window: MainWindow, *texts: str) -> None:
    """Click through the menu bar, as a hand with a mouse does."""
    bar = window.menuBar()
    action = next(a for a in bar.actions() if a.text().replace("&", "") == texts[0])
    QTest.mouseClick(bar, Qt.MouseButton.LeftButton, pos=bar.actionGeometry(action).center())
    for text in texts[1:]:
        menu = QMenu.menuInAction(action)
        assert menu is not None
        qtbot.waitUntil(menu.isVisible, timeout=60_000)
        action = next(a for a in menu.actions() if a.text() == text)
        place = menu.actionGeometry(action).center()
        QTest.mouseMove(menu, place - QPoint(4, 0))
        QTest.mouseMove(menu, place)
        QTest.mouseClick(menu, Qt.MouseButton.LeftButton, pos=place)
