"""The log of the session: what happened when, and how much it matters."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QBoxLayout,
    QComboBox,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from studio.session.notices.logbook import LogFilter, LogLine, as_text
from studio.session.notices.notices import Severity
from studio.session.studio import Studio
from studio.ui.panes.log.actions import ACTIONS
from studio.ui.panes.log.lines import log_lines
from studio.widgets import binding, menus, theme
from studio.widgets.frames.empty_state import EmptyState
from studio.widgets.frames.frame import PaneFrame
from studio.widgets.labels.tool_button import tool_button
from studio.widgets.record_table.views import RecordList

_LEVELS: tuple[tuple[str, Severity], ...] = (
    ("Everything", "info"), ("Warnings", "warning"), ("Errors", "error"),
)  # fmt: skip
_SOURCES = ("All sources", "studio", "training", "compiler", "engine", "window")

_WIDE_FILTER = 360
"""From this width on the words have room beside the choices."""
_LEAST_FILTER = 176


class LogPane(PaneFrame):
    """The lines of the log, the latest at the bottom; details of the one in hand beside them."""

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.setObjectName("log_pane")
        self._log = studio.log
        self._actions = studio.actions
        self._filter = LogFilter()
        self._lines = log_lines()
        self._view = RecordList(self._lines, "log_lines", "Log", self)
        self._details = QPlainTextEdit(self)
        self._build()
        self._nothing = EmptyState(
            "log", "Nothing has happened yet",
            "Messages of the studio, training and the engine are listed here.", parent=self,
        )  # fmt: skip
        studio.actions.attach(ACTIONS, self)
        binding.refresh(self, self._show, self._log.changed, rate=10, when_visible=True)
        binding.connect(self, theme.changed, self._view.viewport().update)
        binding.connect(self, self._log.pointed, self._show_line)
        self._show()
        self._show_line()

    @property
    def view(self) -> RecordList:
        return self._view

    # -- building -------------------------------------------------------------------------------

    def _build(self) -> None:
        view = self._view
        view.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        view.customContextMenuRequested.connect(self._menu)
        view.selectionModel().selectionChanged.connect(self._show_details)
        view.installEventFilter(self)
        self._details.setObjectName("log_details")
        self._details.setAccessibleName("Details")
        self._details.setReadOnly(True)
        self._details.setFont(theme.font("mono"))
        self._details.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._details.hide()
        split = QSplitter(Qt.Orientation.Vertical, self)
        split.setChildrenCollapsible(False)
        split.addWidget(view)
        split.addWidget(self._details)
        split.setStretchFactor(0, 3)
        split.setStretchFactor(1, 2)
        body = QWidget(self)
        column = QVBoxLayout(body)
        column.setContentsMargins(8, 6, 8, 4)
        column.setSpacing(6)
        column.addWidget(self._filter_row())
        column.addWidget(split, 1)
        self.set_body(body)

    def _filter_row(self) -> _FilterRow:
        self._words = QLineEdit(self)
        self._words.setObjectName("log_filter")
        self._words.setAccessibleName("Filter the log")
        self._words.setPlaceholderText("Filter")
        self._words.setClearButtonEnabled(True)
        self._words.textChanged.connect(self._filter_changed)
        self._level = _choice("log_level", "Level", tuple(text for text, _ in _LEVELS), self)
        self._source = _choice("log_source", "Source", _SOURCES, self)
        boxes, buttons = (self._level, self._source), []
        for box in boxes:
            box.currentIndexChanged.connect(self._filter_changed)
        for action_id, icon in (("log.copy", "copy"), ("log.clear", "delete")):
            spec = self._actions[action_id]
            button = tool_button(icon, action_id, spec.tip, self, spec.text)
            button.clicked.connect(lambda _=False, each=action_id: self._actions.trigger(each))
            buttons.append(button)
        return _FilterRow(self._words, boxes, buttons, self)

    # -- showing --------------------------------------------------------------------------------

    def _show(self) -> None:
        bar = self._view.verticalScrollBar()
        # A view scrolled up for reading stays there.
        following = bar.value() >= bar.maximum() - theme.COMPACT_ROW
        shown = self._log.shown(self._filter)
        self._lines.take(shown)
        every = len(self._log.lines)
        self.set_note(f"{len(shown)} of {every}" if len(shown) != every else "")
        self.show_empty(None if every else self._nothing)
        if following:
            self._view.scrollToBottom()

    def _show_line(self) -> None:
        """Choose the line that was asked for, with its details; no filter may hide it."""
        line = self._log.pointed_at
        if line is None:
            return
        if not self._filter.passes(line):
            self._words.clear()
            self._level.setCurrentIndex(0)
            self._source.setCurrentIndex(0)
        self._show()
        self._view.go_to(self._lines.row_of(line.number))

    def _show_details(self) -> None:
        chosen = self.chosen_lines()
        details = chosen[0].details if len(chosen) == 1 else ""
        self._details.setVisible(bool(details))
        if details:
            self._details.setPlainText(details)

    def _filter_changed(self) -> None:
        self._filter.text = self._words.text()
        self._filter.least = _LEVELS[self._level.currentIndex()][1]
        source = self._source.currentText()
        self._filter.source = "" if source == _SOURCES[0] else source
        self._show()

    # -- copying --------------------------------------------------------------------------------

    def chosen_lines(self) -> tuple[LogLine, ...]:
        """The lines the user chose, oldest first."""
        places = sorted(index.row() for index in self._view.selectedIndexes())
        return tuple(self._lines.rows[place] for place in places)

    def copy(self) -> None:
        """Copy the lines chosen, or all that are shown."""
        lines = self.chosen_lines() or self._log.shown(self._filter)
        QGuiApplication.clipboard().setText(as_text(lines))

    def clear(self) -> None:
        """Forget every line."""
        self._log.clear()

    def why_empty(self) -> str:
        """Why there is nothing to copy; empty when there is."""
        return "" if self._log.lines else "the log is empty"

    def _menu(self, point: QPoint) -> None:
        menu = menus.menu_of(self._actions, ("log.copy", "log.clear"), self._view)
        menu.popup(self._view.viewport().mapToGlobal(point))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.KeyPress
            and event.matches(QKeySequence.StandardKey.Copy)
        ):
            self.copy()
            return True
        return super().eventFilter(watched, event)


def _choice(name: str, title: str, entries: tuple[str, ...], parent: QWidget) -> QComboBox:
    box = QComboBox(parent)
    box.setObjectName(name)
    box.setAccessibleName(title)
    box.setToolTip(title)
    box.addItems(list(entries))
    return box


class _FilterRow(QWidget):
    """Words, choices and buttons; in a narrow pane the choices stand below the words.

    Args:
        words: the field for words.
        choices: what is chosen from lists.
        buttons: what is done with the lines.
        parent: the pane.
    """

    def __init__(
        self,
        words: QLineEdit,
        choices: Sequence[QComboBox],
        buttons: Sequence[QWidget],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._choices = tuple(choices)
        self._is_wide = True
        self._upper, self._lower = QHBoxLayout(), QBoxLayout(QBoxLayout.Direction.LeftToRight)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(4)
        # It is this widget that says how narrow it may become, not what stands in it now.
        rows.setSizeConstraint(QVBoxLayout.SizeConstraint.SetNoConstraint)
        for row in (self._upper, self._lower):
            row.setSpacing(4)
            rows.addLayout(row)
        self._upper.addWidget(words, 1)
        for number, choice in enumerate(self._choices):
            self._upper.insertWidget(1 + number, choice)
        for button in buttons:
            self._upper.addWidget(button)

    @property
    def is_wide(self) -> bool:
        return self._is_wide

    def minimumSizeHint(self) -> QSize:
        return QSize(_LEAST_FILTER, self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_wide = event.size().width() >= _WIDE_FILTER
        if is_wide != self._is_wide:
            self._is_wide = is_wide
            self._arrange()
        way = QBoxLayout.Direction
        beside = sum(each.sizeHint().width() + 4 for each in self._choices) - 4
        wanted = way.LeftToRight if event.size().width() >= beside else way.TopToBottom
        if wanted != self._lower.direction():
            self._lower.setDirection(wanted)
            self.updateGeometry()

    def _arrange(self) -> None:
        """Move the choices; the order in which Tab goes through everything stays."""
        taken_from: QBoxLayout = self._lower if self._is_wide else self._upper
        for number, choice in enumerate(self._choices):
            taken_from.removeWidget(choice)
            if self._is_wide:
                self._upper.insertWidget(1 + number, choice)
            else:
                self._lower.addWidget(choice, 1)
        self.updateGeometry()
