"""Editors of numbers: one, two, four, or a list of them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from PySide6.QtWidgets import QCheckBox, QGridLayout, QHBoxLayout, QLabel, QWidget

from studio.engine.core.options import AnyOption, Plain
from studio.session.core.option_rows import tip
from studio.widgets import numbers
from studio.widgets.fields.scrub_field import ScrubField
from studio.widgets.fields.stepping import Stepping
from studio.widgets.forms.editor import MIXED, Editor, merge_key
from studio.widgets.forms.reverting_line import RevertingLine

TIMES = "\N{MULTIPLICATION SIGN}"

_SEPARATORS = re.compile(rf"[\s,;x{TIMES}*]+")
_WIDEST = 1e12


def stepping_of(option: AnyOption) -> Stepping:
    """How a number field walks the values of an option."""
    whole = option.form_editor in ("integer", "pair", "integers", "border")
    low = option.low if option.low > -_WIDEST else -math.inf
    high = option.high if option.high < _WIDEST else math.inf
    if option.steps != "linear":
        return Stepping(option.steps, low, high, whole)
    step = option.step or (1.0 if whole else _step(high - low))
    return Stepping("linear", low, high, whole, step)


def _step(span: float) -> float:
    return 0.01 if span <= 1.0 else 0.1 if span <= 20.0 or math.isinf(span) else 1.0


class NumberField(ScrubField):
    """A number field of a form; dragging tells values with one merge key."""

    def __init__(self, owner: Editor, name: str = "", label: str = "") -> None:
        super().__init__(stepping_of(owner.option), parent=owner)
        self.fits_typing = False
        self.setAccessibleName(label or owner.option.label)
        owner.prepare(self, name)
        self.set_hint(tip(owner.option))
        self.key = ""
        self._option = owner.option
        self.scrub_started.connect(self._begin)

    def _begin(self) -> None:
        self.key = merge_key(self._option)

    def show_number(self, value: object) -> None:
        """Show a number, whatever was typed before."""
        self.setModified(False)
        self.set_value(float(value) if isinstance(value, int | float) else 0.0)
        self.setPlaceholderText("")

    def show_mixed(self) -> None:
        """Show that several things differ."""
        self.setText("")
        self.setPlaceholderText(MIXED)


class NumberEditor(Editor):
    """One number, or none where that is allowed."""

    def __init__(self, option: AnyOption, parent: QWidget | None = None, nesting: int = 0) -> None:
        super().__init__(option, parent, nesting)
        self._whole = option.form_editor == "integer"
        self.number = NumberField(self)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        self.given: QCheckBox | None = None
        if option.optional:
            self.given = QCheckBox(self)
            self.given.setAccessibleName(f"Use {option.label.lower()}")
            self.prepare(self.given, f"given_{option.name}")
            self.given.clicked.connect(self._toggled)
            row.addWidget(self.given)
        row.addWidget(self.number, 1)
        self.setFocusProxy(self.number)
        self.number.scrubbed.connect(lambda value: self._emit(value, self.number.key))
        self.number.committed.connect(self._committed)
        self.number.scrub_ended.connect(self._ended)

    def show_value(self, value: Plain, *, is_mixed: bool = False) -> None:
        is_given = value is not None or is_mixed
        if self.given is not None:
            self.given.setChecked(is_given)
        self.number.setEnabled(is_given)
        if is_mixed:
            self.number.show_mixed()
        elif value is None:
            self.number.setText("")
            self.number.setPlaceholderText("none")
        else:
            self.number.show_number(value)

    def _committed(self, value: float) -> None:
        # A drag has told this value on its way already.
        if not self.number.key:
            self._emit(value, "")

    def _ended(self) -> None:
        self.number.key = ""

    def _toggled(self, on: bool) -> None:
        if not on:
            self.edited.emit(None, "")
            return
        self.number.setEnabled(True)
        start = self.option.start
        self._emit(_sensible(self.option) if start is None else float(str(start)), "")

    def _emit(self, value: float, key: str) -> None:
        self.edited.emit(plain_number(value, whole=self._whole), key)


class TupleEditor(Editor):
    """Several numbers side by side: rows and columns, or the four sides of a border."""

    def __init__(
        self,
        option: AnyOption,
        names: Sequence[str],
        columns: int,
        parent: QWidget | None = None,
        nesting: int = 0,
    ) -> None:
        super().__init__(option, parent, nesting)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(2)
        self.given: QCheckBox | None = None
        offset = 0
        if option.optional:
            self.given = QCheckBox(self)
            self.given.setAccessibleName(f"Use {option.label.lower()}")
            self.prepare(self.given, f"given_{option.name}")
            self.given.clicked.connect(self._toggled)
            grid.addWidget(self.given, 0, 0)
            offset = 1
        self.numbers: list[NumberField] = []
        for index, name in enumerate(names):
            made = NumberField(self, f"field_{option.name}_{index}", f"{option.label}, {name}")
            made.setPlaceholderText(name)
            made.setMinimumWidth(35)
            made.scrubbed.connect(lambda _, made=made: self._emit(made.key))
            made.committed.connect(lambda _, made=made: self._settled(made))
            made.scrub_ended.connect(lambda made=made: setattr(made, "key", ""))
            place = divmod(index, columns)
            grid.addWidget(made, place[0], offset + 2 * place[1])
            if place[1] + 1 < columns:
                between = QLabel(TIMES if len(names) == 2 else "", self)
                between.setProperty("role", "faint")
                grid.addWidget(between, place[0], offset + 2 * place[1] + 1)
            grid.setColumnStretch(offset + 2 * place[1], 1)
            self.numbers.append(made)
        self.setFocusProxy(self.numbers[0])

    def show_value(self, value: Plain, *, is_mixed: bool = False) -> None:
        flat = list(_flat(value))
        is_given = bool(flat) or is_mixed
        if self.given is not None:
            self.given.setChecked(is_given)
        for index, made in enumerate(self.numbers):
            made.setEnabled(is_given)
            if is_mixed or index >= len(flat):
                made.setText("")
                made.setPlaceholderText(MIXED if is_mixed else "none")
            else:
                made.show_number(flat[index])

    def _settled(self, made: NumberField) -> None:
        if not made.key:
            self._emit("")

    def _toggled(self, on: bool) -> None:
        if on:
            for made in self.numbers:
                made.setEnabled(True)
                made.set_value(max(1.0, self.option.low))
            self._emit("")
        else:
            self.edited.emit(None, "")

    def _emit(self, key: str) -> None:
        found: list[Plain] = [plain_number(made.value, whole=True) for made in self.numbers]
        if len(found) == 4:
            self.edited.emit([found[:2], found[2:]], key)
        else:
            self.edited.emit(found, key)


def pair_editor(option: AnyOption, parent: QWidget | None = None, nesting: int = 0) -> TupleEditor:
    """Rows and columns."""
    return TupleEditor(option, ("rows", "columns"), 2, parent, nesting)


def border_editor(
    option: AnyOption, parent: QWidget | None = None, nesting: int = 0
) -> TupleEditor:
    """Top and bottom, left and right."""
    return TupleEditor(option, ("top", "bottom", "left", "right"), 2, parent, nesting)


class NumbersEditor(Editor):
    """A list of numbers in one line, sizes with a cross between them, others with a comma."""

    def __init__(self, option: AnyOption, parent: QWidget | None = None, nesting: int = 0) -> None:
        super().__init__(option, parent, nesting)
        self._whole = option.form_editor == "integers"
        self.line = RevertingLine(self)
        self.prepare(self.line)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.line)
        self.setFocusProxy(self.line)
        self.line.editingFinished.connect(self._finish)

    def show_value(self, value: Plain, *, is_mixed: bool = False) -> None:
        between = f" {TIMES} " if self._whole else ", "
        listed = value if isinstance(value, list) else []
        text = between.join(_number_text(each) for each in listed)
        self.line.show_text("" if is_mixed else text)
        self.line.setPlaceholderText(MIXED if is_mixed else "none")

    def _finish(self) -> None:
        if not self.line.is_changed:
            return
        text = self.line.text().strip("[]() ")
        words = [word for word in _SEPARATORS.split(text) if word]
        self.edited.emit([self._typed(word) for word in words], "")

    def _typed(self, word: str) -> Plain:
        is_unknown = self.option.unknown and word.lower() == "none"
        return None if is_unknown else _typed(word, whole=self._whole)


def plain_number(value: float, *, whole: bool) -> int | float:
    """A number as plain data: an int where whole numbers are wanted and it is one."""
    return int(value) if whole and float(value).is_integer() else float(value)


def _typed(word: str, *, whole: bool) -> Plain:
    """A number as typed; text stays text, so that the option says what is wrong with it."""
    try:
        return plain_number(float(word), whole=whole)
    except ValueError:
        return word


def _number_text(value: Plain) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value) if isinstance(value, int) else numbers.number(value, 6)
    return str(value)


def _flat(value: Plain) -> Sequence[Plain]:
    if not isinstance(value, list):
        return []
    return [each for item in value for each in (item if isinstance(item, list) else [item])]


def _sensible(option: AnyOption) -> float:
    """A number to begin with where none was set."""
    if option.low > 0:
        return option.low
    return 1.0 if option.form_editor == "integer" or option.high >= 1.0 else option.high / 2
