"""The label that gives way: what is left of a text in little room."""

from __future__ import annotations

import re

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QToolTip, QWidget
from pytestqt.qtbot import QtBot

from studio.widgets.labels.elided_label import ElidedLabel, whole_numbers


@pytest.mark.parametrize(
    ("whole", "shown", "left"),
    [
        ("by wall clock, 5.26 ms", "by wall clock, 5.2…", "by wall clock, …"),
        ("by wall clock, 5.26 ms", "by wall clock, 5.…", "by wall clock, …"),
        ("by wall clock, 5.26 ms", "by wall clock, 5.26…", "by wall clock, 5.26…"),
        ("mean of 1\u2009437 steps", "mean of 1\u2009…", "mean of …"),
        ("a rate of \u22120.25", "a rate of \u22120.…", "a rate of …"),
        ("file houses2024.csv", "file houses20…", "file houses20…"),
        ("ten steps", "ten st…", "ten st…"),
        ("took 12 ms", "took 12 ms", "took 12 ms"),
    ],
    ids=["decimals", "point", "whole", "thousands", "sign", "name", "words", "uncut"],
)
def test_a_number_is_shown_whole_or_not_at_all(whole: str, shown: str, left: str) -> None:
    assert whole_numbers(whole, shown) == left


@pytest.mark.slow
def test_at_no_width_does_a_label_show_a_part_of_a_number(qtbot: QtBot) -> None:
    label = ElidedLabel()
    qtbot.addWidget(label)
    text = "mean of 478 steps, kernels of 15 by wall clock, 5.26 ms together"
    label.set_text(text)
    label.show()
    seen = set()
    for width in range(20, label.sizeHint().width() + 4):
        label.resize(width, 20)
        seen.add(label.text())
        assert label.fontMetrics().horizontalAdvance(label.text()) <= width
        assert set(re.findall(r"[\d.]+", label.text())) <= {"478", "15", "5.26"}
    assert text in seen
    assert len(seen) > 10


TEXT = "kernels of fifteen steps by wall clock"
TIP = "What the kernels take together."


@pytest.mark.slow
def test_a_tip_stays_while_its_place_becomes_narrow_and_wide_again(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    row = QHBoxLayout(window)
    label = ElidedLabel(window)
    row.addWidget(label)
    label.set_text(TEXT)
    label.setToolTip(TIP)
    window.resize(900, 40)
    window.show()
    qtbot.waitUntil(lambda: label.text() == TEXT)
    assert label.toolTip() == TIP
    window.resize(100, 40)
    qtbot.waitUntil(lambda: label.text().endswith("…"))
    assert label.toolTip() == f"{TEXT}\n{TIP}"
    window.resize(900, 40)
    qtbot.waitUntil(lambda: label.text() == TEXT)
    place = label.rect().center()
    event = QHelpEvent(QEvent.Type.ToolTip, place, label.mapToGlobal(place))
    QApplication.sendEvent(label, event)
    assert QToolTip.text() == TIP
    QToolTip.hideText()
    qtbot.waitUntil(lambda: not QToolTip.isVisible())


def test_a_tip_goes_with_the_text_it_was_said_of(qtbot: QtBot) -> None:
    label = ElidedLabel()
    qtbot.addWidget(label)
    label.resize(900, 20)
    label.set_text(TEXT)
    label.setToolTip(TIP)
    label.set_text("nothing is measured")
    assert label.toolTip() == ""


def test_a_text_that_becomes_bold_is_cut_where_it_does_not_fit(qtbot: QtBot) -> None:
    label = ElidedLabel()
    qtbot.addWidget(label)
    label.set_text(TEXT)
    label.resize(label.fontMetrics().horizontalAdvance(TEXT), 20)
    label.show()
    assert label.text() == TEXT
    heavy = label.font()
    heavy.setBold(True)
    heavy.setPointSizeF(heavy.pointSizeF() * 1.5)
    label.setFont(heavy)
    assert label.text() != TEXT
    assert label.fontMetrics().horizontalAdvance(label.text()) <= label.width()
    assert label.toolTip() == TEXT
