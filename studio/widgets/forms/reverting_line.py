"""A line of text that goes back to what it showed with Esc."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit


class RevertingLine(QLineEdit):
    """A line edit; what was shown last is what Esc brings back."""

    _shown = ""

    def show_text(self, text: str) -> None:
        """Show a text set elsewhere."""
        self._shown = text
        if self.text() != text:
            self.setText(text)
            self.setCursorPosition(0)

    @property
    def is_changed(self) -> bool:
        """Whether something else than what was shown stands in it."""
        return self.text() != self._shown

    def revert(self) -> None:
        """Show again what was shown."""
        self.setText(self._shown)
        self.selectAll()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.is_changed:
            self.revert()
            return
        super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        # Esc belongs to the line while it holds something that can be taken back.
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() == Qt.Key.Key_Escape
            and self.is_changed
        ):
            event.accept()
            return True
        return super().event(event)
