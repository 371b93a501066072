"""The dialog of an import: how far it is, and then what became of the file."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from studio.engine.interop.imported import ImportedLayer, ImportReport
from studio.session.importing.importing import ImportModel
from studio.session.studio import Studio
from studio.widgets import binding, theme
from studio.widgets.record_table.column_widths import fit_column
from studio.widgets.record_table.columns import Column
from studio.widgets.record_table.model import RecordModel
from studio.widgets.record_table.views import RecordTable

_MEASURED, _PAD, _LEAST, _MOST, _LAST = 200, 20, 80, 240, 140
_NOTE_ROWS = 6


class _Remark(NamedTuple):
    """A sentence of the report."""

    kind: str
    text: str


_LAYERS: tuple[Column[ImportedLayer], ...] = (
    Column("name", "In the file", lambda each: each.name, tip="Name of the layer in the file.",
           tooltip=lambda each: each.name),
    Column("kind", "Class", lambda each: each.kind, tip="Its class in the file.",
           tooltip=lambda each: each.kind),
    Column("layer", "Here", lambda each: each.layer or "none",
           tip="Name of the layer it became.", tooltip=lambda each: each.layer or None,
           spoken=lambda each: each.layer or "no layer"),
    Column("note", "What is different", lambda each: each.note,
           tip="Empty for the same layer.", tooltip=lambda each: each.note or None),
)  # fmt: skip

_REMARKS: tuple[Column[_Remark], ...] = (
    Column("kind", "", lambda each: each.kind, name="kind",
           colour=lambda each: "warning" if each.kind == "Left out" else "text2"),
    Column("text", "What else there is to know", lambda each: each.text,
           tooltip=lambda each: each.text),
)  # fmt: skip


class ReportTable(RecordTable):
    """Layers or remarks of a report; the last column gets the room that is left."""

    copies_rows = True

    def fit_columns(self) -> None:
        """Every column shows what it says, as far as there is room."""
        last = len(self.entries.columns) - 1
        seen = self.entries.rows[:_MEASURED]
        for place in range(last):
            wanted = self.measured(place, seen) + _PAD
            self.setColumnWidth(place, max(_LEAST, min(wanted, _MOST)))
        fit_column(self, last, _LAST)


class ImportDialog(QDialog):
    """Shows how far an import is, with a way to cancel it, and its report; never blocks the window.

    Args:
        studio: the models.
        parent: the window.
    """

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("import_report")
        self.setModal(False)
        self._model: ImportModel = studio.importing
        self._report: ImportReport | None = None
        self._build()
        binding.refresh(self, self._show_progress, studio.tasks.changed, rate=15)
        binding.connect(self, self._model.changed, self._changed)
        self.resize(760, 520)

    def _build(self) -> None:
        self.head = QLabel(self)
        self.head.setObjectName("import_head")
        self.head.setFont(theme.font("title"))
        self.head.setTextFormat(Qt.TextFormat.PlainText)
        self.head.setWordWrap(True)
        self.text = QLabel(self)
        self.text.setObjectName("import_text")
        self.text.setProperty("role", "soft")
        self.text.setTextFormat(Qt.TextFormat.PlainText)
        self.text.setWordWrap(True)
        self.bar = QProgressBar(self)
        self.bar.setObjectName("import_bar")
        self.bar.setAccessibleName("Progress of the import")
        self.bar.setTextVisible(False)
        self.only_changed = QCheckBox("Only layers that are different", self)
        self.only_changed.setObjectName("import_only_changed")
        self.only_changed.toggled.connect(lambda _: self._show_layers())
        self.layers = ReportTable(
            RecordModel(_LAYERS, heading="small"), "import_layers", "Layers of the file", self,
            font="small",
        )  # fmt: skip
        self.remarks = ReportTable(
            RecordModel(_REMARKS, heading="small"), "import_remarks", "Left out, and remarks", self,
            font="small",
        )  # fmt: skip
        for table in (self.layers, self.remarks):
            table.setProperty("framed", True)
            table.setAlternatingRowColors(True)
        self.button = QPushButton("Cancel", self)
        self.button.setObjectName("import_button")
        self.button.clicked.connect(self.reject)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self.button)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 16)
        column.setSpacing(8)
        column.addWidget(self.head)
        column.addWidget(self.text)
        column.addWidget(self.bar)
        column.addWidget(self.only_changed)
        column.addWidget(self.layers, 1)
        column.addWidget(self.remarks)
        column.addStretch(0)
        column.addLayout(row)

    # -- while it runs --------------------------------------------------------------------------

    def show_import(self, name: str) -> None:
        """Show how far the import is that runs."""
        self._report = None
        self.setWindowTitle("Import")
        self.head.setText(f"Importing {name}")
        self.text.setText("")
        self.bar.setRange(0, 0)
        self._show_parts(bar=True, layers=False, remarks=False)
        self.button.setText("Cancel")
        self.setFixedHeight(self.sizeHint().height())
        self._show_progress()

    def _show_progress(self) -> None:
        task = self._model.task
        if task is None or self._report is not None:
            return
        self.text.setText(task.text[:1].upper() + task.text[1:])
        if task.share is None:
            self.bar.setRange(0, 0)
        else:
            self.bar.setRange(0, 1000)
            self.bar.setValue(round(1000 * task.share))

    def _changed(self) -> None:
        # Cancelled elsewhere, or failed: the window says why.
        if self._report is None and self._model.task is None:
            self.hide()

    def reject(self) -> None:
        """Cancel what runs; close."""
        if self._report is None:
            self._model.cancel()
        super().reject()

    # -- what became of it ----------------------------------------------------------------------

    def show_report(self, report: ImportReport) -> None:
        """Show what became of a file."""
        self._report = report
        self.setWindowTitle("Import report")
        self.head.setText(report.source)
        self.text.setText(_summary(report))
        notes = [_Remark("Left out", each) for each in report.left_out]
        notes += [_Remark("Remark", each) for each in report.remarks]
        self.only_changed.setChecked(False)
        self._show_parts(bar=False, layers=bool(report.layers), remarks=bool(notes))
        self._show_layers()
        self.remarks.entries.take(notes)
        rows = min(len(notes), _NOTE_ROWS)
        high = theme.ROW + rows * theme.COMPACT_ROW + 14
        if report.layers:
            self.remarks.setFixedHeight(high)
        self.setMinimumHeight(320)
        self.setMaximumHeight(16_777_215)
        self.resize(760, 520)
        for table in (self.layers, self.remarks):
            table.fit()
        self.button.setText("Close")
        self.button.setDefault(True)
        self.button.setFocus()

    def _show_layers(self) -> None:
        report = self._report
        if report is None:
            return
        changed = [each for each in report.layers if each.note or not each.layer]
        self.only_changed.setVisible(0 < len(changed) < len(report.layers))
        is_short = self.only_changed.isChecked()
        self.layers.entries.take(changed if is_short else list(report.layers))
        self.layers.fit()

    def _show_parts(self, *, bar: bool, layers: bool, remarks: bool) -> None:
        self.bar.setVisible(bar)
        self.only_changed.setVisible(False)
        self.layers.setVisible(layers)
        self.remarks.setVisible(remarks)


def _summary(report: ImportReport) -> str:
    """The format, and how many layers became what."""
    said = [f"{report.form[:1].upper()}{report.form[1:]}."]
    count = len(report.layers)
    if count:
        changed = sum(bool(each.note) for each in report.layers)
        same = "all as they were" if not changed else f"{changed} different"
        said.append(f"{count} layer{'' if count == 1 else 's'}, {same}.")
    left = len(report.left_out)
    said.append(
        f"{left} thing{'' if left == 1 else 's'} left out." if left else "Nothing left out."
    )
    return " ".join(said)
