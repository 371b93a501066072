"""A remark on a tinted ground, as wide as what it stands in."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from studio.widgets import binding, icons, theme
from studio.widgets.labels.elided_button import ElidedButton


class Banner(QWidget):
    """A sign, a sentence, and a button below where there is something to do about it.

    Args:
        role: ``warning`` or ``error``.
        name: object name of the text.
        parent: the widget it stands in.
        margins: to the left and right, and above and below.
    """

    def __init__(
        self, role: str, name: str, parent: QWidget, margins: tuple[int, int] = (8, 8)
    ) -> None:
        super().__init__(parent)
        self._role = role
        self._act: Callable[[], object] | None = None
        self._sign = QLabel(self)
        self._sign.setFixedSize(QSize(16, 16))
        self.text = QLabel(self)
        self.text.setObjectName(name)
        self.text.setTextFormat(Qt.TextFormat.PlainText)
        self.text.setWordWrap(True)
        self.button: ElidedButton | None = None
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self._sign, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.text, 1)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(*margins, *margins)
        self._column.setSpacing(8)
        self._column.addLayout(row)
        binding.connect(self, theme.changed, self._recolour)
        self._recolour()
        self.hide()

    def say(self, text: str, action: str = "", act: Callable[[], object] | None = None) -> None:
        """Show a remark and what can be done about it; an empty text hides the banner."""
        self.text.setText(text)
        self.setAccessibleName(text)
        self._act = act
        if action and (self.button is None or self.button.whole != action):
            if self.button is not None:
                self._column.removeWidget(self.button)
                self.button.deleteLater()
            self.button = ElidedButton(action, "", self)
            self.button.setObjectName("banner_action")
            self.button.clicked.connect(self._clicked)
            self._column.addWidget(self.button)
        self.setVisible(bool(text))

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.mixed(self._role, "dock", 0.5), 1))
        painter.setBrush(theme.mixed(self._role, "dock", 0.12))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        painter.end()

    def _recolour(self) -> None:
        self._sign.setPixmap(icons.icon(self._role, self._role).pixmap(QSize(16, 16)))
        self.update()

    def _clicked(self) -> None:
        if self._act is not None:
            self._act()
