"""The head of the test page: what is tested, on which part, what came out, and its tables."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFileDialog,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QMenu,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from studio.engine.formats.atomic import write_atomic
from studio.engine.train.runs.weights_origin import WEIGHTS_CHOICES
from studio.session.core.held_out import SHARED_PART
from studio.session.core.metric_names import metric_title
from studio.session.core.tasks import TaskHandle
from studio.session.evaluation.results import PARTS
from studio.session.evaluation.tables import TableKind, csv_of, tables_of
from studio.session.runs.columns import is_share
from studio.session.studio import Studio
from studio.widgets import numbers, theme
from studio.widgets.file_dialogs import file_dialog
from studio.widgets.labels.elided_label import ElidedLabel
from studio.widgets.labels.tool_button import tool_button

_NOTE = 96
"""Pixels for gaps and the remark beside the measures."""

_PART_TIP = "Part of the data to test on"
_WEIGHTS_TIP = "Weights to test: those of the last step, or of the best epoch"
_TABLES: dict[TableKind, tuple[str, str]] = {
    "classes": ("Export the table of classes…", "classes"),
    "samples": ("Export the answers of all samples…", "samples"),
}


class MeasuresHead(QWidget):
    """What is tested, on which part, and what came out."""

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._evaluation = studio.evaluation
        self._tasks = studio.tasks
        self._notify = studio.notify
        self._fail = studio.fail
        self._network = QComboBox(self)
        self._network.setObjectName("test_network")
        self._network.setAccessibleName("Network")
        self._network.setToolTip("Network to test")
        self._network.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self._network.setMinimumContentsLength(12)
        self._network.activated.connect(self._network_chosen)
        self._weights = QComboBox(self)
        self._weights.setObjectName("test_weights")
        self._weights.setAccessibleName("Weights")
        for choice in WEIGHTS_CHOICES:
            self._weights.addItem(f"{choice} weights".capitalize(), choice)
        self._weights.activated.connect(self._weights_chosen)
        self._part = QComboBox(self)
        self._part.setObjectName("test_part")
        self._part.setAccessibleName("Part of the data")
        self._part.setToolTip(_PART_TIP)
        self._part.activated.connect(self._chosen)
        self._output = QComboBox(self)
        self._output.setObjectName("test_output")
        self._output.setAccessibleName("Output")
        self._output.setToolTip("Output to look at")
        self._output.activated.connect(self._evaluation.choose_output)
        self._again = tool_button(
            "refresh", "test_again", "Test the current network", self, "Test again"
        )
        self._again.clicked.connect(self._evaluation.measure)
        self._export = tool_button("export", "test_export", "Export as CSV", self)
        self._export.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._export.setMenu(self._export_menu())
        self._measures = QHBoxLayout()
        self._measures.setSpacing(12)
        self._labels: list[tuple[QLabel, QLabel]] = []
        self._note = ElidedLabel(self)
        self._note.setFont(theme.font("small"))
        self._note.setProperty("role", "faint")
        self._note.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._note.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._choices = QHBoxLayout()
        self._choices.setSpacing(8)
        for choice_box in (self._network, self._weights, self._part, self._output):
            self._choices.addWidget(choice_box)
        self._results = QWidget(self)
        results = QHBoxLayout(self._results)
        results.setContentsMargins(0, 0, 0, 0)
        results.setSpacing(8)
        results.addLayout(self._measures)
        results.addWidget(self._note, 1)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(8, 4, 4, 4)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(4)
        self._grid.addLayout(self._choices, 0, 0)
        self._grid.addWidget(self._results, 0, 1)
        self._is_beside = True
        buttons = QHBoxLayout()
        buttons.setSpacing(0)
        buttons.addWidget(self._export)
        buttons.addWidget(self._again)
        self._grid.addLayout(buttons, 0, 2)
        self._grid.setColumnStretch(1, 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def event(self, event: QEvent) -> bool:
        handled = super().event(event)
        # Layouts know of new words only now.
        if event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return handled

    def _fit(self) -> None:
        """Measures that have no room beside what is chosen stand below: a number is seen whole."""
        wanted = self._choices.sizeHint().width() + self._measures.sizeHint().width()
        beside = self.width() >= wanted + 2 * theme.HIT + _NOTE
        if beside != self._is_beside:
            self._is_beside = beside
            self._grid.removeWidget(self._results)
            place = (0, 1, 1, 1) if beside else (1, 0, 1, 3)
            self._grid.addWidget(self._results, *place)

    @property
    def text(self) -> str:
        """The measures in words."""
        return ", ".join(f"{n.text()} {v.text()}" for n, v in self._labels if v.isVisibleTo(self))

    @property
    def note(self) -> str:
        """The remark beside them."""
        return self._note.whole

    def _show_networks(self) -> None:
        wanted = self._evaluation.testable
        listed = [(self._network.itemData(n), self._network.itemText(n))
                  for n in range(self._network.count())]  # fmt: skip
        if listed != list(wanted):
            self._network.clear()
            for name, title in wanted:
                self._network.addItem(title, name)
        names = [name for name, _ in wanted]
        if self._evaluation.tested in names:
            self._network.setCurrentIndex(names.index(self._evaluation.tested))
        self._network.setVisible(len(wanted) > 1)

    def _network_chosen(self, row: int) -> None:
        self._evaluation.test_run(str(self._network.itemData(row)))

    def _show_weights(self) -> None:
        evaluation = self._evaluation
        why = evaluation.why_no_best()
        self._weights.setCurrentIndex(WEIGHTS_CHOICES.index(evaluation.weights))
        self._weights.setEnabled(not why)
        self._weights.setToolTip(f"No best weights: {why}" if why else _WEIGHTS_TIP)
        self._weights.setVisible(bool(evaluation.tested))

    def _weights_chosen(self, row: int) -> None:
        self._evaluation.choose_weights(WEIGHTS_CHOICES[row])

    def refresh(self) -> None:
        """Show what was measured last."""
        self._show_networks()
        self._show_weights()
        self._export.setEnabled(bool(tables_of(self._evaluation.results)))
        subject, results = self._evaluation.subject, self._evaluation.results
        parts = () if subject is None else subject.parts
        titles = [] if subject is None else [f"{subject.part_title(p)} part" for p in parts]
        wanted = [title.capitalize() for title in titles]
        if [self._part.itemText(n) for n in range(self._part.count())] != wanted:
            self._part.clear()
            for part, title in zip(parts, wanted, strict=True):
                self._part.addItem(title, part)
        shared = subject is not None and subject.is_shared
        self._part.setToolTip(f"{_PART_TIP}\nTest: {SHARED_PART}" if shared else _PART_TIP)
        if self._evaluation.part in parts:
            self._part.setCurrentIndex(parts.index(self._evaluation.part))
        self._part.setVisible(bool(parts))
        self._show_outputs()
        metrics = {} if results is None else results.shown_metrics
        order = sorted(metrics, key=lambda name: (name == "total_loss", name == "loss", name))
        while len(self._labels) < len(order):
            self._labels.append(self._measure())
        for number, (name, value) in enumerate(self._labels):
            shown = number < len(order)
            name.setVisible(shown)
            value.setVisible(shown)
            if shown:
                metric = order[number]
                name.setText(metric_title(metric))
                found = metrics[metric]
                text = numbers.share(found) if is_share(metric) else numbers.number(found)
                value.setText(text)
                value.setToolTip(numbers.exact(found))
        self._fit()
        self.show_age()

    def _show_outputs(self) -> None:
        """Offer the outputs, where there are several."""
        results = self._evaluation.results
        names = [] if results is None else list(results.outputs)
        if [self._output.itemText(n) for n in range(self._output.count())] != names:
            self._output.clear()
            self._output.addItems(names)
        self._output.setCurrentIndex(self._evaluation.output if names else -1)
        self._output.setVisible(len(names) > 1)

    def show_age(self) -> None:
        """Say of which step the measures are, where the training has gone on."""
        evaluation, results = self._evaluation, self._evaluation.results
        if evaluation.status == "measuring":
            self._note.set_text("Measuring…")
        elif results is None:
            self._note.set_text("")
        elif evaluation.is_stale:
            self._note.set_text(f"as of step {numbers.count(results.steps)}; it has trained on")
        else:
            words = [numbers.counted(len(results), "sample")]
            words += [] if results.origin is None else [results.origin.brief]
            words += [results.note] if results.note else []
            self._note.set_text("; ".join(words))

    def _measure(self) -> tuple[QLabel, QLabel]:
        name, value = QLabel(self), QLabel(self)
        name.setFont(theme.font("small"))
        name.setProperty("role", "faint")
        value.setFont(theme.font("title"))
        pair = QHBoxLayout()
        pair.setSpacing(5)
        pair.addWidget(name)
        pair.addWidget(value)
        self._measures.addLayout(pair)
        return name, value

    def _chosen(self, row: int) -> None:
        part = self._part.itemData(row)
        if part in PARTS:
            self._evaluation.choose_part(part)

    # -- tables ---------------------------------------------------------------------------------

    def _export_menu(self) -> QMenu:
        menu = QMenu(self)
        menu.setObjectName("test_export_menu")
        for kind, (text, _) in _TABLES.items():
            action = menu.addAction(text)
            action.setObjectName(f"test_export.{kind}")
            action.triggered.connect(lambda _=False, kind=kind: self._ask_where(kind))
        menu.aboutToShow.connect(self._show_tables)
        return menu

    def _show_tables(self) -> None:
        """Offer the tables there are; numbers have no classes."""
        found = tables_of(self._evaluation.results)
        for kind, action in zip(_TABLES, self._export.menu().actions(), strict=True):
            action.setVisible(kind in found)

    def _ask_where(self, kind: TableKind) -> None:
        """Ask where a table is to be written."""
        dialog = file_dialog(self, "export_test", "Export table", "export")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilter("Comma-separated values (*.csv)")
        dialog.setDefaultSuffix("csv")
        dialog.selectFile(f"{_TABLES[kind][1]}.csv")
        dialog.fileSelected.connect(lambda name: self.export(kind, Path(name)))
        dialog.open()

    def export(self, kind: TableKind, path: Path) -> None:
        """Write a table of what is shown to a file, in the background."""
        results = self._evaluation.results
        if results is None:
            return

        def work(handle: TaskHandle) -> Path:
            handle.progress(None, "writing")
            write_atomic(path, csv_of(results, kind).encode("utf-8"))
            return path

        self._tasks.start(
            f"Write {path.name}", work,
            lambda made: self._notify(f"Wrote {made.name}", "ok", details=str(made)),
            self._fail, if_left="answer",
        )  # fmt: skip
