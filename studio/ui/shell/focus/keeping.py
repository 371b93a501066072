"""Keeps the keyboard off the buttons that come next when what has it can have it no longer.

Qt hands the keyboard of a hidden or disabled widget to the next one in the window: after a change
of workspace, or at the end of a training, that would be *New project*, and the space bar would
press it. A window that comes to the front without anybody who had it gives it to its first button.
"""

from __future__ import annotations

import shiboken6
from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication, QWidget

from studio.ui.shell.docks.docks import Docks


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
        self._holder: QWidget | None = None
        window.installEventFilter(self)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._moved)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind is QEvent.Type.WindowActivate and watched is self._window:
            # Qt asks who has the keyboard after this.
            if self._window.focusWidget() is None:
                self._docks.focus_middle()
        elif kind is QEvent.Type.EnabledChange and watched is self._holder:
            self._changed(self._holder)
        return False

    def _changed(self, holder: QWidget) -> None:
        """Behind a dialog nothing is said of the keyboard's way, though it has been handed on."""
        if holder.isEnabled() or self._window.isActiveWindow():
            return
        heir = self._window.focusWidget()
        if heir is None or self._place(heir) is not self._place(holder):
            self._docks.focus_middle()

    def _moved(self, old: QWidget | None, new: QWidget | None) -> None:
        if new is not None and new.window() is self._window:
            self._hold(new)
        elif new is not None:
            return
        if self._lost is not None or old is None or not self._is_ours(old):
            return
        # One that nobody has after it may be going to be disabled: that shows a moment later.
        if new is None or (self._is_barred(old) and self._place(new) is not self._place(old)):
            self._lost = old
            # A pane may only be taken out and put in elsewhere, and others may want the keyboard.
            QTimer.singleShot(0, self, lambda: self._settle(new))

    def _hold(self, holder: QWidget) -> None:
        """Hear of the one that has the keyboard being disabled while another window is in front."""
        before, self._holder = self._holder, holder
        if before is not None and before is not self._window and shiboken6.isValid(before):
            before.removeEventFilter(self)
        if holder is not self._window:
            holder.installEventFilter(self)

    def _settle(self, heir: QWidget | None) -> None:
        lost, self._lost = self._lost, None
        if QApplication.focusWidget() is not heir:
            return
        can_have_it = lost is not None and shiboken6.isValid(lost) and not self._is_barred(lost)
        if heir is None and (can_have_it or not self._window.isActiveWindow()):
            return
        if lost is not None and can_have_it:
            lost.setFocus()
        else:
            self._docks.focus_middle()

    def _is_ours(self, widget: QWidget) -> bool:
        """Whether it stands in the window or in one of its panes, floating or not."""
        if not shiboken6.isValid(widget):
            return False
        return widget.window() is self._window or self._dock_of(widget) is not None

    def _is_barred(self, widget: QWidget) -> bool:
        """Whether it is disabled, or in a pane that is not in sight."""
        dock = self._dock_of(widget)
        return not widget.isEnabled() or (dock is not None and not dock.isVisible())

    def _dock_of(self, widget: QWidget) -> QWidget | None:
        docks = self._docks.all.values()
        return next((dock for dock in docks if dock.isAncestorOf(widget)), None)

    def _place(self, widget: QWidget) -> QWidget | None:
        """What stands in the window by itself and has the widget: a pane, or a part of a bar."""
        dock = self._dock_of(widget)
        if dock is not None:
            return dock
        above, parent = widget, widget.parentWidget()
        while parent is not None and parent.parentWidget() is not self._window:
            above, parent = parent, parent.parentWidget()
        return None if parent is None else above
