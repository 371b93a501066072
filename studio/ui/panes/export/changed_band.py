"""A band that says the weights belong to another graph than the one on the canvas."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from studio.widgets import icons, theme

_MOST = 4


class ChangedBand(QWidget):
    """Names what was changed since the training; hidden while nothing was.

    Args:
        parent: the dialog.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("changed_band")
        self._sign = QLabel(self)
        self._sign.setFixedSize(16, 16)
        self.text = QLabel(self)
        self.text.setObjectName("changed_text")
        self.text.setWordWrap(True)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 8, 12, 8)
        row.setSpacing(8)
        row.addWidget(self._sign, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.text, 1)
        self.hide()

    def show_changes(self, changes: Sequence[str]) -> None:
        """Name these changes."""
        self.setVisible(bool(changes))
        if not changes:
            return
        more = f" and {len(changes) - _MOST} more" if len(changes) > _MOST else ""
        self.text.setText(
            f"The project was changed since it was trained: {', '.join(changes[:_MOST])}{more}. "
            "What is exported is the network as it was trained."
        )
        self.setAccessibleName(self.text.text())
        self._sign.setPixmap(icons.icon("warning", "warning").pixmap(QSize(16, 16)))

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.mixed("warning", "dock", 0.5), 1))
        painter.setBrush(theme.mixed("warning", "dock", 0.12))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
        painter.end()
