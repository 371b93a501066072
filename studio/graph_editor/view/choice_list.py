"""The list under a search field on the canvas: icon, name, port, shape in each row."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRectF,
    QSize,
    Qt,
)
from PySide6.QtGui import QFontMetricsF, QPainter
from PySide6.QtWidgets import (
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from studio.graph_editor.view.choosing import Choice
from studio.ui.kit import icons, theme

_CHOICE = Qt.ItemDataRole.UserRole
_PAD = 8.0
_ICON = 16.0

Index = QModelIndex | QPersistentModelIndex


class ChoiceModel(QAbstractListModel):
    """The rows that were found."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: Sequence[Choice] = ()

    def show_rows(self, rows: Sequence[Choice]) -> None:
        """Show other rows."""
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        choice = self.rows[index.row()]
        if role == _CHOICE:
            return choice
        if role == Qt.ItemDataRole.DisplayRole:
            return choice.title
        if role == Qt.ItemDataRole.ToolTipRole:
            return choice.doc
        if role == Qt.ItemDataRole.AccessibleTextRole:
            parts = (choice.title, choice.port, choice.shape and f"output {choice.shape}")
            return ", ".join(part for part in parts if part)
        return None


class ChoiceDelegate(QStyledItemDelegate):
    """Paints a row."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(120, theme.ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        choice: Choice = index.data(_CHOICE)
        area = QRectF(option.rect)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._ground(painter, option, area)
        middle = area.center().y()
        icon = QRectF(area.left() + _PAD, middle - _ICON / 2, _ICON, _ICON)
        icons.paint(
            painter, f"family-{choice.family}", icon, theme.colour(f"family.{choice.family}")
        )
        left = icon.right() + _PAD
        flags = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
        right = area.right() - _PAD
        if choice.shape:
            painter.setFont(theme.font("numbers"))
            painter.setPen(theme.colour("text2"))
            width = QFontMetricsF(painter.font()).horizontalAdvance(choice.shape)
            place = QRectF(right - width, area.top(), width + 1, area.height())
            painter.drawText(place, flags, choice.shape)
            right -= width + _PAD
        painter.setFont(theme.font("ui"))
        painter.setPen(theme.colour("text"))
        metrics = QFontMetricsF(painter.font())
        title = metrics.elidedText(choice.title, Qt.TextElideMode.ElideRight, right - left)
        painter.drawText(QRectF(left, area.top(), right - left, area.height()), flags, title)
        left += metrics.horizontalAdvance(title) + _PAD
        if choice.port and left < right - 24:
            painter.setFont(theme.font("small"))
            painter.setPen(theme.colour("text3"))
            port = QFontMetricsF(painter.font()).elidedText(
                choice.port, Qt.TextElideMode.ElideRight, right - left
            )
            painter.drawText(QRectF(left, area.top(), right - left, area.height()), flags, port)
        painter.restore()

    def _ground(self, painter: QPainter, option: QStyleOptionViewItem, area: QRectF) -> None:
        state = option.state
        if state & QStyle.StateFlag.State_Selected:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.mixed("accent", "dock", 0.24))
            painter.drawRoundedRect(area.adjusted(2, 1, -2, -1), 4, 4)


class ChoiceList(QListView):
    """The list; its current row is what Enter takes."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("choice_list")
        self.setAccessibleName("Layers found")
        self.choices = ChoiceModel(self)
        self.setModel(self.choices)
        self.setItemDelegate(ChoiceDelegate(self))
        self.setUniformItemSizes(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMouseTracking(True)

    @property
    def row(self) -> int:
        """The current row; -1 for none."""
        return self.currentIndex().row()

    def go_to(self, row: int) -> None:
        """Make a row the current one, going round at the ends."""
        count = len(self.choices.rows)
        if count:
            self.setCurrentIndex(self.choices.index(row % count))
            self.scrollTo(self.currentIndex())
