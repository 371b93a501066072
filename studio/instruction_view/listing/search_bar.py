"""The field over the listing: find a text, go somewhere, name a register, comment on a line."""

from __future__ import annotations

from typing import Literal, TypeAlias

from PySide6.QtCore import QEvent, Qt
from PySide6.QtCore import Signal as QtSignal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QToolButton, QVBoxLayout, QWidget

from studio.widgets import theme
from studio.widgets.labels.elided_label import ElidedLabel
from studio.widgets.labels.tool_button import tool_button

Purpose: TypeAlias = Literal["find", "goto", "name", "comment"]

_HINTS: dict[Purpose, str] = {
    "find": "Find in lines, layers and tensor names",
    "goto": "Go to 42, 0x1f, a layer, a tensor or an opcode",
    "name": "Name; nothing to show the register again",
    "comment": "Comment; nothing to take it off",
}


class SearchBar(QWidget):
    """One field for several purposes; hidden until it is asked for.

    Args:
        parent: owner in Qt.
    """

    searched = QtSignal(str)
    """The text to find has changed."""

    stepped = QtSignal(int)
    """The next match is wanted, or with -1 the one before."""

    went = QtSignal(str)
    """Enter was pressed on a place to go to."""

    wrote = QtSignal(str)
    """Enter was pressed on a name or a comment."""

    closed = QtSignal()
    """The field was closed."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("listing.search")
        self.purpose: Purpose = "find"
        self._field = QLineEdit(self)
        self._field.setObjectName("listing.search.field")
        self._field.setFont(theme.font("mono"))
        self._about = ElidedLabel(self)
        self._about.setObjectName("listing.search.about")
        self._about.setProperty("role", "soft")
        self._field.setClearButtonEnabled(True)
        self._answer = QLabel(self)
        self._answer.setObjectName("listing.search.answer")
        self._answer.setProperty("role", "faint")
        self._answer.setTextFormat(Qt.TextFormat.PlainText)
        row = QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        row.addWidget(self._field, 1)
        self._steps = [
            self._button("chevron-up", "Previous match", -1),
            self._button("chevron-down", "Next match", 1),
        ]
        for button in self._steps:
            row.addWidget(button)
        close = self._button("close", "Close", 0)
        row.addWidget(close)
        # What it is for, and what is wrong, stand above and below: the field has the whole width.
        self._row, self._column = row, QVBoxLayout(self)
        self._column.setContentsMargins(8, 4, 4, 4)
        self._column.setSpacing(2)
        self._column.addWidget(self._about)
        self._column.addLayout(row)
        self._column.addWidget(self._answer)
        self._field.textChanged.connect(self._changed)
        self._field.returnPressed.connect(self._entered)
        self._field.installEventFilter(self)
        self.hide()

    @property
    def field(self) -> QLineEdit:
        return self._field

    def ask(self, purpose: Purpose, text: str = "", about: str = "") -> None:
        """Show the field for a purpose.

        Args:
            purpose: what is typed.
            text: what stands in it at first.
            about: what a name or comment is for.
        """
        self.purpose = purpose
        self._about.set_text(about)
        self._place_answer(beside=purpose == "find")
        self._about.setVisible(bool(about))
        self._field.setPlaceholderText(_HINTS[purpose])
        self._field.setAccessibleName(f"{about} {_HINTS[purpose]}".strip())
        for button in self._steps:
            button.setVisible(purpose == "find")
        self._field.setText(text)
        self.answer("")
        self.show()
        self._field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._field.selectAll()

    def answer(self, text: str, *, is_wrong: bool = False) -> None:
        """Say what the text leads to."""
        self._answer.setText(text)
        self._answer.setVisible(bool(text))
        self._field.setProperty("wrong", is_wrong)
        self._field.style().unpolish(self._field)
        self._field.style().polish(self._field)

    def _place_answer(self, *, beside: bool) -> None:
        """Have the answer beside the field, where it is a count, or below it."""
        self._answer.setWordWrap(not beside)
        if beside:
            self._row.insertWidget(1, self._answer)
        else:
            self._column.addWidget(self._answer)

    def eventFilter(self, watched: QWidget, event: QEvent) -> bool:  # type: ignore[override]
        """Escape closes the field; the arrows and F3 walk the matches."""
        if event.type() is QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.key() == Qt.Key.Key_Escape:
                self.closed.emit()
                return True
            steps = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_F3: 1}
            step = steps.get(Qt.Key(event.key()), 0)
            if step and self.purpose == "find":
                held = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
                self.stepped.emit(-1 if held else step)
                return True
        return super().eventFilter(watched, event)

    def _button(self, icon: str, tip: str, step: int) -> QToolButton:
        button = tool_button(icon, f"listing.search.{icon}", tip, self)
        if step:
            button.clicked.connect(lambda: self.stepped.emit(step))
        else:
            button.clicked.connect(self.closed)
        return button

    def _changed(self, text: str) -> None:
        if self.purpose == "find":
            self.searched.emit(text)
        else:
            self.answer("")

    def _entered(self) -> None:
        if self.purpose == "find":
            self.stepped.emit(1)
        elif self.purpose in ("name", "comment"):
            self.wrote.emit(self._field.text())
        else:
            self.went.emit(self._field.text())
