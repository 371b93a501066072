"""All docks of the window: making, workspaces, records, walking, maximising."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial

from PySide6.QtCore import QByteArray, QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication, QMainWindow

from studio.engine.core.signal import Signal
from studio.session.studio import Studio
from studio.ui.shell.docks import arrangement
from studio.ui.shell.docks.default_layout import DefaultLayout
from studio.ui.shell.docks.dock import Dock, PaneMaker, first_focusable
from studio.ui.shell.docks.layout_store import Layout, LayoutStore
from studio.ui.shell.docks.panes import PaneSpec
from studio.ui.shell.docks.workspaces import WORKSPACES

_STATE_VERSION = 1
_SETTLED_MS = 60
"""After this time docks have taken their places."""


class Docks(QObject):
    """The docks and how they stand.

    Args:
        studio: what panes show.
        window: the window they are in.
        specs: the panes.
        store: keeps how they stood.
    """

    def __init__(
        self, studio: Studio, window: QMainWindow, specs: Iterable[PaneSpec], store: LayoutStore
    ) -> None:
        super().__init__(window)
        self.changed: Signal[[]] = Signal()
        self.wanted: Signal[[]] = Signal()
        self._window = window
        self._store = store
        self._layout = Layout()
        self._before_maximise: bytes | None = None
        self._maximised: Dock | None = None
        self._before_focus: bytes | None = None
        self._before_away: bytes | None = None
        self._unseen: bytes | None = None
        self._is_narrow = False
        self._joined: arrangement.Joined = []
        self._studio = studio
        self._maker = PaneMaker(studio, self)
        self._moves = 0
        self._tidy = QTimer(self, singleShot=True, interval=_SETTLED_MS)
        self._tidy.timeout.connect(self._settled)
        arrangement.prepare(window)
        self.all: dict[str, Dock] = {}
        self._default = DefaultLayout(studio, window, self.all, lambda: self._is_hidden_for_a_while)
        for spec in specs:
            self._make(spec)

    def __getitem__(self, pane_id: str) -> Dock:
        """A dock by its pane's id; KeyError for an unknown one."""
        return self.all[pane_id]

    def __contains__(self, pane_id: object) -> bool:
        return pane_id in self.all

    def _make(self, spec: PaneSpec) -> Dock:
        dock = self.all[spec.id] = Dock(spec, partial(spec.make, self._studio), self._window)
        dock.maximise_wanted.connect(self.maximise)
        dock.visibilityChanged.connect(lambda on, dock=dock: self._seen(dock, on))
        # Without this, a dock known only from a restored state would appear in two places.
        self._window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, dock)
        dock.hide()
        self._default.follow(dock)
        return dock

    def add(self, spec: PaneSpec) -> None:
        """Take in another pane, where its row says."""
        with self._together():
            was_away = self.leave_modes()
            is_kept = self._default.is_kept
            arrangement.place(self._window, self.all, self._make(spec), self.workspace)
            if is_kept:
                self._arrange(self._opened())
            self.set_away(was_away)

    @property
    def workspace(self) -> str:
        """The workspace in use."""
        return self._layout.workspace

    # -- making panes -----------------------------------------------------------------------------

    def begin_making(self) -> None:
        """The window has been painted: make the panes in sight, one in each turn of the loop."""
        if self._unseen is not None and arrangement.fills_screen(self._window):
            # Only now it is as large as it was when this was recorded.
            is_kept = self._default.is_kept
            self._take(self._unseen)
            if is_kept:
                self._arrange(self._opened())
            else:
                self._place_new()
        self._maker.begin()

    @property
    def is_making(self) -> bool:
        """Whether a pane in sight is still to be made."""
        return self._maker.is_making

    @property
    def is_settling(self) -> bool:
        """Whether docks may still move by themselves."""
        return self._tidy.isActive() or self._default.is_settling

    def _seen(self, dock: Dock, on: bool) -> None:
        if on and dock.pane is None:
            self._maker.want(dock)
        self._tidy.start()
        self._tell()

    @contextmanager
    def _together(self) -> Iterator[None]:
        """Emit ``changed`` once for everything done within: each time refreshes all actions."""
        self._moves += 1
        try:
            yield
        finally:
            self._moves -= 1
            self._tell()

    def _tell(self) -> None:
        if not self._moves:
            self.changed.emit()

    def _settled(self) -> None:
        self.adapt()
        arrangement.hide_stray_tabs(self._window, self.all)
        for dock in self.all.values():
            dock.show_tabbed()

    def load_others(self) -> None:
        """Import the code of panes that were not seen yet, so that opening one need not wait."""
        self._maker.load_others(self.all.values())

    # -- workspaces -------------------------------------------------------------------------------

    def restore(self, *, reset: bool = False) -> None:
        """Begin where the last session ended, or with the arrangements there are from the start."""
        if reset:
            self._store.forget()
        self._layout = self._store.layout()
        name = self._layout.workspace
        self._show(name if name in WORKSPACES else "build")

    def switch(self, workspace: str) -> None:
        """Show another workspace; this one stays as it is for next time."""
        if workspace == self.workspace:
            return
        with self._together():
            was_away = self.leave_modes()
            self._remember()
            self._show(workspace)
            self.set_away(was_away)

    def reset(self) -> None:
        """Put this workspace back to how it is from the start."""
        with self._together():
            was_away = self.leave_modes()
            self._layout.states.pop(self.workspace, None)
            self._show(self.workspace)
            self.set_away(was_away)

    def reset_all(self) -> None:
        """Put all workspaces back."""
        with self._together():
            was_away = self.leave_modes()
            self._layout.states.clear()
            self._show(self.workspace)
            self.set_away(was_away)

    def keep(self) -> None:
        """Write how everything stands."""
        self.leave_modes()
        self._remember()
        self._store.keep_layout(self._layout)

    def adapt(self) -> None:
        """Fit the docks to the window: those of a user's own arrangement stay where they are.

        Only that while the window is small its right side is one column of tabs.
        """
        narrow = arrangement.needs_one_column(self._window)
        # Docks hidden by a mode come back as they were, and are adapted then.
        if self._is_hidden_for_a_while:
            return
        if self._default.is_kept:
            self._default.fit()
            return
        if narrow == self._is_narrow:
            return
        self._is_narrow = narrow
        if narrow:
            self._joined = arrangement.join_right(self._window, self.all)
        else:
            self._part()
        self._tidy.start()

    def _part(self) -> None:
        arrangement.split_right(self._window, self._joined)
        self._joined = []

    @property
    def _is_hidden_for_a_while(self) -> bool:
        return self.is_maximised or self.is_focus_mode or self._before_away is not None

    def _remember(self) -> None:
        if self.workspace:
            # The next window may be wide: what is recorded is how the panes stand there.
            self._part()
            self._layout.states[self.workspace] = self._state()
            self._layout.panes[self.workspace] = tuple(self.all)
            keep = self._layout.kept.add if self._default.is_kept else self._layout.kept.discard
            keep(self.workspace)

    def _show(self, workspace: str) -> None:
        self._layout.workspace = workspace
        self._is_narrow, self._joined, self._unseen = False, [], None
        recorded = self._layout.states.get(workspace)
        kept = QApplication.focusWidget()
        with self._together():
            self._window.setUpdatesEnabled(False)
            try:
                self._default.let_go()
                if recorded is None or not self._take(recorded):
                    self._arrange(None)
                else:
                    self._place_new()
                    if workspace in self._layout.kept:
                        self._arrange(self._opened())
                arrangement.rescue(self.all)
            finally:
                self._window.setUpdatesEnabled(True)
            for dock in self.all.values():
                dock.show_tabbed()
        # A dock that is put elsewhere is hidden for a moment, and Qt gives the keyboard to another.
        if kept is not None and kept.isVisible():
            kept.setFocus()
        self._tidy.start()

    def _place_new(self) -> None:
        """Place the panes that the restored state does not know."""
        known = self._layout.panes.get(self.workspace, ())
        arrangement.place_others(self._window, self.all, self.workspace, known)

    def _arrange(self, opened: frozenset[str] | None) -> None:
        """Put every dock where the workspace has it from the start."""
        # What Qt was given for when the window is shown is over.
        self._unseen = None
        self._default.arrange(self.workspace, opened)

    def _opened(self) -> frozenset[str]:
        return frozenset(name for name, dock in self.all.items() if not dock.isHidden())

    def _state(self) -> bytes:
        return bytes(self._window.saveState(_STATE_VERSION).data())

    def _take_back(self, state: bytes) -> None:
        """Put docks back that were hidden for a while; the window may have another size now."""
        self._take(state)
        self._default.fit()

    def _take(self, state: bytes) -> bool:
        self._unseen = None if self._window.isVisible() else state
        return arrangement.take(self._window, QByteArray(state), _STATE_VERSION)

    # -- showing ----------------------------------------------------------------------------------

    def show(self, pane_id: str) -> Dock:
        """Bring a pane to the front and give it the keyboard."""
        if self._before_away is not None:
            self.set_away(False)
            self.wanted.emit()
        self._unseen = None
        if self._maximised is not None and self._maximised is not self.all[pane_id]:
            self.leave_modes()
        dock = self.all[pane_id]
        was_closed = dock.isHidden()
        dock.give_focus()
        if was_closed:
            if self._default.is_kept:
                self._default.fit()
            else:
                arrangement.widen(self._window, dock)
        return dock

    def toggle(self, pane_id: str) -> None:
        """Close a pane that is in sight; show it otherwise."""
        dock = self.all[pane_id]
        if self.is_in_front(dock):
            dock.close()
        else:
            self.show(pane_id)

    def is_in_front(self, dock: Dock) -> bool:
        """Whether the pane can be seen, not only its tab."""
        return arrangement.is_in_front(dock)

    def hide_floating(self) -> None:
        """Hide the docks that are windows of their own; the main window closes."""
        for dock in self.all.values():
            if dock.isFloating():
                dock.hide()

    # -- walking ----------------------------------------------------------------------------------

    def walk(self, way: int) -> None:
        """Give the keyboard to the next place: the middle, then the docks in sight, in a circle."""
        stops: list[Dock | None] = [None, *(d for d in self.all.values() if self.is_in_front(d))]
        at = next((i for i, dock in enumerate(stops) if dock is not None and dock.has_focus()), 0)
        target = stops[(at + way) % len(stops)]
        if target is not None:
            target.give_focus()
            target.mark()
        else:
            self.focus_middle()

    def focus_middle(self) -> None:
        """Give the keyboard to the canvas, or to what stands in its place."""
        middle = self._window.centralWidget()
        if middle is not None:
            (first_focusable(middle) or middle).setFocus()

    def focused(self) -> Dock | None:
        """The dock that has the keyboard."""
        return next((dock for dock in self.all.values() if dock.has_focus()), None)

    # -- one thing only ---------------------------------------------------------------------------

    @property
    def is_maximised(self) -> bool:
        """Whether one place fills the window."""
        return self._before_maximise is not None

    @property
    def is_focus_mode(self) -> bool:
        """Whether everything around the middle is hidden."""
        return self._before_focus is not None

    def maximise(self, dock: Dock | None) -> None:
        """Let a dock, or the middle with None, fill the window; again puts everything back."""
        if self._before_maximise is not None:
            again = self._maximised is dock
            self._restore_maximised()
            if again:
                return
        if dock is not None and dock.isFloating():
            dock.setFloating(False)
        self._before_maximise = self._state()
        self._maximised = dock
        with self._together():
            for other in self.all.values():
                if other is not dock:
                    other.hide()
            middle = self._window.centralWidget()
            if middle is not None:
                middle.setVisible(dock is None)
            if dock is not None:
                dock.give_focus()

    def set_focus_mode(self, on: bool) -> None:
        """Hide everything around the middle, or bring it back."""
        if on == self.is_focus_mode:
            return
        with self._together():
            self._restore_maximised()
            if on:
                self._before_focus = self._hide_all()
            elif (before := self._before_focus) is not None:
                self._before_focus = None
                self._take_back(before)

    def set_away(self, on: bool) -> None:
        """Take all docks away while there is nothing they could show, or bring them back."""
        if on == (self._before_away is not None):
            return
        with self._together():
            if on:
                self.leave_modes()
                self._before_away = self._hide_all()
            elif (before := self._before_away) is not None:
                self._before_away = None
                self._take_back(before)

    def _hide_all(self) -> bytes:
        """Hide every dock; how they stood."""
        before, self._unseen = self._state(), None
        for dock in self.all.values():
            dock.hide()
        return before

    def leave_modes(self) -> bool:
        """Put back what was hidden for a while; whether everything was away."""
        self._restore_maximised()
        self.set_focus_mode(False)
        was_away = self._before_away is not None
        self.set_away(False)
        return was_away

    def _restore_maximised(self) -> None:
        before, self._before_maximise = self._before_maximise, None
        if before is None:
            return
        kept = QApplication.focusWidget()
        self._maximised = None
        with self._together():
            middle = self._window.centralWidget()
            if middle is not None:
                middle.show()
            self._take_back(before)
            if kept is not None and kept.isVisible():
                kept.setFocus()
