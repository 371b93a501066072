"""Editors of choices: yes or no, one word out of a few, a line of text."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QWidget

from studio.engine.core.options import AnyOption, Plain
from studio.engine.layers.activation_catalog import absent_activation
from studio.widgets.forms.editor import MIXED, Editor, choice_box
from studio.widgets.forms.reverting_line import RevertingLine


class FlagEditor(Editor):
    """Yes or no."""

    def __init__(self, option: AnyOption, parent: QWidget | None = None, nesting: int = 0) -> None:
        super().__init__(option, parent, nesting)
        self.box = QCheckBox(self)
        self.prepare(self.box)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.box)
        row.addStretch(1)
        self.setFocusProxy(self.box)
        self.box.clicked.connect(self._clicked)

    def show_value(self, value: Plain, *, is_mixed: bool = False) -> None:
        if is_mixed:
            self.box.setTristate(True)
            self.box.setCheckState(Qt.CheckState.PartiallyChecked)
        else:
            self.box.setTristate(False)
            self.box.setChecked(bool(value))

    def _clicked(self) -> None:
        self.edited.emit(self.box.checkState() is not Qt.CheckState.Unchecked, "")


class ChoiceEditor(Editor):
    """One word out of a few."""

    def __init__(self, option: AnyOption, parent: QWidget | None = None, nesting: int = 0) -> None:
        super().__init__(option, parent, nesting)
        self.box = choice_box(self)
        self.prepare(self.box)
        for choice in option.choices:
            words = choice if option.verbatim else choice.replace("_", " ")
            self.box.addItem(words, choice)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.box)
        self.setFocusProxy(self.box)
        # One choice is no choice, but it is said which.
        self.box.setEnabled(len(option.choices) > 1)
        self.box.activated.connect(self._chosen)

    def show_value(self, value: Plain, *, is_mixed: bool = False) -> None:
        index = -1 if is_mixed else self.box.findData(value)
        placeholder = MIXED if is_mixed else ""
        if index < 0 and isinstance(value, str) and absent_activation(value) is not None:
            # One of a plugin that is not loaded is shown, and cannot be chosen.
            placeholder = f"{value.replace('_', ' ')} (not loaded)"
        elif index < 0 and not is_mixed and isinstance(value, str):
            # A value from a file that is not among those offered is shown as it is.
            self.box.addItem(value, value)
            index = self.box.count() - 1
        self.box.setCurrentIndex(index)
        self.box.setPlaceholderText(placeholder)

    def _chosen(self, index: int) -> None:
        self.edited.emit(self.box.itemData(index), "")


class TextEditor(Editor):
    """A line of text."""

    def __init__(self, option: AnyOption, parent: QWidget | None = None, nesting: int = 0) -> None:
        super().__init__(option, parent, nesting)
        self.line = RevertingLine(self)
        self.prepare(self.line)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.line)
        self.setFocusProxy(self.line)
        self.line.editingFinished.connect(self._finish)

    def show_value(self, value: Plain, *, is_mixed: bool = False) -> None:
        self.line.show_text("" if is_mixed or value is None else str(value))
        self.line.setPlaceholderText(MIXED if is_mixed else "")

    def _finish(self) -> None:
        if self.line.is_changed:
            self.edited.emit(self.line.text(), "")
