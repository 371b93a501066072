"""The studio's own window with a training in it, driven from a script."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from benchmarks.ui_probes import LatencyProbe, PaintProbe, Phase
from studio.engine.profiler.thread_clock import ThreadClock
from studio.engine.train.settings import MAX_EPOCHS
from studio.samples import open_copy
from studio.ui.kit.watchdog import Watchdog
from studio.ui.models.places import Places
from studio.ui.shell.app import SWITCH_INTERVAL, Session, make_application
from studio.ui.shell.launch import LaunchOptions
from studio.ui.shell.shared_context import prepare_sharing

PATIENCE = 120.0


def project_copy(name: str, folder: Path) -> Path:
    """A sample project that trains until it is stopped."""
    path = open_copy(name, folder)
    project = json.loads(path.read_text(encoding="utf-8"))
    project["training"]["epochs"] = MAX_EPOCHS
    project["training"].pop("early_stopping", None)
    path.write_text(json.dumps(project), encoding="utf-8")
    return path


class OpenWindow:
    """The studio as a user opens it, on a project.

    Args:
        path: the project.
        backend: where to train.
        places: folder for what belongs to the user.
    """

    def __init__(self, path: Path, backend: str, places: Path) -> None:
        app = QApplication.instance()
        if app is None:
            prepare_sharing()
            app = make_application()
        sys.setswitchinterval(SWITCH_INTERVAL)
        options = LaunchOptions(project=path, theme="dark")
        self._session = Session(app, options, Places.below(places))  # type: ignore[arg-type]
        self.studio = self._session.studio
        self.studio.preferences.set("backend", backend)
        self._session.begin()
        self.window = self._session.window
        self._clock = ThreadClock.of_this_thread()
        self.wait(lambda: self.studio.compilation.result is not None)
        self.spin(2.0)

    @property
    def device(self) -> str:
        """What it trains on."""
        trainer = self.studio.training.trainer
        return "" if trainer is None else trainer.network.backend.device

    def spin(self, seconds: float) -> None:
        """Let the window live for a while."""
        loop = QEventLoop()
        QTimer.singleShot(round(seconds * 1000), loop.quit)
        loop.exec()

    def wait(self, wanted: Callable[[], bool]) -> None:
        """Let the window live until something is so."""
        end = time.monotonic() + PATIENCE
        while not wanted():
            if time.monotonic() > end:
                raise TimeoutError("the studio did not get there")
            self.spin(0.02)

    def start_training(self) -> None:
        """Train, and return behind the first steps."""
        self.studio.profiling.set_quiet(False)
        self.studio.training.start()
        self.wait(lambda: self._steps() > 0)

    def stop_training(self) -> None:
        """Stop, and wait for the end."""
        self.studio.profiling.set_quiet(False)
        self.studio.training.stop()
        self.wait(lambda: not self.studio.training.is_busy)

    def idle(self, seconds: float) -> Phase:
        """The window with nothing to do."""
        return self._measured("idle", seconds, lambda: 0)

    def phase(self, kind: str, seconds: float) -> Phase:
        """A stretch of training, ``default`` or ``quiet``."""
        self.studio.profiling.set_quiet(kind == "quiet")
        self.spin(0.5)
        return self._measured(kind, seconds, self._steps)

    def _steps(self) -> int:
        trainer = self.studio.training.trainer
        loop = None if trainer is None else trainer.loop_or_none()
        return 0 if loop is None else loop.total_step

    def _measured(self, kind: str, seconds: float, steps: Callable[[], int]) -> Phase:
        late, paint, watchdog = LatencyProbe(self.window), PaintProbe(self.window), Watchdog()
        watchdog.start()
        late.start()
        paint.start()
        begun, first, busy = time.perf_counter(), steps(), self._busy()
        self.spin(seconds)
        ended, last, spent = time.perf_counter(), steps(), self._busy() - busy
        found = Phase(kind, ended - begun, last - first, spent, late.stop(), paint.stop())
        watchdog.stop()
        found.blocks = [f"{b.seconds * 1e3:.0f} ms: {b.place}" for b in watchdog.blocks]
        late.deleteLater()
        paint.deleteLater()
        return found

    def _busy(self) -> float:
        return 0.0 if self._clock is None else self._clock.seconds

    def close(self) -> None:
        """End everything."""
        self.window.hide()
        self._session.close()
        self.window.deleteLater()
        self.spin(0.1)
