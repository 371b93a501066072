"""Waiting for widgets on a machine of any speed."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Iterator

from PySide6.QtWidgets import QApplication, QLabel, QWidget
from pytestqt.exceptions import TimeoutError as WaitedTooLong
from pytestqt.qtbot import QtBot

WAIT_MS = 60_000
"""How long something may take that does come; only what hangs is to fail."""


class PatientBot(QtBot):
    """pytest-qt's bot with a longer wait where a test does not say how long.

    What never came is explained by the windows that were open and by what each thread was doing.
    """

    def waitUntil(  # noqa: N802 - a name of pytest-qt
        self, callback: Callable[[], bool | None], *, timeout: int = WAIT_MS
    ) -> None:
        """See pytest-qt."""
        try:
            super().waitUntil(callback, timeout=timeout)
        except WaitedTooLong as error:
            said = "\n".join((str(error), *open_windows(), *running_threads()))
            raise WaitedTooLong(said) from None


def open_windows() -> Iterator[str]:
    """A line for each visible window, and one for the widget with the keyboard."""
    for each in QApplication.topLevelWidgets():
        if each.isVisible():
            words = (label.text() for label in each.findChildren(QLabel) if label.isVisible())
            text = " | ".join(word for word in words if word)[:1000]
            yield f"window {_named(each)} {each.windowTitle()!r}: {text}"
    focus = QApplication.focusWidget()
    yield f"focus {_named(focus) if focus else 'nowhere'}"


def running_threads() -> Iterator[str]:
    """The stack of each thread but this one."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():
        if ident != threading.get_ident():
            stack = "".join(traceback.format_stack(frame)[-6:])
            yield f"thread {names.get(ident, ident)}:\n{stack}"


def _named(widget: QWidget) -> str:
    return f"{type(widget).__name__} {widget.objectName()}".strip()
