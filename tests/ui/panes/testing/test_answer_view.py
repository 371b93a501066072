"""What the network says, in much room and in little."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtGui import QColor
from pytestqt.qtbot import QtBot

from studio.session.evaluation.answers import Answer
from studio.ui.panes.testing.answer_view import AnswerView
from tests.ui.fixtures import shown

SHARES = np.array([[0.0, 0.01, 0.3, 0.02, 0.0, 0.0, 0.01, 0.6, 0.01, 0.05]])
DIGITS = tuple(str(n) for n in range(10))


@pytest.fixture
def view(qtbot: QtBot) -> AnswerView:
    made = AnswerView()
    qtbot.addWidget(made)
    made.resize(190, 220)
    shown(qtbot, made)
    made.show_answer(Answer(("your drawing",), (np.zeros((1, 8, 8, 1)),), DIGITS, SHARES))
    return made


def edge(view: AnswerView) -> set[int]:
    """The colours of its lowest line of pixels."""
    image = view.grab().toImage()
    low = image.height() - 1
    return {QColor(image.pixel(x, low)).rgb() for x in range(image.width())}


def test_every_class_is_shown_where_there_is_room(view: AnswerView) -> None:
    shown = [line.split()[0] for line in view.shown()]
    assert shown == list(DIGITS)


@pytest.mark.parametrize("height", [80, 113])
def test_in_little_room_the_likeliest_stay_and_the_rest_is_counted(
    view: AnswerView, height: int
) -> None:
    view.resize(190, height)
    *lines, last = view.shown()
    names = [line.split()[0] for line in lines]
    # In their order, and none of those left out is likelier than one of those shown.
    assert names == sorted(names)
    left = [n for n in range(10) if str(n) not in names]
    assert SHARES[0, left].max() <= min(SHARES[0, int(name)] for name in names)
    assert last.startswith(f"{len(left)} more, together ")
    assert f"{SHARES[0, left].sum() * 100:.1f}" in last
    # Nothing is cut at the lower edge.
    assert len(edge(view)) == 1


@pytest.mark.slow
def test_numbers_that_have_no_room_are_counted(view: AnswerView) -> None:
    values = np.arange(30.0)[None]
    view.show_answer(Answer(("row 1",), np.zeros((1, 4)), (), values))
    view.resize(190, 100)
    *lines, last = view.shown()
    assert [line.rsplit(" ", 1)[0] for line in lines] == [f"output {n}" for n in range(len(lines))]
    assert last == f"{30 - len(lines)} more"
    assert len(edge(view)) == 1
