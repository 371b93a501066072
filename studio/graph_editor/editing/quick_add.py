"""The search field that opens on the canvas: type, see what it would change, press Enter."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QLabel, QLineEdit, QVBoxLayout

from studio.engine.core.errors import StudioError
from studio.graph_editor.editing.choice_list import ChoiceList
from studio.graph_editor.editing.choosing import Chooser, effect_text
from studio.graph_editor.editing.context import CanvasContext
from studio.graph_editor.editing.text_keys import claim_keys
from studio.session.document.checks.validation import validate
from studio.widgets import theme

WIDTH = 340
_MOST_ROWS = 9
_MARGIN = 8


class QuickAddPopup(QFrame):
    """A field and a list over the canvas; the ghost of the current row is drawn on it.

    Attributes:
        ghost_shown: another ghost is drawn.

    Args:
        context: what it works with; its view is the parent.
    """

    ghost_shown = Signal()

    def __init__(self, context: CanvasContext) -> None:
        super().__init__(context.view)
        self.setObjectName("quick_add")
        self.setAccessibleName("Add a layer")
        self._context = context
        self._chooser: Chooser | None = None
        self._at = QPoint()
        self._clear = 0
        self.field = QLineEdit(self)
        self.field.setObjectName("quick_add_field")
        self.field.setAccessibleName("Search for a layer")
        self.field.setClearButtonEnabled(True)
        self.list = ChoiceList(self)
        self.remark = QLabel(self)
        self.remark.setObjectName("quick_add_remark")
        self.remark.setWordWrap(True)
        self.remark.setTextFormat(Qt.TextFormat.PlainText)
        column = QVBoxLayout(self)
        column.setContentsMargins(_MARGIN, _MARGIN, _MARGIN, _MARGIN)
        column.setSpacing(6)
        for widget in (self.field, self.list, self.remark):
            column.addWidget(widget)
        self.field.textChanged.connect(self._search)
        self.field.installEventFilter(self)
        self.list.selectionModel().currentChanged.connect(self._row_changed)
        self.list.clicked.connect(self._clicked)
        self.setFixedWidth(WIDTH)
        # A click beside the field must not give the focus to the canvas behind.
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setFocusProxy(self.field)
        self.hide()

    def open(self, chooser: Chooser, at: QPoint, clear: int = 0) -> None:
        """Ask what to choose, at a place of the canvas.

        Args:
            chooser: what it is for.
            at: where.
            clear: height below that place which stays in sight, for the ghost.
        """
        self._chooser = chooser
        self._at, self._clear = at, clear
        self.field.setPlaceholderText(chooser.prompt)
        with_signals = self.field.blockSignals(True)
        self.field.clear()
        self.field.blockSignals(with_signals)
        self._dress()
        self._search("")
        self.show()
        self.raise_()
        self.field.setFocus(Qt.FocusReason.PopupFocusReason)

    def keep_clear(self, bottom: int) -> None:
        """Do not cover the canvas above a height: a ghost is drawn there."""
        self._clear = max(self._clear, bottom + _MARGIN - self._at.y())
        self._fit()

    @property
    def is_open(self) -> bool:
        return self._chooser is not None

    def close_search(self) -> None:
        """Choose nothing."""
        if self._chooser is None:
            return
        self._chooser = None
        self._context.overlay.hide_ghost()
        had_focus = self.isAncestorOf(self.focusWidget() or self) or self.field.hasFocus()
        self.hide()
        parent = self.parentWidget()
        if had_focus and parent is not None:
            parent.setFocus(Qt.FocusReason.PopupFocusReason)

    def take(self) -> None:
        """Take the current row."""
        chooser, row = self._chooser, self.list.row
        if chooser is None:
            return
        self._context.overlay.hide_ghost()
        try:
            taken = chooser.take(max(row, 0))
        except StudioError as error:
            self._context.studio.fail(error)
            taken = True
        if taken:
            self.close_search()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is not self.field:
            return False
        left = event.type() == QEvent.Type.FocusOut and self._chooser is not None
        if left and self.window().focusWidget() is not self.field:
            self.close_search()
        claim_keys(event, self._context.studio.actions)
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            return self._key(event)
        return False

    def _key(self, event: QKeyEvent) -> bool:
        key = event.key()
        steps: dict[int, int] = {
            Qt.Key.Key_Down: 1, Qt.Key.Key_Tab: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_Backtab: -1,
            Qt.Key.Key_PageDown: _MOST_ROWS - 1, Qt.Key.Key_PageUp: 1 - _MOST_ROWS,
        }  # fmt: skip
        if key in steps:
            self.list.go_round(self.list.row + steps[key])
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.take()
        elif key == Qt.Key.Key_Escape:
            self.close_search()
        else:
            return False
        return True

    def _search(self, query: str) -> None:
        if self._chooser is None:
            return
        rows = self._chooser.search(query)
        self.list.entries.take(rows)
        self.list.setVisible(bool(rows))
        height = min(len(rows), _MOST_ROWS) * theme.ROW + 4
        self.list.setFixedHeight(height)
        if rows:
            self.list.go_round(0)
        else:
            self._show_outcome()
        self._fit()

    def _row_changed(self, _current: QModelIndex, _before: QModelIndex) -> None:
        self._show_outcome()

    def _clicked(self, index: QModelIndex) -> None:
        self.list.setCurrentIndex(index)
        self.take()

    def _show_outcome(self) -> None:
        """Draw the ghost of the current row and say what it would change."""
        chooser, document = self._chooser, self._context.document
        if chooser is None:
            return
        after = chooser.outcome(self.list.row)
        remark, wrong = chooser.remark(), True
        if after is None:
            self._context.overlay.hide_ghost()
        else:
            report = validate(after, document.data_facts)
            self._context.overlay.show_ghost(document.state, after, report)
            self.ghost_shown.emit()
        if not remark:
            rows, row = self.list.entries.rows, self.list.row
            effect = effect_text(document.state, after) if after is not None else ""
            doc = rows[row].doc if 0 <= row < len(rows) else ""
            remark, wrong = "\n".join(part for part in (effect, doc) if part), False
        self.remark.setText(remark)
        self.remark.setVisible(bool(remark))
        role = "error" if wrong else "text2"
        self.remark.setStyleSheet(f"color: {theme.colour(role).name()};")
        self._fit()

    def _fit(self) -> None:
        """Stay inside the canvas: below what is to stay in sight, or above it."""
        parent = self.parentWidget()
        if parent is None:
            return
        room = parent.rect()
        self.setFixedWidth(min(WIDTH, room.width() - 8))
        self.adjustSize()
        left = max(4, min(self._at.x(), room.width() - self.width() - 4))
        top = self._at.y() + self._clear
        if top + self._tallest() > room.height() and self._clear:
            above = self._at.y() - self.height() - 3 * _MARGIN
            top = above if above >= 4 else top
        self.move(left, max(4, min(top, room.height() - self.height() - 4)))

    def _tallest(self) -> int:
        """Height with a full list, so that typing does not make it change sides."""
        rows = _MOST_ROWS * theme.ROW
        return self.height() - self.list.isVisibleTo(self) * self.list.height() + rows

    def _dress(self) -> None:
        field, outline = theme.colour("dock").name(), theme.colour("outline").name()
        self.setStyleSheet(
            f"QFrame#quick_add {{ background: {field}; border: 1px solid {outline};"
            " border-radius: 8px; }"
        )
        self.remark.setFont(theme.font("small"))
