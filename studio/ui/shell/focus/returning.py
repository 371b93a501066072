"""Gives the keyboard back to the window a dialog stood in front of, when that dialog closes.

Window managers do so, most of them; where none does, keys would go nowhere until the next click.
"""

from __future__ import annotations

import shiboken6
from PySide6.QtCore import QChildEvent, QEvent, QObject, QTimer
from PySide6.QtWidgets import QDialog, QDockWidget, QWidget


class FocusReturn(QObject):
    """Watches dialogs and floating panes, as long as the main window lives.

    Args:
        window: the main window.
    """

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._behind: QWidget | None = None
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind is QEvent.Type.ChildPolished and isinstance(event, QChildEvent):
            if isinstance(event.child(), QDialog | QDockWidget):
                event.child().installEventFilter(self)
        elif kind is QEvent.Type.WindowDeactivate and isinstance(watched, QWidget):
            above = watched.parentWidget()
            # One that is not being closed has lost the keyboard to another window, which keeps it.
            if above is not None and watched.isWindow() and watched.isHidden():
                self._behind = above.window()
                QTimer.singleShot(0, self, self._give_back)
        return False

    def _give_back(self) -> None:
        behind, self._behind = self._behind, None
        if behind is None or not shiboken6.isValid(behind):
            return
        if behind.isVisible() and not behind.isActiveWindow():
            behind.activateWindow()
