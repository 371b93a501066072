"""Keeps the keyboard off the buttons that come next when the pane that has it goes away.

Qt hands the keyboard of a hidden widget to the next one in the window: after a change of workspace
that would be *New project*, and the space bar would press it.
"""

from __future__ import annotations

import shiboken6
from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QApplication, QWidget

from studio.ui.shell.docks import Docks


class FocusKeeping(QObject):
    """Watches the keyboard, as long as the window lives.

    Args:
        docks: whose panes go away.
        window: what they stand in.
    """

    def __init__(self, docks: Docks, window: QWidget) -> None:
        super().__init__(window)
        self._docks = docks
        self._window = window
        self._lost: QWidget | None = None
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._moved)

    def _moved(self, old: QWidget | None, new: QWidget | None) -> None:
        if self._lost is not None or old is None or new is None:
            return
        if new.window() is not self._window or not shiboken6.isValid(old) or old.isVisible():
            return
        docks = self._docks.all.values()
        if any(dock.isAncestorOf(old) and not dock.isVisible() for dock in docks):
            self._lost = old
            # A pane may only be taken out and put in elsewhere, and others may want the keyboard.
            QTimer.singleShot(0, self, lambda: self._settle(new))

    def _settle(self, heir: QWidget) -> None:
        lost, self._lost = self._lost, None
        if QApplication.focusWidget() is not heir:
            return
        if lost is not None and shiboken6.isValid(lost) and lost.isVisible():
            lost.setFocus()
        else:
            self._docks.focus_middle()
