"""The studio's own window with a training in it, driven from a script."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from benchmarks.ui_load import OtherLoad
from benchmarks.ui_probes import LatencyProbe, PaintProbe, Phase
from studio.engine.profiler.thread_clock import ThreadClock
from studio.engine.train.settings import MAX_EPOCHS
from studio.engine.train.trainer import Trainer
from studio.samples import open_copy
from studio.ui.kit.watchdog import Watchdog
from studio.ui.models.places import Places
from studio.ui.shell.app import Session, make_application
from studio.ui.shell.launch import LaunchOptions
from studio.ui.shell.shared_context import prepare_sharing

PATIENCE = 120.0
SETTLE = 0.4


def project_copy(name: str, folder: Path) -> Path:
    """A sample project that trains until it is stopped."""
    path = open_copy(name, folder)
    project = json.loads(path.read_text(encoding="utf-8"))
    project["training"]["epochs"] = MAX_EPOCHS
    project["training"].pop("early_stopping", None)
    path.write_text(json.dumps(project), encoding="utf-8")
    return path


def training_busy(trainer: Trainer) -> Callable[[], float]:
    """Reads the processor seconds of a training's threads; made while it runs."""
    clocks = list(trainer.network.backend.clocks())
    own = trainer.control.call(ThreadClock.of_this_thread).result(PATIENCE)
    if own is not None:
        clocks.append(own)
    return lambda: sum(clock.seconds for clock in clocks)


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
        options = LaunchOptions(project=path, theme="dark")
        self._session = Session(app, options, Places.below(places))  # type: ignore[arg-type]
        self.studio = self._session.studio
        self.studio.preferences.set("backend", backend)
        self._session.begin()
        self.window = self._session.window
        self._clock = ThreadClock.of_this_thread()
        self._busy_of: tuple[Trainer, Callable[[], float]] | None = None
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
        return self._probed("idle", seconds)

    def phase(self, kind: str, seconds: float, *, probed: bool) -> Phase:
        """A stretch of training, ``default`` or ``quiet``.

        Args:
            kind: which.
            seconds: how long.
            probed: measure how late the window is; the probes themselves take a per cent of it.
        """
        self.studio.profiling.set_quiet(kind == "quiet")
        self.spin(SETTLE)
        if probed:
            return self._probed(kind, seconds)
        load, training = OtherLoad(), self._training_busy()
        begun, first, busy = time.perf_counter(), self._steps(), self._busy()
        self.spin(seconds)
        ended, last, spent = time.perf_counter(), self._steps(), self._busy() - busy
        training = self._training_busy() - training
        return Phase(kind, ended - begun, last - first, load.cores, training, spent)

    def asleep(self, seconds: float) -> Phase:
        """A stretch of training in which the window's thread does nothing."""
        time.sleep(SETTLE)
        load, busy = OtherLoad(), self._training_busy()
        begun, first = time.perf_counter(), self._steps()
        time.sleep(seconds)
        ended, last = time.perf_counter(), self._steps()
        spent = self._training_busy() - busy
        return Phase("asleep", ended - begun, last - first, load.cores, spent)

    def _training_busy(self) -> float:
        trainer = self.studio.training.trainer
        if trainer is None or not self.studio.training.is_busy:
            return 0.0
        if self._busy_of is None or self._busy_of[0] is not trainer:
            self._busy_of = (trainer, training_busy(trainer))
        return self._busy_of[1]()

    def _steps(self) -> int:
        trainer = self.studio.training.trainer
        loop = None if trainer is None else trainer.loop_or_none()
        return 0 if loop is None else loop.total_step

    def _probed(self, kind: str, seconds: float) -> Phase:
        late, paint, watchdog = LatencyProbe(self.window), PaintProbe(self.window), Watchdog()
        watchdog.start()
        late.start()
        paint.start()
        load, training = OtherLoad(), self._training_busy()
        begun, first, busy = time.perf_counter(), self._steps(), self._busy()
        self.spin(seconds)
        ended, last, spent = time.perf_counter(), self._steps(), self._busy() - busy
        found = Phase(
            kind, ended - begun, last - first, load.cores, self._training_busy() - training, spent,
            late.stop(), paint.stop(),
        )  # fmt: skip
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
