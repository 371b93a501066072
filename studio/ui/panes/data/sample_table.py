"""Samples of a table as a table, read row by row as they come into sight."""

from __future__ import annotations

from PySide6.QtWidgets import QAbstractItemView, QWidget

from studio.session.data.samples import Sample, SampleBrowser
from studio.widgets import numbers, theme
from studio.widgets.frames.side_fades import SideFades
from studio.widgets.record_table.column_widths import fit_column
from studio.widgets.record_table.columns import Column
from studio.widgets.record_table.model import RecordModel
from studio.widgets.record_table.views import RecordTable

MOST_COLUMNS = 200
_HEIGHT_ROWS = 8
_WIDTH = 72
_LEAST, _PAD = 44, 16
_MEASURED = 20


def _columns(browser: SampleBrowser) -> tuple[Column[Sample], ...]:
    """The label and the features."""
    size, names = 1, browser.dataset.feature_names
    for length in browser.dataset.sample_shape:
        size *= length
    label: Column[Sample] = Column(
        "label", "label", lambda sample: sample.label, tooltip=lambda sample: sample.label
    )
    titles = (names[n] if n < len(names) else str(n) for n in range(min(size, MOST_COLUMNS)))
    return (label, *(_feature(n, title) for n, title in enumerate(titles)))


def _feature(place: int, title: str) -> Column[Sample]:
    def value(sample: Sample) -> float:
        return float(sample.values.ravel()[place])

    return Column(
        f"feature.{place}", title, lambda sample: numbers.number(value(sample)),
        tooltip=lambda sample: numbers.exact(value(sample)), is_number=True,
    )  # fmt: skip


class SampleTable(RecordTable):
    """A compact table of samples."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._labels = _WIDTH
        self._numbers: SampleBrowser | None = None
        entries: RecordModel[Sample] = RecordModel((), row_title=self._number)
        super().__init__(entries, "sample_table", "Samples", parent, font="numbers")
        self.setAlternatingRowColors(True)
        self.setProperty("framed", True)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerItem)
        self.verticalHeader().show()
        self.horizontalHeader().setDefaultSectionSize(_WIDTH)
        self.fades = SideFades(self)
        self.setFixedHeight(theme.ROW + _HEIGHT_ROWS * theme.COMPACT_ROW + 14)

    def show_samples(self, browser: SampleBrowser) -> None:
        """Show the samples of a browser from the first on."""
        self._numbers = browser
        self.entries.take(browser, _columns(browser))
        self.scrollToTop()
        seen = browser.page(0, _MEASURED)
        # More columns than this are never in sight beside each other.
        for place in range(1, min(len(self.entries.columns), 30)):
            self.setColumnWidth(place, max(_LEAST, self.measured(place, seen) + _PAD))
        self._labels = self.measured(0, seen) + _PAD
        self.fit()

    def fit_columns(self) -> None:
        """Labels are cut before a number is."""
        if self.entries.columns:
            fit_column(self, 0, min(self._labels, _WIDTH), self._labels)

    def _number(self, row: int) -> str:
        return "" if self._numbers is None else str(self._numbers.number_of(row))
