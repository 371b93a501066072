"""Where the docks stand: the arrangement each workspace begins with, and rescue of lost ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from PySide6.QtCore import QByteArray, QMargins, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMainWindow, QTabBar, QTabWidget

from studio.ui.shell.docks.dock import Dock
from studio.ui.shell.docks.panes import Side
from studio.ui.shell.docks.plan import Plan

NARROW = 1280
"""Below this width the right docks share one column of tabs."""

LOW = 800
"""Below this height they do as well: two, one above the other, would show a few lines each."""

_SIDES: Mapping[Side, Qt.DockWidgetArea] = {
    "left": Qt.DockWidgetArea.LeftDockWidgetArea,
    "right": Qt.DockWidgetArea.RightDockWidgetArea,
    "bottom": Qt.DockWidgetArea.BottomDockWidgetArea,
}

_CORNERS: Mapping[Side, Qt.Corner] = {
    "left": Qt.Corner.BottomLeftCorner,
    "right": Qt.Corner.BottomRightCorner,
}

_LEAST_WIDTH = 300
"""A dock opened at the lower edge is not left narrower than that."""

_VISIBLE_WIDTH, _VISIBLE_HEIGHT = 64, 24
_NEAR = 8
_FRAME = QMargins(8, 40, 8, 8)


def take(window: QMainWindow, state: QByteArray, version: int) -> bool:
    """Put bars and docks where a record has them; whether it could be read.

    Of a window that is hidden and will fill the screen Qt keeps what it was given, and lays that
    out again for some moments after it is shown, with docks in it that have gone elsewhere since:
    that ends the process. So it does not learn here that the window will.
    """
    if window.isVisible() or not fills_screen(window):
        return window.restoreState(state, version)
    later = window.windowState()
    window.setWindowState(Qt.WindowState.WindowNoState)
    try:
        return window.restoreState(state, version)
    finally:
        window.setWindowState(later)


def fills_screen(window: QMainWindow) -> bool:
    """Whether the window has, or will have once it is shown, the whole screen."""
    return window.isMaximized() or window.isFullScreen()


def needs_one_column(window: QMainWindow) -> bool:
    """Whether the right docks have room only one in front of the other."""
    return window.width() < NARROW or window.height() < LOW


def build(
    window: QMainWindow, docks: Mapping[str, Dock], plan: Plan, opened: Collection[str]
) -> None:
    """Put every dock where a plan has it, open or closed."""
    for side in ("left", "right"):
        area = _SIDES[side] if side in plan.whole else _SIDES["bottom"]
        window.setCorner(_CORNERS[side], area)
    for dock in docks.values():
        dock.setFloating(False)
    for side, columns in plan.sides.items():
        along = Qt.Orientation.Horizontal if side == "bottom" else Qt.Orientation.Vertical
        for column in columns:
            first, *others = (docks[name] for name in column.panes)
            window.addDockWidget(_SIDES[side], first, along)
            for dock in others:
                window.tabifyDockWidget(first, dock)
            for name in column.panes:
                docks[name].setVisible(name in opened)
            if column.front:
                docks[column.front].raise_()


def share_out(window: QMainWindow, docks: Mapping[str, Dock], plan: Plan) -> None:
    """Give sides and columns the sizes of a plan."""
    wide, high = Qt.Orientation.Horizontal, Qt.Orientation.Vertical
    for side, columns in plan.sides.items():
        across, along = (high, wide) if side == "bottom" else (wide, high)
        fronts = [docks[column.front] for column in columns if column.front]
        if not fronts:
            continue
        window.resizeDocks(fronts[:1], [plan.sizes[side]], across)
        if len(fronts) > 1:
            window.resizeDocks(fronts, [c.size for c in columns if c.front], along)


def place(window: QMainWindow, docks: Mapping[str, Dock], dock: Dock, workspace: str) -> None:
    """Put one dock where the workspace has it from the start, behind those of its column."""
    wanted = dock.spec.place(workspace)
    area = _SIDES[wanted.side]
    there = [
        other
        for other in docks.values()
        if other is not dock and window.dockWidgetArea(other) is area and not other.isFloating()
    ]
    column = [other for other in there if other.spec.place(workspace)[:2] == wanted[:2]]
    opened = [other for other in there if not other.isHidden()]
    # A tab more leaves an arrangement of the user's as it is; a column more does not.
    beside = [other for other in column if other in opened] or opened or column
    window.addDockWidget(area, dock)
    front = next((other for other in beside if not other.visibleRegion().isEmpty()), None)
    if beside:
        window.tabifyDockWidget(beside[0], dock)
    dock.setVisible(wanted.shown)
    if front is not None:
        front.raise_()


def place_others(
    window: QMainWindow, docks: Mapping[str, Dock], workspace: str, known: Collection[str]
) -> None:
    """Put the docks whose panes are not among the known ones where they are from the start."""
    for name, dock in docks.items():
        if name not in known:
            place(window, docks, dock, workspace)


def widen(window: QMainWindow, dock: Dock) -> None:
    """Give a dock opened at the lower edge a third of it where Qt leaves it a sliver.

    Each time that a column of one dock is closed and opened, Qt gives it less than it had.
    """
    layout = window.layout()
    if layout is None or window.dockWidgetArea(dock) is not _SIDES["bottom"] or dock.isFloating():
        return
    layout.activate()
    if dock.width() < _LEAST_WIDTH:
        window.resizeDocks([dock], [window.width() // 3], Qt.Orientation.Horizontal)


def prepare(window: QMainWindow) -> None:
    """Let docks be dragged anywhere."""
    window.setDockOptions(
        QMainWindow.DockOption.AllowNestedDocks
        | QMainWindow.DockOption.AllowTabbedDocks
        | QMainWindow.DockOption.AnimatedDocks
    )
    for area in _SIDES.values():
        window.setTabPosition(area, QTabWidget.TabPosition.North)


Joined = list[tuple[Dock, list[Dock]]]
"""The dock that others were joined with, and the docks of each column that was, its front first."""


def join_right(window: QMainWindow, docks: Mapping[str, Dock]) -> Joined:
    """Make one column of tabs of the right side; returns what stood below."""
    right = [
        dock
        for dock in docks.values()
        if not dock.isFloating()
        and not dock.isHidden()
        and window.dockWidgetArea(dock) is Qt.DockWidgetArea.RightDockWidgetArea
    ]
    # The uppermost stays in front; those behind others are wherever they were last in sight.
    right.sort(key=lambda dock: (dock.visibleRegion().isEmpty(), dock.y()))
    columns: list[list[Dock]] = []
    for dock in right:
        others = window.tabifiedDockWidgets(dock)
        column = next((column for column in columns if column[0] in others), None)
        if column is None:
            columns.append([dock])
        else:
            column.append(dock)
    for dock in (dock for column in columns[1:] for dock in column):
        window.tabifyDockWidget(right[0], dock)
    if right:
        right[0].raise_()
    return [(right[0], column) for column in columns[1:]]


def split_right(window: QMainWindow, joined: Joined) -> None:
    """Put columns back under the one they were joined with, but for docks moved since."""
    for above, column in joined:
        here = [dock for dock in column if dock in window.tabifiedDockWidgets(above)]
        for dock in here[:1]:
            # Splitting would make another tab of it, since what it is split from has tabs.
            side = Qt.DockWidgetArea.RightDockWidgetArea
            window.addDockWidget(side, dock, Qt.Orientation.Vertical)
        for dock in here[1:]:
            window.tabifyDockWidget(here[0], dock)
        if here:
            here[0].raise_()


def is_in_front(dock: Dock) -> bool:
    """Whether the pane can be seen, not only its tab."""
    return dock.isVisible() and not dock.visibleRegion().isEmpty()


def hide_stray_tabs(window: QMainWindow, docks: Mapping[str, Dock]) -> None:
    """Hide tab bars that Qt has left behind over other parts of the window.

    One that belongs to docks in sight lies directly above the one in front; Qt shows a hidden one
    again when it has a use for it.
    """
    fronts = [d for d in docks.values() if not d.isFloating() and not d.visibleRegion().isEmpty()]
    direct = Qt.FindChildOption.FindDirectChildrenOnly
    for bar in window.findChildren(QTabBar, options=direct):
        below = QPoint(bar.geometry().left(), bar.geometry().bottom() + 1)
        used = bar.count() > 1 and any(_is_near(dock.pos(), below) for dock in fronts)
        if bar.isVisible() and not used:
            bar.hide()


def _is_near(one: QPoint, other: QPoint) -> bool:
    return (one - other).manhattanLength() <= _NEAR


def rescue(docks: Mapping[str, Dock]) -> list[Dock]:
    """Dock what floats where no screen is; returns those docks."""
    lost = [
        dock
        for dock in docks.values()
        if dock.isFloating() and not on_a_screen(dock.frameGeometry())
    ]
    for dock in lost:
        dock.setFloating(False)
    return lost


def on_a_screen(frame: QRect) -> bool:
    """Whether enough of a window's upper edge is on a screen to take hold of it."""
    handle = QRect(frame.left(), frame.top(), frame.width(), _VISIBLE_HEIGHT)
    for screen in QGuiApplication.screens():
        seen = screen.availableGeometry().intersected(handle)
        if seen.width() >= _VISIBLE_WIDTH and seen.height() >= _VISIBLE_HEIGHT // 2:
            return True
    return False


def fit_to_screen(window: QMainWindow) -> None:
    """Bring a window back onto a screen; one there is no room for with its frame fills it."""
    screen = QGuiApplication.screenAt(window.frameGeometry().center())
    if screen is None or not on_a_screen(window.frameGeometry()):
        screen = QGuiApplication.primaryScreen()
        free = screen.availableGeometry()
        window.move(free.topLeft())
    free = screen.availableGeometry()
    if window.width() > free.width() or window.height() > free.height():
        begin(window, window.size(), free.size())
        window.move(free.topLeft())


def begin(window: QMainWindow, wanted: QSize, free: QSize) -> None:
    """Give a window its first size; where its frame would not fit besides, it fills the screen."""
    window.resize(wanted.boundedTo(free))
    # How thick a frame will be is known only when there is one.
    if wanted != wanted.boundedTo(free.shrunkBy(_FRAME)):
        window.setWindowState(window.windowState() | Qt.WindowState.WindowMaximized)
