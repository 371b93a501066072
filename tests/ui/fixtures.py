"""What tests of widgets get: a display, an application, a studio, and guards against left-overs."""

from __future__ import annotations

import gc
import shutil
import weakref
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt, QThread
from PySide6.QtWidgets import (
    QApplication,
    QColorDialog,
    QDialog,
    QFileDialog,
    QInputDialog,
    QMenu,
    QMessageBox,
    QWidget,
)
from pytestqt.qtbot import QtBot

from studio.engine.core.app_dirs import AppDirs
from studio.session.core.theme import Theme
from studio.widgets import theme
from studio.widgets.event_loop.collector import Collector
from studio.widgets.event_loop.scheduling import QtScheduler
from tests.ui.patient_bot import PatientBot
from tests.ui.virtual_display import ensure_display

if TYPE_CHECKING:
    from studio.session.studio import Studio

BLOCKING = {
    QMessageBox: ("information", "question", "warning", "critical", "about"),
    QFileDialog: ("getOpenFileName", "getOpenFileNames", "getSaveFileName",
                  "getExistingDirectory"),
    QInputDialog: ("getText", "getInt", "getDouble", "getItem", "getMultiLineText"),
    QColorDialog: ("getColor",),
    QDialog: ("exec",),
    QMenu: ("exec",),
}  # fmt: skip

Widget = TypeVar("Widget", bound=QWidget)

COLLECT_EVERY = 10
"""Tests with Qt between two collections of garbage."""

_started: weakref.WeakSet[QThread] = weakref.WeakSet()
_with_qt = count(1)


@pytest.fixture
def qtbot(qapp: object, request: pytest.FixtureRequest) -> PatientBot:
    """The bot of pytest-qt, which would fail after five seconds on a busy machine."""
    return PatientBot(request)


@pytest.fixture(scope="session")
def qapp_args() -> list[str]:
    ensure_display()
    QCoreApplication.setAttribute(Qt.ApplicationAttribute.AA_ShareOpenGLContexts)
    QCoreApplication.setAttribute(Qt.ApplicationAttribute.AA_DontUseNativeDialogs)
    return ["glassbox"]


@pytest.fixture(autouse=True)
def no_hanging_dialogs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dialog that waits for a person fails the test instead of stopping it."""
    for owner, names in BLOCKING.items():
        for name in names:
            monkeypatch.setattr(owner, name, _refusal(f"{owner.__name__}.{name}"))


def _refusal(name: str) -> Any:
    def refuse(*args: object, **kwargs: object) -> NoReturn:
        pytest.fail(f"{name} would wait for a person; open() and signals do not", pytrace=False)

    return refuse


@pytest.fixture(autouse=True)
def nothing_left_behind(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Windows are closed and threads of Qt ended when a test is over.

    Python collects no garbage by itself meanwhile: an object of Qt that is destroyed while Qt
    destroys another waits for a lock that is held until then. It is collected here every few tests,
    since what was left of windows before still hears of the theme.
    """
    with_qt = "qapp" in request.fixturenames
    collects = gc.isenabled()
    if with_qt:
        gc.disable()
        if next(_with_qt) % COLLECT_EVERY == 0:
            _collect()
    start = QThread.start

    def noted(thread: QThread, *args: Any) -> None:
        _started.add(thread)
        start(thread, *args)

    monkeypatch.setattr(QThread, "start", noted)
    yield
    if not with_qt:
        return
    windows = [each for each in QApplication.topLevelWidgets() if each.isVisible()]
    named = ", ".join(f"{type(each).__name__} {each.windowTitle()!r}" for each in windows)
    for window in windows:
        window.close()
        window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    QCoreApplication.processEvents()
    running = [thread for thread in _started if thread.isRunning()]
    for thread in running:
        thread.quit()
        thread.wait(2000)
    if collects:
        gc.enable()
    if windows or running:
        pytest.fail(f"left behind: {named} {len(running)} running QThreads", pytrace=False)


def _collect() -> None:
    """Collect what tests left, without going through what pytest keeps of all others each time.

    Only between two tests: what one of them has made is not to be left out of later collections.
    """
    gc.collect()
    if not gc.get_freeze_count():
        gc.freeze()


@pytest.fixture
def dark(qapp: QApplication) -> Theme:
    """The dark palette on the application."""
    made = Theme("dark")
    theme.install(qapp, made)
    return made


@pytest.fixture
def scheduler(qapp: QApplication) -> Iterator[QtScheduler]:
    made = QtScheduler()
    yield made
    made.close()


@pytest.fixture
def studio(
    qapp: QApplication,
    scheduler: QtScheduler,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Studio]:
    """The models of a window, with folders of their own and the dark palette.

    The peaks of a device are measured by the first test of a process that needs them.
    """
    from studio.session.studio import Studio
    from studio.ui.shell.actions import DATA, EXPORT
    from studio.ui.shell.docks.panes import CANVAS, PANES, PATH_BAR, action_tables

    collector = Collector()
    dirs = AppDirs.below(tmp_path / "places")
    peaks, measured = dirs.cache / "peaks", tmp_path_factory.getbasetemp() / "measured_peaks"
    if measured.is_dir():
        shutil.copytree(measured, peaks)
    made = Studio(scheduler, dirs)
    # What a window declares before it has made its views.
    made.actions.declare(*action_tables((CANVAS, PATH_BAR, *PANES)), DATA, EXPORT)
    made.theme.choose("dark")
    theme.install(qapp, made.theme)
    yield made
    made.close()
    collector.close()
    if peaks.is_dir():
        shutil.copytree(peaks, measured, dirs_exist_ok=True)


def shown(qtbot: QtBot, widget: Widget, *, active: bool = True) -> Widget:
    """Show a window and wait until it is on the screen and, where it is to, has the keyboard."""
    with qtbot.waitExposed(widget, timeout=60_000):
        widget.show()
    if active:
        widget.activateWindow()
        qtbot.waitUntil(widget.isActiveWindow, timeout=60_000)
    return widget
