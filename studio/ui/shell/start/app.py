"""Starts the studio: application, models, window, and an orderly end."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication

from studio import __version__
from studio.engine.core.app_dirs import AppDirs
from studio.engine.core.errors import StudioError
from studio.engine.plugins.loading import leave_out_plugins, load_plugins
from studio.session.core.preferences import Preferences
from studio.session.notices.settling import OPEN
from studio.session.safety.crash_reports import CrashReports
from studio.session.safety.debug_log import DebugLog
from studio.session.studio import Studio
from studio.ui.shell.docks.layout_store import LayoutStore
from studio.ui.shell.docks.panes import PANES
from studio.ui.shell.start.demo import Demo
from studio.ui.shell.start.failures import Guard
from studio.ui.shell.start.interrupts import Interrupts
from studio.ui.shell.start.launch import LaunchOptions
from studio.ui.shell.start.plugin_panes import added_panes, tell_failures
from studio.ui.shell.start.scale import SECONDS, USUAL, ScaleQuestion, ScaleTrial, largest_scale
from studio.ui.shell.start.shared_context import QtSharedProvider, prepare_sharing, provider_for
from studio.ui.shell.window import LEAST, MainWindow
from studio.widgets import theme
from studio.widgets.event_loop.collector import Collector
from studio.widgets.event_loop.scheduling import QtScheduler
from studio.widgets.event_loop.watchdog import Watchdog

SWITCH_INTERVALS = {"window": 0.0005, "balanced": 0.002, "training": 0.005}
"""Seconds a thread may hold the interpreter while another waits for it, by who goes first."""

RESTART, RESTART_SAFE = 64, 65
"""The application ends with these codes when it is to be started again, as ever or safely."""

INTERRUPTED = 130


def run(options: LaunchOptions) -> int:
    """Open the window and return when it is closed; returns the exit code."""
    # A start that takes nothing of the user's along gets folders of its own; no other makes one,
    # which would stay behind where the process is killed.
    own = tempfile.TemporaryDirectory(prefix="glassbox-safe-") if options.safe else nullcontext()
    with own as fresh:
        dirs = AppDirs.of_user()
        if fresh is not None:
            dirs = AppDirs(Path(fresh), dirs.state, dirs.cache, dirs.data)
        trial = choose_scale(options, dirs)
        prepare_sharing()
        app = make_application()
        reports = CrashReports(dirs.state / "crashes")
        crashes = reports.begin()
        session = StudioApp(app, options, dirs, trial)
        session.begin()
        session.tell_crashes(crashes)
        code = app.exec()
        path = session.studio.document.path
        session.close()
        reports.end()
    if code in (RESTART, RESTART_SAFE):
        _start_again(path, safe=code == RESTART_SAFE)
    return code


def choose_scale(options: LaunchOptions, dirs: AppDirs) -> ScaleTrial | None:
    """Set the scale, which Qt reads once; None where the command line decides it.

    A scale in the environment is the user's too and multiplies with ours.
    """
    if options.scale:
        _set_scale(options.scale)
        return None
    preferences = Preferences(dirs.config / "preferences.json")
    trial = ScaleTrial(dirs.state / "scale.json", preferences)
    _set_scale(trial.scale)
    return trial


def _set_scale(scale: int) -> None:
    given = float(os.environ.get("QT_SCALE_FACTOR") or 1.0)
    if scale != 100:
        os.environ["QT_SCALE_FACTOR"] = f"{given * scale / 100:g}"


def make_application() -> QApplication:
    """The application object, with what the system shows of it."""
    QCoreApplication.setApplicationName("Glassbox")
    QCoreApplication.setApplicationVersion(__version__)
    app = QApplication(sys.argv[:1])
    app.setDesktopFileName("glassbox")
    app.setWindowIcon(QIcon(str(Path(__file__).parents[3] / "icons" / "glassbox.svg")))
    app.setApplicationDisplayName("Glassbox")
    return app


class StudioApp:
    """The running application: it makes the models and the window, and opens the project.

    Args:
        app: the application.
        options: what the command line asked for.
        dirs: the user's folders.
        trial: the scale that may have to be confirmed.
    """

    def __init__(
        self,
        app: QApplication,
        options: LaunchOptions,
        dirs: AppDirs,
        trial: ScaleTrial | None = None,
    ) -> None:
        self._app = app
        self._options = options
        self._trial = trial
        self._collector = Collector()
        self._scheduler = QtScheduler()
        if options.safe:
            # Their folder is still the user's, so that one that does harm can be switched off.
            leave_out_plugins(AppDirs.of_user().config)
        else:
            # Before the models, which ask once what layers and formats there are.
            load_plugins(dirs.config)
        self.studio = Studio(self._scheduler, dirs, self._context)
        self._set_look()
        fresh = options.reset_layout or options.safe
        panes = (*PANES, *added_panes(self.studio))
        self.window = MainWindow(
            self.studio, LayoutStore(dirs.config), reset_layout=fresh, panes=panes
        )
        self.window.restart_wanted.connect(self._restart)
        self.window.painted.connect(self._painted)
        self._debug_log = DebugLog(dirs.state / "debug.log")
        self._guard = Guard(self.studio)
        self._interrupts = Interrupts(self.window.close, lambda: app.exit(INTERRUPTED))
        self._watchdog = Watchdog()
        self._demo: Demo | None = None
        tell_failures(self.studio)

    def _context(self) -> QtSharedProvider | None:
        """What lends the engine an OpenGL context of the window's, as the user wants it."""
        return provider_for(self.studio.preferences.text("shared_views"))

    def begin(self) -> None:
        """Open what was asked for and show the window."""
        if self._options.demo is not None:
            self._demo = Demo(self.studio, self.window, self._options.demo, self._app.exit)
        project = self._options.project or self._last_project()
        try:
            if self._demo is not None:
                self._demo.open()
            elif project is not None:
                self.studio.open(project)
                self.window.show_canvas()
        except StudioError as error:
            self.studio.fail(error, OPEN)
        self.window.show()

    def tell_crashes(self, reports: Sequence[Path]) -> None:
        """Say that the process died of a fault the last time, and offer what is known of it."""
        if not reports:
            return
        last = reports[-1]

        def copy() -> None:
            try:
                text = last.read_text("utf-8", "replace")
            except OSError as error:
                self.studio.notify(f"{last.name} cannot be read: {error.strerror}", "warning")
                return
            QApplication.clipboard().setText(text)

        self.studio.notify(
            "Glassbox closed unexpectedly last time", "warning", ("Copy report", copy),
            f"The report is in {last}; it is not sent anywhere.",
        )  # fmt: skip

    def close(self) -> None:
        """End everything, in order."""
        self._watchdog.stop()
        self._interrupts.close()
        self.studio.close()
        self._guard.close()
        self._debug_log.close()
        self._scheduler.close()
        self._collector.close()

    def _painted(self) -> None:
        """The window is on the screen."""
        self._watch_when_ready()
        self.studio.recovery.look()
        if self._trial is not None and self._trial.is_trial:
            ScaleQuestion(
                self._trial.scale, SECONDS, self._trial.keep, self._give_up_scale, self.window
            ).open()
        if self._demo is not None:
            self._demo.begin()

    def _give_up_scale(self) -> None:
        if self._trial is not None:
            self._trial.give_up()
            self.window.restart()

    def _restart(self, safe: bool) -> None:
        self._app.exit(RESTART_SAFE if safe else RESTART)

    def _last_project(self) -> Path | None:
        if self._options.safe or not self.studio.preferences.flag("restore_session"):
            return None
        files = self.studio.recent.files
        return files[0].path if files and not files[0].is_missing else None

    def _set_look(self) -> None:
        studio, chosen = self.studio, self._options.theme
        if chosen:
            studio.preferences.override("theme", chosen)
        for name in ("theme", "reduced_motion", "high_contrast", "priority"):
            self._preference_changed(name)
        theme.install(self._app, studio.theme)
        studio.preferences.changed.connect(self._preference_changed)

    def _preference_changed(self, name: str) -> None:
        preferences = self.studio.preferences
        if name == "theme":
            self.studio.theme.choose(preferences.text("theme"))
        elif name == "reduced_motion":
            theme.set_reduced_motion(preferences.flag("reduced_motion"))
        elif name == "high_contrast":
            self.studio.theme.set_high_contrast(preferences.flag("high_contrast"))
        elif name == "priority":
            sys.setswitchinterval(SWITCH_INTERVALS[preferences.text("priority")])
        elif name == "watchdog":
            self._watch()
        elif name == "scale":
            self._limit_scale()

    def _limit_scale(self) -> None:
        """Take back a scale at which the window would not fit its screen: it comes into force at
        the next start, when nothing may be in reach to take it back by.
        """
        preferences = self.studio.preferences
        wanted = round(preferences.number("scale"))
        present = self._options.scale or (USUAL if self._trial is None else self._trial.scale)
        most = largest_scale(self.window.screen().availableSize(), present, LEAST)
        if wanted > max(most, present):
            preferences.set("scale", most)
            self.studio.notify(
                f"{wanted} % does not fit this screen. The scale is now {most} %.", "warning"
            )

    def _watch_when_ready(self) -> None:
        # What a start takes is known; a stall is one of the window at work.
        if self.window.is_ready:
            self.window.docks.load_others()
            self._collector.settle()
            self._watch()
        else:
            self._scheduler.call_later(0.5, self._watch_when_ready)

    def _watch(self) -> None:
        """Note where the window stands still, if that is wanted."""
        if self.studio.preferences.flag("watchdog"):
            self._watchdog.start()
        else:
            self._watchdog.stop()


def _start_again(path: Path | None, *, safe: bool) -> None:
    """Become a fresh studio with the same project."""
    words = [sys.executable, "-P", "-m", "studio", *([] if path is None else [str(path)])]
    if safe:
        words.append("--safe")
    sys.stdout.flush()
    if sys.platform == "win32":
        import subprocess

        subprocess.Popen(words)
    else:
        os.execv(words[0], words)
