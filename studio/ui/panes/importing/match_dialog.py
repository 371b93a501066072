"""The dialog in which arrays of a file are taken for parameters of the network."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from studio.engine.core.errors import StudioError
from studio.engine.core.tensor import Shape
from studio.session.importing.table import MatchingTable, MatchLine
from studio.session.studio import Studio
from studio.widgets import binding, theme
from studio.widgets.labels.tool_button import tool_button
from studio.widgets.record_table.column_widths import fit_column
from studio.widgets.record_table.columns import Column, Tick
from studio.widgets.record_table.model import RecordModel
from studio.widgets.record_table.views import RecordTable

_MEASURED, _PAD, _TICK, _LEAST, _MOST = 200, 20, 24, 72, 260
_COLOURS = {
    "name": "ok",
    "shape": "accent",
    "hand": "accent",
    "wrong shape": "error",
    "no match": "text3",
}


def _shape(shape: Shape | None) -> str:
    return "" if shape is None else str(list(shape))


def _colour(line: MatchLine) -> str:
    if line.state is None or (line.can_take and not line.is_taken):
        return "text2"
    return _COLOURS[line.state]


def _columns(table: MatchingTable) -> tuple[Column[MatchLine], ...]:
    tick = Tick[MatchLine](
        lambda line: line.is_taken,
        lambda line, on: table.take(line.name, on),
        lambda line: line.can_take,
        lambda line: line.can_take,
    )
    return (
        Column("name", "In the file", lambda each: each.name or "none", tip="Name of the array.",
               tooltip=lambda each: each.name or None,
               spoken=lambda each: each.name or "nothing", tick=tick),
        Column("shape", "Shape", lambda each: _shape(each.shape)),
        Column("parameter", "Parameter", lambda each: each.parameter or "none",
               tip="Parameter of the network that it is taken for.",
               tooltip=lambda each: each.parameter or None,
               spoken=lambda each: each.parameter or "no parameter"),
        Column("wanted", "Its shape", lambda each: _shape(each.wanted)),
        Column("word", "Match", lambda each: each.word, colour=_colour,
               tip="How they were found to belong together."),
    )  # fmt: skip


class _MatchTable(RecordTable):
    """Arrays and parameters; the last column gets the room that is left."""

    def fit_columns(self) -> None:
        seen = self.entries.rows[:_MEASURED]
        last = len(self.entries.columns) - 1
        for place in range(last):
            room = _PAD + (_TICK if place == 0 else 0)
            width = max(_LEAST, min(self.measured(place, seen) + room, _MOST))
            self.setColumnWidth(place, width)
        fit_column(self, last, _LEAST)


class ParameterChoice(QWidget):
    """Takes the array of the current row for another parameter of its shape; undo and redo.

    Args:
        table: what matches.
        parent: the dialog.
    """

    def __init__(self, table: MatchingTable, parent: QWidget) -> None:
        super().__init__(parent)
        self._table = table
        self._name = ""
        label = QLabel("&Parameter", self)
        self.box = QComboBox(self)
        self.box.setObjectName("match_parameter")
        self.box.setAccessibleName("Parameter of the chosen array")
        self.box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.box.activated.connect(self._chosen)
        label.setBuddy(self.box)
        self.undo = tool_button("undo", "match_undo", "Undo the last choice", self)
        self.undo.clicked.connect(table.undo)
        self.redo = tool_button("redo", "match_redo", "Make the choice again", self)
        self.redo.clicked.connect(table.redo)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        for widget in (label, self.box, self.undo, self.redo):
            row.addWidget(widget)

    def show_array(self, name: str) -> None:
        """Offer the parameters of an array; an empty name stands for none."""
        self._name = name
        choices = self._table.choices(name) if name else ()
        blocked = self.box.blockSignals(True)
        self.box.clear()
        self.box.addItem("No parameter", "")
        for each in choices:
            self.box.addItem(each, each)
        self.box.setCurrentIndex(max(0, self.box.findData(self._table.parameter_of(name))))
        self.box.blockSignals(blocked)
        self.box.setEnabled(bool(choices))
        if choices:
            tip = "Parameters of the same shape that nothing else is taken for."
        elif name:
            tip = "No parameter of this shape is free."
        else:
            tip = "Choose an array in the table."
        self.box.setToolTip(tip)
        self.undo.setEnabled(self._table.can_undo)
        self.redo.setEnabled(self._table.can_redo)

    def _chosen(self, place: int) -> None:
        self._table.choose(self._name, str(self.box.itemData(place)))


class MatchDialog(QDialog):
    """Shows which array is which parameter; nothing is brought in before it is confirmed.

    Args:
        studio: the models.
        table: what matches.
        parent: the window.
    """

    def __init__(self, studio: Studio, table: MatchingTable, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("match_dialog")
        self.setModal(False)
        self._model, self._table, self._tell = studio.importing, table, studio.fail
        source = studio.importing.source
        name = "" if source is None else source.name
        self.setWindowTitle("Import weights")
        self.head = QLabel(f"Weights of {name}", self)
        self.head.setObjectName("match_head")
        self.head.setFont(theme.font("title"))
        self.head.setTextFormat(Qt.TextFormat.PlainText)
        self.sentence = QLabel(self)
        self.sentence.setObjectName("match_sentence")
        self.sentence.setProperty("role", "soft")
        self.sentence.setWordWrap(True)
        # Reading a table again at each tick must leave the row that was ticked where it is.
        entries = RecordModel(_columns(table), key=lambda line: line.key, heading="small")
        self.lines = _MatchTable(entries, "match_table", "Arrays and parameters", self,
                                 font="small")  # fmt: skip
        self.lines.setProperty("framed", True)
        self.lines.setAlternatingRowColors(True)
        self.choice = ParameterChoice(table, self)
        self.lines.selectionModel().currentRowChanged.connect(lambda *_: self._show_choice())
        for keys, work in (
            (QKeySequence.StandardKey.Undo, table.undo), (QKeySequence.StandardKey.Redo, table.redo)
        ):  # fmt: skip
            QShortcut(QKeySequence(keys), self).activated.connect(work)
        self.cancel = QPushButton("Cancel", self)
        self.cancel.setObjectName("match_cancel")
        self.cancel.clicked.connect(self.reject)
        self.start = QPushButton("Import", self)
        self.start.setObjectName("match_start")
        self.start.setProperty("primary", True)
        self.start.setDefault(True)
        self.start.clicked.connect(self.take)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addStretch(1)
        buttons.addWidget(self.cancel)
        buttons.addWidget(self.start)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 16)
        column.setSpacing(8)
        column.addWidget(self.head)
        column.addWidget(self.sentence)
        column.addWidget(self.lines, 1)
        column.addWidget(self.choice)
        column.addLayout(buttons)
        binding.connect(self, table.changed, self.refresh)
        binding.connect(self, self._model.changed, self._changed)
        self.resize(760, 480)
        self.refresh()
        self.lines.fit()

    def refresh(self) -> None:
        """Show what is taken now."""
        current, lines = self._current, self._table.lines()
        self.lines.entries.take(lines)
        # A parameter that is no longer free has no line: the table begins anew, the row stays.
        place = next((n for n, line in enumerate(lines) if current and line.name == current), -1)
        if place >= 0 and self.lines.currentIndex().row() != place:
            self.lines.setCurrentIndex(self.lines.entries.at(place, "name"))
        self._show_choice()
        text = self._table.sentence()
        self.sentence.setText(f"{text[:1].upper()}{text[1:]}.")
        why = self._table.why_not()
        self.start.setEnabled(not why)
        self.start.setToolTip(f"{why[:1].upper()}{why[1:]}." if why else
                              "Record these weights as a new run.")  # fmt: skip

    @property
    def _current(self) -> str:
        """The array of the current row; empty for none."""
        row, lines = self.lines.currentIndex().row(), self.lines.entries.rows
        return lines[row].name if 0 <= row < len(lines) else ""

    def _show_choice(self) -> None:
        self.choice.show_array(self._current)

    def take(self) -> None:
        """Bring in what is taken."""
        try:
            self._model.take_matched()
        except StudioError as error:
            self._tell(error)
        self.accept()

    def reject(self) -> None:
        """Bring nothing in."""
        self._model.leave_table()
        super().reject()

    def _changed(self) -> None:
        # Another project was opened: the table is of another network.
        if self._model.table is not self._table and self.isVisible():
            super().reject()
