"""What nobody caught: it goes to the log and is said once; the window goes on."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

from studio.engine.core.errors import StudioError
from studio.ui.models.studio import Studio

_LOG = logging.getLogger(__name__)
_AGAIN_SECONDS = 10.0

# What Qt says about the system it found, which is nobody's mistake and in nobody's way.
_HARMLESS = (
    "propagateSizeHints",
    "This plugin does not support",
    "Could not connect to accessibility bus",
    "qt.qpa.theme",
    "Wayland does not support QWindow::requestActivate",
)


class Guard:
    """Hears uncaught exceptions of all threads and messages of Qt, until it is closed.

    Args:
        studio: tells the user and keeps the log.
        show_log: opens the log.
    """

    def __init__(self, studio: Studio, show_log: Callable[[], object] | None = None) -> None:
        self._studio = studio
        self._show_log = show_log
        self._said: dict[str, float] = {}
        self._hook, self._thread_hook = sys.excepthook, threading.excepthook
        sys.excepthook = self.caught
        threading.excepthook = self._caught_in_thread
        self._handler = qInstallMessageHandler(self._qt_said)

    def close(self) -> None:
        """Put everything back."""
        sys.excepthook, threading.excepthook = self._hook, self._thread_hook
        qInstallMessageHandler(self._handler)

    def caught(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        """An exception came up to the event loop."""
        if issubclass(kind, KeyboardInterrupt):
            self._hook(kind, error, trace)
            return
        _LOG.error("%s: %s", kind.__name__, error, exc_info=(kind, error, trace))
        if isinstance(error, StudioError):
            self._studio.scheduler.post(lambda: self._studio.fail(error))
        else:
            self._say(f"{kind.__name__}: {error}")

    def _caught_in_thread(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            self.caught(args.exc_type, args.exc_value, args.exc_traceback)

    def _say(self, what: str) -> None:
        now = time.monotonic()
        # A broken paint event fails with every frame.
        if now - self._said.get(what, -_AGAIN_SECONDS) < _AGAIN_SECONDS:
            return
        self._said[what] = now
        action = None if self._show_log is None else ("Show the log", self._show_log)
        text = "Something went wrong inside the studio; your work is still here"
        self._studio.scheduler.post(lambda: self._studio.notify(text, "error", action, what[:300]))

    def _qt_said(self, kind: QtMsgType, _context: QMessageLogContext, message: str) -> None:
        if any(mark in message for mark in _HARMLESS):
            return
        if kind in (QtMsgType.QtCriticalMsg, QtMsgType.QtFatalMsg):
            _LOG.error("Qt: %s", message)
        elif kind is QtMsgType.QtWarningMsg:
            _LOG.warning("Qt: %s", message)
