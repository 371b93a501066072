"""A button that gives way to a narrow pane: words that do not fit are cut, and whole in its tip."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QWidget

_PADDING = 40
_LEAST = 64


class ElidedButton(QPushButton):
    """A button as narrow as its place, its words at the left.

    Args:
        text: what it does.
        tip: more about it; its tip also has the whole text.
        parent: the widget it stands in.
        mode: where words that do not fit are cut; in the middle for names that differ at the end.
    """

    def __init__(
        self,
        text: str,
        tip: str = "",
        parent: QWidget | None = None,
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        super().__init__(parent)
        self._mode = mode
        self._whole, self._tip = "", tip
        self.setAccessibleDescription(tip)
        self.setStyleSheet("text-align: left; padding-left: 8px; padding-right: 8px;")
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.set_text(text)

    def set_text(self, text: str) -> None:
        """Show another text, in the tip too."""
        self._whole = text
        self.setAccessibleName(text)
        self.setToolTip(f"{text}\n{self._tip}" if self._tip else text)
        self._cut()

    @property
    def whole(self) -> str:
        return self._whole

    def minimumSizeHint(self) -> QSize:
        return QSize(_LEAST, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._cut()

    def _cut(self) -> None:
        room = max(0, self.width() - _PADDING)
        shown = self.fontMetrics().elidedText(self._whole, self._mode, room)
        # Ampersands are shown, not taken for the mark of a key.
        self.setText(shown.replace("&", "&&"))
