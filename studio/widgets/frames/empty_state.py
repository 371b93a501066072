"""What a pane shows while it has nothing to show: picture, sentence, explanation, one action."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from studio.engine.core.signal import Signal
from studio.widgets import binding, icons, theme

_PICTURE = 40
_TALL_ENOUGH = 220
_MARGIN, _GAP = 16, 8


class EmptyState(QWidget):
    """Says that there is nothing yet, why, and how to get something.

    Args:
        icon: name of the picture.
        sentence: what is missing: "No run yet".
        explanation: one line more: where it would come from.
        action: words on the button and what it does.
        parent: the pane.
    """

    def __init__(
        self,
        icon: str,
        sentence: str,
        explanation: str = "",
        action: tuple[str, Callable[[], object]] | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setAccessibleName(sentence)
        self._picture = Picture(icon, self)
        self._sentence = QLabel(self)
        self._sentence.setFont(theme.font("title"))
        self._explanation = QLabel(self)
        self._explanation.setProperty("role", "soft")
        self._button = QPushButton(self)
        self._button.setObjectName("empty_action")
        self._act: Callable[[], object] | None = None
        self._button.clicked.connect(self._clicked)
        column = QVBoxLayout(self)
        column.setContentsMargins(_MARGIN, _GAP, _MARGIN, _GAP)
        column.setSpacing(_GAP)
        column.addStretch(2)
        column.addWidget(self._picture, 0, Qt.AlignmentFlag.AlignHCenter)
        for label in (self._sentence, self._explanation):
            label.setWordWrap(True)
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            column.addWidget(label)
        column.addWidget(self._button, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(3)
        self.say(sentence, explanation, action)

    def say(
        self,
        sentence: str,
        explanation: str = "",
        action: tuple[str, Callable[[], object]] | None = None,
    ) -> None:
        """Say something else."""
        self.setAccessibleName(sentence)
        self._sentence.setText(sentence)
        self._explanation.setText(explanation)
        self._button.setVisible(action is not None)
        if action is not None:
            self._button.setText(action[0])
            self._act = action[1]
        self._fit()

    def minimumSizeHint(self) -> QSize:
        return QSize(96, 72)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Where there is little room the picture goes, then the explanation: no line is cut."""
        width = self.width() - 2 * _MARGIN
        room = self.height() - 2 * _GAP - self._sentence.heightForWidth(width)
        if not self._button.isHidden():
            room -= self._button.sizeHint().height() + _GAP
        text = self._explanation.text()
        room -= self._explanation.heightForWidth(width) + _GAP if text else 0
        self._explanation.setVisible(bool(text) and room >= 0)
        self.setToolTip(text if room < 0 else "")
        tall = self.height() >= _TALL_ENOUGH and room >= self._picture.height() + _GAP
        self._picture.setVisible(tall)

    def _clicked(self) -> None:
        if self._act is not None:
            self._act()


class Picture(QWidget):
    """A large faint icon on a disc."""

    def __init__(self, icon: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icon = icon
        self.setFixedSize(_PICTURE * 2, _PICTURE * 2)
        changed: Signal[[]] = theme.changed
        binding.connect(self, changed, self.update)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.colour("hairline"), 1))
        painter.setBrush(theme.mixed("field", "dock", 0.6))
        middle = QPointF(self.width() / 2, self.height() / 2)
        painter.drawEllipse(middle, _PICTURE - 1, _PICTURE - 1)
        side = _PICTURE * 0.9
        rect = QRectF(middle.x() - side / 2, middle.y() - side / 2, side, side)
        icons.paint(painter, self._icon, rect, theme.colour("text3"))
        painter.end()
