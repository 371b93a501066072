"""The data pane: source, samples, balance, split, normalisation, changes, problems."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
)
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QVBoxLayout, QWidget

from studio.engine.core.options import Plain
from studio.session.core.held_out import SHARED_PART
from studio.session.data.augmentation import AugmentationPreview
from studio.session.data.mapping import (
    is_by_name,
    is_end_option,
    normalization_rows,
    target_rows,
)
from studio.session.data.sources import (
    NORMALIZATIONS,
    augmentation_row,
    normalization_row,
    source_rows,
    split_rows,
)
from studio.session.data.summary import DataSummary
from studio.session.document.document import Document
from studio.session.studio import Studio
from studio.ui.panes.data.attaching import Attaching, dropped_paths
from studio.ui.panes.data.changes_view import ChangesView
from studio.ui.panes.data.class_bars import ClassBars, PartsBar
from studio.ui.panes.data.columns_editor import ColumnsEditor
from studio.ui.panes.data.mapping_editor import MappingEditor
from studio.ui.panes.data.problem_list import CleanedList, ProblemList
from studio.ui.panes.data.sample_view import SampleView
from studio.ui.panes.data.source_head import Remarks, SourceHead
from studio.ui.panes.data.tables import FeatureTable
from studio.widgets import binding, numbers, theme
from studio.widgets.event_loop.in_turns import InTurns
from studio.widgets.forms.facts import Fact, Facts
from studio.widgets.forms.form import Form
from studio.widgets.forms.section import Section
from studio.widgets.frames.empty_state import EmptyState
from studio.widgets.frames.frame import PaneFrame


class DataPane(PaneFrame):
    """What the network is trained on."""

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.setObjectName("data_pane")
        self.setAcceptDrops(True)
        self._data = studio.data
        self._document = lambda: studio.document
        self.attaching = Attaching(studio, self)
        self.preview = AugmentationPreview(
            self._document, studio.data, studio.scheduler, studio.tasks
        )
        self._columns_shown: object = None
        # From the outside in: what moves into another widget later is styled once more.
        self._holder = self._scrolled()
        self.head = SourceHead(studio.data, studio.actions)
        self.head.mapping_wanted.connect(self._to_mapping)
        self._make_sections()
        self._fill()
        self._overlay = DropOverlay(self)
        self._nothing = EmptyState(
            "data", "No data yet", "Choose a data set, or drop a table, an array file, "
                                   "samples and labels in two files, or a folder of "
                                   "images here.",
            ("Choose data", self._choose_from_nothing), self,
        )  # fmt: skip
        self._turns = InTurns(
            (self._show_problems, self._show_mapping, self._show_samples, self._show_classes,
             self._show_source, self._show_split, self._show_normalization, self._show_augmentation,
             self._show_facts), self,
        )  # fmt: skip
        self._refresh_later = binding.refresh(
            self, self.refresh, studio.data.changed, when_visible=True
        )
        binding.connect(self, studio.document_replaced, self._follow)
        self._follow(studio.document)

    # -- building -------------------------------------------------------------------------------

    def _make_sections(self) -> None:
        data = self._data
        self.problems = ProblemList(data)
        self.cleaned = CleanedList(data)
        self.samples = SampleView()
        self.bars = ClassBars()
        self.bars.chosen.connect(self.samples.show_class)
        self.source_form = Form(data.set_option, self._reset_option)
        self.columns = ColumnsEditor(data)
        self.mapping = MappingEditor(data)
        self.parts = PartsBar()
        self.shared = QLabel(SHARED_PART.capitalize())
        self.shared.setObjectName("shared_part")
        self.shared.setProperty("role", "faint")
        self.shared.setFont(theme.font("small"))
        self.shared.setWordWrap(True)
        self.split_form = Form(self._set_field, self._reset_field)
        self.norm_form = Form(self._set_field, self._reset_field)
        self.features = FeatureTable()
        self.changes_form = Form(self._set_field, None)
        self.changes = ChangesView(self.preview)
        self.facts = Facts()
        self.remarks = Remarks()
        self.sections = {
            title: self._section(title, *widgets)
            for title, widgets in (
                ("Problems", (self.problems,)),
                ("Skipped and filled", (self.cleaned,)),
                ("Inputs and outputs", (self.mapping,)),
                ("Samples", (self.samples,)),
                ("Classes", (self.bars,)),
                ("Source", (self.source_form, self.columns)),
                ("Split", (self.parts, self.shared, self.split_form)),
                ("Normalisation", (self.norm_form, self.features)),
                ("Augmentation", (self.changes_form, self.changes)),
                ("Facts", (self.facts,)),
            )
        }

    def _section(self, title: str, *widgets: QWidget) -> Section:
        made = Section(title, _column(*widgets), is_open=title != "Facts", parent=self._holder)
        made.hide()
        return made

    def _scrolled(self) -> QWidget:
        self._area = area = QScrollArea(self)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        self.set_body(area)
        holder = QWidget()
        holder.setBackgroundRole(QPalette.ColorRole.Base)
        area.setWidget(holder)
        return holder

    def _fill(self) -> None:
        column = QVBoxLayout(self._holder)
        column.setContentsMargins(8, 8, 8, 8)
        column.setSpacing(8)
        column.addWidget(self.head)
        column.addWidget(self.remarks)
        for section in self.sections.values():
            column.addWidget(section)
        column.addStretch(1)

    # -- showing --------------------------------------------------------------------------------

    @property
    def is_refreshing(self) -> bool:
        """Whether a part of the pane is still to be shown as the data is now."""
        return self._turns.is_at_work or self._refresh_later.waiting

    def refresh(self) -> None:
        """Show the data as it is now, a section in each turn of the event loop."""
        data = self._data
        if data.form is None:
            self._turns.stop()
            self.show_empty(self._nothing)
            self.set_note("")
            return
        self.show_empty(None)
        self.set_note("reading…" if data.status == "opening" else "")
        self.head.refresh()
        self.remarks.show_texts(() if data.summary is None else data.summary.remarks)
        self._turns.begin()

    def _show_problems(self) -> None:
        problems = self._data.problems
        if problems.rows:
            self.problems.refresh()
        self.sections["Problems"].setVisible(bool(problems.rows))
        cleaning, section = self._data.cleaning, self.sections["Skipped and filled"]
        if cleaning.done:
            self.cleaned.refresh()
        section.setVisible(bool(cleaning.done))

    def _show_mapping(self) -> None:
        is_mapped = is_by_name(self._data.data)
        if is_mapped:
            self.mapping.show_parts()
        self.sections["Inputs and outputs"].setVisible(is_mapped)

    def _to_mapping(self) -> None:
        """Go to where parts of the source are given to inputs and outputs."""
        self.sections["Inputs and outputs"].set_open(True)
        first = self.mapping.begin()
        if first is not None:
            # The end of the list first, so that as much of it as possible is seen.
            self._area.ensureWidgetVisible(self.mapping, 0, 0)
            self._area.ensureWidgetVisible(first)

    def _show_samples(self) -> None:
        summary = self._data.summary
        if summary is not None:
            self.samples.show_summary(summary)
        self.sections["Samples"].setVisible(summary is not None)

    def _show_classes(self) -> None:
        summary = self._data.summary
        are_classes = summary is not None and summary.dataset.has_class_each
        if summary is not None and are_classes:
            self.bars.show_parts(summary.dataset.class_names, summary.parts)
            self.sections["Classes"].set_note(str(len(summary.dataset.class_names)))
        self.sections["Classes"].setVisible(are_classes)

    def _show_source(self) -> None:
        data = self._data
        form = data.form
        rows = () if form is None else (*source_rows(form, data.data), *target_rows(data.data))
        self.source_form.show_rows(rows)
        self.source_form.setVisible(bool(rows))
        given = tuple(str(data.data.get(key)) for key in ("label", "drop", "categories"))
        shown = (data.columns, *given)
        if shown != self._columns_shown:
            self._columns_shown = shown
            if data.columns:
                self.columns.show_columns(data.columns)
        self.columns.setVisible(bool(data.columns))
        self.sections["Source"].setVisible(bool(rows) or bool(data.columns))

    def _show_split(self) -> None:
        summary, section = self._data.summary, self.sections["Split"]
        if summary is not None:
            has_own = summary.dataset.held_out is not None
            self.parts.show_parts(summary.parts)
            self.shared.setVisible(any(part.is_shared for part in summary.parts))
            self.split_form.show_rows(split_rows(self._data.data, has_test_part=has_own))
            section.set_note("the test part of the source" if has_own else "")
        section.setVisible(summary is not None)

    def _show_normalization(self) -> None:
        summary, section = self._data.summary, self.sections["Normalisation"]
        if summary is not None:
            plain = self._data.data
            rows = normalization_rows(plain) or (normalization_row(plain),)
            self.norm_form.show_rows(rows)
            kinds = {str(each.row.value) for each in self.norm_form.rows}
            section.set_note(NORMALIZATIONS[kinds.pop()] if len(kinds) == 1 else "by input")
            self.features.show_features(summary.features)
        section.setVisible(summary is not None)

    def _show_augmentation(self) -> None:
        found = self.preview.image
        if found is not None:
            plain = self._data.data
            self.changes_form.show_rows([augmentation_row(plain)])
            self.changes.show_range(found.value_range)
            self.changes.setVisible(bool(plain.get("augment")))
        self.sections["Augmentation"].setVisible(found is not None)

    def _show_facts(self) -> None:
        summary = self._data.summary
        if summary is not None:
            self.facts.show_facts(_facts(summary))
        self.sections["Facts"].setVisible(summary is not None)

    # -- changing -------------------------------------------------------------------------------

    def _set_field(self, name: str, value: Plain, key: str) -> None:
        if is_end_option(name):
            self._data.set_option(name, value, key)
        else:
            self._data.set_field(name, value, key)

    def _reset_field(self, name: str) -> None:
        if is_end_option(name):
            self._data.set_option(name, None)
            return
        row = next(
            row.row for form in (self.split_form, self.norm_form) for row in form.rows
            if row.row.option.name == name
        )  # fmt: skip
        self._data.set_field(name, row.option.plain_default)

    def _reset_option(self, name: str) -> None:
        form = self._data.form
        if is_end_option(name):
            self._data.set_option(name, None)
        elif form is not None:
            self._data.set_option(name, form.option(name).default)

    def open_menu(self) -> None:
        """Show the sources to choose from."""
        if self.is_empty:
            self._choose_from_nothing()
        else:
            self.head.open_menu()

    def _choose_from_nothing(self) -> None:
        self.head.open_menu_at(self._nothing)

    def _follow(self, document: Document) -> None:
        document.changed.connect(self._refresh_later.hear)
        self._refresh_later.hear()

    # -- dropping -------------------------------------------------------------------------------

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if dropped_paths(event.mimeData()):
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()
            self._overlay.show_over(self)
        else:
            event.ignore()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        if dropped_paths(event.mimeData()):
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()

    def dragLeaveEvent(self, _event: QDragLeaveEvent) -> None:
        self._overlay.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        self._overlay.hide()
        paths = dropped_paths(event.mimeData())
        if paths:
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()
            self.attaching.attach(*paths)


class DropOverlay(QWidget):
    """Says that what is dragged can be dropped here."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("drop_overlay")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def show_over(self, pane: QWidget) -> None:
        """Cover a pane."""
        self.setGeometry(pane.rect())
        self.raise_()
        self.show()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ground = theme.colour("dock", 216)
        painter.fillRect(self.rect(), ground)
        painter.setPen(QPen(theme.colour("accent"), 2, Qt.PenStyle.DashLine))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(8, 8, -8, -8), 8, 8)
        painter.setFont(theme.font("title"))
        painter.setPen(theme.colour("text"))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, "Drop to train on it")
        painter.end()


def _column(*widgets: QWidget) -> QWidget:
    made = QWidget()
    column = QVBoxLayout(made)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(8)
    for widget in widgets:
        column.addWidget(widget)
    return made


def _facts(summary: DataSummary) -> list[Fact]:
    dataset = summary.dataset
    low, high = summary.raw_range
    low_in, high_in = summary.input_range
    found: list[Fact] = [
        ("samples", numbers.count(summary.samples), "All samples of the source."),
        ("type", str(dataset.x.dtype), "Type of the numbers as stored."),
        ("memory", numbers.memory(summary.nbytes), "Samples and labels as stored."),
        ("raw values", f"{numbers.number(low)} to {numbers.number(high)}",
         "Of the training part."),
        ("network input", f"{numbers.number(low_in)} to {numbers.number(high_in)}",
         "The training part after normalisation."),
    ]  # fmt: skip
    if dataset.value_range is not None:
        stated = f"{numbers.number(dataset.value_range[0])} to "
        stated += numbers.number(dataset.value_range[1])
        found.append(("stated range", stated, "Possible values, as stated by the source."))
    if not dataset.is_classification:
        found.append(("targets", str(dataset.y.shape[1]), "Values to predict per sample."))
    found.append(("SHA-256", summary.sha256[:12], summary.sha256))
    if dataset.licence:
        found.append(("licence", dataset.licence, dataset.attribution))
    return found
