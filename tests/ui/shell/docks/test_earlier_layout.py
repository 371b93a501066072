"""Window and workspaces as an earlier version kept them come back as they were."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray
from pytestqt.qtbot import QtBot

from studio.engine.core.app_dirs import AppDirs
from studio.session.studio import Studio
from studio.ui.shell.docks.layout_store import LayoutStore
from studio.ui.shell.window import MainWindow
from studio.widgets.event_loop.scheduling import QtScheduler
from tests.recorded.user.unpack import unpack
from tests.ui.shell.driving import finish

BUILD = {"data", "history", "inspector", "listing", "palette", "plots", "problems", "tensor_map"}
_SCREEN_WIDTH = 46
"""Where Qt writes it: behind magic, version, two rectangles, screen number and two flags."""

TRAIN = {"data", "log", "plots", "runs", "testing", "training"}
"""The last of them is newer: a tab behind another, which leaves all as it was."""


def _as_if_recorded_here(geometry: bytes, window: MainWindow) -> bytes:
    """Qt refuses a geometry of a screen of another width: put in the width of this one."""
    width = struct.pack(">i", window.screen().geometry().width())
    return geometry[:_SCREEN_WIDTH] + width + geometry[_SCREEN_WIDTH + 4 :]


def _shown(window: MainWindow) -> set[str]:
    return {name for name, dock in window.docks.all.items() if not dock.isHidden()}


@pytest.mark.slow
def test_geometry_workspaces_and_panes_come_back(qtbot: QtBot, tmp_path: Path) -> None:
    project = unpack(tmp_path)
    scheduler = QtScheduler()
    studio = Studio(scheduler, AppDirs.below(tmp_path))
    store = LayoutStore(studio.dirs.config)
    window = MainWindow(studio, store)
    try:
        with qtbot.waitExposed(window, timeout=60_000):
            window.show()
        qtbot.waitUntil(lambda: window.is_ready, timeout=60_000)
        assert window.restoreGeometry(QByteArray(_as_if_recorded_here(store.geometry(), window)))
        assert (window.width(), window.height()) == (1330, 830)
        assert window.docks.workspace == "train"
        assert window.history.ids == ("train.start", "view.go_to")
        window.documents.open_path(project)
        qtbot.waitUntil(lambda: not window.is_welcoming, timeout=60_000)
        qtbot.waitUntil(lambda: _shown(window) == TRAIN, timeout=60_000)
        assert window.docks["plots"].width() > window.docks["runs"].width()
        assert not window.docks.is_in_front(window.docks["training"])
        studio.actions.trigger("workspace.build")
        qtbot.waitUntil(lambda: _shown(window) == BUILD, timeout=60_000)
        palette = window.docks["palette"]
        assert palette.isFloating()
        assert (palette.width(), palette.height()) == (300, 400)
        bottom = window.tabifiedDockWidgets(window.docks["history"])
        assert window.docks["tensor_map"] in bottom
    finally:
        finish(qtbot, window)
        studio.close()
        scheduler.close()
