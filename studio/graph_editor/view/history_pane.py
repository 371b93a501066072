"""The history: every step of the document by name; a click goes to where that step was made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSize,
    Qt,
)
from PySide6.QtGui import QBrush, QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QListView, QWidget

from studio.graph_editor.model.document import Document
from studio.graph_editor.model.history import History
from studio.ui.kit import binding, contexts, icons, theme
from studio.ui.kit.empty_state import EmptyState
from studio.ui.kit.frame import PaneFrame
from studio.ui.models.studio import Studio

Index: TypeAlias = "QModelIndex | QPersistentModelIndex"
Condition: TypeAlias = Literal["done", "now", "undone"]

_NONE = QModelIndex()
_PLACE = Qt.ItemDataRole.UserRole
_ICONS: dict[Condition, tuple[str, str]] = {
    "done": ("check", "text3"), "now": ("chevron-right", "accent"), "undone": ("redo", "text3"),
}  # fmt: skip
_WORDS: dict[Condition, str] = {
    "done": "done", "now": "the document as it is now", "undone": "undone",
}  # fmt: skip


class HistoryRow(NamedTuple):
    """One row: the name of a step, and whether it is done, the last done, or undone."""

    text: str
    condition: Condition


def history_rows(history: History) -> tuple[HistoryRow, ...]:
    """A row for where the kept history begins, then one for each step, oldest first."""
    at = history.position
    first = "Oldest state kept" if history.has_forgotten else "Beginning"
    names = (first, *history.texts)
    return tuple(
        HistoryRow(name, "now" if place == at else "done" if place < at else "undone")
        for place, name in enumerate(names)
    )


class HistoryRows(QAbstractListModel):
    """The steps as a list view wants them."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: tuple[HistoryRow, ...] = ()

    @property
    def rows(self) -> tuple[HistoryRow, ...]:
        """What is shown."""
        return self._rows

    def show_rows(self, rows: Sequence[HistoryRow]) -> None:
        """Show these rows; the view keeps its place where only their condition changed."""
        found, before = tuple(rows), self._rows
        if len(found) == len(before):
            self._rows = found
            self.dataChanged.emit(self.index(0), self.index(len(found) - 1))
            return
        self.beginResetModel()
        self._rows = found
        self.endResetModel()

    def rowCount(self, parent: Index = _NONE) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return row.text
        if role == Qt.ItemDataRole.DecorationRole:
            return icons.icon(*_ICONS[row.condition])
        if role == Qt.ItemDataRole.ForegroundRole:
            return QBrush(theme.colour("text3" if row.condition == "undone" else "text"))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{row.text}, {_WORDS[row.condition]}"
        if role == Qt.ItemDataRole.ToolTipRole:
            here = row.condition == "now"
            return f"{row.text}\n" + (_WORDS["now"] if here else "Click to go there")
        if role == _PLACE:
            return index.row()
        return None


class HistoryPane(PaneFrame):
    """The steps of the open document, the one it stands at marked.

    Args:
        studio: the models of the window.
        parent: owner.
    """

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__("History", "history", parent=parent)
        self.setObjectName("history_pane")
        self._studio = studio
        self._document: Document | None = None
        self._heard: binding.Refresh
        self._rows = HistoryRows()
        self.view = QListView(self)
        self._set_up_view()
        self.set_body(self.view)
        self._nothing = EmptyState(
            "history", "No steps yet",
            "Every edit becomes a step here; a click on one goes back to it.", parent=self,
        )  # fmt: skip
        self._heard = binding.refresh(self, self._show, theme.changed, rate=20, when_visible=True)
        binding.connect(self, studio.document_replaced, self._replaced)
        self._replaced(studio.document)

    def _set_up_view(self) -> None:
        view = self.view
        view.setObjectName("history_steps")
        view.setAccessibleName("Steps, oldest first")
        view.setModel(self._rows)
        view.setUniformItemSizes(True)
        view.setIconSize(QSize(14, 14))
        view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        view.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        view.clicked.connect(self._go)
        view.installEventFilter(self)
        contexts.register("table", view)

    @property
    def rows(self) -> tuple[HistoryRow, ...]:
        """What is listed."""
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
        self._rows.show_rows(rows)
        count, at = len(rows) - 1, history.position
        self.set_note("" if not count else f"{at} of {count}" if at < count else f"{count}")
        self.show_empty(None if count else self._nothing)
        now = self._rows.index(at)
        self.view.setCurrentIndex(now)
        self.view.scrollTo(now)

    def _go(self, index: QModelIndex) -> None:
        place = index.data(_PLACE)
        if isinstance(place, int) and place != self._studio.document.history.position:
            self._studio.document.jump(place)
