"""One dock: a pane that is made when it is first seen, under a header with buttons."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress

import shiboken6
from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QApplication, QDockWidget, QFrame, QMainWindow, QVBoxLayout, QWidget

from studio.engine.core.errors import in_one_line
from studio.session.core.tasks import TaskHandle
from studio.session.studio import Studio
from studio.ui.shell.docks.panes import PaneSpec
from studio.widgets.frames.empty_state import EmptyState
from studio.widgets.frames.frame import FrameHeader, PaneFrame

_LOG = logging.getLogger(__name__)

LEAST = QSize(200, 96)
"""A dock can always be made this small."""

_DIRECT = Qt.FindChildOption.FindDirectChildrenOnly

NAME = "dock."
"""Object names of docks begin with this, the pane's id follows."""


class Dock(QDockWidget):
    """The place of one pane in the window.

    Args:
        spec: which pane.
        make: makes it, within the widget given.
        window: the main window.
    """

    maximise_wanted = Signal(object)
    made = Signal(object)

    def __init__(
        self, spec: PaneSpec, make: Callable[[QWidget], QWidget], window: QMainWindow
    ) -> None:
        super().__init__(spec.title, window)
        self.spec = spec
        self._make = make
        self._pane: QWidget | None = None
        self._header: FrameHeader | None = None
        self.setObjectName(NAME + spec.id)
        self.setAccessibleName(spec.title)
        self.setAllowedAreas(Qt.DockWidgetArea.AllDockWidgetAreas)
        self._frame = QFrame(self)
        self._frame.setObjectName("dock_body")
        column = QVBoxLayout(self._frame)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        # A pane may wish for more, but no pane may keep the window from fitting its screen.
        self._frame.setMinimumSize(LEAST)
        self.setWidget(self._frame)
        self._set_header(None)
        self.topLevelChanged.connect(lambda _on: self.show_tabbed())
        self.dockLocationChanged.connect(lambda _area: self.show_tabbed())
        self.visibilityChanged.connect(lambda _on: self.show_tabbed())

    @property
    def pane(self) -> QWidget | None:
        return self._pane

    @property
    def header(self) -> FrameHeader | None:
        return self._header

    def ensure(self) -> QWidget:
        """Make the pane if it is not there yet; one that fails says so in its place."""
        if self._pane is None:
            try:
                self._pane = self._make(self._frame)
                self._pane.setAccessibleName(self.spec.title)
            except Exception as error:
                _LOG.exception("the pane %s could not be made", self.spec.title)
                for begun in self._frame.findChildren(QWidget, options=_DIRECT):
                    begun.deleteLater()
                self._pane = EmptyState(
                    "error",
                    f"{self.spec.title} cannot be shown",
                    in_one_line(error),
                    ("Try again", self._retry),
                )
            layout = self._frame.layout()
            if layout is not None:
                layout.addWidget(self._pane)
            self._frame.setFocusProxy(self._pane)
            self._set_header(self._pane)
            self.made.emit(self)
        return self._pane

    def give_focus(self) -> None:
        """Show the pane in front and give it the keyboard."""
        self.ensure()
        self.show()
        self.raise_()
        if self.isFloating():
            self.activateWindow()
        target = self._pane
        while target is not None and target.focusProxy() is not None:
            target = target.focusProxy()
        if target is not None and target.focusPolicy() is Qt.FocusPolicy.NoFocus:
            target = first_focusable(target) or target
        if target is not None:
            target.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def mark(self) -> None:
        """Show that keys brought the keyboard here, until it leaves."""
        application = QApplication.instance()
        if self._header is None or self._header.is_marked:
            return
        if isinstance(application, QApplication):
            self._header.mark(True)
            application.focusChanged.connect(self._keyboard_moved)

    def _keyboard_moved(self) -> None:
        application = QApplication.instance()
        # Of another window, or of none, it comes back to where it was.
        elsewhere = QApplication.focusWidget() is None or not self.window().isActiveWindow()
        if elsewhere or self.has_focus() or not isinstance(application, QApplication):
            return
        if self._header is not None:
            self._header.mark(False)
        application.focusChanged.disconnect(self._keyboard_moved)

    def has_focus(self) -> bool:
        """Whether the keyboard is in this dock."""
        focused = QApplication.focusWidget()
        return focused is not None and (focused is self or self.isAncestorOf(focused))

    def show_tabbed(self) -> None:
        """Leave the title out of the header while a tab above it says the same."""
        window = self.parentWidget()
        if self._header is not None and isinstance(window, QMainWindow):
            # A closed or floating dock keeps its place among the tabs, and shows none.
            others = [d for d in window.tabifiedDockWidgets(self) if not d.isFloating()]
            tabbed = not self.isFloating() and any(not other.isHidden() for other in others)
            self._header.show_title(not tabbed)

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() is QEvent.Type.Show and self.isFloating():
            # Without a frame of the window system the outline is ours.
            self._frame.setFrameShape(QFrame.Shape.Box)
        return done

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._header and event.type() is QEvent.Type.MouseButtonDblClick:
            self.maximise_wanted.emit(self)
            return True
        return False

    def _retry(self) -> None:
        pane, self._pane = self._pane, None
        if pane is not None:
            pane.hide()
            pane.deleteLater()
        self.ensure()

    def _set_header(self, pane: QWidget | None) -> None:
        frame = pane if isinstance(pane, PaneFrame) else None
        header = FrameHeader(frame, self.spec.title, self.spec.icon, self)
        for icon, tip, name, act in (
            ("maximise", "Maximise or restore", "maximise", self._maximise),
            ("float", "Float or dock", "float", self._float),
            ("close", "Close", "close", self.close),
        ):
            button = header.add_button(icon, tip, name)
            button.clicked.connect(act)
        header.installEventFilter(self)
        old, self._header = self._header, header
        self.setTitleBarWidget(header)
        if old is not None:
            old.deleteLater()
        self.show_tabbed()

    def _maximise(self) -> None:
        self.maximise_wanted.emit(self)

    def _float(self) -> None:
        self.setFloating(not self.isFloating())
        self.raise_()


class PaneMaker(QObject):
    """Makes the panes of docks that come in sight, one in each turn of the loop.

    Args:
        studio: runs what is done in the background.
        parent: owner in Qt.
    """

    def __init__(self, studio: Studio, parent: QObject) -> None:
        super().__init__(parent)
        self._studio = studio
        self._loading = False
        self._loaded: set[str] = set()
        self._may_make = False
        self._wanted: list[Dock] = []

    def begin(self) -> None:
        """The window has been painted: make what was wanted until now."""
        self._may_make = True
        self._make_next()

    @property
    def is_making(self) -> bool:
        """Whether a pane in sight is still to be made."""
        return bool(self._wanted)

    def want(self, dock: Dock) -> None:
        """Make the pane of this dock soon."""
        if dock not in self._wanted:
            self._wanted.append(dock)
            if self._may_make:
                QTimer.singleShot(0, self, self._make_next)

    def _make_next(self) -> None:
        while self._wanted and not self._loading:
            dock = self._wanted[0]
            if dock.isVisible() and dock.pane is None and dock.spec.path not in self._loaded:
                self._load(dock)
                return
            self._wanted.pop(0)
            if dock.isVisible() and dock.pane is None:
                dock.ensure()
                QTimer.singleShot(0, self, self._make_next)
                return

    def _load(self, dock: Dock) -> None:
        """Import a pane's code in the background: some of it takes a quarter of a second."""
        self._loading = True

        def loaded(_: object) -> None:
            self._loading = False
            # What could not be imported says so where the pane would be.
            self._loaded.add(dock.spec.path)
            if shiboken6.isValid(self):
                self._make_next()

        title = f"Load {dock.spec.title}"
        self._studio.tasks.start(title, lambda _: dock.spec.load(), loaded, loaded, quiet=True,
                                 if_left="answer")  # fmt: skip

    def load_others(self, docks: Iterable[Dock]) -> None:
        """Import the code of panes that were not seen yet, so that opening one need not wait."""
        specs = [dock.spec for dock in docks if dock.pane is None]

        def load(handle: TaskHandle) -> None:
            for spec in specs:
                handle.check()
                # What cannot be imported says so where the pane would be, once that is opened.
                with suppress(Exception):
                    spec.load()

        self._studio.tasks.start(
            "Load other panes", load, lambda _: None, quiet=True, if_left="answer"
        )


def first_focusable(widget: QWidget) -> QWidget | None:
    """The first widget inside that takes the keyboard."""
    for child in widget.findChildren(QWidget):
        takes = child.focusPolicy().value & Qt.FocusPolicy.TabFocus.value
        if takes and child.isVisibleTo(widget) and child.isEnabled():
            return child
    return None
