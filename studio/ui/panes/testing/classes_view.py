"""How well each class is recognised: a table of scores, their means, and top-k accuracy."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from studio.engine.train.network.class_scores import ScoreRow
from studio.engine.train.network.measures import Classification, Labels
from studio.engine.train.network.outcomes import usual_k
from studio.widgets import numbers, theme
from studio.widgets.fields.scrub_field import ScrubField
from studio.widgets.fields.stepping import Stepping
from studio.widgets.frames.side_fades import SideFades
from studio.widgets.record_table.column_widths import fit_column
from studio.widgets.record_table.columns import Column
from studio.widgets.record_table.model import RecordModel
from studio.widgets.record_table.views import RecordTable

_LEAST_NAME = 68
_AROUND = 14


class ClassesTable(RecordTable):
    """The classes, one a row; their means stay below them in every order."""

    copies_rows = True

    def __init__(self, parent: QWidget | None = None) -> None:
        entries: RecordModel[ScoreRow] = RecordModel(
            (
                _column("class", "Class", _name, "Class of the samples."),
                _share("precision", "Precision", lambda row: row.precision,
                       "Share of the samples predicted as this class that are of it."),
                _share("recall", "Recall", lambda row: row.recall,
                       "Share of the samples of this class that are predicted as it."),
                _share("f1", "F1", lambda row: row.f1,
                       "Harmonic mean of precision and recall."),
                _count("support", "Samples", lambda row: row.support,
                       "Samples of the class; of positions, the positions."),
                _count("predicted", "Predicted", lambda row: row.predicted,
                       "Samples predicted as this class.", is_shown=False),
            ),
            key=lambda row: (row.is_mean, row.name),
            says_order=True,
            heading="small",
        )  # fmt: skip
        super().__init__(entries, "class_scores", "Scores of each class", parent, font="small")
        self.setSortingEnabled(True)
        self.offer_columns()
        for place, column in enumerate(entries.columns):
            self.setColumnHidden(place, not column.is_shown)
        header = self.horizontalHeader()
        header.setSortIndicatorShown(False)
        header.setMinimumSectionSize(36)
        # The classes stand in their own order until a heading is clicked.
        self.sortByColumn(-1, Qt.SortOrder.AscendingOrder)
        self.fades = SideFades(self)

    def show_rows(self, rows: tuple[ScoreRow, ...]) -> None:
        """Show other classes."""
        self.entries.take(rows)
        for place in range(1, len(self.entries.columns)):
            self.setColumnWidth(place, self.measured(place, rows[-2:]) + _AROUND)
        self.fit()

    def fit_columns(self) -> None:
        """The name takes the room that is left."""
        fit_column(self, 0, _LEAST_NAME)


class ClassesView(QWidget):
    """The table of classes below the accuracies; of labels, the share that is right as a whole."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("classes_view")
        self._outcome: Classification | Labels | None = None
        self._chosen = 0
        self.table = ClassesTable(self)
        self._first = self._label("soft")
        self._first.setObjectName("top_1")
        self._title = self._label("soft")
        self._title.setText("Top")
        self.k = ScrubField(_steps(1), 1, self)
        self.k.setObjectName("top_k")
        self.k.setAccessibleName("Number of classes of the top-k accuracy")
        self.k.set_hint("Counts a sample as recognised if its class is among so many likeliest")
        self.k.setMinimumWidth(40)
        self.k.setMaximumWidth(48)
        for signal in (self.k.committed, self.k.scrubbed):
            signal.connect(self._choose)
        self._kth = self._label("soft")
        self._kth.setObjectName("top_k_accuracy")
        head = QHBoxLayout()
        head.setContentsMargins(8, 2, 8, 0)
        head.setSpacing(4)
        head.addWidget(self._first)
        head.addSpacing(8)
        for widget in (self._title, self.k, self._kth):
            head.addWidget(widget)
        head.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(head)
        column.addWidget(self.table, 1)

    @property
    def text(self) -> str:
        """The accuracies in words."""
        shown = (self._first, self._title, self.k, self._kth)
        return " ".join(each.text() for each in shown if each.isVisibleTo(self))

    def show_outcome(self, outcome: Classification | Labels | None) -> None:
        """Show another measurement."""
        if outcome is self._outcome:
            return
        self._outcome = outcome
        scores = None if outcome is None else outcome.scores
        self.table.show_rows(() if scores is None else (*scores.rows(), *scores.means()))
        classes = len(outcome.names) if isinstance(outcome, Classification) else 0
        # Of two classes the truth is always among the two likeliest.
        for widget in (self._title, self.k, self._kth):
            widget.setVisible(classes > 2)
        self.k.set_stepping(_steps(max(1, classes)))
        self.k.set_value(max(1, min(self._chosen or usual_k(classes), classes)))
        self._say()

    def _choose(self, k: float) -> None:
        self._chosen = int(k)
        self._say()

    def _say(self) -> None:
        outcome = self._outcome
        if isinstance(outcome, Labels):
            self._first.setText(f"All labels right {numbers.share(outcome.exact)}")
            self._first.setToolTip("Share of the samples of which every label is right")
        elif outcome is not None:
            self._first.setText(f"Accuracy {numbers.share(outcome.accuracy)}")
            self._first.setToolTip(f"Top-1 accuracy: {numbers.exact(outcome.accuracy)}")
            found = outcome.top_k(int(self.k.value))
            self._kth.setText(numbers.share(found))
            self._kth.setToolTip(
                f"{numbers.exact(found)}\nOf equal shares, the class listed first is the likelier"
            )

    def _label(self, role: str) -> QLabel:
        made = QLabel(self)
        made.setFont(theme.font("small"))
        made.setProperty("role", role)
        return made


def _steps(most: int) -> Stepping:
    return Stepping("linear", 1, most, True, 1.0)


def _column(key: str, title: str, text: Callable[[ScoreRow], str], tip: str) -> Column[ScoreRow]:
    return Column(
        key, title, text, tip=tip, tooltip=_tip, colour=_colour, is_fixed=True,
        exact=lambda row: row.name,
        order=lambda row: None if row.is_mean else row.name.casefold(),
    )  # fmt: skip


def _name(row: ScoreRow) -> str:
    return row.name.removesuffix(" mean").capitalize() if row.is_mean else row.name


def _count(
    key: str, title: str, value: Callable[[ScoreRow], int], tip: str, *, is_shown: bool = True
) -> Column[ScoreRow]:
    return Column(
        key, title, lambda row: numbers.count(value(row)), tip=tip, tooltip=_tip, colour=_colour,
        exact=lambda row: str(value(row)), is_number=True, is_shown=is_shown,
        order=lambda row: None if row.is_mean else value(row),
    )  # fmt: skip


def _share(key: str, title: str, value: Callable[[ScoreRow], float], tip: str) -> Column[ScoreRow]:
    def text(row: ScoreRow) -> str:
        return numbers.share(value(row)) if row.occurs or row.is_mean else numbers.DASH

    return Column(
        key, title, text, tip=tip, tooltip=_tip, colour=_colour, is_number=True,
        exact=lambda row: numbers.exact(value(row)),
        order=lambda row: None if row.is_mean or not row.occurs else value(row),
    )  # fmt: skip


def _colour(row: ScoreRow) -> str | None:
    return "text2" if row.is_mean or not row.occurs else None


def _tip(row: ScoreRow) -> str:
    if row.is_mean:
        how = "weighted by its samples" if row.name.startswith("weighted") else "all alike"
        return f"Mean over the classes, each {how}"
    if not row.occurs:
        return f"{row.name}: no sample is of this class or predicted as it; left out of means"
    lacks = "no sample is of this class, so its recall counts as 0" if not row.support else ""
    if not row.predicted:
        lacks = "no sample is predicted as this class, so its precision counts as 0"
    scores = f"precision {row.precision!r}, recall {row.recall!r}, F1 {row.f1!r}"
    return "\n".join(line for line in (f"{row.name}: {scores}", lacks) if line)
