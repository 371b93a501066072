"""Editors of options by real events: what is typed, ticked and chosen, and how none is shown."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from studio.engine.core.options import (
    AnyOption,
    Plain,
    choice,
    flag,
    integer,
    integers,
    numbers,
    optional_number,
    optional_pair,
    pair,
)
from studio.engine.layers.catalog import layer_class
from studio.engine.train.settings import TrainingSettings
from studio.session.core.option_rows import Row, row_of
from studio.widgets.forms.form import Form
from studio.widgets.forms.number_editors import NumberField
from tests.ui.fixtures import shown

LEFT = Qt.MouseButton.LeftButton


def named(name: str, option: AnyOption) -> AnyOption:
    return option.named(name)


class Bench(QWidget):
    """A form whose values are kept and checked as the engine would."""

    def __init__(self, *rows: Row) -> None:
        super().__init__()
        self.rows = {row.option.name: row for row in rows}
        self.taken: list[tuple[str, Plain, str]] = []
        self.form = Form(self.take, self.reset, self)
        column = QVBoxLayout(self)
        column.addWidget(self.form)
        self.form.show_rows(list(self.rows.values()))

    def take(self, name: str, value: Plain, key: str) -> None:
        field = self.rows[name].option
        if value is None and not field.optional:
            value = field.plain_default
        if value is not None:
            field.check(value, "it")
        self.taken.append((name, value, key))
        self.rows[name] = row_of(field, value)
        self.form.show_rows(list(self.rows.values()))

    def reset(self, name: str) -> None:
        self.take(name, self.rows[name].option.default, "")

    def value(self, name: str) -> Plain:
        return self.rows[name].value


def bench(qtbot: QtBot, *rows: Row) -> Bench:
    made = Bench(*rows)
    qtbot.addWidget(made)
    made.resize(280, 500)
    shown(qtbot, made, active=False)
    return made


def typed(qtbot: QtBot, line: QLineEdit, text: str) -> None:
    qtbot.mouseClick(line, LEFT)
    line.selectAll()
    qtbot.keyClicks(line, text)
    qtbot.keyClick(line, Qt.Key.Key_Return)


def setting(name: str) -> AnyOption:
    return TrainingSettings.option(name)


def tick(qtbot: QtBot, box: QWidget) -> None:
    qtbot.mouseClick(box, LEFT, pos=QPoint(8, box.height() // 2))


def test_a_number_that_may_be_none_is_ticked_first(qtbot: QtBot) -> None:
    field = named("clipnorm", optional_number("Largest norm.", low=0.0))
    made = bench(qtbot, row_of(field, None))
    editor = made.form.row("clipnorm").editor
    assert not editor.number.isEnabled()
    assert editor.number.placeholderText() == "none"
    tick(qtbot, editor.given)
    assert made.value("clipnorm") == 1.0
    typed(qtbot, editor.number, "2.5")
    assert made.value("clipnorm") == 2.5
    tick(qtbot, editor.given)
    assert made.value("clipnorm") is None
    assert not editor.number.isEnabled()


@pytest.mark.parametrize("optional", [False, True])
def test_pairs_are_two_numbers(qtbot: QtBot, optional: bool) -> None:
    option = optional_pair("Step.") if optional else pair("Step.", (1, 1))
    made = bench(qtbot, row_of(named("strides", option), None if optional else [1, 1]))
    editor = made.form.row("strides").editor
    if optional:
        assert not editor.numbers[0].isEnabled()
        tick(qtbot, editor.given)
    typed(qtbot, editor.numbers[1], "3")
    assert made.value("strides") == [1, 3]
    typed(qtbot, editor.numbers[0], "0")
    assert "strides" in made.form.row("strides").refusal.text()
    assert made.value("strides") == [1, 3]


def test_lists_of_numbers_are_typed_in_one_line(qtbot: QtBot) -> None:
    shape = named("shape", integers("Shape.", low=1))
    values = named("values", numbers("Rates.", (0.1, 0.01), low=0.0))
    made = bench(qtbot, row_of(shape, [28, 28, 1]), row_of(values, [0.1, 0.01]))
    line = made.form.row("shape").editor.line
    assert line.text() == "28 \N{MULTIPLICATION SIGN} 28 \N{MULTIPLICATION SIGN} 1"
    typed(qtbot, line, "[32, 16; 3]")
    assert made.value("shape") == [32, 16, 3]
    typed(qtbot, line, "32 x 16")
    assert made.value("shape") == [32, 16]
    typed(qtbot, line, "32 by 16")
    assert "got 'by'" in made.form.row("shape").refusal.text()
    qtbot.keyClick(line, Qt.Key.Key_Escape)
    assert line.text() == "32 \N{MULTIPLICATION SIGN} 16"
    typed(qtbot, made.form.row("values").editor.line, "1e-3, 2e-4")
    assert made.value("values") == [0.001, 0.0002]


def test_the_four_sides_of_a_border(qtbot: QtBot) -> None:
    field = layer_class("ZeroPadding2D").option("padding")
    made = bench(qtbot, row_of(field, field.plain_default))
    editor = made.form.row("padding").editor
    assert [n.text() for n in editor.numbers] == ["1", "1", "1", "1"]
    typed(qtbot, editor.numbers[2], "4")
    assert made.value("padding") == [[1, 1], [4, 1]]


def test_flags_and_choices_show_when_several_differ(qtbot: QtBot) -> None:
    bias = named("use_bias", flag("Bias.", True))
    pad = named("padding", choice("Padding.", "valid", "same"))
    mixed = [
        replace(row_of(bias, True), is_mixed=True),
        replace(row_of(pad, "same"), is_mixed=True),
    ]
    made = bench(qtbot, *mixed)
    box = made.form.row("use_bias").editor.box
    assert box.checkState() is Qt.CheckState.PartiallyChecked
    tick(qtbot, box)
    assert made.value("use_bias") is True
    combo = made.form.row("padding").editor.box
    assert combo.currentIndex() == -1
    assert combo.placeholderText() == "several values"
    combo.setFocus()
    qtbot.keyClick(combo, Qt.Key.Key_Down)
    assert made.value("padding") == "valid"


@pytest.mark.slow
def test_the_wheel_changes_no_box_that_has_no_focus(qtbot: QtBot) -> None:
    made = bench(qtbot, row_of(named("padding", choice("Padding.", "valid", "same")), "valid"))
    box = made.form.row("padding").editor.box
    event = QWheelEvent(
        QPointF(5, 5), QPointF(box.mapToGlobal(QPoint(5, 5))), QPoint(), QPoint(0, -120),
        Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase,
        False,
    )  # fmt: skip
    QApplication.sendEvent(box, event)
    assert box.currentIndex() == 0
    assert made.taken == []


def test_weights_of_classes_are_balanced_or_one_by_one(qtbot: QtBot) -> None:
    made = bench(qtbot, row_of(setting("class_weights"), None))
    editor = made.form.row("class_weights").editor
    editor.classes = ("cat", "dog")
    for index, expected in ((1, "balanced"), (2, {"cat": 1.0, "dog": 1.0})):
        editor.box.setCurrentIndex(index)
        editor.box.activated.emit(index)
        assert made.value("class_weights") == expected
    typed(qtbot, made.findChild(NumberField, "field_dog"), "3")
    assert made.value("class_weights") == {"cat": 1.0, "dog": 3.0}
    editor.box.activated.emit(0)
    assert made.value("class_weights") is None


@pytest.mark.slow
def test_a_nested_refusal_is_said_where_it_was_typed(qtbot: QtBot) -> None:
    field = layer_class("Dense").option("kernel_initializer")
    made = bench(qtbot, row_of(field, "random_normal"))
    form = made.form.row("kernel_initializer").editor.form
    typed(qtbot, made.findChild(NumberField, "field_deviation"), "-1")
    assert "of at least 0, got -1" in form.row("deviation").refusal.text()
    assert made.form.row("kernel_initializer").refusal is None
    assert made.value("kernel_initializer") == "random_normal"


def test_lists_of_kinds_grow_and_shrink(qtbot: QtBot) -> None:
    made = bench(qtbot, row_of(setting("callbacks"), []))
    editor = made.form.row("callbacks").editor
    index = editor.adder.findData("ReduceLROnPlateau")
    for _ in range(2):
        editor.adder.activated.emit(index)
    value = made.value("callbacks")
    assert isinstance(value, list)
    assert len(value) == 2
    fields = made.findChildren(NumberField, "field_patience")[-2:]
    qtbot.waitUntil(lambda: all(field.isVisible() for field in fields))
    typed(qtbot, fields[1], "4")
    assert made.value("callbacks")[1]["config"] == {"patience": 4}
    remove(qtbot, made)
    assert made.value("callbacks") == [{"type": "ReduceLROnPlateau", "config": {"patience": 4}}]
    remove(qtbot, made)
    assert made.value("callbacks") == []


def remove(qtbot: QtBot, made: Bench) -> None:
    """Click the button that removes the first value, once it is there."""
    buttons = lambda: [  # noqa: E731
        b for b in made.findChildren(QWidget, "remove_callbacks_0") if b.isVisible()
    ]
    qtbot.waitUntil(lambda: len(buttons()) == 1)
    qtbot.mouseClick(buttons()[0], LEFT)


def test_dragging_tells_values_with_one_key(qtbot: QtBot) -> None:
    made = bench(qtbot, row_of(setting("epochs"), 10))
    field = made.findChild(NumberField, "field_epochs")
    middle = field.rect().center()
    qtbot.mousePress(field, LEFT, pos=middle)
    for x in (8, 16, 24):
        qtbot.mouseMove(field, middle + QPoint(x, 0))
    qtbot.mouseRelease(field, LEFT, pos=middle + QPoint(24, 0))
    keys = {key for _, value, key in made.taken if value != made.value("epochs")}
    assert len(keys) == 1
    assert keys != {""}
    assert made.value("epochs") == 16


def test_labels_and_editors_stand_in_one_line(qtbot: QtBot) -> None:
    rows = [row_of(setting(name), setting(name).default) for name in ("epochs", "optimizer")]
    made = bench(qtbot, *rows)
    outer = made.form.row("epochs").editor
    nested = made.form.row("optimizer").editor.form.rows[0].editor
    left = outer.mapTo(made, QPoint(0, 0)).x()
    assert nested.mapTo(made, QPoint(0, 0)).x() == left
    assert made.findChildren(QComboBox)


def test_settings_by_output_are_shown_and_cannot_be_changed_by_accident(qtbot: QtBot) -> None:
    settings = TrainingSettings(
        loss={"which": "mse", "size": {"type": "MeanAbsoluteError"}},
        metrics={"which": ["accuracy"], "size": []},
        loss_weights={"which": 2.0},
    )
    rows = []
    for name in ("loss", "metrics", "loss_weights"):
        option = TrainingSettings.option(name)
        rows.append(row_of(option, option.plain(settings.option_values[name])))
    made = bench(qtbot, *rows)
    box = made.findChild(QComboBox, "field_loss")
    assert box is not None
    assert box.placeholderText() == "which MeanSquaredError, size MeanAbsoluteError"
    assert not box.isEnabled()
    adder = made.findChild(QComboBox, "add_metrics")
    assert adder is not None
    assert not adder.isEnabled()
    shown = [label.text() for label in made.findChildren(QLabel) if label.isVisible()]
    assert "which Accuracy, size none" in shown
    assert made.taken == []
    factor = made.findChild(NumberField, "field_which")
    assert factor is not None
    qtbot.mouseClick(factor, LEFT)
    factor.selectAll()
    qtbot.keyClicks(factor, "0.5")
    qtbot.keyClick(factor, Qt.Key.Key_Return)
    assert made.value("loss_weights") == {"which": 0.5}
    made.take("loss", "mse", "")
    assert box.isEnabled()


def places(made: Bench) -> list[QRect]:
    made.form.layout().activate()
    return [part.geometry() for row in made.form.rows for part in (row.label, row.editor)]


def test_a_reset_button_is_made_when_a_value_differs_and_nothing_moves(qtbot: QtBot) -> None:
    width, height = (named(name, integer("Size.", 4, low=1)) for name in ("width", "height"))
    made = bench(qtbot, row_of(width, 4), row_of(height, 4))
    before = places(made)
    assert not made.findChildren(QToolButton)
    typed(qtbot, made.form.row("width").editor.number, "7")
    (button,) = made.findChildren(QToolButton)
    assert button.objectName() == "reset_width"
    assert button.accessibleName() == "Reset width"
    assert button.isVisible()
    assert places(made) == before
    assert button.geometry().left() > before[1].right()
    qtbot.mouseClick(button, LEFT)
    assert made.value("width") == 4
    assert not button.isEnabled()
    typed(qtbot, made.form.row("width").editor.number, "8")
    assert made.findChildren(QToolButton) == [button]
    assert button.isEnabled()
    assert places(made) == before


def test_tab_goes_from_a_field_to_its_reset_button_whenever_that_was_made(qtbot: QtBot) -> None:
    width, height = (named(name, integer("Size.", 4, low=1)) for name in ("width", "height"))
    made = bench(qtbot, row_of(width, 4), row_of(height, 4))
    shown(qtbot, made)
    typed(qtbot, made.form.row("height").editor.number, "5")
    typed(qtbot, made.form.row("width").editor.number, "7")
    assert made.form.row("width").editor.number.hasFocus()
    met = []
    for _ in range(3):
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        met.append(QApplication.focusWidget().objectName())
    assert met == ["reset_width", "field_height", "reset_height"]


def test_a_refusal_stands_below_its_row_and_its_place_is_given_back(qtbot: QtBot) -> None:
    width, height = (named(name, integer("Size.", 4, low=1)) for name in ("width", "height"))
    made = bench(qtbot, row_of(width, 4), row_of(height, 4))
    before = places(made)
    assert not made.findChildren(QLabel, "refusal_width")
    field = made.form.row("width").editor.number
    typed(qtbot, field, "0")
    (refusal,) = made.findChildren(QLabel, "refusal_width")
    assert "from 1 to 2147483647, got 0" in refusal.text()
    (_, upper, lower, _) = places(made)
    assert upper.bottom() < refusal.geometry().top() <= refusal.geometry().bottom() < lower.top()
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert refusal.isHidden()
    assert places(made) == before
    typed(qtbot, field, "0")
    assert made.findChildren(QLabel, "refusal_width") == [refusal]
    assert refusal.isVisible()
