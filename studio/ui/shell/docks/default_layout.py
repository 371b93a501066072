"""Fits the arrangement a workspace has from the start to its window, until the user moves it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QMainWindow, QToolBar

from studio.session.studio import Studio
from studio.session.training.state import State
from studio.ui.shell.docks import arrangement
from studio.ui.shell.docks.dock import Dock
from studio.ui.shell.docks.plan import Plan, Planner
from studio.widgets import binding

_RATE = 5.0
"""How often a second, at most, panes come forward that have something to show now."""


_MOVED_MS = 50
"""After this time a splitter that was let go stands where it stays."""


class DefaultLayout(QObject):
    """Where docks stand while nobody has moved them.

    A user who drags a splitter or moves a pane has an arrangement of their own, which is left
    alone from then on. Opening, closing and choosing panes is no move.

    Args:
        studio: what panes show.
        window: the window.
        docks: all docks, by the ids of their panes.
        is_away: whether docks are hidden for a while, and come back as they were.
    """

    def __init__(
        self,
        studio: Studio,
        window: QMainWindow,
        docks: Mapping[str, Dock],
        is_away: Callable[[], bool],
    ) -> None:
        super().__init__(window)
        self._studio = studio
        self._window = window
        self._docks = docks
        self._is_away = is_away
        self._workspace = ""
        self._arranged: object = None
        self._stands: object = None
        self._heard: list[binding.Refresh] = []
        self._fronts: dict[tuple[str, ...], str] = {}
        self._called: dict[str, str] = {}
        self._pressed: object = None
        self._soon = QTimer(self, singleShot=True, interval=0)
        self._soon.timeout.connect(self.fit)
        window.installEventFilter(self)
        CurvesInSight(studio, window, self)

    def follow(self, dock: Dock) -> None:
        """Hear when its pane gets something to show, or loses it."""
        if dock.spec.content is not None:
            signals = dock.spec.content.signals(self._studio)
            self._heard.append(binding.refresh(self, self.fit, *signals, rate=_RATE))
        dock.visibilityChanged.connect(lambda _: self._soon.start())

    # -- whose arrangement it is ------------------------------------------------------------------

    @property
    def is_kept(self) -> bool:
        """Whether the panes stand as they do from the start."""
        return self._stands is not None and self._stands == self._structure()

    @property
    def is_settling(self) -> bool:
        """Whether something happened after which docks may still move."""
        return self._soon.isActive() or any(each.waiting for each in self._heard)

    def let_go(self) -> None:
        """The arrangement is the user's own."""
        self._stands = None

    def arrange(self, workspace: str, opened: frozenset[str] | None = None) -> None:
        """Put every dock where the workspace has it from the start.

        Args:
            workspace: which workspace.
            opened: the panes to be open; None for those that are from the start.
        """
        self._workspace = workspace
        planner = self._planner()
        self._build(self._plan(planner.begins_open() if opened is None else opened))
        self.fit()

    def bring_forward(self, name: str) -> None:
        """Show a pane in front of its column until the user turns away from it.

        The keyboard stays where it is: in that column, a pane that has it is not covered.
        """
        dock = self._docks.get(name)
        if dock is None or self._is_away() or arrangement.is_in_front(dock):
            return
        self._called[self._workspace] = name
        dock.show()
        beside = self._window.tabifiedDockWidgets(dock)
        if not any(isinstance(each, Dock) and self._has_keyboard(each) for each in beside):
            dock.raise_()

    # -- fitting ----------------------------------------------------------------------------------

    def fit(self) -> None:
        """Give the docks the room they need in the window as it is, if they are still in place."""
        if self._is_away() or self._pressed is not None or not self.is_kept:
            return
        opened = frozenset(name for name, dock in self._docks.items() if not dock.isHidden())
        plan = self._plan(opened)
        if plan.structure != self._arranged:
            self._build(plan, opened)
        arrangement.share_out(self._window, self._docks, plan)
        self._bring_forward(plan)

    def _plan(self, opened: frozenset[str]) -> Plan:
        called = self._called.get(self._workspace, "")
        return self._planner().plan(opened, self._empty(), called)

    def _planner(self) -> Planner:
        window = self._window
        size = (window.width(), window.height())
        specs = [dock.spec for dock in self._docks.values()]
        return Planner(specs, self._workspace, size, size[1] - _bars(window))

    def _empty(self) -> frozenset[str]:
        return frozenset(
            name
            for name, dock in self._docks.items()
            if dock.spec.content is not None and dock.spec.content.is_missing(self._studio)
        )

    def _build(self, plan: Plan, opened: frozenset[str] | None = None) -> None:
        if opened is None:
            opened = self._planner().begins_open()
        self._fronts = {}
        arrangement.build(self._window, self._docks, plan, opened)
        self._arranged, self._stands = plan.structure, self._structure()

    def _bring_forward(self, plan: Plan) -> None:
        """Raise what is to be in front, except over what the user has put there."""
        for columns in plan.sides.values():
            for column in columns:
                before = self._fronts.get(column.panes)
                shown = [n for n in column.panes if arrangement.is_in_front(self._docks[n])]
                is_open = before is not None and not self._docks[before].isHidden()
                is_users = bool(shown) and is_open and before not in shown
                if is_users and before == self._called.get(self._workspace):
                    del self._called[self._workspace]
                if not column.front or is_users:
                    continue
                # What somebody types into is not covered.
                held = next((n for n in column.panes if self._has_keyboard(self._docks[n])), "")
                front = self._fronts[column.panes] = held or column.front
                if front not in shown:
                    self._docks[front].raise_()

    def _has_keyboard(self, dock: Dock) -> bool:
        """Whether keys go there, or will once a popup or dialog that has them is closed."""
        focused = self._window.focusWidget()
        return dock.has_focus() or (focused is not None and dock.isAncestorOf(focused))

    def _structure(self) -> object:
        """Where each dock stands, open or closed."""
        window, found = self._window, []
        for name, dock in self._docks.items():
            beside = frozenset(each.objectName() for each in window.tabifiedDockWidgets(dock))
            found.append((name, dock.isFloating(), window.dockWidgetArea(dock), beside))
        return tuple(found)

    # -- splitters --------------------------------------------------------------------------------

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._window and isinstance(event, QMouseEvent):
            kind, left = event.type(), Qt.MouseButton.LeftButton
            if kind is QEvent.Type.MouseButtonPress and event.button() is left:
                # Nothing but splitters lies bare between the docks.
                if self._window.childAt(event.position().toPoint()) is None:
                    self._pressed = self._sizes()
            elif kind is QEvent.Type.MouseButtonRelease and self._pressed is not None:
                # The window has not moved the splitter to its last place yet.
                QTimer.singleShot(_MOVED_MS, self, self._released)
        return False

    def _released(self) -> None:
        before, self._pressed = self._pressed, None
        if before is not None and before != self._sizes():
            self.let_go()

    def _sizes(self) -> object:
        return [(name, dock.geometry()) for name, dock in self._docks.items() if dock.isVisible()]


_TRAINED: tuple[State, ...] = ("running", "pausing", "paused", "finished")


class CurvesInSight(QObject):
    """Brings the plots forward, once for each training, when one begins to run.

    Args:
        studio: the training.
        window: the window.
        layout: brings them forward.
    """

    def __init__(self, studio: Studio, window: QMainWindow, layout: DefaultLayout) -> None:
        super().__init__(window)
        self._layout = layout
        self._begins = False
        binding.connect(self, studio.training.state_changed, self._state_changed)

    def _state_changed(self, state: State) -> None:
        if state == "preparing":
            self._begins = True
        elif self._begins:
            self._begins = False
            # One that failed or was stopped meanwhile has no curves.
            if state in _TRAINED:
                self._layout.bring_forward("plots")


def _bars(window: QMainWindow) -> int:
    """Pixels of the window's height for menus, tool bars and status bar."""
    rows = {
        bar.geometry().top(): bar.sizeHint().height()
        for bar in window.findChildren(QToolBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        if not bar.isHidden() and not bar.isFloating()
    }
    status = window.statusBar()
    menu = window.menuBar()
    below = 0 if status.isHidden() else status.sizeHint().height()
    above = 0 if menu.isNativeMenuBar() else menu.sizeHint().height()
    return sum(rows.values()) + above + below
