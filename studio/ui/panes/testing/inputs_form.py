"""What a network with several inputs is asked: fields or a file for each input."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from studio.engine.core.options import AnyOption
from studio.engine.core.tensor import shape_text
from studio.engine.train.network.measures import Array
from studio.session.evaluation.subject import AskedInput
from studio.ui.panes.testing.pictures import sample_image, scaled
from studio.ui.panes.testing.samples_view import row_text
from studio.widgets import theme
from studio.widgets.fields.scrub_field import ScrubField
from studio.widgets.file_dialogs import file_dialog
from studio.widgets.forms.number_editors import stepping_of

FILES = "Images, tables and arrays (*.png *.jpg *.jpeg *.bmp *.gif *.csv *.npy *.npz)"

_SEEN = 56
_NUMBERS = 6
_NO_DRAWING = "Open a file for an image: you can draw only where an image is the only input."


def add_fields(
    form: QFormLayout, options: tuple[AnyOption, ...], name: str, typed: Callable[[], None]
) -> list[ScrubField]:
    """A field for each number, called ``name.number``; ``typed`` hears of changes."""
    fields = []
    for each in options:
        field = ScrubField(stepping_of(each), cast("float", each.default))
        field.setObjectName(f"{name}.{each.name}")
        field.setAccessibleName(each.label)
        field.set_hint(each.doc)
        for signal in (field.committed, field.scrubbed):
            signal.connect(typed)
        form.addRow(each.label, field)
        fields.append(field)
    return fields


class InputsForm(QScrollArea):
    """A group for each input: its fields where it is a row of numbers, and a button for a file.

    Attributes:
        typed: place of an input, and the numbers typed for it.
        file_chosen: place of an input, and the path of a file for it.
    """

    typed = Signal(int, list)
    file_chosen = Signal(int, object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("ask_inputs")
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.groups: list[InputGroup] = []

    def show_inputs(self, inputs: tuple[AskedInput, ...]) -> None:
        """Offer other inputs; nothing where there is only one, which has a page of its own."""
        holder = QWidget()
        column = QVBoxLayout(holder)
        column.setContentsMargins(0, 0, 8, 0)
        column.setSpacing(8)
        self.groups = []
        for place, each in enumerate(inputs if len(inputs) > 1 else ()):
            group = InputGroup(each, holder)
            group.typed.connect(lambda values, at=place: self.typed.emit(at, values))
            group.file_chosen.connect(lambda path, at=place: self.file_chosen.emit(at, path))
            column.addWidget(group)
            self.groups.append(group)
        if any(group.is_picture for group in self.groups):
            note = QLabel(_NO_DRAWING, holder)
            note.setObjectName("no_drawing")
            note.setFont(theme.font("small"))
            note.setProperty("role", "faint")
            note.setWordWrap(True)
            column.addWidget(note)
        column.addStretch(1)
        self.setWidget(holder)

    def show_rows(self, inputs: tuple[Array, ...]) -> None:
        """Show what each input was given last."""
        for group, rows in zip(self.groups, inputs, strict=False):
            group.show_row(rows[0])


class InputGroup(QWidget):
    """One input.

    Attributes:
        typed: the numbers of all its fields.
        file_chosen: the path of a file.
    """

    typed = Signal(list)
    file_chosen = Signal(object)

    def __init__(self, asked: AskedInput, parent: QWidget) -> None:
        super().__init__(parent)
        self._asked = asked
        name = asked.facts.name
        self.setObjectName(f"ask_input.{name}")
        title = QLabel(name, self)
        title.setTextFormat(Qt.TextFormat.PlainText)
        size = QLabel(shape_text(asked.shape), self)
        size.setFont(theme.font("small"))
        size.setProperty("role", "faint")
        size.setToolTip("Shape of one sample")
        self.file = QPushButton("Open a file…", self)
        self.file.setObjectName(f"ask_file.{name}")
        self.file.setAccessibleName(f"Open a file for {name}")
        self.file.setToolTip(f"Take {name} from the first row of a file")
        self.file.clicked.connect(self._choose_file)
        head = QHBoxLayout()
        head.setSpacing(6)
        head.addWidget(title)
        head.addWidget(size)
        head.addStretch(1)
        head.addWidget(self.file)
        form = QFormLayout()
        form.setVerticalSpacing(4)
        self.fields = add_fields(form, asked.form, f"input.{name}", self._typed)
        self.seen = SeenView(self)
        self._numbers = QLabel(self)
        self._numbers.setFont(theme.font("small"))
        self._numbers.setProperty("role", "soft")
        self._numbers.setWordWrap(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(head)
        column.addLayout(form)
        column.addWidget(self.seen)
        column.addWidget(self._numbers)
        self.seen.setVisible(self.is_picture)
        self._numbers.setVisible(not self.is_picture and not self.fields)
        self.show_row(asked.start[0])

    @property
    def is_picture(self) -> bool:
        """Whether its samples are shown as pictures."""
        return len(self._asked.shape) >= 2

    def show_row(self, row: Array) -> None:
        """Show what it was given."""
        if self.is_picture:
            self.seen.show_image(sample_image(row, self._asked.facts.value_range))
        elif self.fields:
            for field, value in zip(self.fields, row.reshape(-1), strict=True):
                field.set_value(float(value))
        else:
            self._numbers.setText(row_text(row, _NUMBERS))

    def _typed(self) -> None:
        self.typed.emit([float(field.value) for field in self.fields])

    def _choose_file(self) -> None:
        title = f"Open a file for {self._asked.facts.name}"
        dialog = file_dialog(self, "ask_files", title, "samples")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilter(FILES)
        dialog.filesSelected.connect(lambda names: self.file_chosen.emit(Path(names[0])))
        dialog.open()


class SeenView(QWidget):
    """What the network was given, as it sees it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("seen")
        self.setAccessibleName("What the network sees")
        self.setToolTip("What the network sees")
        self.setFixedSize(_SEEN, _SEEN)
        self._image: QImage | None = None

    def show_image(self, image: QImage) -> None:
        """Show another picture."""
        self._image = image
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        if self._image is None:
            return
        painter = QPainter(self)
        ratio = self.devicePixelRatioF()
        made = scaled(self._image, _SEEN - 2, ratio)
        x = (self.width() - made.width() / ratio) / 2
        y = (self.height() - made.height() / ratio) / 2
        painter.drawImage(round(x), round(y), made)
        painter.setPen(theme.colour("hairline"))
        painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        painter.end()
