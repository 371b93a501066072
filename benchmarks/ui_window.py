"""The studio's own window with a training in it, driven from a script."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from benchmarks.ui_load import TurnClock
from benchmarks.ui_probes import EpochClock, LatencyProbe, PaintProbe, Phase
from studio.engine.core.app_dirs import AppDirs
from studio.engine.profiler.other_load import OtherLoad
from studio.engine.profiler.thread_clock import ThreadClock
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.settings import MAX_EPOCHS
from studio.samples import open_copy
from studio.ui.shell.start.app import StudioApp, make_application
from studio.ui.shell.start.launch import LaunchOptions
from studio.ui.shell.start.shared_context import prepare_sharing
from studio.widgets.event_loop.watchdog import Watchdog

PATIENCE = 120.0
SETTLE = 0.2


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
        dirs: folder for what belongs to the user.
    """

    def __init__(self, path: Path, backend: str, dirs: Path) -> None:
        app = QApplication.instance()
        if app is None:
            prepare_sharing()
            app = make_application()
        options = LaunchOptions(project=path, theme="dark")
        self._session = StudioApp(app, options, AppDirs.below(dirs))  # type: ignore[arg-type]
        self.studio = self._session.studio
        self.studio.preferences.set("backend", backend)
        self._session.begin()
        self.window = self._session.window
        self._clock = ThreadClock.of_this_thread()
        self._turns = TurnClock()
        self._epochs: EpochClock | None = None
        self._training_busy: Callable[[], float] = float
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
        self.wait(self._has_begun)
        trainer = self.studio.training.trainer
        assert trainer is not None
        self._epochs = EpochClock(trainer)
        self._training_busy = training_busy(trainer)

    def stop_training(self) -> None:
        """Stop, and wait for the end."""
        self.studio.profiling.set_quiet(False)
        self.studio.training.stop()
        self.wait(lambda: not self.studio.training.is_busy)
        self._epochs, self._training_busy = None, float

    def idle(self, seconds: float) -> Phase:
        """The window with nothing to do."""
        return self._probed("idle", seconds)

    def theme_switches(self, count: int) -> list[float]:
        """Seconds of switches between dark and light, until everything is painted."""
        took = []
        for number in range(count):
            begun = time.perf_counter()
            self.studio.theme.choose(("light", "dark")[number % 2])
            QApplication.processEvents()
            took.append(time.perf_counter() - begun)
            self.spin(0.2)
        return took

    def phase(self, kind: str, seconds: float, *, probed: bool = False) -> Phase:
        """A stretch of training.

        Args:
            kind: ``default``; ``quiet``; or ``asleep``, as quiet with the window's thread doing
                nothing.
            seconds: how long.
            probed: measure how late the window is; the probes themselves take a per cent of it.
        """
        self.studio.profiling.set_quiet(kind != "default")
        self.spin(SETTLE)
        if probed:
            return self._probed(kind, seconds)
        return self._watched(kind, seconds, time.sleep if kind == "asleep" else self.spin)

    def _has_begun(self) -> bool:
        trainer = self.studio.training.trainer
        loop = None if trainer is None else trainer.loop_or_none()
        return loop is not None and loop.total_step > 0

    def _probed(self, kind: str, seconds: float) -> Phase:
        late, paint, watchdog = LatencyProbe(self.window), PaintProbe(self.window), Watchdog()
        watchdog.start()
        late.start()
        paint.start()
        found = self._watched(kind, seconds, self.spin)
        found.latency, found.paint = late.stop(), paint.stop()
        watchdog.stop()
        found.blocks = [f"{b.seconds * 1e3:.0f} ms: {b.place}" for b in watchdog.blocks]
        late.deleteLater()
        paint.deleteLater()
        return found

    def _watched(self, kind: str, seconds: float, wait: Callable[[float], None]) -> Phase:
        load, training, turns = OtherLoad(), self._training_busy(), self._turns.seconds
        begun, busy = time.perf_counter(), self._busy()
        wait(seconds)
        ended, spent = time.perf_counter(), self._busy() - busy
        return Phase(
            kind,
            ended - begun,
            [] if self._epochs is None else self._epochs.within(begun, ended),
            load.cores,
            self._training_busy() - training,
            spent,
            self._turns.seconds - turns,
        )

    def _busy(self) -> float:
        return 0.0 if self._clock is None else self._clock.seconds

    def close(self) -> None:
        """End everything."""
        self.window.hide()
        self._session.close()
        self.window.deleteLater()
        self.spin(0.1)
