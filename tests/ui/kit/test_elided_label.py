"""The label that gives way: what is left of a text in little room."""

from __future__ import annotations

import re

import pytest
from pytestqt.qtbot import QtBot

from studio.ui.kit.elided_label import ElidedLabel, whole_numbers


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
