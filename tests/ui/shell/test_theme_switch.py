"""No colour of the theme before is left after a switch, in the window, its panes and dialogs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage, QPalette
from PySide6.QtWidgets import QApplication, QDialog, QWidget
from pytestqt.qtbot import QtBot

from studio.samples import open_copy
from studio.session.core.theme import PALETTES, Mode
from studio.ui.shell.docks.workspaces import WORKSPACES
from studio.ui.shell.window import MainWindow
from studio.widgets import restyling, theme

pytestmark = pytest.mark.slow

GROUNDS = ("window", "dock", "field", "canvas", "hover", "hairline")
"""Roles that fill whole areas, so that their colours are on the screen as they are."""

_NONE = (QPalette.ColorRole.NoRole, QPalette.ColorRole.NColorRoles)
COLOURED = [role for role in QPalette.ColorRole if role not in _NONE]


@pytest.fixture
def full(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> MainWindow:
    """A window whose panes are all made, with a trained network, a float and three dialogs."""
    studio = window.studio
    studio.preferences.set("backend", "cpu")
    window.documents.open_path(open_copy("spirals", tmp_path))
    qtbot.waitUntil(lambda: studio.compilation.result is not None)
    studio.actions.trigger("train.start")
    qtbot.waitUntil(lambda: bool(studio.runs.runs))
    studio.training.stop()
    qtbot.waitUntil(lambda: not studio.training.is_busy)
    for workspace in WORKSPACES:
        studio.actions.trigger(f"workspace.{workspace}")
        qtbot.waitUntil(lambda: window.is_ready)
    for dock in window.docks.all.values():
        dock.ensure()
    window.docks["log"].setFloating(True)
    window.docks["log"].show()
    for action in ("file.preferences", "help.keys", "help.about"):
        studio.actions.trigger(action)
    qtbot.waitUntil(lambda: len(dialogs()) == 3)
    return window


def dialogs() -> list[QWidget]:
    return [w for w in QApplication.topLevelWidgets() if isinstance(w, QDialog) and w.isVisible()]


def grounds(mode: Mode) -> set[int]:
    other: Mode = "light" if mode == "dark" else "dark"
    found = {int(PALETTES[mode][role].lstrip("#"), 16) for role in GROUNDS}
    return found - {int(colour.lstrip("#"), 16) for colour in PALETTES[other].values()}


def painted(widget: QWidget) -> set[int]:
    """The colours of a widget's picture that fill more than a few of its pixels."""
    image = widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    pixels = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), -1)
    colours, counts = np.unique(pixels & 0xFFFFFF, return_counts=True)
    return {int(c) for c, n in zip(colours, counts, strict=True) if n > 200}


def frozen(mode: Mode) -> Iterator[str]:
    """Widgets, seen or not, whose palette has colours only the theme before has."""
    other: Mode = "light" if mode == "dark" else "dark"
    old = set(PALETTES[other].values()) - set(PALETTES[mode].values())
    for widget in QApplication.allWidgets():
        held = widget.palette()
        for role in COLOURED:
            colour, style = held.color(role), held.brush(role).style()
            # What paints nothing is black.
            paints = colour.alpha() and style is not Qt.BrushStyle.NoBrush
            if paints and colour.name().upper() in old:
                name = f"{type(widget).__name__} {widget.objectName()}"
                yield f"{name} {role.name} {colour.name()}"


def test_no_colour_of_the_theme_before_is_left(qtbot: QtBot, full: MainWindow) -> None:
    modes: tuple[Mode, ...] = ("light", "dark")
    for mode in modes:
        other: Mode = "light" if mode == "dark" else "dark"
        full.studio.theme.choose(mode)
        qtbot.waitUntil(lambda: not full.docks.is_making)
        qtbot.waitUntil(restyling.is_complete)
        left = sorted(set(frozen(mode)))
        assert not left, "\n".join([mode, *left])
        for top in (full, full.docks["log"], *dialogs()):
            assert not painted(top) & grounds(other), (mode, top.objectName())
        assert painted(full) & grounds(mode)
        # What was behind tabs or closed while the theme was switched.
        for name in full.docks.all:
            dock = full.docks.show(name)
            qtbot.waitUntil(lambda dock=dock: full.docks.is_in_front(dock))
            QApplication.processEvents()
            assert not painted(dock) & grounds(other), (mode, name)
        full.docks["log"].setFloating(True)
    assert theme.current().mode == "dark"


def test_what_is_shown_right_behind_a_switch_has_its_colours(
    qtbot: QtBot, full: MainWindow
) -> None:
    for dialog in dialogs():
        dialog.close()
    modes: tuple[Mode, ...] = ("light", "dark", "light")
    for mode, workspace in zip(modes, WORKSPACES, strict=True):
        full.studio.theme.choose(mode)
        assert not restyling.is_complete()
        full.studio.actions.trigger(f"workspace.{workspace}")
        QApplication.processEvents()
        other: Mode = "light" if mode == "dark" else "dark"
        assert not painted(full) & grounds(other), (mode, workspace)
        assert painted(full) & grounds(mode)
    # Switched again before all was styled.
    for mode in ("dark", "light", "dark"):
        full.studio.theme.choose(mode)
    qtbot.waitUntil(restyling.is_complete)
    assert not sorted(set(frozen("dark")))


def test_a_switch_moves_nothing(qtbot: QtBot, full: MainWindow) -> None:
    for dialog in dialogs():
        dialog.close()

    def places() -> list[object]:
        docks = full.docks.all.values()
        return [(d.objectName(), d.geometry()) for d in docks if full.docks.is_in_front(d)]

    # An arrangement of the user's own, which nothing puts back.
    full.resizeDocks([full.docks["listing"]], [full.docks["listing"].width() - 37],
                     Qt.Orientation.Horizontal)  # fmt: skip
    full.addDockWidget(full.dockWidgetArea(full.docks["listing"]), full.docks["history"])
    # What was trained and opened before may still move panes for a moment.
    qtbot.waitUntil(lambda: not full.studio.tasks.running and not full.docks.is_settling)
    for _ in range(5):
        QApplication.processEvents()
    before = places()
    for mode in ("light", "dark"):
        full.studio.theme.choose(mode)
        qtbot.waitUntil(lambda: not full.docks.is_making)
        for _ in range(5):
            QApplication.processEvents()
        assert places() == before
