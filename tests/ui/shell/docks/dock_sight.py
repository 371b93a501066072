"""What is seen of docks: which are in front, and where they stand."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QTabBar

from studio.ui.shell.window import MainWindow


def in_front(window: MainWindow) -> set[str]:
    QApplication.processEvents()
    return {name for name, dock in window.docks.all.items() if window.docks.is_in_front(dock)}


def stray_tabs(window: MainWindow) -> list[list[str]]:
    """Tab bars in sight that do not lie right above a dock of theirs."""
    found = []
    for bar in window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
        titles = [bar.tabText(i) for i in range(bar.count())]
        seen = bar.isVisible() and window.rect().intersects(bar.geometry())
        below = bar.geometry().bottom() + 1
        above = [
            dock
            for dock in window.docks.all.values()
            if dock.windowTitle() in titles and abs(dock.y() - below) < 8 and dock.isVisible()
        ]
        if seen and not above:
            found.append(titles)
    return found


def right_columns(window: MainWindow) -> int:
    """How many columns of tabs stand at the right."""
    area = Qt.DockWidgetArea.RightDockWidgetArea
    left = {d for d in window.docks.all.values() if not d.isHidden()}
    left = {dock for dock in left if window.dockWidgetArea(dock) is area}
    count = 0
    while left:
        dock = left.pop()
        left -= set(window.tabifiedDockWidgets(dock))
        count += 1
    return count
