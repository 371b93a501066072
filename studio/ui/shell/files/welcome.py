"""The welcome page: examples, recent projects, and unsaved work that can be recovered."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from PySide6.QtCore import QByteArray, QEvent, QSize, Qt
from PySide6.QtGui import QPixmap, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from studio.engine.core.errors import StudioError
from studio.engine.core.signal import Signal
from studio.samples import sample_names, sample_root
from studio.session.core.recent import RecentFile
from studio.session.document.document import Document
from studio.session.document.state import DocumentState
from studio.session.safety.recovery_sessions import RecoverableSession
from studio.session.studio import Studio
from studio.ui.shell.files.documents import Documents
from studio.ui.shell.files.thumbnails import SIZE, GraphPicture
from studio.widgets import binding, icons, numbers, theme
from studio.widgets.keys import shown_keys
from studio.widgets.labels.elided_label import ElidedLabel
from studio.widgets.labels.tool_button import tool_button

_FIRST = "digits-cnn"
_WIDTH = 1200
_GAP = 12
_KEYS = (
    ("Anywhere", (("view.command_palette", "all commands"), ("help.keys", "all keys"))),
    ("In a project", (("canvas.quick_add", "add a layer"), ("train.start", "train"))),
)


CARD = QSize(SIZE.width() + 24, SIZE.height() + 80)


class Card(QToolButton):
    """A large button with a picture, a name and a line below it."""

    def __init__(
        self, picture: QWidget, name: str, line: str, act: Callable[[], object], parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self.setAccessibleName(f"{name}: {line}")
        self.setToolTip(line)
        self.clicked.connect(act)
        column = QVBoxLayout(self)
        column.setContentsMargins(10, 10, 10, 10)
        column.setSpacing(4)
        column.addWidget(picture)
        title = QLabel(name, self)
        title.setFont(theme.font("title"))
        below = QLabel(line, self)
        below.setProperty("role", "soft")
        below.setWordWrap(True)
        for label in (title, below):
            label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            column.addWidget(label)
        column.addStretch(1)
        self.setFixedSize(CARD)


class WelcomePage(QScrollArea):
    """The page shown while no project is.

    Args:
        studio: the models.
        documents: opens things.
        parent: the window.
    """

    def __init__(self, studio: Studio, documents: Documents, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("welcome")
        self.setAccessibleName("Welcome")
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.back_wanted: Signal[[]] = Signal()
        self._studio = studio
        self._documents = documents
        self._is_filled = False
        self._columns = 0
        self._shown_missing: tuple[bool, ...] = ()
        binding.refresh(
            self, self.refresh, studio.recent.changed, studio.recovery.changed,
            studio.document_replaced, when_visible=True,
        )  # fmt: skip

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._is_filled:
            self.refresh()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._is_filled and self._count_columns() != self._columns:
            self.refresh()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        # A project may have been moved while another program was active.
        comes_back = event.type() == QEvent.Type.ActivationChange and self._is_filled
        if comes_back and self._missing() != self._shown_missing:
            self.refresh()

    def _missing(self) -> tuple[bool, ...]:
        return tuple(file.is_missing for file in self._studio.recent.files)

    def refresh(self) -> None:
        """Show what there is now."""
        self._is_filled = True
        self._shown_missing = self._missing()
        body = QWidget()
        body.setObjectName("welcome_body")
        outer = QHBoxLayout(body)
        outer.setContentsMargins(32, 32, 32, 32)
        outer.setSpacing(0)
        column = QVBoxLayout()
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(12)
        outer.addStretch(1)
        inner = QWidget(body)
        inner.setMaximumWidth(_WIDTH)
        inner.setLayout(column)
        outer.addWidget(inner, 100)
        outer.addStretch(1)
        self._add_head(column, inner)
        sessions = self._studio.recovery.sessions
        if sessions:
            self._add_heading(column, f"Recovered ({len(sessions)})", inner)
            for session in sessions:
                column.addWidget(self._recovered(session, inner))
        self._add_heading(column, "Examples", inner)
        column.addLayout(self._examples(inner))
        self._add_heading(column, "Recent", inner)
        files = self._studio.recent.files
        for file in files:
            column.addWidget(self._recent(file, inner))
        if not files:
            none = QLabel("Projects you save or open are listed here.", inner)
            none.setProperty("role", "soft")
            column.addWidget(none)
        column.addStretch(1)
        column.addWidget(self._keys(inner))
        self.setWidget(body)

    # -- parts ------------------------------------------------------------------------------------

    def _add_head(self, column: QVBoxLayout, parent: QWidget) -> None:
        name = QLabel("Glassbox", parent)
        name.setFont(theme.font("large"))
        line = QLabel("Start from an example, or drop a file.", parent)
        line.setProperty("role", "soft")
        row = QHBoxLayout()
        row.setSpacing(8)
        words = QVBoxLayout()
        words.setSpacing(4)
        words.addWidget(name)
        words.addWidget(line)
        row.addLayout(words, 1)
        waits = not self._studio.welcome_state.why_no_project()
        for text, icon, name_of, act in (
            *((("Back to the project", "arrow-left", "back", self._back),) if waits else ()),
            ("Blank", "new", "blank", self._blank),
            ("Open…", "open", "open", self._documents.open),
        ):
            button = QPushButton(f" {text}", parent)
            button.setAccessibleName(text)
            button.setObjectName(f"welcome_{name_of}")
            icons.keep(button, icon)
            button.clicked.connect(act)
            row.addWidget(button)
        column.addLayout(row)

    def _back(self) -> None:
        self.back_wanted.emit()

    def _blank(self) -> None:
        self._documents.new()

    @staticmethod
    def _add_heading(column: QVBoxLayout, text: str, parent: QWidget) -> None:
        heading = QLabel(text, parent)
        heading.setFont(theme.font("title"))
        heading.setContentsMargins(0, 12, 0, 0)
        column.addWidget(heading)

    def _count_columns(self) -> int:
        """How many cards fit beside each other."""
        room = min(_WIDTH, self.viewport().width() - 64)
        return max(2, (room + _GAP) // (CARD.width() + _GAP))

    def _examples(self, parent: QWidget) -> QGridLayout:
        grid = QGridLayout()
        grid.setSpacing(_GAP)
        names = sorted(sample_names(), key=lambda name: (name != _FIRST, name))
        self._columns = columns = self._count_columns()
        for place, name in enumerate(names):
            card = self._example(name, parent)
            if card is not None:
                grid.addWidget(card, *divmod(place, columns))
        grid.setColumnStretch(columns, 1)
        return grid

    def _example(self, name: str, parent: QWidget) -> Card | None:
        try:
            state, line, sizes = _read_example(sample_root() / name / f"{name}.glassbox")
        except StudioError as error:
            self._studio.fail(error)
            return None
        card = Card(
            GraphPicture(state), name, line, lambda: self._documents.open_sample(name), parent
        )
        card.setObjectName(f"sample.{name}")
        card.setToolTip(f"{line}\n{sizes}\nOpens as your own copy.")
        return card

    def _recent(self, file: RecentFile, parent: QWidget) -> QWidget:
        row = _Row(parent)
        picture = QLabel(row)
        picture.setFixedSize(72, 36)
        picture.setScaledContents(True)
        found = self._studio.recent.thumbnail(file)
        pixmap = QPixmap()
        if found is not None and pixmap.loadFromData(QByteArray(found)):
            picture.setPixmap(pixmap)
        missing = file.is_missing
        row.add(picture)
        where = f"{_short(file.path)} \u00b7 {_day(file.when)}"
        if self._documents.example_of(file.path):
            where = f"Copy of the example \u00b7 {where}"
        row.add_words(file.title, f"Missing: {where}" if missing else where, faint=missing)
        if missing:
            row.add_button("Locate…", lambda: self._documents.locate(file))
        else:
            row.add_button("Open", lambda: self._documents.open_path(file.path))
        row.add_tool("close", "Remove from the list", lambda: self._studio.recent.forget(file))
        row.setObjectName(f"recent.{file.title}")
        return row

    def _recovered(self, session: RecoverableSession, parent: QWidget) -> QWidget:
        row = _Row(parent)
        picture = QLabel(row)
        picture.setPixmap(icons.icon("history", "warning").pixmap(QSize(20, 20)))
        row.add(picture)
        where = "never saved" if session.path is None else _short(session.path)
        row.add_words(
            session.title, f"{where} \u00b7 {_day(session.when)} \u00b7 {session.size_text}"
        )
        row.setToolTip("\n".join(session.details))
        row.add_button("Open", lambda: self._documents.open_recovered(session))
        row.add_button("Compare…", lambda: self._documents.compare_recovered(session))
        row.add_button("Discard", lambda: self._studio.recovery.discard(session))
        row.setObjectName(f"recovered.{session.title}")
        return row

    def _keys(self, parent: QWidget) -> QWidget:
        line = QWidget(parent)
        row = QHBoxLayout(line)
        row.setContentsMargins(0, 16, 0, 0)
        row.setSpacing(8)
        for where, keys in _KEYS:
            row.addWidget(_soft(f"{where}:", line))
            for action_id, text in keys:
                found = self._studio.actions[action_id].keys
                if not found:
                    continue
                cap = QLabel(shown_keys(found[0]), line)
                cap.setObjectName("key_cap")
                row.addWidget(cap)
                row.addWidget(_soft(text, line))
                row.addSpacing(16)
        row.addStretch(1)
        return line


class _Row(QFrame):
    """A line of a list: picture, two lines of words, buttons."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("panel", True)
        self._line = QHBoxLayout(self)
        self._line.setContentsMargins(12, 6, 8, 6)
        self._line.setSpacing(12)

    def add(self, widget: QWidget) -> None:
        """Add a picture at the left."""
        self._line.addWidget(widget)

    def add_words(self, title: str, below: str, *, faint: bool = False) -> None:
        """Add the two lines."""
        words = QVBoxLayout()
        words.setSpacing(0)
        # A deep folder would widen the whole page.
        middle = Qt.TextElideMode.ElideMiddle
        for text, role in ((title, ""), (below, "soft")):
            label = ElidedLabel(self, middle)
            label.set_text(text)
            label.setProperty("role", "faint" if faint else role)
            words.addWidget(label)
        self._line.addLayout(words, 1)
        self.setAccessibleName(f"{title}, {below}")

    def add_button(self, text: str, act: Callable[[], object]) -> None:
        """Add a button with a word."""
        button = QPushButton(text, self)
        button.setAccessibleName(f"{text} {self.accessibleName()}")
        button.clicked.connect(lambda: act())
        self._line.addWidget(button)

    def add_tool(self, icon: str, tip: str, act: Callable[[], object]) -> None:
        """Add a button with a picture."""
        button = tool_button(icon, f"file.{icon}", tip, self, f"{tip}: {self.accessibleName()}")
        button.clicked.connect(lambda: act())
        self._line.addWidget(button)


def _soft(text: str, parent: QWidget) -> QLabel:
    label = QLabel(text, parent)
    label.setProperty("role", "soft")
    return label


@cache
def _read_example(path: Path) -> tuple[DocumentState, str, str]:
    """The graph of an example, what it is about, and its layers and parameters, read once."""
    document = Document.open(path)
    layers = numbers.counted(sum(1 for _ in document.state.layers()), "layer")
    count = document.report.parameters
    parameters = "" if count is None else numbers.counted(count, "parameter")
    line = _subject(path.with_name("README.md")) or layers
    return document.state, line, f"{layers}, {parameters}"


def _subject(readme: Path) -> str:
    """What a sample's page says it is about: the heading behind the name."""
    try:
        heading = readme.read_text(encoding="utf-8").partition("\n")[0]
    except OSError:
        return ""
    text = heading.partition(":")[2].strip()
    return text[:1].upper() + text[1:]


def _short(path: Path) -> str:
    """A path with the user's folder as ``~``."""
    try:
        return f"~/{path.relative_to(Path.home()).as_posix()}"
    except ValueError:
        return str(path)


def _day(when: float) -> str:
    """A moment as people say it."""
    moment, now = time.localtime(when), time.localtime()
    if moment[:3] == now[:3]:
        return time.strftime("today %H:%M", moment)
    return time.strftime("%d %b %Y %H:%M" if moment[0] != now[0] else "%d %b %H:%M", moment)
