"""Remarks about the data, one line each behind a sign."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from studio.widgets import icons, theme


class Remarks(QWidget):
    """What loaders decided and what may be worth changing.

    Args:
        parent: the widget it stands in.
    """

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
        """What is said."""
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
