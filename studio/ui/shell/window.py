"""The main window: welcome page or canvas in the middle, docks and bars around it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QByteArray, QSize, Qt, QTimer
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDropEvent,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QDialog,
    QMainWindow,
    QStackedWidget,
    QToolBar,
    QWidget,
)

from studio.engine.core.signal import Signal
from studio.session.core.action_table import AnyAction
from studio.session.core.folders import LastFolders
from studio.session.document.change import Change
from studio.session.document.document import Document
from studio.session.studio import Studio
from studio.ui.panes.export.exports import Exports
from studio.ui.shell import actions
from studio.ui.shell.bars.path_row import PathRow
from studio.ui.shell.bars.status_bar import BottomBar, StatusBar
from studio.ui.shell.bars.toolbar import TopBar
from studio.ui.shell.commands.command_palette import CommandHistory
from studio.ui.shell.commands.qt_actions import WindowActions
from studio.ui.shell.commands.typed_first import TypedFirst
from studio.ui.shell.dialogs import cluster_address
from studio.ui.shell.docks import arrangement
from studio.ui.shell.docks.docks import Docks
from studio.ui.shell.docks.layout_store import LayoutStore
from studio.ui.shell.docks.panes import CANVAS, PANES, PATH_BAR, TRANSPORT, PaneSpec, action_tables
from studio.ui.shell.docks.workspaces import WORKSPACES
from studio.ui.shell.files import drops
from studio.ui.shell.files.documents import Documents
from studio.ui.shell.files.leaving import Leaving
from studio.ui.shell.files.welcome import WelcomePage
from studio.ui.shell.focus import EnterPresses, FocusKeeping, FocusReturn
from studio.widgets import binding, file_dialogs
from studio.widgets.in_sight import bring_into_sight

LEAST = QSize(1024, 640)
"""A screen of 700 rows has room for this and a title bar."""
USUAL = QSize(1600, 1000)
"""Size at the first start, where the screen has the room."""


class MainWindow(QMainWindow):
    """One window of the studio.

    Args:
        studio: the models.
        store: where layout and geometry are kept.
        reset_layout: begin with the arrangements there are from the start.
        panes: the rows of its panes.
    """

    def __init__(
        self,
        studio: Studio,
        store: LayoutStore,
        *,
        reset_layout: bool = False,
        panes: Sequence[PaneSpec] = PANES,
    ) -> None:
        super().__init__()
        FocusReturn(self)
        self.setObjectName("main_window")
        # On a screen smaller than that, everything is small rather than out of reach.
        self.setMinimumSize(LEAST.boundedTo(self.screen().availableSize()))
        self.setAcceptDrops(True)
        self.setUnifiedTitleAndToolBarOnMac(True)
        self.closed: Signal[[]] = Signal()
        self.restart_wanted: Signal[[bool]] = Signal()
        self.painted: Signal[[]] = Signal()
        self.studio: Studio = studio
        self._store = store
        file_dialogs.remember_in(LastFolders(studio.dirs.state / "folders.json"))
        self._dropped: drops.DroppedData | None = None
        self._heard: list[binding.Delivery] = []
        self._is_painted = False
        self._is_begun = False
        self._may_close = False
        self._is_closing = False
        self.canvas: QWidget | None = None
        self.leaving = Leaving(studio, self, self._save)
        self.documents: Documents = Documents(studio, self, self.leaving.ask)
        self.history: CommandHistory = CommandHistory(studio.dirs.state / "commands.json")
        self._pane_actions = actions.of_panes(panes)
        tables = (*action_tables((CANVAS, PATH_BAR, *panes)), *actions.OF_WINDOW)
        studio.actions.declare(*tables, self._pane_actions)
        self._build_bars()
        self._build_middle()
        self.docks: Docks = Docks(studio, self, panes, store)
        FocusKeeping(self.docks, self)
        EnterPresses(self)
        self.exports: Exports = Exports(studio, self, lambda: self.canvas)
        for table in (*actions.OF_WINDOW, self._pane_actions):
            studio.actions.attach(table, self)
        self.actions_of_window: WindowActions = WindowActions(studio.actions, self, self._refused)
        self._typed_first = TypedFirst(studio, self)
        self.actions_of_window.fill_menu_bar()
        cluster_address.PlaceInMenu(
            studio.training.place, studio.actions,
            self.actions_of_window[cluster_address.CLUSTER], self,
        )  # fmt: skip
        self._take_place(reset_layout=reset_layout)
        self._follow()

    # -- building ---------------------------------------------------------------------------------

    def _build_bars(self) -> None:
        self.top_bar = TopBar(self.studio.actions, self)
        self.addToolBar(Qt.ToolBarArea.TopToolBarArea, self.top_bar)
        # A saved state without this bar would put it into the first row when restored.
        self.addToolBarBreak()
        self._path_row = PathRow(self.studio.notices, self)
        self.notice_line = self._path_row.notice_line
        self.notice_line.list_wanted.connect(self._show_notices)
        self.addToolBar(self._path_row)
        self.status: StatusBar = StatusBar(self.studio, self.go, self)
        self.setStatusBar(BottomBar(self.status, self))

    def _build_middle(self) -> None:
        self._middle = QStackedWidget(self)
        self._middle.setObjectName("middle")
        self._middle.setMinimumSize(320, 240)
        self.welcome = WelcomePage(self.studio, self.documents)
        self._middle.addWidget(self.welcome)
        self.setCentralWidget(self._middle)

    def _take_place(self, *, reset_layout: bool) -> None:
        geometry = b"" if reset_layout else self._store.geometry()
        if not geometry or not self.restoreGeometry(QByteArray(geometry)):
            arrangement.begin(self, USUAL, self.screen().availableSize())
        arrangement.fit_to_screen(self)
        self.docks.restore(reset=reset_layout)
        self.show_welcome()

    def _follow(self) -> None:
        studio = self.studio
        binding.connect(self, studio.document_replaced, self._replaced)
        binding.connect(self, self.documents.opened, self._opened)
        binding.connect(self, self.welcome.back_wanted, self.show_canvas)
        binding.connect(self, self.docks.changed, self._docks_changed)
        # Panes show a document, so the welcome page closes when one is opened.
        binding.connect(self, self.docks.wanted, self.show_canvas)
        # Refreshing all actions takes milliseconds, too much for each report of a training: state
        # changes, which decide what is possible, are connected below.
        binding.refresh(self, self._refresh_actions, studio.compilation.changed,
                        studio.training.staleness_changed, rate=10)  # fmt: skip
        binding.connect(self, studio.training.state_changed, self._state_changed)
        binding.connect(self, studio.bus.selected, self._selected)
        binding.connect(self, studio.log.pointed, self._show_log)
        binding.connect(self, studio.pane_wanted, self.show_pane)
        self._watch(studio.document)

    # -- what stands in the middle ----------------------------------------------------------------

    @property
    def is_welcoming(self) -> bool:
        """Whether the welcome page is shown."""
        return self._middle.currentWidget() is self.welcome

    def show_welcome(self) -> None:
        """Show examples, recent projects and what can be recovered."""
        self.welcome.refresh()
        self._middle.setCurrentWidget(self.welcome)
        self.docks.set_away(True)
        self.status.show_document(False)
        self._give_keyboard()
        self._retitle()
        self._show_read_only()
        self.studio.welcome_state.set_welcoming(True)

    def show_canvas(self) -> None:
        """Show the open document."""
        self._middle.setCurrentWidget(self.ensure_canvas())
        self.docks.set_away(False)
        self.status.show_document(True)
        self._give_keyboard()
        self._retitle()
        self._show_read_only()
        self.studio.welcome_state.set_welcoming(False)

    def ensure_canvas(self) -> QWidget:
        """The canvas, made when it is first needed."""
        if self.canvas is None:
            self.canvas = made = CANVAS.make(self.studio)
            self._middle.addWidget(made)
            self._follow_zoom(made)
        return self.canvas

    def _give_keyboard(self) -> None:
        """Focus the middle, unless the focus is in a pane; the toolbar does not keep it."""
        focused, middle = self.focusWidget(), self._middle.currentWidget()
        busy = focused is not None and focused.isVisibleTo(self)
        if middle is not None and (not busy or self.top_bar.isAncestorOf(focused)):
            middle.setFocus()

    def focusNextPrevChild(self, next: bool) -> bool:  # noqa: A002
        seen: set[QWidget | None] = set()
        while super().focusNextPrevChild(next):
            stop = self.focusWidget()
            # Qt parks tab bars of docks outside the window. Once around, there is none in sight.
            if stop is None or bring_into_sight(stop) or stop in seen:
                return True
            seen.add(stop)
        return False

    def _follow_zoom(self, canvas: QWidget) -> None:
        navigation = getattr(canvas, "navigation", None)
        if navigation is not None:
            self.status.follow_zoom(lambda: navigation.zoom)
            binding.connect(self.status, navigation.zoomed, self._zoomed)

    def _zoomed(self, _zoom: float) -> None:
        self.status.show_zoom()

    # -- going places -----------------------------------------------------------------------------

    def show_pane(self, pane_id: str) -> None:
        """Show a pane with the focus in it; the canvas for an empty id."""
        if not pane_id:
            self.show_canvas()
            self.ensure_canvas().setFocus()
        elif pane_id in self.docks:
            self.docks.show(pane_id)

    def go(self, target: str) -> None:
        """Show a pane or trigger an action."""
        if target in self.docks:
            self.docks.show(target)
        elif target in self.studio.actions:
            self.studio.actions.trigger(target)

    def add_pane(self, pane: PaneSpec) -> None:
        """Take in another pane: it stands where its row says, in menus and workspaces.

        Raises:
            ValueError: another pane or action has one of its ids; nothing was changed.
            ImportError: its actions cannot be imported; nothing was changed.
        """
        table = actions.of_panes((pane,))
        self.studio.actions.declare(table, *action_tables((pane,)))
        self.docks.add(pane)
        self.studio.actions.attach(table, self)
        self.actions_of_window.fill_menu_bar()

    def set_focus_mode(self, on: bool) -> None:
        """Hide everything around the canvas, or bring it back."""
        # First, as the state the docks save includes the toolbars.
        self.docks.set_focus_mode(on)
        for bar in self.findChildren(QToolBar):
            bar.setVisible(not on)
        self._path_row.set_focus_mode(on)
        self.statusBar().setVisible(not on)

    # -- beginning and ending ---------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.docks.adapt()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.docks.adapt()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._is_painted:
            self._is_painted = True
            # Panes import much, so the first is made after the window is on the screen.
            QTimer.singleShot(0, self._begin)

    def _begin(self) -> None:
        self.painted.emit()
        self._make_bars()
        self._is_begun = True
        self.docks.begin_making()

    def _make_bars(self) -> None:
        """The parts of the toolbars that need the models."""
        self.top_bar.set_transport(TRANSPORT.make(self.studio))
        self._path_row.set_path_bar(PATH_BAR.make(self.studio))

    @property
    def is_ready(self) -> bool:
        """Whether everything in sight was made."""
        return self._is_begun and not self.docks.is_making

    def closeEvent(self, event: QCloseEvent) -> None:
        if not self._may_close:
            self._is_closing = True
            self.documents.leaving(lambda: self.leaving.ask_about_export(self._close_now))
            self._is_closing = False
        if not self._may_close:
            event.ignore()
            return
        self.keep_place()
        self.docks.hide_floating()
        for dialog in self.findChildren(QDialog):
            dialog.close()
        super().closeEvent(event)
        self.closed.emit()

    def _close_now(self) -> None:
        self._may_close = True
        # Qt ignores close() inside closeEvent.
        if not self._is_closing:
            self.close()

    def restart(self, *, safe: bool = False) -> None:
        """Close the window and start the studio again with the same project.

        Args:
            safe: leave the user's preferences and layout out this time.
        """

        def restart_now() -> None:
            self.keep_place()
            self.restart_wanted.emit(safe)

        self.documents.leaving(lambda: self.leaving.ask_about_export(restart_now))

    def keep_place(self) -> None:
        """Write where window and panes are."""
        self.set_focus_mode(False)
        self.docks.keep()
        self._store.keep_geometry(bytes(self.saveGeometry().data()))

    # -- files dropped on the window --------------------------------------------------------------

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if drops.paths_of(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        paths = drops.paths_of(event.mimeData())
        if paths:
            event.acceptProposedAction()
            self.take_files(paths)

    def take_files(self, paths: list[Path]) -> None:
        """Open a project, bring in weights, or attach data: what the file says it is."""
        self._dropped = drops.take(self.studio, self.documents, paths)

    # -- listening --------------------------------------------------------------------------------

    def _save(self, then: object) -> None:
        self.documents.save(then)  # type: ignore[arg-type]

    def _watch(self, document: Document) -> None:
        for heard in self._heard:
            heard.stop()
        self._heard = [
            binding.connect(self, document.changed, self._document_changed),
            binding.connect(self, document.saved, self._retitle),
            binding.connect(self, document.history.changed, self._retitle),
        ]
        self._retitle()
        self._show_read_only()

    def _replaced(self, document: Document) -> None:
        self._watch(document)
        self._refresh_actions()

    def _opened(self, _document: Document) -> None:
        self.show_canvas()
        # Whatever was opened, the next key is meant for it.
        self.ensure_canvas().setFocus()

    def _document_changed(self, change: Change) -> None:
        # A network is laid out while its canvas is being made: that is no reason to make another.
        if self.is_welcoming and not change.only_places:
            self.show_canvas()
        self._retitle()
        self.studio.actions.refresh()

    def _docks_changed(self) -> None:
        self.studio.profiling.unsettle()
        self.studio.actions.refresh(
            *(f"pane.{name}" for name in self.docks.all),
            *(f"workspace.{name}" for name in WORKSPACES),
            "window.maximise_pane", "window.focus_mode",
        )  # fmt: skip

    def _state_changed(self, _state: str) -> None:
        self._refresh_actions()

    def _selected(self, _selection: object, _source: str) -> None:
        self._refresh_actions()

    def _refresh_actions(self) -> None:
        self.studio.actions.refresh()

    def _show_log(self) -> None:
        self.docks.show("log")

    def _show_notices(self) -> None:
        self.studio.actions.trigger("window.notices")

    def _refused(self, spec: AnyAction, reason: str) -> None:
        text = f"{spec.text.rstrip('…')}: {reason}"
        if not self.status.hint(text):
            # The bar is hidden in focus mode, and full of a training in a small window.
            self.studio.notify(text, "info")

    def _show_read_only(self) -> None:
        """Show why the project is read-only in a band, as long as it is shown."""
        why = "" if self.is_welcoming else self.studio.document.read_only
        self._path_row.set_read_only(why)

    def _retitle(self) -> None:
        document = self.studio.document
        if self.is_welcoming:
            self.setWindowTitle("Glassbox")
            self.setWindowModified(False)
            return
        name = document.title if document.path is None else document.path.name
        kind = " (read-only)" if document.read_only else ""
        example = self.documents.example_of(document.path)
        if example:
            kind += f" (copy of the example {example})"
        self.setWindowTitle(f"{name}[*]{kind} \u2013 Glassbox")
        self.setWindowModified(document.dirty)
