"""Asking the network about something of your own: a drawing, a row, a place, a file."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QPointF, Qt, QTimer
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QButtonGroup,
    QCheckBox,
    QFileDialog,
    QFormLayout,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from studio.engine.core.errors import StudioError
from studio.engine.core.options import AnyOption
from studio.session.evaluation.answers import Answer
from studio.session.evaluation.evaluation import EvaluationModel
from studio.session.evaluation.subject import Subject
from studio.ui.panes.testing.answer_view import AnswerView
from studio.ui.panes.testing.draw_view import WIDTHS, DrawView
from studio.ui.panes.testing.inputs_form import FILES, InputsForm, SeenView, add_fields
from studio.ui.panes.testing.pictures import sample_image
from studio.ui.panes.testing.plane_view import PlaneView
from studio.widgets import binding, theme
from studio.widgets.fields.scrub_field import ScrubField
from studio.widgets.file_dialogs import file_dialog
from studio.widgets.labels.tool_button import tool_button

_BESIDE = 430
_IN_LINE = 520
"""Width from which all tools of the drawing stand in one line beside the answer."""
_ASK_MS = 30
_FILE_TIP = "Open an image, a table or an array, or drop files here"
_ALL_TIP = "Open an .npz file with an array for each input, or drop it here"
_TABLE_TIP = "Open a table with the columns of all inputs, or an .npz file, or drop it here"
_HINT = "Draw, drop a file here, or choose a sample"


class AskView(QWidget):
    """What is asked on one side, what the network says on the other.

    Args:
        evaluation: asks the network.
        parent: the pane.
    """

    def __init__(self, evaluation: EvaluationModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("ask_view")
        self.setAcceptDrops(True)
        self._evaluation = evaluation
        self._subject: Subject | None = None
        self._in_line = False
        self._fields: list[ScrubField] = []
        self._draw = DrawView(self)
        self._plane = PlaneView(self)
        self._answer = AnswerView(self)
        self._seen = SeenView(self)
        self._name = QLabel(self)
        self._name.setFont(theme.font("small"))
        self._name.setProperty("role", "faint")
        self._name.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        # A line grows faster than questions are worth asking.
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(_ASK_MS)
        self._later.timeout.connect(self._ask_drawing)
        self._draw.drawn.connect(self._drawn)
        self._plane.picked.connect(self._picked)
        self._lay_out()
        binding.refresh(self, self.show_answer, evaluation.questions.answered, rate=30)
        self.show_subject()

    @property
    def draw(self) -> DrawView:
        return self._draw

    @property
    def plane(self) -> PlaneView:
        return self._plane

    @property
    def answer(self) -> AnswerView:
        return self._answer

    @property
    def inputs(self) -> InputsForm:
        """A group for each input, where there are several."""
        return self._inputs

    @property
    def fields(self) -> tuple[ScrubField, ...]:
        """The fields of the form."""
        return tuple(self._fields)

    def show_subject(self) -> None:
        """Offer what the network that is tested can be asked."""
        subject, results = self._evaluation.subject, self._evaluation.results
        planes = () if subject is None else subject.planes
        output = self._evaluation.output
        self._plane.show_plane(planes[output] if output < len(planes) else None, results)
        if subject is not self._subject:
            self._subject = subject
            self._draw.set_sheet(None if subject is None else subject.sheet)
            self._fit.setVisible(
                subject is not None
                and subject.sheet is not None
                and subject.sheet.frame is not None
            )
            self._make_form(() if subject is None else subject.form)
            self._inputs.show_inputs(() if subject is None else subject.inputs)
            several = subject is not None and len(subject.inputs) > 1
            self._file.setText("Open all inputs…" if several else "Open a file…")
            all_tip = _TABLE_TIP if self._takes_tables() else _ALL_TIP
            self._file.setToolTip(all_tip if several else _FILE_TIP)
            page = self._none
            if several:
                page = self._inputs
            elif subject is not None and subject.sheet is not None:
                page = self._drawing
            elif subject is not None and subject.form:
                page = self._form_page
            self._pages.setCurrentWidget(page)
            plane = subject is not None and subject.is_plane
            self._plane.setVisible(plane)
            # Beside the map two fields take no more room than they need.
            rows = len(self._fields) * (theme.ROW + 8)
            self._form_area.setMaximumHeight(rows if plane else 1 << 20)
        self.show_answer()

    def show_answer(self) -> None:
        """Show what the network said last."""
        evaluation = self._evaluation
        answer, error = evaluation.answer, evaluation.questions.error
        self._seen.setVisible(False)
        self._name.setText("")
        self._show_truth(answer)
        self._show_inverted()
        self._show_others(evaluation.questions.answers)
        if error is not None:
            self._answer.show_message(error.message, error=True)
        elif answer is None:
            self._answer.show_message("" if evaluation.subject is None else self._hint())
        else:
            self._answer.show_answer(answer)
            self._show_seen(answer)

    def _show_truth(self, answer: Answer | None) -> None:
        """What the data says of a sample, beside what the network says."""
        truth = None if answer is None else answer.truth
        self._truth.setVisible(truth is not None)
        if answer is None or truth is None:
            self._truth.setText("")
            return
        right = answer.is_right
        words = "" if right is None else ", recognised" if right else f", not {answer.best[0]}"
        role = "soft" if right is None else "ok" if right else "error"
        self._truth.setText(f"Truth: {truth.text}{words}")
        if self._truth.property("role") != role:
            self._truth.setProperty("role", role)
            self._truth.style().unpolish(self._truth)
            self._truth.style().polish(self._truth)

    def _show_inverted(self) -> None:
        """Whether the image is inverted, and why; the box shows and changes it."""
        questions, subject = self._evaluation.questions, self._subject
        on, sheet = questions.is_inverted, None if subject is None else subject.sheet
        self._invert.blockSignals(True)
        self._invert.setChecked(on)
        self._invert.blockSignals(False)
        self._draw.set_inverted(on and questions.is_drawing)
        if sheet is None:
            return
        ground = "dark" if sheet.is_dark else "light"
        tip = "Exchange light and dark, for the drawing or the image asked about"
        if sheet.knows_ground:
            tip += f".\nAn image whose background is not {ground}, as in the data, is inverted"
        self._invert.setToolTip(f"{tip}; you can change that" if sheet.knows_ground else tip)

    def _show_others(self, answers: tuple[Answer, ...]) -> None:
        """What the other outputs say, each below its name."""
        chosen = self._evaluation.output
        several = len(answers) > 1
        own = answers[chosen] if answers else None
        self._output.setText(_heading(own) if own is not None else "")
        self._output.setVisible(several or (own is not None and own.positions > 1))
        others = [each for place, each in enumerate(answers) if place != chosen]
        while len(self._others) < len(others):
            self._others.append((self._heading(), AnswerView(self)))
            for widget, stretch in zip(self._others[-1], (0, 1), strict=True):
                self._said.insertWidget(self._said.count() - 1, widget, stretch)
        for place, (heading, view) in enumerate(self._others):
            there = place < len(others)
            heading.setVisible(there)
            view.setVisible(there)
            view.show_answer(others[place] if there else None)
            heading.setText(_heading(others[place]) if there else "")

    def _hint(self) -> str:
        subject = self._subject
        if subject is not None and subject.is_plane:
            return "Click a point on the map"
        if subject is not None and subject.form:
            return "Change a number, or choose a sample"
        if subject is not None and len(subject.inputs) > 1:
            file = "a table" if self._takes_tables() else "an .npz file"
            return f"Change an input, choose a sample, or drop {file} with all inputs"
        has_sheet = subject is None or subject.sheet is not None
        return _HINT if has_sheet else "Drop a file here, or choose a sample"

    def _takes_tables(self) -> bool:
        """Whether the columns of every input are known by name."""
        inputs = () if self._subject is None else self._subject.inputs
        return bool(inputs) and all(each.facts.feature_names for each in inputs)

    def _show_seen(self, answer: Answer) -> None:
        subject = self._subject
        name = answer.names[0]
        if len(answer.names) > 1:
            name = f"{name} and {len(answer.names) - 1} more"
        by_itself = (
            ", inverted to match the data"
            if self._evaluation.questions.is_automatic
            else (", inverted")
        )
        self._name.setText(name + (by_itself if answer.inverted[:1] == (True,) else ""))
        if len(answer.inputs) > 1:
            self._inputs.show_rows(answer.inputs)
            return
        (rows,) = answer.inputs
        if rows.ndim >= 3 and subject is not None:
            facts = subject.task.input_facts
            self._seen.show_image(sample_image(rows[0], facts.value_range))
            self._seen.setVisible(True)
        elif rows.ndim == 2 and len(self._fields) == rows.shape[1]:
            for field, value in zip(self._fields, rows[0], strict=True):
                field.set_value(float(value))
            if subject is not None and subject.is_plane:
                self._plane.mark((float(rows[0, 0]), float(rows[0, 1])))

    # -- asking ---------------------------------------------------------------------------------

    def ask_files(self, paths: list[Path]) -> None:
        """Ask about files."""
        self._evaluation.questions.ask_files(paths)

    def _drawn(self) -> None:
        if not self._later.isActive():
            self._later.start()

    def _ask_drawing(self) -> None:
        drawing = self._draw.drawing
        if drawing is None:
            return
        if drawing.is_empty:
            self._evaluation.questions.forget()
        else:
            self._evaluation.questions.ask_drawing(drawing.row(fitted=self._fit.isChecked()))

    def _picked(self, x: float, y: float) -> None:
        self._ask_values([x, y])

    def _typed(self) -> None:
        self._ask_values([float(field.value) for field in self._fields])

    def _ask_values(self, values: list[float], place: int = 0) -> None:
        try:
            self._evaluation.questions.ask_values(values, place)
        except StudioError as error:
            self._answer.show_message(error.message, error=True)

    def _choose_file(self) -> None:
        dialog = file_dialog(self, "ask_files", "Open files", "samples")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setNameFilter(FILES)
        dialog.filesSelected.connect(lambda names: self.ask_files([Path(n) for n in names]))
        dialog.open()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if self._subject is not None and any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        paths = [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
        if paths:
            event.acceptProposedAction()
            self.ask_files(paths)

    # -- layout ---------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        self._none = QWidget(self)
        self._drawing = self._make_drawing()
        self._form_page = self._make_form_page()
        self._pages = QStackedWidget(self)
        self._inputs = InputsForm(self)
        self._inputs.typed.connect(lambda place, values: self._ask_values(values, place))
        self._inputs.file_chosen.connect(self._evaluation.questions.ask_file)
        for page in (self._none, self._drawing, self._form_page, self._inputs):
            self._pages.addWidget(page)
        self._file = QPushButton("Open a file…", self)
        self._file.setObjectName("ask_file")
        self._file.setToolTip(_FILE_TIP)
        self._file.clicked.connect(self._choose_file)
        self._output = self._heading()
        self._truth = self._heading()
        self._truth.setObjectName("sample_truth")
        self._truth.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._truth.setWordWrap(True)
        self._others: list[tuple[QLabel, AnswerView]] = []
        said = self._said = QVBoxLayout()
        said.setSpacing(2)
        said.addWidget(self._name)
        said.addWidget(self._seen, 0, Qt.AlignmentFlag.AlignHCenter)
        said.addWidget(self._truth)
        said.addWidget(self._output)
        said.addWidget(self._answer, 1)
        said.addWidget(self._file, 0, Qt.AlignmentFlag.AlignHCenter)
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._row.setContentsMargins(8, 8, 8, 8)
        self._row.setSpacing(8)
        self._row.addWidget(self._pages, 1)
        self._row.addLayout(said, 1)

    def _heading(self) -> QLabel:
        """The name of an output above what it says."""
        made = QLabel(self)
        made.setFont(theme.font("small"))
        made.setProperty("role", "soft")
        made.setTextFormat(Qt.TextFormat.PlainText)
        made.hide()
        return made

    def _make_drawing(self) -> QWidget:
        page = QWidget(self)
        column = self._column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self._draw, 1)
        tools = self._tools = QGridLayout()
        tools.setSpacing(4)
        pens = QHBoxLayout()
        self._widths = QButtonGroup(self)
        for n, width in enumerate(WIDTHS):
            button = PenButton(3.0 + 3.5 * n, page)
            button.setObjectName(f"pen.{n}")
            button.setAccessibleName(f"Line {n + 1} of {len(WIDTHS)}")
            button.clicked.connect(lambda _on=False, chosen=width: self._set_width(chosen))
            button.setChecked(width == self._draw.width_of_line)
            self._widths.addButton(button)
            pens.addWidget(button)
        tools.addLayout(pens, 0, 0)
        self._fit = QCheckBox("Fit", page)
        self._fit.setObjectName("fit_drawing")
        self._fit.setToolTip("Scale and centre the drawing like the images of the data")
        self._fit.setChecked(True)
        self._fit.toggled.connect(self._drawn)
        self._invert = QCheckBox("Invert", page)
        self._invert.setObjectName("invert")
        self._invert.toggled.connect(self._evaluation.questions.set_inverted)
        self._boxes = QWidget(page)
        boxes = QHBoxLayout(self._boxes)
        boxes.setContentsMargins(0, 0, 0, 0)
        for box in (self._fit, self._invert):
            boxes.addWidget(box)
        tools.addWidget(self._boxes, 1, 0, 1, 5, Qt.AlignmentFlag.AlignLeft)
        tools.setColumnStretch(2, 1)
        for place, (name, tip, work) in enumerate(
            (("undo", "Undo the last stroke", self._draw.undo),
             ("delete", "Clear the drawing", self._draw.clear)), 3,
        ):  # fmt: skip
            tool = tool_button(name, f"draw.{name}", tip, page)
            tool.clicked.connect(work)
            tools.addWidget(tool, 0, place)
        self._column.addLayout(tools)
        return page

    def _set_width(self, width: float) -> None:
        self._draw.width_of_line = width

    def _make_form_page(self) -> QWidget:
        page = QWidget(self)
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self._plane, 4)
        self._form_area = QScrollArea(page)
        self._form_area.setWidgetResizable(True)
        self._form_area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        column.addWidget(self._form_area, 1)
        return page

    def _make_form(self, options: tuple[AnyOption, ...]) -> None:
        holder = QWidget()
        form = QFormLayout(holder)
        form.setContentsMargins(0, 0, 8, 0)
        form.setVerticalSpacing(4)
        self._fields = add_fields(form, options, "input", self._typed)
        self._form_area.setWidget(holder)

    def resizeEvent(self, event: object) -> None:
        wide = self.width() >= _BESIDE
        self._row.setDirection(
            QBoxLayout.Direction.LeftToRight if wide else QBoxLayout.Direction.TopToBottom
        )
        in_line = not wide or self.width() >= _IN_LINE
        if in_line != self._in_line:
            self._in_line = in_line
            self._tools.removeWidget(self._boxes)
            place = (0, 1, 1, 1) if in_line else (1, 0, 1, 5)
            self._tools.addWidget(self._boxes, *place, Qt.AlignmentFlag.AlignLeft)


class PenButton(QToolButton):
    """Chooses a width of the line, shown by a dot as wide.

    Args:
        width: of the dot.
        parent: the pane.
    """

    def __init__(self, width: float, parent: QWidget) -> None:
        super().__init__(parent)
        self.setToolTip("Line width")
        self.setCheckable(True)
        self.setFixedSize(theme.HIT, theme.HIT)
        self._width = width

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("accent" if self.isChecked() else "text2"))
        middle = QPointF(self.width() / 2, self.height() / 2)
        painter.drawEllipse(middle, self._width / 2, self._width / 2)
        painter.end()


def _heading(answer: Answer) -> str:
    """The output's name, and that shares are means where each position has a class."""
    if answer.positions == 1:
        return answer.output
    return f"{answer.output}: mean over {answer.positions} positions"
