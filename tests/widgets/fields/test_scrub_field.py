"""The number field by real events: typing, dragging, turning, taking back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication, QLineEdit, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from studio.session.core.theme import Theme
from studio.widgets.fields.scrub_field import ScrubField
from studio.widgets.fields.stepping import Stepping


class Recorder:
    def __init__(self, field: ScrubField) -> None:
        self.committed: list[float] = []
        self.scrubbed: list[float] = []
        self.edges: list[str] = []
        field.committed.connect(self.committed.append)
        field.scrubbed.connect(self.scrubbed.append)
        field.scrub_started.connect(lambda: self.edges.append("started"))
        field.scrub_ended.connect(lambda: self.edges.append("ended"))


@pytest.fixture
def field(qtbot: QtBot, dark: Theme) -> Iterator[ScrubField]:
    window = QWidget()
    column = QVBoxLayout(window)
    other = QLineEdit()
    made = ScrubField(Stepping("powers", 1, 4096, integer=True), 16)
    column.addWidget(other)
    column.addWidget(made)
    qtbot.addWidget(window)
    window.resize(300, 120)
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    other.setFocus()
    yield made
    window.close()


@pytest.fixture
def heard(field: ScrubField) -> Recorder:
    return Recorder(field)


def type_in(qtbot: QtBot, field: ScrubField, text: str) -> None:
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, text)
    qtbot.keyClick(field, Qt.Key.Key_Return)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "value"), [("64", 64), ("*2", 32), ("16*3", 48), ("2^7", 128), ("99999", 4096)]
)
def test_typed_numbers_and_calculations_are_taken(
    qtbot: QtBot, field: ScrubField, heard: Recorder, text: str, value: float
) -> None:
    type_in(qtbot, field, text)
    assert field.value == value
    assert field.text() == str(value)
    assert heard.committed == [value]


def test_what_is_no_number_is_marked_and_taken_back(
    qtbot: QtBot, field: ScrubField, heard: Recorder
) -> None:
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, "conv")
    assert field.property("wrong")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert (field.value, field.text()) == (16, "16")
    assert not field.property("wrong")
    assert heard.committed == []


def test_escape_takes_typing_back(qtbot: QtBot, field: ScrubField, heard: Recorder) -> None:
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, "500")
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert (field.value, field.text()) == (16, "16")
    assert heard.committed == []


def test_leaving_the_field_takes_what_was_typed(
    qtbot: QtBot, field: ScrubField, heard: Recorder
) -> None:
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, "24")
    field.window().findChild(QLineEdit).setFocus()
    assert heard.committed == [24]


def test_arrows_step_through_sensible_values(
    qtbot: QtBot, field: ScrubField, heard: Recorder
) -> None:
    field.setFocus()
    qtbot.keyClick(field, Qt.Key.Key_Up)
    qtbot.keyClick(field, Qt.Key.Key_Down)
    qtbot.keyClick(field, Qt.Key.Key_Down)
    qtbot.keyClick(field, Qt.Key.Key_Up, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClick(field, Qt.Key.Key_Down, Qt.KeyboardModifier.ControlModifier)
    assert heard.committed == [32, 16, 8, 64, 63]


def drag(qtbot: QtBot, field: ScrubField, points: list[int], modifier=None) -> None:
    modifier = modifier or Qt.KeyboardModifier.NoModifier
    middle = field.rect().center()
    qtbot.mousePress(field, Qt.MouseButton.LeftButton, modifier, middle)
    for point in points:
        qtbot.mouseMove(field, middle + QPoint(point, 0))


def test_dragging_tells_every_value_and_commits_once(
    qtbot: QtBot, field: ScrubField, heard: Recorder
) -> None:
    drag(qtbot, field, [10, 30, 60])
    assert field.is_scrubbing
    assert heard.scrubbed == [32, 64]
    assert heard.committed == []
    qtbot.mouseRelease(field, Qt.MouseButton.LeftButton)
    assert heard.committed == [64]
    assert heard.edges == ["started", "ended"]


def test_escape_while_dragging_goes_back(qtbot: QtBot, field: ScrubField, heard: Recorder) -> None:
    drag(qtbot, field, [10, 60])
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert field.value == 16
    assert heard.scrubbed == [64, 16]
    qtbot.mouseRelease(field, Qt.MouseButton.LeftButton)
    assert heard.committed == []
    assert heard.edges == ["started", "ended"]


def test_a_click_puts_the_caret_in(qtbot: QtBot, field: ScrubField, heard: Recorder) -> None:
    qtbot.mouseClick(field, Qt.MouseButton.LeftButton)
    assert field.hasFocus()
    assert field.selectedText() == "16"
    assert heard.committed == []


def turn(field: ScrubField, angle: int) -> bool:
    middle = QPointF(field.rect().center())
    event = QWheelEvent(
        middle, field.mapToGlobal(middle), QPoint(), QPoint(0, angle), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(field, event)
    return event.isAccepted()


def test_the_wheel_steps_only_with_the_focus(
    qtbot: QtBot, field: ScrubField, heard: Recorder
) -> None:
    assert not turn(field, 120)
    field.setFocus()
    assert turn(field, 120)
    # Touch pads send parts of a notch.
    turn(field, 60)
    turn(field, 60)
    turn(field, -120)
    assert heard.committed == [32, 64, 32]


@pytest.mark.slow
def test_values_from_elsewhere_do_not_disturb_typing(
    qtbot: QtBot, field: ScrubField, heard: Recorder
) -> None:
    field.set_value(128)
    assert field.text() == "128"
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, "*")
    field.set_value(8)
    assert field.text() == "*"
    qtbot.keyClicks(field, "2")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert heard.committed == [16]


@pytest.mark.slow
@pytest.mark.parametrize("told", [16, 128])
def test_values_from_elsewhere_leave_a_number_about_to_be_typed_over_selected(
    qtbot: QtBot, field: ScrubField, heard: Recorder, told: int
) -> None:
    qtbot.mouseClick(field, Qt.MouseButton.LeftButton)
    field.set_value(told)
    assert field.selectedText() == str(told)
    qtbot.keyClicks(field, "64")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert heard.committed == [64]


def test_the_same_value_from_elsewhere_leaves_the_caret_where_it_is(
    qtbot: QtBot, field: ScrubField
) -> None:
    qtbot.mouseClick(field, Qt.MouseButton.LeftButton)
    qtbot.keyClick(field, Qt.Key.Key_Home)
    field.set_value(16)
    qtbot.keyClicks(field, "2")
    assert field.text() == "216"


def test_read_only_fields_do_not_move(qtbot: QtBot, field: ScrubField, heard: Recorder) -> None:
    field.setReadOnly(True)
    drag(qtbot, field, [10, 60])
    qtbot.mouseRelease(field, Qt.MouseButton.LeftButton)
    field.setFocus()
    qtbot.keyClick(field, Qt.Key.Key_Up)
    turn(field, 120)
    assert field.value == 16
    assert heard.committed == []
