"""What the log is filtered by: in one line where there is room, else in two or three."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QComboBox, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

_WIDE = 360
"""From this width on the words have room beside the choices."""

_LEAST = 176


class FilterRow(QWidget):
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
        """Whether everything stands in one line."""
        return self._is_wide

    def minimumSizeHint(self) -> QSize:
        return QSize(_LEAST, self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_wide = event.size().width() >= _WIDE
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
