"""The compact tables of the data pane: features, and samples of tabular data."""

from __future__ import annotations

from operator import attrgetter

from PySide6.QtWidgets import QAbstractItemView, QWidget

from studio.session.data.samples import Sample, SampleBrowser
from studio.session.data.summary import FeatureRow
from studio.widgets import numbers, theme
from studio.widgets.frames.side_fades import SideFades
from studio.widgets.record_table.column_widths import fit_column
from studio.widgets.record_table.columns import Column
from studio.widgets.record_table.model import RecordModel
from studio.widgets.record_table.views import RecordTable

MOST_COLUMNS = 200
"""Features of a sample that are shown."""

_FEATURE_ROWS, _SAMPLE_ROWS = 6, 8
_LEAST_NAME, _LEAST, _MEASURED, _PAD = 56, 34, 50, 12
_LABEL_WIDTH = 72
_LEAST_VALUE, _MEASURED_SAMPLES, _VALUE_PAD = 44, 20, 16


def _number(field: str, title: str, tip: str) -> Column[FeatureRow]:
    value = attrgetter(field)
    return Column(
        field, title, lambda f: numbers.number(value(f), 3), tip=tip,
        tooltip=lambda f: numbers.exact(value(f)), is_number=True,
    )  # fmt: skip


_COLUMNS: tuple[Column[FeatureRow], ...] = (
    Column("name", "feature", lambda f: f.name, tip="Name or number.",
           tooltip=lambda f: f.name),
    _number("low", "low", "Smallest raw value of the training part."),
    _number("high", "high", "Largest raw value of the training part."),
    _number("mean", "mean", "Mean of the raw values of the training part."),
    _number("deviation", "std", "Standard deviation of the raw values of the training part."),
    _number("low_in", "low in", "Smallest input value of the network."),
    _number("high_in", "high in", "Largest input value of the network."),
)  # fmt: skip


class FeatureTable(RecordTable):
    """Features or channels: raw range and mean, and the range the network gets."""

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
        rows = min(_FEATURE_ROWS, max(1, len(features)))
        self.setFixedHeight(theme.ROW + rows * theme.COMPACT_ROW + 14)
        self._names = self.measured(0, seen) + _PAD
        self.fit()

    def fit_columns(self) -> None:
        """Names are cut before a number is."""
        fit_column(self, 0, min(self._names, _LEAST_NAME), self._names)


def _columns(browser: SampleBrowser) -> tuple[Column[Sample], ...]:
    """The label, or one for each output, and the features."""
    size, names = 1, browser.feature_names
    for length in browser.sample_shape:
        size *= length
    labels = [_target(n, name) for n, name in enumerate(browser.target_names)] or [
        Column("label", "label", lambda sample: sample.label, tooltip=lambda sample: sample.label)
    ]
    titles = (names[n] if n < len(names) else str(n) for n in range(min(size, MOST_COLUMNS)))
    return (*labels, *(_feature(n, title) for n, title in enumerate(titles)))


def _target(place: int, title: str) -> Column[Sample]:
    def text(sample: Sample) -> str:
        return sample.labels[place]

    return Column(f"label.{place}", title, text, tooltip=text)


def _feature(place: int, title: str) -> Column[Sample]:
    def value(sample: Sample) -> float:
        return float(sample.values.ravel()[place])

    return Column(
        f"feature.{place}", title, lambda sample: numbers.number(value(sample)),
        tooltip=lambda sample: numbers.exact(value(sample)), is_number=True,
    )  # fmt: skip


class SampleTable(RecordTable):
    """Samples of tabular data, read as they are scrolled to."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._labels = _LABEL_WIDTH
        self._numbers: SampleBrowser | None = None
        entries: RecordModel[Sample] = RecordModel((), row_title=self._number)
        super().__init__(entries, "sample_table", "Samples", parent, font="numbers")
        self.setAlternatingRowColors(True)
        self.setProperty("framed", True)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerItem)
        self.verticalHeader().show()
        self.horizontalHeader().setDefaultSectionSize(_LABEL_WIDTH)
        self.fades = SideFades(self)
        self.setFixedHeight(theme.ROW + _SAMPLE_ROWS * theme.COMPACT_ROW + 14)

    def show_samples(self, browser: SampleBrowser) -> None:
        """Show the samples of a browser from the first on."""
        self._numbers = browser
        self.entries.take(browser, _columns(browser))
        self.scrollToTop()
        seen = browser.page(0, _MEASURED_SAMPLES)
        # More columns than this are never in sight beside each other.
        for place in range(1, min(len(self.entries.columns), 30)):
            self.setColumnWidth(place, max(_LEAST_VALUE, self.measured(place, seen) + _VALUE_PAD))
        self._labels = self.measured(0, seen) + _VALUE_PAD
        self.fit()

    def fit_columns(self) -> None:
        """Labels are cut before a number is."""
        if self.entries.columns:
            fit_column(self, 0, min(self._labels, _LABEL_WIDTH), self._labels)

    def _number(self, row: int) -> str:
        return "" if self._numbers is None else str(self._numbers.number_of(row))
