"""The window pictures are taken of: brought up with the example project, and waited for."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PySide6.QtCore import QCoreApplication, QEvent, QPoint
from PySide6.QtGui import QCursor, QFont, QImage
from PySide6.QtWidgets import QApplication, QWidget

from studio.engine.core.app_dirs import AppDirs
from studio.session.core.theme import Mode
from studio.session.profiling import profiling
from studio.session.studio import Studio
from studio.ui.shell.bars import status_facts
from studio.ui.shell.docks.layout_store import LayoutStore
from studio.ui.shell.start.shared_context import prepare_sharing
from studio.ui.shell.window import MainWindow
from studio.widgets import theme
from studio.widgets.event_loop.scheduling import QtScheduler
from tests.ui.golden import example_project
from tests.ui.golden.comparison import Pixels
from tests.ui.golden.studio_of_pictures import FAMILY, POINTS

_PATIENCE = 60.0
_STILL = 4
_PAUSE = 0.06
_UNSEEN = 2
"""Levels of 255 by which a picture painted again may be off: edges are smoothed in two steps."""


def make_application() -> QApplication:
    """The application, with the font of the pictures and nothing that blinks or slides."""
    prepare_sharing()
    application = QApplication(["glassbox"])
    application.setFont(QFont(FAMILY, POINTS))
    application.setCursorFlashTime(0)
    theme.set_reduced_motion(True)
    profiling.dry_run = example_project.given_times
    status_facts.ago_text = lambda _seconds: "just now"
    return application


class Camera:
    """One window in one theme.

    Args:
        application: the application.
        mode: the theme.
        scratch: an empty folder.
    """

    def __init__(self, application: QApplication, mode: Mode, scratch: Path) -> None:
        self.application = application
        self.scratch = scratch
        self.scheduler = QtScheduler()
        self.studio = Studio(self.scheduler, AppDirs.below(scratch / "places"))
        self.studio.preferences.set("backend", "cpu")
        self.studio.preferences.set("profile_live", False)
        self.studio.theme.choose(mode)
        theme.install(application, self.studio.theme)
        self.window = MainWindow(self.studio, LayoutStore(scratch / "layout"))

    def show(self, width: int, height: int) -> None:
        """Show the window in a size, with everything in sight made."""
        self.window.resize(width, height)
        self.window.show()
        self.window.activateWindow()
        # Nothing lies under the pointer.
        QCursor.setPos(self.window.screen().geometry().bottomRight() - QPoint(1, 1))
        self.until(lambda: self.window.is_ready)

    def resize(self, width: int, height: int) -> None:
        """Give the window another size."""
        self.window.resize(width, height)
        self.until(lambda: self.window.is_ready)

    def until(self, wanted: Callable[[], object]) -> None:
        """Let the window work until something is so; TimeoutError where it never gets there."""
        end = time.monotonic() + _PATIENCE
        while not wanted():
            if time.monotonic() > end:
                raise TimeoutError("the studio did not get there")
            self.work(0.01)

    def work(self, seconds: float) -> None:
        """Let the window work."""
        end = time.monotonic() + seconds
        while True:
            QApplication.processEvents()
            if time.monotonic() >= end:
                return
            time.sleep(0.002)

    def take(self, widget: QWidget | None = None) -> Pixels:
        """What a widget shows once it has come to rest; the window where none is given."""
        shown = widget or self.window
        self.until(lambda: self.window.is_ready and not self.studio.tasks.shown)
        end = time.monotonic() + _PATIENCE
        last, same = _pixels(shown), 0
        moving = ""
        while same < _STILL:
            if time.monotonic() > end:
                raise TimeoutError(f"{shown.objectName()} never comes to rest{moving}")
            self.work(_PAUSE)
            now = _pixels(shown)
            moved = _where(last, now)
            same = 0 if moved else same + 1
            moving = moved or moving
            last = now
        return last

    def close(self) -> None:
        """Put everything away."""
        self.studio.document.history.mark_clean()
        self.window.close()
        self.studio.close()
        self.window.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        self.scheduler.close()


def _where(one: Pixels, other: Pixels) -> str:
    """Where one picture moves on to another, in words; empty where nobody would see it."""
    if one.shape != other.shape:
        return ": its size changes"
    apart = np.abs(one.astype(np.int16) - other).max(axis=2)
    rows, columns = np.nonzero(apart > _UNSEEN)
    if not len(rows):
        return ""
    return f": columns {columns.min()} to {columns.max()}, rows {rows.min()} to {rows.max()}"


def _pixels(widget: QWidget) -> Pixels:
    image = widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    return rows[:, : image.width() * 3].reshape(image.height(), image.width(), 3).copy()
