"""Features of a table, or channels of pictures: raw range, mean, and what the network gets."""

from __future__ import annotations

from operator import attrgetter

from PySide6.QtWidgets import QAbstractItemView, QWidget

from studio.session.data.summary import FeatureRow
from studio.widgets import numbers, theme
from studio.widgets.frames.side_fades import SideFades
from studio.widgets.record_table.column_widths import fit_column
from studio.widgets.record_table.columns import Column
from studio.widgets.record_table.model import RecordModel
from studio.widgets.record_table.views import RecordTable

_MOST_ROWS = 6
_LEAST_NAME, _LEAST, _MEASURED = 56, 34, 50
_PAD = 12


def _number(field: str, title: str, tip: str) -> Column[FeatureRow]:
    value = attrgetter(field)
    return Column(
        field, title, lambda f: numbers.number(value(f), 3), tip=tip,
        tooltip=lambda f: numbers.exact(value(f)), is_number=True,
    )  # fmt: skip


_COLUMNS: tuple[Column[FeatureRow], ...] = (
    Column("name", "feature", lambda f: f.name, tip="Its name, or its number.",
           tooltip=lambda f: f.name),
    _number("low", "low", "Smallest raw value of the training part."),
    _number("high", "high", "Largest raw value of the training part."),
    _number("mean", "mean", "Mean of the raw values of the training part."),
    _number("deviation", "dev.", "Standard deviation of the raw values of the training part."),
    _number("low_in", "low in", "Smallest value the network gets."),
    _number("high_in", "high in", "Largest value the network gets."),
)  # fmt: skip


class FeatureTable(RecordTable):
    """A compact table of features."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._names = _LEAST_NAME
        entries = RecordModel(_COLUMNS, heading="small")
        super().__init__(entries, "feature_table", "Features", parent, font="small")
        self.setProperty("framed", True)
        self.setAlternatingRowColors(True)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerItem)
        self.horizontalHeader().setMinimumSectionSize(32)
        self.fades = SideFades(self)

    def show_features(self, features: tuple[FeatureRow, ...]) -> None:
        """Show these features."""
        if features != self.entries.rows:
            self.entries.take(features)
        seen = features[:_MEASURED]
        for place in range(1, len(_COLUMNS)):
            self.setColumnWidth(place, max(_LEAST, self.measured(place, seen) + _PAD))
        rows = min(_MOST_ROWS, max(1, len(features)))
        self.setFixedHeight(theme.ROW + rows * theme.COMPACT_ROW + 14)
        self._names = self.measured(0, seen) + _PAD
        self.fit()

    def fit_columns(self) -> None:
        """Names are cut before a number is."""
        fit_column(self, 0, min(self._names, _LEAST_NAME), self._names)
