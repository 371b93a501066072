"""Uncaught exceptions: each is logged and shown once, and the window goes on."""

from __future__ import annotations

import logging
import sys
import threading
import time
from types import TracebackType

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

from studio.engine.core.errors import InternalError, StudioError
from studio.session.studio import Studio

_LOG = logging.getLogger(__name__)
_AGAIN_SECONDS = 10.0

# Messages of Qt about the system, which are harmless.
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
    """

    def __init__(self, studio: Studio) -> None:
        self._studio = studio
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
        what = error if isinstance(error, StudioError) else InternalError("", error)
        _LOG.error("%s", what.message, exc_info=(kind, error, trace))
        if what is error:
            self._studio.scheduler.post(lambda: self._studio.fail(what))
        else:
            self._say(error, what.message)

    def _caught_in_thread(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            self.caught(args.exc_type, args.exc_value, args.exc_traceback)

    def _say(self, error: BaseException, what: str) -> None:
        now = time.monotonic()
        # A broken paint event fails with every frame.
        if now - self._said.get(what, -_AGAIN_SECONDS) < _AGAIN_SECONDS:
            return
        self._said[what] = now
        self._studio.scheduler.post(lambda: self._studio.fail_unexpectedly(error))

    def _qt_said(self, kind: QtMsgType, _context: QMessageLogContext, message: str) -> None:
        if any(mark in message for mark in _HARMLESS):
            return
        if kind in (QtMsgType.QtCriticalMsg, QtMsgType.QtFatalMsg):
            _LOG.error("Qt: %s", message)
        elif kind is QtMsgType.QtWarningMsg:
            # For developers: users can do nothing about it.
            _LOG.debug("Qt: %s", message)
