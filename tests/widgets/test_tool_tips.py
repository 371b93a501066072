"""Tool tips show what was typed word for word: HTML is drawn only by widgets that write it."""

from __future__ import annotations

import time

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QStandardItem, QStandardItemModel
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QToolTip,
    QTreeView,
    QWidget,
)
from pytestqt.qtbot import QtBot

from studio.session.core.theme import Theme
from tests.ui.fixtures import shown

_STILL_SECONDS = 5.0

TYPED = ("<b>x</b>", "<img src=none.png>", "a < b\n<i>c</i>", "<qt>&lt;</qt>")


def shown_tip() -> QLabel | None:
    """The tip on the screen."""
    found = (each for each in QApplication.topLevelWidgets() if each.inherits("QTipLabel"))
    return next((tip for tip in found if isinstance(tip, QLabel) and tip.isVisible()), None)


def hover(qtbot: QtBot, widget: QWidget, at: QPoint, text: str) -> QLabel:
    """Move the pointer to a place and wait for the tip there."""
    moved = 0.0

    def is_told() -> bool:
        nonlocal moved
        # A tip that went away meanwhile comes again only for a pointer that moves.
        if time.monotonic() > moved + _STILL_SECONDS:
            QTest.mouseMove(widget, at - QPoint(1, 1))
            QTest.mouseMove(widget, at)
            moved = time.monotonic()
        tip = shown_tip()
        return tip is not None and tip.text() == text

    qtbot.waitUntil(is_told, timeout=60_000)
    tip = shown_tip()
    assert tip is not None
    return tip


@pytest.mark.slow
def test_tips_show_typed_html_word_for_word(qtbot: QtBot, dark: Theme) -> None:
    window = QWidget()
    row = QHBoxLayout(window)
    buttons = [QPushButton(str(place), window) for place in range(len(TYPED))]
    for button, text in zip(buttons, TYPED, strict=True):
        button.setToolTip(text)
        row.addWidget(button)
    qtbot.addWidget(window)
    shown(qtbot, window)
    for button, text in zip(buttons, TYPED, strict=True):
        tip = hover(qtbot, button, button.rect().center(), text)
        assert tip.textFormat() is Qt.TextFormat.PlainText
    window.close()


@pytest.mark.slow
def test_tips_of_rows_are_plain_and_those_that_are_written_as_html_are_not(
    qtbot: QtBot, dark: Theme
) -> None:
    window = QWidget()
    row = QHBoxLayout(window)
    tree, rich = QTreeView(window), QPushButton("rich", window)
    model = QStandardItemModel(tree)
    item = QStandardItem("row")
    item.setToolTip("<b>x</b>")
    model.appendRow(item)
    tree.setModel(model)
    rich.setProperty("richTips", True)
    rich.setToolTip("<p><b>Kernel</b></p>")
    inner = QPushButton("inside", rich)
    inner.setToolTip("<i>name</i>")
    for each in (tree, rich):
        row.addWidget(each)
    qtbot.addWidget(window)
    shown(qtbot, window)
    at = tree.visualRect(model.index(0, 0)).center()
    for _ in range(2):
        # One tip follows another in the same label.
        assert hover(qtbot, tree.viewport(), at, "<b>x</b>").textFormat() is (
            Qt.TextFormat.PlainText
        )
        QToolTip.showText(rich.mapToGlobal(QPoint(2, 2)), rich.toolTip(), rich)
        tip = shown_tip()
        assert tip is not None
        assert tip.textFormat() is Qt.TextFormat.RichText
    assert hover(qtbot, inner, inner.rect().center(), "<i>name</i>").textFormat() is (
        Qt.TextFormat.PlainText
    )
    window.close()
