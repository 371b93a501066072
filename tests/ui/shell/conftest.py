"""A whole window on the tests' display, with folders of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.engine.core.app_dirs import AppDirs
from studio.samples import sample_root
from studio.session.studio import Studio
from studio.ui.shell.docks.layout_store import LayoutStore
from studio.ui.shell.docks.panes import PANES, PaneSpec
from studio.ui.shell.window import MainWindow
from studio.widgets.event_loop.scheduling import QtScheduler
from tests.ui.shell.driving import finish, show


@pytest.fixture
def window(qtbot: QtBot, studio: Studio) -> Iterator[MainWindow]:
    """A window at the welcome page."""
    made = MainWindow(studio, LayoutStore(studio.dirs.config))
    show(qtbot, made)
    yield made
    finish(qtbot, made)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of a small sample project."""
    from studio.samples import open_copy

    return open_copy("iris", tmp_path)


@pytest.fixture
def opened(qtbot: QtBot, window: MainWindow, project: Path) -> MainWindow:
    """A window with the small project."""
    window.documents.open_path(project)
    qtbot.waitUntil(lambda: not window.is_welcoming)
    return window


@pytest.fixture
def another(
    qtbot: QtBot, qapp: QApplication, tmp_path: Path
) -> Iterator[Callable[..., MainWindow]]:
    """Starts a window with the same folders as the one before, which is closed first."""
    made: list[tuple[MainWindow, QtScheduler]] = []

    def end() -> None:
        window, scheduler = made.pop()
        finish(qtbot, window)
        window.studio.close()
        scheduler.close()

    def start(panes: Sequence[PaneSpec] = PANES) -> MainWindow:
        if made:
            end()
        scheduler = QtScheduler()
        studio = Studio(scheduler, AppDirs.below(tmp_path / "places"))
        window = MainWindow(studio, LayoutStore(studio.dirs.config), panes=panes)
        made.append((window, scheduler))
        show(qtbot, window)
        return window

    yield start
    if made:
        end()


@pytest.fixture
def samples() -> Path:
    return sample_root()
