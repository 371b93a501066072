"""What a sweep varies, one row each: name, values, a button that removes it; and a field to add."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import (
    QCompleter,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from studio.engine.core.near_names import did_you_mean
from studio.session.sweeps.draft import SweepDraft
from studio.widgets import binding, theme
from studio.widgets.labels.elided_label import ElidedLabel
from studio.widgets.labels.tool_button import tool_button

VALUES_TIP = (
    "A list such as 8,16,32 or relu,tanh\n"
    "A range such as 0.1..0.5\n"
    "A range drawn by its logarithm: log:1e-4..1e-1\n"
    "Points of a range, as a grid needs: log:1e-4..1e-1/4"
)
_ADD_TIP = (
    "A training setting such as batch_size, an option of the optimiser such as learning_rate, or "
    "an option of a layer such as conv1.filters"
)


class AxisRow:
    """One thing that varies.

    Args:
        draft: what is varied.
        name: of the axis.
        parent: the form.
    """

    def __init__(self, draft: SweepDraft, name: str, parent: QWidget) -> None:
        self._draft = draft
        self.name = name
        self.label = ElidedLabel(parent, Qt.TextElideMode.ElideMiddle)
        self.label.set_text(name)
        self.field = QLineEdit(parent)
        self.field.setObjectName(f"values.{name}")
        self.field.setAccessibleName(f"Values of {name}")
        self.field.setToolTip(VALUES_TIP)
        self.field.setPlaceholderText("8,16,32 or 0.1..0.5")
        self.field.textEdited.connect(self._edited)
        self.label.setBuddy(self.field)
        self.remove = tool_button("close", f"remove.{name}", f"Do not vary {name}", parent)
        self.remove.clicked.connect(lambda: draft.remove(self.name))
        self.error = error_label(f"error.{name}", parent)
        self.show()

    @property
    def widgets(self) -> tuple[QWidget, ...]:
        return self.label, self.field, self.remove, self.error

    def show(self) -> None:
        """Show its values and what is wrong with them."""
        values = dict(self._draft.axes).get(self.name, "")
        if self.field.text() != values:
            self.field.setText(values)
        say(self.error, self._draft.problem_of(self.name), self.field)

    def _edited(self, text: str) -> None:
        self._draft.set_values(self.name, text)


class AxesForm(QWidget):
    """The rows, and a field that adds one.

    Args:
        draft: what is varied.
        parent: the widget it stands in.
    """

    def __init__(self, draft: SweepDraft, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sweep_axes")
        self._draft = draft
        self.rows: dict[str, AxisRow] = {}
        self._just_added = ""
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(6)
        self._grid.setVerticalSpacing(2)
        self._grid.setColumnStretch(0, 2)
        self._grid.setColumnStretch(1, 3)
        self._names: tuple[str, ...] = ()
        self.field = QLineEdit(self)
        self.field.setObjectName("add_axis")
        self.field.setAccessibleName("Vary another setting, by name")
        self.field.setPlaceholderText("Add a setting by name")
        self.field.setToolTip(_ADD_TIP)
        self.field.returnPressed.connect(self._add)
        self.field.textEdited.connect(self._typing)
        self.button: QToolButton = tool_button("plus", "add_axis_button", "Vary this", self)
        self.button.clicked.connect(self._add)
        self.error = error_label("error.add_axis", self)
        line = QHBoxLayout()
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(6)
        line.addWidget(self.field, 1)
        line.addWidget(self.button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(self._grid)
        column.addLayout(line)
        column.addWidget(self.error)
        binding.connect(self, draft.changed, self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show what is varied now; a row that stays keeps its field, which may be typed in."""
        names = [name for name, _ in self._draft.axes]
        if names != list(self.rows):
            self._fill(names)
        for row in self.rows.values():
            row.show()
        self._offer_names()

    def begin(self) -> None:
        """Let a name be typed."""
        self.field.setFocus()

    def _offer_names(self) -> None:
        """Complete what is typed by the names that are not among the rows."""
        names = tuple(n for n in self._draft.names() if not self._draft.holds(n))
        if names == self._names:
            return
        self._names = names
        completer = QCompleter(names, self)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.activated.connect(self._add)
        before = self.field.completer()
        self.field.setCompleter(completer)
        if before is not None:
            before.deleteLater()

    def _fill(self, names: list[str]) -> None:
        for name in [name for name in self.rows if name not in names]:
            row = self.rows.pop(name)
            if row.field.hasFocus() or row.remove.hasFocus():
                self.field.setFocus()
            for widget in row.widgets:
                self._grid.removeWidget(widget)
                widget.hide()
                widget.deleteLater()
        made = {name: self.rows.get(name) or AxisRow(self._draft, name, self) for name in names}
        self.rows = made
        before: QWidget | None = None
        for place, row in enumerate(made.values()):
            for column, widget in enumerate((row.label, row.field, row.remove)):
                self._grid.addWidget(widget, 2 * place, column)
                # A layout shows it later, and what is not shown cannot be given the keyboard.
                widget.show()
            self._grid.addWidget(row.error, 2 * place + 1, 0, 1, 3)
            if before is not None:
                self.setTabOrder(before, row.field)
            self.setTabOrder(row.field, row.remove)
            before = row.remove
        if before is not None:
            self.setTabOrder(before, self.field)
        self.setTabOrder(self.field, self.button)

    def _typing(self) -> None:
        self._offer_names()
        self._just_added = ""
        say(self.error, "", self.field)

    def _add(self, *_: object) -> None:
        name = self.field.text().strip()
        if not name:
            self.field.setFocus()
            return
        if self._draft.holds(name):
            # Enter in the list of names is told by the list and by the field.
            if name == self._just_added:
                return
            say(self.error, f"{name} is varied already", self.field)
            return
        known = self._draft.names()
        if name not in known:
            hint = did_you_mean(name, known)
            said = f"There is nothing called {name} to vary"
            say(self.error, f"{said}; {hint}" if hint else said, self.field)
            return
        self._just_added = name
        self._draft.add(name)
        # A completer writes what was chosen into the field after this.
        QTimer.singleShot(0, self.field, self.field.clear)
        self.rows[name].field.setFocus()
        self.rows[name].field.selectAll()


def error_label(name: str, parent: QWidget) -> QLabel:
    """A line that says what is wrong with the field above it; hidden while nothing is."""
    made = QLabel(parent)
    made.setObjectName(name)
    made.setProperty("role", "error")
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setFont(theme.font("small"))
    made.setWordWrap(True)
    made.hide()
    return made


def say(label: QLabel, text: str, field: QWidget | None = None) -> None:
    """Say what is wrong with a field, or that nothing is."""
    label.setText(text)
    label.setVisible(bool(text))
    if field is not None and bool(field.property("wrong")) != bool(text):
        field.setProperty("wrong", bool(text))
        field.style().unpolish(field)
        field.style().polish(field)
