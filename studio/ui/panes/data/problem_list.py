"""What is wrong with the data, kind by kind and place by place, and what can be done about it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from PySide6.QtWidgets import QAbstractItemView, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from studio.engine.train.data.cleaning import CleanedPlace
from studio.session.data.cleaning import FILLS
from studio.session.data.data import DataModel
from studio.session.data.problems import DataProblem
from studio.widgets import theme
from studio.widgets.forms.editor import choice_box
from studio.widgets.forms.form import LABEL_WIDTH
from studio.widgets.labels.elided_button import ElidedButton
from studio.widgets.record_table.columns import Column
from studio.widgets.record_table.model import RecordModel
from studio.widgets.record_table.views import RecordTable

_MOST_ROWS = 8
_WHERE_WIDTH = 110
T = TypeVar("T")


def text_of(problem: DataProblem) -> str:
    """Everything there is to say of a problem."""
    hint = f"\n{problem.hint[:1].upper()}{problem.hint[1:]}." if problem.hint else ""
    where = f"{problem.file}, {problem.place}" if problem.row else problem.file
    return f"{where}: {problem.message}.{hint}"


def _done_at(place: CleanedPlace) -> str:
    return f"{place.file}, {place.text}: {place.message}" if place.row else _said(place)


def _said(place: CleanedPlace) -> str:
    return f"{place.file}: {place.message}"


_COLUMNS: tuple[Column[DataProblem], ...] = (
    Column("where", "where", lambda problem: problem.place, tooltip=text_of),
    Column("what", "what", lambda problem: problem.message, tooltip=text_of),
)

_DONE = {"skipped": "skipped", "filled": "filled", "unknown": "zeros"}
_CLEANED: tuple[Column[CleanedPlace], ...] = (
    Column("where", "where", lambda place: place.text, tooltip=_done_at),
    Column("what", "what", lambda place: f"{_DONE[place.what]}: {place.message}", tooltip=_done_at),
)


class ProblemList(QWidget):
    """The kinds of problems, each of them, the whole text of the one selected, and the ways out.

    Args:
        data: the data of the project.
        parent: the widget it stands in.
    """

    def __init__(self, data: DataModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._data = data
        self.rows = RecordModel(_COLUMNS)
        self.table = _table(self.rows, "data_problems", "Data problems", self)
        self.table.selectionModel().currentRowChanged.connect(self._selected)
        self._text = QLabel(self)
        self._text.setObjectName("problem_text")
        self._text.setWordWrap(True)
        self._text.setProperty("role", "soft")
        self._note = _small(self, "problem_count")
        self.kinds = _small(self, "problem_kinds", "soft")
        cleaning = data.cleaning
        self.skip = _button(self, "skip_bad", _SKIP_TIP, cleaning.skip)
        self.fill = _button(self, "fill_bad_numbers", _FILL_TIP, self._fill_numbers)
        self.with_what = choice_box(self)
        self.with_what.setObjectName("fill_with")
        self.with_what.setAccessibleName("Fill with")
        self.with_what.setToolTip("What cells without a number are filled with.")
        for name, (short, _) in FILLS.items():
            self.with_what.addItem(short, name)
        self.with_what.currentIndexChanged.connect(self._name_fill)
        self.fill_categories = _button(
            self, "fill_bad_categories", _FILL_TIP, partial(cleaning.fill, "category", "")
        )
        self.categories = _button(self, "use_categories", _CATEGORIES_TIP, self._use_categories)
        self._fill_with = QLabel("Fill with", self)
        self._fill_with.setProperty("role", "soft")
        self._fill_with.setFixedWidth(LABEL_WIDTH)
        line = QHBoxLayout()
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(4)
        line.addWidget(self._fill_with)
        line.addWidget(self.with_what, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        for widget in (self._note, self.kinds, self.table, self._text, self.skip):
            column.addWidget(widget)
        column.addLayout(line)
        column.addWidget(self.fill)
        column.addWidget(self.fill_categories)
        column.addWidget(self.categories)

    def refresh(self) -> None:
        """Show what is wrong now."""
        problems, cleaning = self._data.problems, self._data.cleaning
        _show(self.table, self.rows, problems.rows)
        kinds = problems.kinds
        self._note.setText(problems.count_text)
        self._note.setVisible(len(problems.rows) > 1)
        self.kinds.setText("\n".join(kinds))
        self.skip.setVisible(problems.can_skip)
        self.skip.set_text(problems.skip_text or "Skip")
        texts = cleaning.text_columns
        # A column of nothing but texts has no mean; all of its cells are bad.
        numbers = [each for each in problems.columns_of("number") if each not in texts]
        for widget in (self.fill, self._fill_with, self.with_what):
            widget.setVisible(bool(numbers) and not texts)
        self._name_fill()
        bad = problems.cells_text("category")
        self.fill_categories.setVisible(bool(bad))
        self.fill_categories.set_text(f"Fill {bad} with the most frequent category")
        self.categories.setVisible(bool(texts))
        named = texts[0] if len(texts) == 1 else f"{len(texts)} columns"
        self.categories.set_text(f"Read {named} as categories")
        if problems.rows and not self.table.currentIndex().isValid():
            self.table.selectRow(0)
        self._selected()

    def _name_fill(self) -> None:
        bad = self._data.problems.cells_text("number")
        self.fill.set_text(f"Fill {bad} with {self.with_what.currentData()}")

    def _fill_numbers(self) -> None:
        self._data.cleaning.fill("number", str(self.with_what.currentData()))

    def _use_categories(self) -> None:
        self._data.cleaning.use_as(self._data.cleaning.text_columns, "one-hot")

    def _selected(self) -> None:
        found = self.rows.record(self.table.currentIndex().row())
        self._text.setText("" if found is None else text_of(found))


class CleanedList(QWidget):
    """What was skipped or filled in: how much, where, and the way back.

    Args:
        data: the data of the project.
        parent: the widget it stands in.
    """

    def __init__(self, data: DataModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._data = data
        self.rows = RecordModel(_CLEANED)
        self.table = _table(self.rows, "cleaned_places", "Skipped and filled", self)
        self.count = QLabel(self)
        self.count.setObjectName("cleaned_count")
        self.count.setWordWrap(True)
        self._more = _small(self, "cleaned_more")
        self.refuse = _button(self, "refuse_bad", _REFUSE_TIP, data.cleaning.refuse)
        self.refuse.set_text("Refuse them again")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        for widget in (self.count, self.table, self._more, self.refuse):
            column.addWidget(widget)

    def refresh(self) -> None:
        """Show what was done when the data was read."""
        done = self._data.cleaning.done
        self.count.setText(self._data.cleaning.summary)
        _show(self.table, self.rows, done.places)
        every = done.skipped + done.filled + done.unknown
        self._more.setText(f"The first {len(done.places)} are listed.")
        self._more.setVisible(every > len(done.places))
        self.refuse.setVisible(bool(done.skipped or done.filled))


def _table(rows: RecordModel[T], name: str, title: str, parent: QWidget) -> RecordTable:
    table = RecordTable(rows, name, title, parent)
    table.setProperty("framed", True)
    table.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerItem)
    table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    table.horizontalHeader().setStretchLastSection(True)
    return table


def _show(table: RecordTable, model: RecordModel[T], rows: tuple[T, ...]) -> None:
    if rows != model.rows:
        model.take(rows)
    count = min(_MOST_ROWS, max(1, len(rows)))
    table.setFixedHeight(theme.ROW + count * theme.COMPACT_ROW + 4)
    for column in range(model.columnCount() - 1):
        table.resizeColumnToContents(column)
        table.setColumnWidth(column, min(table.columnWidth(column), _WHERE_WIDTH))


def _small(parent: QWidget, name: str, role: str = "faint") -> QLabel:
    label = QLabel(parent)
    label.setObjectName(name)
    label.setProperty("role", role)
    label.setFont(theme.font("small"))
    label.setWordWrap(True)
    return label


def _button(parent: QWidget, name: str, tip: str, run: Callable[[], object]) -> ElidedButton:
    made = ElidedButton("", tip, parent)
    made.setObjectName(name)
    made.clicked.connect(lambda: run())
    return made


_SKIP_TIP = (
    "Leave them out whenever the data is read, and count them; the files are left as they are."
)
_FILL_TIP = (
    "Fill them whenever the data is read, by what the training part holds; the files are left as "
    "they are."
)
_CATEGORIES_TIP = "Each different text becomes an input of its own: 1 where it stands, else 0."
_REFUSE_TIP = "Skip and fill nothing any more: data that cannot be read are refused."
