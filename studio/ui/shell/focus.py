"""Where the keyboard focus goes by itself, where Tab takes it, and what Enter does there."""

from __future__ import annotations

import shiboken6
from PySide6.QtCore import QChildEvent, QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QCheckBox,
    QDialog,
    QDockWidget,
    QRadioButton,
    QWidget,
)

from studio.ui.shell.docks.docks import Docks


class FocusKeeping(QObject):
    """Gives the focus to the canvas when the widget that had it is hidden or disabled.

    Qt gives it to the next widget in the window: after a change of workspace, or at the end of a
    training, that would be *New project*, and the space bar would press it. A window that is
    activated while no widget has the focus would give it to its first button.

    Args:
        docks: whose panes are hidden.
        window: the main window.
    """

    def __init__(self, docks: Docks, window: QWidget) -> None:
        super().__init__(window)
        self._docks = docks
        self._window = window
        self._lost: QWidget | None = None
        self._successor: QWidget | None = None
        self._holder: QWidget | None = None
        window.installEventFilter(self)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._moved)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind is QEvent.Type.WindowActivate and watched is self._window:
            # Qt looks for the focus widget after this event.
            if self._window.focusWidget() is None:
                self._docks.focus_middle()
        elif kind is QEvent.Type.EnabledChange and watched is self._holder:
            self._changed(self._holder)
        return False

    def _changed(self, holder: QWidget) -> None:
        """The widget with the focus was disabled; behind a dialog Qt emits no signal for that."""
        if holder.isEnabled() or self._window.isActiveWindow():
            return
        successor = self._window.focusWidget()
        if successor is None or self._place(successor) is not self._place(holder):
            self._docks.focus_middle()

    def _moved(self, old: QWidget | None, new: QWidget | None) -> None:
        if new is not None and new.window() is self._window:
            self._hold(new)
        elif new is not None:
            return
        if self._lost is not None and self._goes_on(old, new):
            self._successor = new
        if self._lost is not None or old is None or not self._is_ours(old):
            return
        # Without a new focus widget, the old one may be about to be disabled.
        if new is None or (self._is_barred(old) and self._place(new) is not self._place(old)):
            self._lost, self._successor = old, new
            # The pane may only be moved, or another widget may take the focus in this turn.
            QTimer.singleShot(0, self, self._settle)

    def _hold(self, holder: QWidget) -> None:
        """Watch the widget with the focus: it can be disabled while another window is active."""
        before, self._holder = self._holder, holder
        if before is not None and before is not self._window and shiboken6.isValid(before):
            before.removeEventFilter(self)
        if holder is not self._window:
            holder.installEventFilter(self)

    def _goes_on(self, old: QWidget | None, new: QWidget | None) -> bool:
        """Whether Qt goes on inside the pane it came to: from a page that is being turned."""
        if old is None or new is None or old is not self._successor or not shiboken6.isValid(old):
            return False
        return self._place(new) is self._place(old)

    def _settle(self) -> None:
        lost, self._lost = self._lost, None
        successor, self._successor = self._successor, None
        if QApplication.focusWidget() is not successor:
            return
        can_have_it = lost is not None and shiboken6.isValid(lost) and not self._is_barred(lost)
        if successor is None and (can_have_it or not self._window.isActiveWindow()):
            return
        if lost is not None and can_have_it:
            lost.setFocus()
        else:
            self._docks.focus_middle()

    def _is_ours(self, widget: QWidget) -> bool:
        """Whether it is in the window or in one of its panes, floating or not."""
        if not shiboken6.isValid(widget):
            return False
        return widget.window() is self._window or self._dock_of(widget) is not None

    def _is_barred(self, widget: QWidget) -> bool:
        """Whether it is disabled or in a hidden pane."""
        dock = self._dock_of(widget)
        return not widget.isEnabled() or (dock is not None and not dock.isVisible())

    def _dock_of(self, widget: QWidget) -> QWidget | None:
        docks = self._docks.all.values()
        return next((dock for dock in docks if dock.isAncestorOf(widget)), None)

    def _place(self, widget: QWidget) -> QWidget | None:
        """The pane the widget is in, or the outermost part of a bar."""
        dock = self._dock_of(widget)
        if dock is not None:
            return dock
        above, parent = widget, widget.parentWidget()
        while parent is not None and parent.parentWidget() is not self._window:
            above, parent = parent, parent.parentWidget()
        return None if parent is None else above


class FocusReturn(QObject):
    """Activates the window behind a dialog or floating pane that closes.

    Most window managers do so; without one that does, keys would reach no window until a click.
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
            # A window that was not closed lost the focus to another window, which keeps it.
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


_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_PLAIN = (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)


class EnterPresses(QObject):
    """Lets Enter press the button or card that has the focus, as the space bar does.

    By itself Qt leaves Enter to the default button of a dialog, whichever has the focus, and to
    none in a window.
    """

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._button: QWidget | None = None
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._moved)

    def eventFilter(self, button: QObject, event: QEvent) -> bool:
        if not isinstance(event, QKeyEvent) or event.key() not in _ENTER:
            return False
        if event.modifiers() not in _PLAIN:
            return False
        if event.type() is QEvent.Type.ShortcutOverride:
            event.accept()
        elif not event.isAutoRepeat():
            none = Qt.KeyboardModifier.NoModifier
            QApplication.sendEvent(button, QKeyEvent(event.type(), Qt.Key.Key_Space, none, " "))
        return True

    def _moved(self, _old: QWidget | None, new: QWidget | None) -> None:
        before, self._button = self._button, None
        if before is not None and shiboken6.isValid(before):
            before.removeEventFilter(self)
        if isinstance(new, QAbstractButton) and not isinstance(new, QCheckBox | QRadioButton):
            self._button = new
            new.installEventFilter(self)
