"""The dialog in which something is exported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QImage, QPixmap, QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from studio.engine.core.errors import StudioError
from studio.engine.interop.small_weights import WeightForm
from studio.session.core.tasks import TaskHandle
from studio.session.data.samples import picture
from studio.session.document.document import Document
from studio.session.export.exporting import (
    ExportForm,
    ExportResult,
    PictureForm,
    export_forms,
    form_named,
)
from studio.session.export.preview import LINES, Preview
from studio.session.studio import Studio
from studio.ui.panes.export.finding_view import FindingView
from studio.widgets import binding, icons, theme
from studio.widgets.file_dialogs import file_dialog
from studio.widgets.forms.reverting_line import RevertingLine
from studio.widgets.labels.banner import Banner
from studio.widgets.labels.elided_label import ElidedLabel
from studio.widgets.pixels import image_of

_ICONS = {"program": "listing", "weights": "memory", "checkpoint": "memory", "model": "canvas"}
_ROLE = Qt.ItemDataRole.UserRole

_MOST_CHANGES = 4
_COSTS: dict[WeightForm, str] = {
    "float32": "Exactly as trained, four bytes each.",
    "float16": "Half the size; results hardly change, and are measured before and after.",
    "int8": "A quarter of the size; accuracy may drop, and is measured before and after.",
    "uint8": "A quarter of the size; accuracy may drop, and is measured before and after.",
    "uint16": "Half the size; results hardly change, and are measured before and after.",
}


class ExportDialog(QDialog):
    """Chooses what and where to, shows how the file begins, and ends with the check.

    It never blocks the window: a training goes on behind it.
    """

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("export_dialog")
        self.setWindowTitle("Export")
        self.setModal(False)
        self._exports = studio.exporting
        self._training = studio.training
        self._data = studio.data
        self._tasks = studio.tasks
        self._tell = studio.fail
        self._forms = export_forms()
        self._form: ExportForm = self._forms[0]
        self._previewing: TaskHandle | None = None
        self._asked = 0
        self._written = self._exports.result
        self._writing = self._exports.task
        self._beside_training = self._training.is_busy
        self._whys: tuple[str, ...] = ()
        self._picture = QPixmap()
        self._error: StudioError | None = None
        self._build()
        binding.connect(self, self._exports.changed, self.refresh)
        binding.refresh(self, self._show_progress, studio.tasks.changed, rate=15)
        binding.refresh(self, self._document_changed, studio.compilation.stale_changed, rate=4)
        binding.refresh(
            self, self._training_changed, studio.training.changed, rate=2, when_visible=True
        )
        binding.connect(self, studio.document_replaced, self._replaced)
        last = self._exports.last
        self.choose((last[0] if last is not None else self._first_possible()).name)
        self.refresh()
        # Wide enough for a line of bytes.
        self.resize(880, 620)

    # -- building -------------------------------------------------------------------------------

    def _build(self) -> None:
        self.band = Banner("warning", "changed_text", self, (12, 8))
        self.band.setObjectName("changed_band")
        self.forms = QListWidget(self)
        self.forms.setObjectName("export_forms")
        self.forms.setAccessibleName("What to export")
        self.forms.setProperty("framed", True)
        self.forms.setIconSize(QSize(16, 16))
        self.forms.setFixedWidth(228)
        for form in self._forms:
            item = QListWidgetItem(form.title, self.forms)
            item.setData(_ROLE, form.name)
            item.setSizeHint(QSize(0, theme.ROW))
            item.setIcon(
                icons.icon("picture" if isinstance(form, PictureForm) else _ICONS[form.holds])
            )
        self.forms.currentItemChanged.connect(self._form_chosen)
        self.about = QLabel(self)
        self.about.setObjectName("export_about")
        self.about.setProperty("role", "soft")
        self.about.setWordWrap(True)
        self.weights = QLabel(self)
        self.weights.setObjectName("export_weights")
        self.weights.setWordWrap(True)
        self.weights.hide()
        self.small = WeightsChoice(self)
        self.small.chosen = self._make_preview
        self.opset = OpsetChoice(self)
        self.opset.chosen = self._make_preview
        self.path = RevertingLine(self)
        self.path.setObjectName("export_path")
        self.path.setAccessibleName("File")
        self.path.setToolTip("File to write.")
        self.path.textEdited.connect(lambda _: self._show_possible())
        self.browse = QPushButton("Browse…", self)
        self.browse.setObjectName("export_browse")
        self.browse.clicked.connect(self._ask_path)
        self.preview = _PreviewText(self)
        self.picture = QLabel(self)
        self.picture.setObjectName("export_picture")
        self.picture.setAccessibleName("Image of the graph")
        self.picture.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.picture.setMinimumSize(64, 64)
        self._views = QStackedWidget(self)
        self._views.addWidget(self.preview)
        self._views.addWidget(self.picture)
        self.note = ElidedLabel(self)
        self.note.setObjectName("preview_note")
        self.note.setProperty("role", "faint")
        self.finding = FindingView(self)
        self.start = QPushButton("Export", self)
        self.start.setObjectName("export_start")
        self.start.setProperty("primary", True)
        self.start.setDefault(True)
        self.start.clicked.connect(self.export)
        self.stop = QPushButton("Close", self)
        self.stop.setObjectName("export_close")
        self.stop.clicked.connect(self._stop_or_close)
        self._arrange()

    def _arrange(self) -> None:
        where = QHBoxLayout()
        where.setSpacing(8)
        where.addWidget(self.path, 1)
        where.addWidget(self.browse)
        right = QVBoxLayout()
        right.setSpacing(8)
        right.addWidget(self.about)
        right.addLayout(where)
        right.addWidget(self.small)
        right.addWidget(self.opset)
        right.addWidget(self.weights)
        right.addWidget(self._views, 1)
        right.addWidget(self.note)
        middle = QHBoxLayout()
        middle.setSpacing(12)
        middle.addWidget(self.forms)
        middle.addLayout(right, 1)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addStretch(1)
        buttons.addWidget(self.stop)
        buttons.addWidget(self.start)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 16)
        column.setSpacing(12)
        column.addWidget(self.band)
        column.addLayout(middle, 1)
        column.addWidget(self.finding)
        column.addLayout(buttons)

    # -- showing --------------------------------------------------------------------------------

    def choose(self, key: str) -> None:
        """Choose what to export; DataError for an unknown form."""
        form = form_named(key)
        for row in range(self.forms.count()):
            if self.forms.item(row).data(_ROLE) == form.name:
                self.forms.setCurrentRow(row)

    def refresh(self) -> None:
        """Show what can be exported, and what came of it."""
        self._whys = self._reasons()
        for row, (form, why) in enumerate(zip(self._forms, self._whys, strict=True)):
            item = self.forms.item(row)
            item.setToolTip(f"{form.about}\n{why[:1].upper()}{why[1:]}." if why else form.about)
            item.setForeground(theme.colour("text3" if why else "text"))
        self._document_changed()
        self._show_possible()
        result = self._exports.result
        if self._exports.task is not None:
            self._show_progress()
        elif self._error is not None:
            self.finding.show_error(self._error)
        elif result is not None:
            self.finding.show_result(result, self._sample_of(result))
        else:
            self.finding.hide()
        self.stop.setText("Cancel" if self._exports.task is not None else "Close")
        if self._exports.task is not self._writing:
            self._writing = self._exports.task
            if self._writing is not None:
                self._beside_training = self._training.is_busy
        self._preview_written(result)

    def _reasons(self) -> tuple[str, ...]:
        """Why each form cannot be written now."""
        return tuple(self._exports.why_not(form) for form in self._forms)

    def _training_changed(self) -> None:
        """What a training makes possible, such as by its first checkpoint, is offered at once."""
        before, now = self._whys, self._reasons()
        if now == before:
            return
        self.refresh()
        place = self._forms.index(self._form)
        if now[place] != before[place]:
            self._make_preview()

    def _document_changed(self) -> None:
        weights = not isinstance(self._form, PictureForm)
        self.band.say(_changed_text(self._exports.differences()) if weights else "")

    def _show_possible(self) -> None:
        why = self._exports.why_not(self._form)
        if not why and self._exports.task is not None:
            why = "an export is running"
        if not why and not self.path.text().strip():
            why = "choose a file"
        self.start.setEnabled(not why)
        self.start.setToolTip(f"{why[:1].upper()}{why[1:]}." if why else
                              "Write the file and check it against the network.")  # fmt: skip

    def _show_progress(self) -> None:
        task = self._exports.task
        if task is not None:
            self.finding.show_progress(task.share, task.text)

    def _form_chosen(self, item: QListWidgetItem | None) -> None:
        if item is None:
            return
        self._form = form_named(item.data(_ROLE))
        self.about.setText(self._form.about)
        self.path.show_text(str(self._exports.suggested_path(self._form)))
        self.small.offer(
            () if isinstance(self._form, PictureForm) else self._form.weight_forms,
            self._exports.last_weights,
        )
        last = self._exports.last
        is_same = last is not None and last[0].name == self._form.name
        self.opset.offer(last[0] if last is not None and is_same else self._form)
        self._document_changed()
        self._show_possible()
        self._make_preview()

    def _preview_written(self, result: ExportResult | None) -> None:
        """Show the file itself once there is one: a training goes on beside the dialog."""
        if result is None or result is self._written:
            return
        self._written = result
        is_shown = result.form.name == self._form.name
        is_shown &= not isinstance(result.form, PictureForm)
        if is_shown and result.is_placed:
            self._make_preview(result)

    def _make_preview(self, written: ExportResult | None = None) -> None:
        if self._previewing is not None:
            self._previewing.cancel()
            self._previewing = None
        self._asked += 1
        asked, form = self._asked, self._form
        why = "" if written is not None else self._exports.why_not(form)
        if why or isinstance(form, PictureForm):
            self._show_weights("")
        if why:
            self._show_why(why)
            return
        self.note.set_text("Making a preview…" if written is None else "Reading the file…")
        # A training may have ended by the time this is shown; its weights are of before.
        beside = self._training.is_busy if written is None else self._beside_training

        def done(made: Preview, content: bytes) -> None:
            if asked == self._asked:
                self._show_preview(made, content, beside=beside)

        def failed(error: StudioError) -> None:
            if asked == self._asked and error.code != "cancelled":
                self._show_why(self._exports.why_not(form) or error.message)

        if written is not None:
            self._previewing = self._exports.preview_written(written, done, failed)
        else:
            weights = self.small.weights
            self._previewing = self._exports.preview(self._written_form, done, failed, weights)

    def _show_preview(self, made: Preview, content: bytes, *, beside: bool) -> None:
        self._show_weights(made.weights)
        picture, form = QPixmap(), self._form
        if content and form.name == "png" and picture.loadFromData(content):
            self._picture = picture
            self._views.setCurrentWidget(self.picture)
            self._fit_picture()
            self.note.set_text(f"{made.lines[0]}, {made.note}")
            return
        note = made.note
        if beside and not isinstance(form, PictureForm) and form.has_weights:
            note += ", weights of the last checkpoint"
        self._show_text("\n".join(made.lines), note)

    def _show_weights(self, text: str) -> None:
        self.weights.setText(text)
        self.weights.setVisible(bool(text))

    def _show_why(self, why: str) -> None:
        """Say in place of the preview why there is none."""
        self._show_text(f"{why[:1].upper()}{why[1:]}.", "")
        self.preview.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)

    def _show_text(self, text: str, note: str) -> None:
        self._views.setCurrentWidget(self.preview)
        self.preview.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.preview.setPlainText(text)
        self.note.set_text(note)

    def _fit_picture(self) -> None:
        if self._picture.isNull():
            return
        room = self.picture.size()
        shown = self._picture
        if shown.width() > room.width() or shown.height() > room.height():
            shown = shown.scaled(room, Qt.AspectRatioMode.KeepAspectRatio,
                                 Qt.TransformationMode.SmoothTransformation)  # fmt: skip
        self.picture.setPixmap(shown)

    def _sample_of(self, result: ExportResult) -> QImage | None:
        """The first sample that differs, where samples are pictures."""
        summary = self._data.summary
        found = result.check
        if summary is None or found is None or found.first is None or found.part != "test":
            return None
        if self._exports.differences():
            # The test part is another one than the training had.
            return None
        part = summary.parts[-1]
        pictures = [each for each in part.dataset.all_inputs() if each.kind == "images"]
        if not pictures or found.first.sample >= len(part):
            return None
        values = pictures[0].values[part.indices[found.first.sample]]
        return image_of(picture(values, pictures[0].value_range))

    @property
    def _written_form(self) -> ExportForm:
        """The form as it is to be written."""
        form = self._form
        if isinstance(form, PictureForm) or not form.opsets:
            return form
        return form.with_opset(self.opset.number)

    # -- doing ----------------------------------------------------------------------------------

    def export(self) -> None:
        """Write the file that is chosen."""
        self._error = None
        try:
            path = Path(self.path.text().strip())
            self._exports.export(self._written_form, path, self._failed, self.small.weights)
        except StudioError as error:
            self._failed(error)
        self.refresh()

    def _failed(self, error: StudioError) -> None:
        self._error = error
        self.refresh()
        if not self.isVisible():
            self._tell(error)

    def _replaced(self, _document: Document) -> None:
        self.close()

    def _stop_or_close(self) -> None:
        if self._exports.task is not None:
            self._exports.task.cancel()
            self._tasks.changed.emit()
        else:
            self.close()

    def _ask_path(self) -> None:
        dialog = file_dialog(self, "export_path_dialog", "Export to", "export")
        dialog.setDirectory(str(Path(self.path.text()).absolute().parent))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilter(f"{self._form.title} (*{self._form.ending})")
        dialog.selectFile(Path(self.path.text()).name)
        dialog.fileSelected.connect(self._path_chosen)
        dialog.open()

    def _path_chosen(self, path: str) -> None:
        named = path if path.endswith(self._form.ending) else path + self._form.ending
        self.path.show_text(named)
        self._show_possible()

    def _first_possible(self) -> ExportForm:
        return next((f for f in self._forms if not self._exports.why_not(f)), self._forms[0])

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_picture()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "finding"):
            self.refresh()


class WeightsChoice(QWidget):
    """Chooses how the kernels of a file are stored, and says what that costs.

    Attributes:
        chosen: called when the user chose.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.chosen: Callable[[], None] = lambda: None
        self._wanted: WeightForm | None = None
        label = QLabel("Weights", self)
        self.box = QComboBox(self)
        self.box.setObjectName("export_small")
        self.box.setAccessibleName("How weights are stored")
        self.box.setToolTip("Kernels only: biases and normalisations stay float32.")
        self.box.activated.connect(lambda _: self._choose())
        label.setBuddy(self.box)
        self.about = QLabel(self)
        self.about.setObjectName("export_small_about")
        self.about.setProperty("role", "soft")
        self.about.setWordWrap(True)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(label)
        row.addWidget(self.box)
        row.addWidget(self.about, 1)

    @property
    def weights(self) -> WeightForm:
        """The form chosen."""
        return self.box.currentData() or "float32"

    def offer(self, forms: Sequence[WeightForm], usual: WeightForm) -> None:
        """Offer these forms, with the one that the user chose, else ``usual``.

        Hidden where there is no choice.
        """
        self.box.clear()
        for form in forms:
            self.box.addItem(form, form)
        self.box.setCurrentIndex(max(0, self.box.findData(self._wanted or usual)))
        self.setVisible(len(forms) > 1)
        self._say()

    def _choose(self) -> None:
        self._wanted = self.weights
        self._say()
        self.chosen()

    def _say(self) -> None:
        self.about.setText(_COSTS[self.weights])


class OpsetChoice(QWidget):
    """Chooses the operator set of a file, where its format has several.

    Attributes:
        chosen: called when the user chose.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.chosen: Callable[[], None] = lambda: None
        label = QLabel("Operator set", self)
        self.box = QComboBox(self)
        self.box.setObjectName("export_opset")
        self.box.setAccessibleName("Operator set")
        self.box.setToolTip("Older programs take only older operator sets; 17 suits most.")
        self.box.activated.connect(lambda _: self.chosen())
        label.setBuddy(self.box)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(label)
        row.addWidget(self.box)
        row.addStretch(1)

    @property
    def number(self) -> int:
        """The operator set chosen."""
        return int(self.box.currentData())

    def offer(self, form: ExportForm) -> None:
        """Offer the operator sets of a form, with its own; hidden where it has none."""
        opsets = range(0) if isinstance(form, PictureForm) else form.opsets
        self.box.clear()
        for each in opsets:
            self.box.addItem(str(each), each)
        if not isinstance(form, PictureForm):
            self.box.setCurrentIndex(self.box.findData(form.opset))
        self.setVisible(len(opsets) > 1)


class _PreviewText(QPlainTextEdit):
    """The beginning of a file, to be read and copied."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("export_preview")
        self.setAccessibleName("Start of the file")
        self.setToolTip(f"The first {LINES} lines, or a summary and the first bytes.")
        self.setReadOnly(True)
        self.setFont(theme.font("mono"))
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setTabChangesFocus(True)


def _changed_text(changes: Sequence[str]) -> str:
    """What was changed since the training; empty where nothing was."""
    if not changes:
        return ""
    unnamed = len(changes) - _MOST_CHANGES
    more = f" and {unnamed} more" if unnamed > 0 else ""
    return (
        f"The project was changed since it was trained: {', '.join(changes[:_MOST_CHANGES])}{more}."
        " What is exported is the network as it was trained."
    )
