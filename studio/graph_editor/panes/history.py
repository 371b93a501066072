"""The history: every step of the document by name; a click goes to where that step was made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from PySide6.QtCore import QEvent, QModelIndex, QObject, QSize, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from studio.session.document.document import Document
from studio.session.document.history import History
from studio.session.studio import Studio
from studio.widgets import binding, icons, theme
from studio.widgets.frames.empty_state import EmptyState
from studio.widgets.frames.frame import PaneFrame
from studio.widgets.record_table.columns import Column
from studio.widgets.record_table.model import RecordModel
from studio.widgets.record_table.views import RecordList

Condition: TypeAlias = Literal["done", "now", "undone"]

_ICONS: dict[Condition, tuple[str, str]] = {
    "done": ("check", "text3"), "now": ("chevron-right", "accent"), "undone": ("redo", "text3"),
}  # fmt: skip
_WORDS: dict[Condition, str] = {
    "done": "done", "now": "current state", "undone": "undone",
}  # fmt: skip


class HistoryRow(NamedTuple):
    """One row: the name of a step, whether it is done, the last done, or undone, and its place."""

    text: str
    condition: Condition
    place: int


def history_rows(history: History) -> tuple[HistoryRow, ...]:
    """A row for where the kept history begins, then one for each step, oldest first."""
    at = history.position
    first = "Oldest kept state" if history.has_forgotten else "Start"
    names = (first, *history.texts)
    return tuple(
        HistoryRow(name, "now" if place == at else "done" if place < at else "undone", place)
        for place, name in enumerate(names)
    )


def _tooltip(row: HistoryRow) -> str:
    here = row.condition == "now"
    return f"{row.text}\n" + (_WORDS["now"] if here else "Click to return to this step")


_COLUMN: Column[HistoryRow] = Column(
    "step", "Steps, oldest first", lambda row: row.text, tooltip=_tooltip,
    spoken=lambda row: f"{row.text}, {_WORDS[row.condition]}",
    icon=lambda row: icons.icon(*_ICONS[row.condition]),
    colour=lambda row: "text3" if row.condition == "undone" else "text",
)  # fmt: skip


class HistoryPane(PaneFrame):
    """The steps of the open document, the one it stands at marked.

    Args:
        studio: the models of the window.
        parent: owner.
    """

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.setObjectName("history_pane")
        self._studio = studio
        self._document: Document | None = None
        self._heard: binding.Refresh
        self._rows: RecordModel[HistoryRow] = RecordModel((_COLUMN,), key=lambda row: row.place)
        self.view = RecordList(self._rows, "history_steps", "Steps, oldest first", self)
        self._set_up_view()
        self.set_body(self.view)
        self._nothing = EmptyState(
            "history", "No steps yet",
            "Every edit is listed here. Click a step to return to it.", parent=self,
        )  # fmt: skip
        self._heard = binding.refresh(self, self._show, theme.changed, rate=20, when_visible=True)
        binding.connect(self, studio.document_replaced, self._replaced)
        self._replaced(studio.document)

    def _set_up_view(self) -> None:
        self.view.setIconSize(QSize(14, 14))
        self.view.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.view.clicked.connect(self._go)
        self.view.installEventFilter(self)

    @property
    def rows(self) -> Sequence[HistoryRow]:
        return self._rows.rows

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if (
            watched is self.view
            and isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.KeyPress
            and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        ):
            self._go(self.view.currentIndex())
            return True
        return super().eventFilter(watched, event)

    def _replaced(self, document: Document) -> None:
        if self._document is not None:
            self._document.history.changed.disconnect(self._heard.hear)
        self._document = document
        document.history.changed.connect(self._heard.hear)
        self._show()

    def _show(self) -> None:
        history = self._studio.document.history
        rows = history_rows(history)
        self._rows.take(rows)
        count, at = len(rows) - 1, history.position
        self.set_note("" if not count else f"{at} of {count}" if at < count else f"{count}")
        self.show_empty(None if count else self._nothing)
        self.view.go_to(at)

    def _go(self, index: QModelIndex) -> None:
        row = self._rows.record(index.row())
        if row is not None and row.place != self._studio.document.history.position:
            self._studio.document.jump(row.place)
