"""Everything has a name, everything is reached by keyboard, and the focus can be seen."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QHeaderView,
    QLineEdit,
    QPushButton,
    QSlider,
    QTabBar,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from studio.session.core.theme import PALETTES
from studio.ui.shell.docks.workspaces import WORKSPACES
from studio.ui.shell.window import MainWindow
from studio.widgets import theme
from tests.session.colour_vision import contrast

FIELDS = (QAbstractButton, QLineEdit, QComboBox, QSlider, QAbstractItemView)


def nameless(window: QWidget) -> list[str]:
    """Fields a screen reader would have no word for."""
    found = []
    for widget in window.findChildren(QWidget):
        if not isinstance(widget, FIELDS) or not widget.isVisible():
            continue
        # Headers and the arrows of tabs belong to what they stand in, which has a name.
        part = isinstance(widget, QHeaderView) or isinstance(widget.parent(), QTabBar)
        if part or widget.objectName().startswith("qt_"):
            continue
        inside = isinstance(widget.parent(), QComboBox | QLineEdit)
        face = QAccessible.queryAccessibleInterface(widget)
        name = face.text(QAccessible.Text.Name) if face is not None else ""
        label = isinstance(widget, QAbstractButton) and widget.text()
        if not (name or label or inside):
            found.append(f"{type(widget).__name__} {widget.objectName()} in {_pane(widget)}")
    return found


def _pane(widget: QWidget) -> str:
    parent = widget.parentWidget()
    while parent is not None and not parent.objectName().startswith("dock."):
        parent = parent.parentWidget()
    return "the window" if parent is None else parent.objectName()


@pytest.mark.parametrize("workspace", WORKSPACES)
def test_every_button_and_field_has_a_name(
    qtbot: QtBot, opened: MainWindow, workspace: str
) -> None:
    opened.docks.switch(workspace)
    qtbot.waitUntil(lambda: opened.is_ready)
    assert nameless(opened) == []


def test_the_welcome_page_has_names_too(window: MainWindow) -> None:
    assert nameless(window) == []


def test_every_dock_has_a_name(opened: MainWindow) -> None:
    for dock in opened.docks.all.values():
        assert dock.accessibleName() == dock.spec.title


@pytest.mark.parametrize("mode", PALETTES)
def test_the_focus_ring_can_be_seen(qtbot: QtBot, opened: MainWindow, mode: str) -> None:
    opened.studio.theme.choose(mode)
    holder = QWidget(opened.centralWidget())
    kinds = (QPushButton("Button"), QToolButton(), QLineEdit("text"), QComboBox())
    for place, widget in enumerate(kinds):
        widget.setParent(holder)
        widget.setGeometry(10 + 110 * place, 10, 100, 30)
        widget.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    holder.resize(460, 60)
    holder.show()
    holder.raise_()
    ring = theme.colour("accent")
    for widget in kinds:
        widget.setFocus()
        qtbot.waitUntil(widget.hasFocus)
        image = widget.grab().toImage()
        middle = image.height() // 2
        edge = [image.pixelColor(x, middle) for x in (0, 1)]
        assert all(_near(point, ring) for point in edge), type(widget).__name__
    ground = PALETTES[mode]["dock"]
    assert contrast(PALETTES[mode]["accent"], ground) >= 3
    holder.deleteLater()


def _near(one, other) -> bool:
    return max(abs(a - b) for a, b in zip(one.getRgb()[:3], other.getRgb()[:3], strict=True)) <= 12


def test_tab_goes_through_the_toolbar_and_gets_out_again(qtbot: QtBot, opened: MainWindow) -> None:
    start = opened.top_bar.findChild(QToolButton, "tool.file.new")
    start.setFocus()
    qtbot.waitUntil(start.hasFocus, timeout=60_000)
    seen: list[QWidget] = []
    for _ in range(400):
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        focused = QApplication.focusWidget()
        if focused is start or focused is opened.canvas:
            break
        assert focused not in seen, "the walk turns in a circle"
        seen.append(focused)
    assert len(seen) > 10


def test_nothing_is_said_by_colour_alone(opened: MainWindow) -> None:
    """States in the status bar have a picture and a word each."""
    for name in ("state", "validity"):
        button = opened.status.button(name)
        assert button.text().strip()
        assert not button.icon().isNull()


@pytest.mark.parametrize("mode", PALETTES)
def test_switching_the_theme_reaches_every_surface(
    qtbot: QtBot, opened: MainWindow, mode: str
) -> None:
    other = "light" if mode == "dark" else "dark"
    opened.studio.theme.choose(other)
    qtbot.waitUntil(lambda: opened.is_ready)
    opened.studio.theme.choose(mode)
    QApplication.processEvents()
    shown = {n: d for n, d in opened.docks.all.items() if opened.docks.is_in_front(d)}
    bars = {"menu": opened.menuBar(), "tools": opened.top_bar, "status": opened.status}
    for name, surface in (shown | bars | {"canvas": opened.canvas}).items():
        image = surface.grab().toImage()
        lights = [
            image.pixelColor(x, y).lightness()
            for x in range(2, image.width(), 11)
            for y in range(2, image.height(), 11)
        ]
        mean = sum(lights) / len(lights)
        assert (mean < 110) == (mode == "dark"), name
