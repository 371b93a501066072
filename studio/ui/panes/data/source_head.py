"""The head of the data pane: the data set, a button to choose another, what would make it fit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from studio.engine.core.errors import StudioError
from studio.engine.core.tensor import Shape
from studio.session.core.action_table import ActionRegistry
from studio.session.core.metric_names import raised
from studio.session.data.data import DataModel
from studio.session.data.mapping import needed_text
from studio.session.data.sources import OFFERED
from studio.session.data.summary import DataSummary
from studio.widgets import icons, menus, numbers, theme
from studio.widgets.labels.banner import Banner
from studio.widgets.labels.elided_label import ElidedLabel

TIMES = "\N{MULTIPLICATION SIGN}"

SOURCES: tuple[menus.Entry, ...] = (
    *(f"data.use_{name}" for name in OFFERED),
    None,
    "data.attach",
    "data.attach_path",
    None,
    "data.reload",
    "data.remove",
)
"""The menu of sources."""


class SourceHead(QWidget):
    """Says which data the project has and lets it be changed.

    Args:
        data: the data of the project.
        actions: the action table.
        parent: the widget it stands in.
    """

    mapping_wanted = Signal()
    """The user wants to say what goes to which input and output."""

    def __init__(
        self, data: DataModel, actions: ActionRegistry, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._data = data
        self._actions = actions
        self.title = ElidedLabel(self)
        self.title.setObjectName("data_title")
        self.title.setFont(theme.font("title"))
        self.choose = QPushButton("Choose", self)
        self.choose.setObjectName("choose_data")
        self.choose.setAccessibleName("Choose data")
        self.choose.setToolTip("Choose a data set, attach a file or folder, or drop one here.")
        self.choose.clicked.connect(self.open_menu)
        self._line = QLabel(self)
        self._line.setObjectName("data_line")
        self._line.setProperty("role", "soft")
        self._line.setWordWrap(True)
        self.offer = Banner("warning", "banner_text", self)
        self.offer.setObjectName("input_offer")
        self.refusal = Banner("error", "banner_text", self)
        self.refusal.setObjectName("data_refusal")
        top = QHBoxLayout()
        top.setSpacing(8)
        top.addWidget(self.title, 1)
        top.addWidget(self.choose)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addLayout(top)
        column.addWidget(self._line)
        column.addWidget(self.offer)
        column.addWidget(self.refusal)

    def open_menu(self) -> None:
        """Show the sources to choose from, below the button."""
        menu = menus.menu_of(self._actions, SOURCES, self)
        menu.setObjectName("source_menu")
        menu.popup(self.choose.mapToGlobal(self.choose.rect().bottomLeft()))

    def open_menu_at(self, place: QWidget) -> None:
        """Show the sources to choose from in the middle of a widget."""
        menu = menus.menu_of(self._actions, SOURCES[:-3], place)
        menu.setObjectName("source_menu")
        menu.popup(place.mapToGlobal(place.rect().center()))

    def refresh(self) -> None:
        """Show the data as it is now."""
        data = self._data
        form = data.form
        if form is None:
            return
        self.title.set_text(_title(data))
        summary = data.summary
        if data.status == "opening":
            text = "Reading…" if summary is None else f"{line_of(summary)}, reading…"
        else:
            text = form.about if summary is None else line_of(summary)
        self._line.setText(text)
        offer = data.offer if data.status in ("ready", "failed") else None
        if offer is None:
            self._put_away(self.offer)
        else:
            self.offer.say(offer.why, offer.text, data.take_offer)
        needed = needed_text(data.data, data.mapping.ends) if data.parts else ""
        if data.error is None:
            self._put_away(self.refusal)
        elif needed:
            self.refusal.say(f"{raised(needed)}.", "Choose below", self.mapping_wanted.emit)
        elif data.is_untrusted:
            self.refusal.say(_sentence(data.error), "Load", data.trust)
        else:
            self.refusal.say(_sentence(data.error), "Reload", data.reload)

    def _put_away(self, banner: Banner) -> None:
        held = self.focusWidget() if self.isVisible() else None
        if held is not None and held.hasFocus() and banner.isAncestorOf(held):
            # Left to itself the keyboard goes to the next field, and the pane scrolls there.
            self.choose.setFocus()
        banner.hide()


class Remarks(QWidget):
    """What the loader decided and what may be worth changing, one line each."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("data_remarks")
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(2)
        self._grid.setColumnStretch(1, 1)
        self._texts: tuple[str, ...] = ()
        self.hide()

    @property
    def texts(self) -> tuple[str, ...]:
        return self._texts

    def show_texts(self, texts: Sequence[str]) -> None:
        """Say these things."""
        found = tuple(texts)
        self.setVisible(bool(found))
        if found == self._texts:
            return
        self._texts = found
        while self._grid.count():
            item = self._grid.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for line, text in enumerate(found):
            sign = QLabel(self)
            sign.setPixmap(icons.icon("info", "text3").pixmap(QSize(14, 14)))
            label = QLabel(f"{text[:1].upper()}{text[1:]}.", self)
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setWordWrap(True)
            label.setFont(theme.font("small"))
            label.setProperty("role", "soft")
            self._grid.addWidget(sign, line, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(label, line, 1)


def line_of(summary: DataSummary) -> str:
    """A data set in one line: how many of what, of which type, how large."""
    dataset = summary.dataset
    if dataset.inputs:
        given = numbers.counted(len(dataset.inputs), "input")
        wanted = numbers.counted(len(dataset.targets), "output")
        return (
            f"{numbers.counted(summary.samples, 'sample')} for {given} and {wanted}, "
            f"{numbers.memory(summary.nbytes)}"
        )
    noun = {"images": "images", "points": "points"}.get(dataset.kind, "rows")
    size = shape_words(dataset.sample_shape)
    return (
        f"{numbers.count(summary.samples)} {noun} of {size}, {dataset.x.dtype}, "
        f"{numbers.memory(summary.nbytes)}"
    )


def shape_words(shape: Shape) -> str:
    """A shape as people write it: ``8 by 8``, a single channel left out."""
    kept = shape[:-1] if len(shape) == 3 and shape[-1] == 1 else shape
    return f" {TIMES} ".join(str(n) for n in kept)


def _title(data: DataModel) -> str:
    form = data.form
    reference = data.data
    path = reference.get("path") or reference.get("images") or reference.get("x")
    if isinstance(path, str) and path:
        name = Path(path).name
        return name if name not in ("", ".") else data.folder.name
    return "" if form is None else form.title


def _sentence(error: StudioError) -> str:
    said = error.message
    said = f"{error.who}: {said}" if error.who and error.who != "data" else raised(said)
    hint = f"\n{raised(error.hint)}." if error.hint else ""
    return f"{said}.{hint}"
