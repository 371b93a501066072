"""Where the docks stand: the arrangement each workspace begins with, and rescue of lost ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from PySide6.QtCore import QByteArray, QMargins, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMainWindow, QTabBar, QTabWidget

from studio.ui.shell.docks.dock import Dock
from studio.ui.shell.docks.panes import Side

NARROW = 1280
"""Below this width the right docks share one column of tabs."""

LOW = 800
"""Below this height they do as well: two, one above the other, would show a few lines each."""

SHORT = 860
"""Below this height the left docks do as well."""

_SIDES: Mapping[Side, Qt.DockWidgetArea] = {
    "left": Qt.DockWidgetArea.LeftDockWidgetArea,
    "right": Qt.DockWidgetArea.RightDockWidgetArea,
    "bottom": Qt.DockWidgetArea.BottomDockWidgetArea,
}

# Parts of a side each of its columns gets.
_PARTS: Mapping[str, Mapping[str, tuple[int, int]]] = {
    "build": {"left": (3, 2), "right": (4, 5), "bottom": (3, 2)},
    "train": {"left": (1, 1), "right": (3, 2), "bottom": (3, 2)},
    "profile": {"left": (1, 1), "right": (3, 2), "bottom": (2, 3)},
}

# Share of the window's width or height each side begins with.
_SHARES: Mapping[str, Mapping[str, float]] = {
    "build": {"left": 0.15, "right": 0.24, "bottom": 0.24},
    "train": {"left": 0.17, "right": 0.42, "bottom": 0.26},
    "profile": {"left": 0.13, "right": 0.40, "bottom": 0.32},
}
_LEAST: Mapping[Side, int] = {"left": 240, "right": 300, "bottom": 160}
_MOST_HEIGHT = 0.36
"""Share of the window's height that a pane's own wish may take at the lower edge."""

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


def arrange(window: QMainWindow, docks: Mapping[str, Dock], workspace: str) -> None:
    """Put every dock where the workspace has it from the start."""
    for dock in docks.values():
        dock.setFloating(False)
    short = window.height() < SHORT
    first: dict[Side, list[Dock]] = {}
    for side in _SIDES:
        columns = _columns(docks, workspace, side)
        if side == "left" and short:
            columns = [[dock for column in columns for dock in column]]
        first[side] = _fill(window, workspace, side, columns)
    _share_out(window, workspace, first)


def _columns(docks: Mapping[str, Dock], workspace: str, side: Side) -> list[list[Dock]]:
    """The columns of one side, each with its docks in the order of their tabs."""
    found: dict[int, list[Dock]] = {}
    for dock in docks.values():
        place = dock.spec.place(workspace)
        if place.side == side:
            found.setdefault(place.column, []).append(dock)
    for column in found.values():
        column.sort(key=lambda dock: dock.spec.place(workspace).tab)
    return [found[number] for number in sorted(found)]


def _fill(
    window: QMainWindow, workspace: str, side: Side, columns: Sequence[Sequence[Dock]]
) -> list[Dock]:
    """Fill one side; returns the dock in front of each column."""
    along = Qt.Orientation.Horizontal if side == "bottom" else Qt.Orientation.Vertical
    fronts: list[Dock] = []
    for column in columns:
        shown = [dock for dock in column if dock.spec.place(workspace).shown]
        for number, dock in enumerate(column):
            if number == 0:
                window.addDockWidget(_SIDES[side], dock, along)
            else:
                window.tabifyDockWidget(column[0], dock)
            dock.setVisible(dock in shown)
        if shown:
            shown[0].raise_()
            fronts.append(shown[0])
    return fronts


def place(window: QMainWindow, docks: Mapping[str, Dock], dock: Dock, workspace: str) -> None:
    """Put one dock where the workspace has it from the start, behind those of its column."""
    wanted = dock.spec.place(workspace)
    area = _SIDES[wanted.side]
    beside = [
        other
        for other in docks.values()
        if other is not dock
        and other.spec.place(workspace)[:2] == wanted[:2]
        and window.dockWidgetArea(other) is area
        and not other.isFloating()
    ]
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


def _share_out(window: QMainWindow, workspace: str, first: Mapping[Side, list[Dock]]) -> None:
    for side, docks in first.items():
        if not docks:
            continue
        share = _SHARES[workspace][side]
        whole = window.height() if side == "bottom" else window.width()
        size = max(_LEAST[side], round(whole * share))
        if side == "bottom":
            wished = max(dock.spec.height for dock in docks)
            size = max(size, min(wished, round(whole * _MOST_HEIGHT)))
        across = Qt.Orientation.Vertical if side == "bottom" else Qt.Orientation.Horizontal
        window.resizeDocks([docks[0]], [size], across)
        if len(docks) > 1:
            along = Qt.Orientation.Horizontal if side == "bottom" else Qt.Orientation.Vertical
            whole = window.width() if side == "bottom" else window.height()
            parts = _parts(workspace, side, len(docks))
            window.resizeDocks(docks, [whole * part // sum(parts) for part in parts], along)


def _parts(workspace: str, side: Side, count: int) -> tuple[int, ...]:
    """What part of a side each of so many columns gets."""
    parts = _PARTS[workspace][side]
    return (*parts[:count], *[min(parts)] * (count - len(parts)))


def widen(window: QMainWindow, docks: Mapping[str, Dock], dock: Dock, workspace: str) -> None:
    """Give a dock opened at the lower edge about its column's part where Qt leaves it a sliver.

    Each time that a column of one dock is closed and opened, Qt gives it less than it had.
    """
    columns = _columns(docks, workspace, "bottom")
    column = next((i for i, column in enumerate(columns) if dock in column), None)
    layout = window.layout()
    is_below = window.dockWidgetArea(dock) is _SIDES["bottom"] and not dock.isFloating()
    if column is None or layout is None or not is_below:
        return
    layout.activate()
    if dock.width() < _LEAST["right"]:
        parts = _parts(workspace, "bottom", max(len(columns), 2))
        width = window.width() * parts[column] // sum(parts)
        window.resizeDocks([dock], [width], Qt.Orientation.Horizontal)


def prepare(window: QMainWindow) -> None:
    """Let docks be dragged anywhere; wide ones lie along the whole lower edge."""
    window.setDockOptions(
        QMainWindow.DockOption.AllowNestedDocks
        | QMainWindow.DockOption.AllowTabbedDocks
        | QMainWindow.DockOption.AnimatedDocks
    )
    for area in _SIDES.values():
        window.setTabPosition(area, QTabWidget.TabPosition.North)
    window.setCorner(Qt.Corner.BottomLeftCorner, Qt.DockWidgetArea.BottomDockWidgetArea)
    window.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.BottomDockWidgetArea)


def join_right(window: QMainWindow, docks: Mapping[str, Dock]) -> list[tuple[Dock, Dock]]:
    """Make one column of tabs of the right side; returns which dock stood under which."""
    right = [
        dock
        for dock in docks.values()
        if not dock.isFloating()
        and not dock.isHidden()
        and window.dockWidgetArea(dock) is Qt.DockWidgetArea.RightDockWidgetArea
    ]
    # The uppermost stays in front; those behind others are wherever they were last in sight.
    right.sort(key=lambda dock: (dock.visibleRegion().isEmpty(), dock.y()))
    joined: list[tuple[Dock, Dock]] = []
    for dock in right[1:]:
        if dock not in window.tabifiedDockWidgets(right[0]):
            joined.append((right[0], dock))
            window.tabifyDockWidget(right[0], dock)
    if right:
        right[0].raise_()
    return joined


def split_right(window: QMainWindow, joined: Sequence[tuple[Dock, Dock]]) -> None:
    """Put docks back under the one they were joined with, unless they have been moved since."""
    under: Dock | None = None
    for above, below in joined:
        if below not in window.tabifiedDockWidgets(above):
            continue
        if under is None:
            # Splitting would make another tab of it, since what it is split from has tabs.
            side = Qt.DockWidgetArea.RightDockWidgetArea
            window.addDockWidget(side, below, Qt.Orientation.Vertical)
            under = below
        else:
            window.tabifyDockWidget(under, below)
    if under is not None:
        under.raise_()


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
