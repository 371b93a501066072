"""Delivers SIGINT (Ctrl-C) and SIGTERM through the event loop of Qt."""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Callable

from PySide6.QtCore import QObject, QSocketNotifier


class Interrupts(QObject):
    """Calls back on the window's thread when the process is to end.

    Args:
        asked: called at the first signal; it may still ask the user something.
        forced: called at every further one.
    """

    def __init__(self, asked: Callable[[], object], forced: Callable[[], object]) -> None:
        super().__init__()
        self._asked, self._forced = asked, forced
        self._count = 0
        self._near, far = socket.socketpair()
        self._far = far
        for end in (self._near, far):
            end.setblocking(False)
        self._notifier = QSocketNotifier(self._near.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._heard)
        self._before_fd = signal.set_wakeup_fd(far.fileno(), warn_on_full_buffer=False)
        self._before = {
            which: signal.signal(which, lambda _number, _frame: None)
            for which in (signal.SIGINT, signal.SIGTERM)
        }

    def close(self) -> None:
        """Restore the signal handlers."""
        self._notifier.setEnabled(False)
        signal.set_wakeup_fd(self._before_fd)
        for which, handler in self._before.items():
            signal.signal(which, handler)
        self._near.close()
        self._far.close()

    def _heard(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._near.recv(64)
        self._count += 1
        if self._count == 1:
            self._asked()
        else:
            self._forced()
