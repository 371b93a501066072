"""The browser of samples: which part, which class, and the samples in the form that suits them."""

from __future__ import annotations

from PySide6.QtWidgets import QGridLayout, QLabel, QVBoxLayout, QWidget

from studio.session.data.samples import SampleBrowser
from studio.session.data.summary import DataSummary
from studio.ui.panes.data.point_plot import PointPlot
from studio.ui.panes.data.sample_grid import SampleGrid
from studio.ui.panes.data.tables import MOST_COLUMNS, SampleTable
from studio.widgets import numbers, theme
from studio.widgets.forms.editor import choice_box


class SampleView(QWidget):
    """Pictures as pictures, tables as tables, points plotted."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._summary: DataSummary | None = None
        self._klass = -1
        self.browser: SampleBrowser | None = None
        self.parts = choice_box(self)
        self.parts.setObjectName("sample_part")
        self.parts.setAccessibleName("Part of the data")
        self.parts.setToolTip("Part of the data to show.")
        self.parts.activated.connect(self._browse)
        self.inputs = choice_box(self)
        self.inputs.setObjectName("sample_input")
        self.inputs.setAccessibleName("Input of the network")
        self.inputs.setToolTip("Input whose samples are shown.")
        self.inputs.activated.connect(self._browse)
        self._count = QLabel(self)
        self._count.setObjectName("sample_count")
        self._count.setProperty("role", "faint")
        self._count.setFont(theme.font("small"))
        self.grid = SampleGrid(self)
        self.table = SampleTable(self)
        self.plot = PointPlot(self)
        self._views = (self.grid, self.table, self.plot)
        self._top = top = QGridLayout()
        top.setHorizontalSpacing(8)
        top.setVerticalSpacing(4)
        top.setColumnStretch(2, 1)
        top.addWidget(self.parts, 0, 0)
        top.addWidget(self.inputs, 0, 1)
        top.addWidget(self._count, 0, 2)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(top)
        for view in self._views:
            column.addWidget(view)
            view.hide()

    def show_summary(self, summary: DataSummary) -> None:
        """Show the samples of a data set."""
        if summary is self._summary:
            return
        self._summary = summary
        chosen = self.parts.currentData()
        self.parts.clear()
        for part in summary.parts:
            self.parts.addItem(part.title, part.name)
        self.parts.setCurrentIndex(max(0, self.parts.findData(chosen)))
        self._show_inputs([each.name for each in summary.dataset.inputs])
        self._browse()

    def _show_inputs(self, names: list[str]) -> None:
        chosen = self.inputs.currentText()
        self.inputs.clear()
        self.inputs.addItems(names)
        self.inputs.setCurrentIndex(names.index(chosen) if chosen in names else 0)
        several = len(names) > 1
        self.inputs.setVisible(several)
        # Beside two boxes the number would make the pane wider than its dock.
        self._top.addWidget(self._count, *((1, 0, 1, 3) if several else (0, 2)))

    def show_class(self, klass: int) -> None:
        """Show only samples of a class; -1 for all."""
        self._klass = klass
        self._browse()

    def _browse(self) -> None:
        summary = self._summary
        if summary is None:
            return
        part = summary.parts[max(0, self.parts.currentIndex())]
        names = part.dataset.class_names
        klass = self._klass if self._klass < len(names) else -1
        self.browser = SampleBrowser(part, klass, max(0, self.inputs.currentIndex()))
        kind = self.browser.array.kind
        view: SampleGrid | SampleTable | PointPlot
        view = self.grid if kind == "images" else self.plot if kind == "points" else self.table
        view.show_samples(self.browser)
        for each in self._views:
            each.setVisible(each is view)
        self._count.setText(self._count_text(self.browser, names, klass))

    def _count_text(self, browser: SampleBrowser, names: tuple[str, ...], klass: int) -> str:
        text = f"{numbers.count(len(browser))} of {names[klass]}" if klass >= 0 else (
            numbers.counted(len(browser), "sample")
        )  # fmt: skip
        size = 1
        for length in browser.sample_shape:
            size *= length
        kind = browser.array.kind
        if kind == "table" and size > MOST_COLUMNS:
            text += f", the first {MOST_COLUMNS} of {numbers.count(size)} columns"
        if kind == "points" and self.plot.shown < len(browser):
            text += f", {numbers.count(self.plot.shown)} drawn"
        return text
