"""Watches for times when the window's thread stands still, and says in which line of Python."""

from __future__ import annotations

import logging
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import TypeAlias

from PySide6.QtCore import QCoreApplication, QObject, Qt, Signal

from studio.engine.profiler.thread_clock import ThreadClock

_LOG = logging.getLogger(__name__)

Place: TypeAlias = "tuple[CodeType, int] | None"
"""A line of running code."""

BLOCK_SECONDS = 0.1
"""The window's thread must answer within this."""

_IDLE_PERIOD = 0.1
_BUSY_PERIOD = 0.05
_BUSY_SHARE = 0.3
_LOOK_AGAIN = 0.25
_KEPT = 100
_DEEPEST = 40


@dataclass(frozen=True)
class Block:
    """One time the window's thread stood still.

    Attributes:
        seconds: how long; exact while it worked, within 50 ms where it waited.
        at_least: how long it was at least.
        stack: where the thread was while it did, its Python lines, outermost first.
    """

    seconds: float
    at_least: float
    stack: str

    @property
    def place(self) -> str:
        """The innermost line."""
        lines = [
            line.strip() for line in self.stack.splitlines() if line.strip().startswith("File")
        ]
        return lines[-1] if lines else "outside Python"


@dataclass(frozen=True)
class _Question:
    """Asked of the window's thread.

    Attributes:
        asked: the clock when it was.
        since: the clock when what it does now began, as far as that can be told.
        certain: the clock when it was doing it for certain.
    """

    asked: float
    since: float
    certain: float


class _Pulse(QObject):
    """Carries a question to the window's thread; answered as soon as that is free."""

    asked = Signal(object)

    def __init__(self, answer: Callable[[_Question, Place], object]) -> None:
        super().__init__()
        self._answer = answer
        self.asked.connect(self._hear, Qt.ConnectionType.QueuedConnection)

    def _hear(self, question: _Question) -> None:
        # Below this slot lies the line that runs the event loop: where the thread is when idle.
        self._answer(question, _place(sys._getframe(1)))


def _place(frame: FrameType | None) -> Place:
    return None if frame is None else (frame.f_code, frame.f_lasti)


class Watchdog:
    """Sees whether the window's thread still answers. Made on that thread.

    Ten times a second it looks whether that thread is at rest, which costs a thousandth of one
    core; only one that is not is asked to answer.

    Args:
        seconds: how long an answer may take before it counts as a block.
        found: hears of every block, on the window's thread.
        hang_seconds: how long an answer may take before ``hung`` is called.
        hung: hears of a thread that does not answer at all, with its stack, on the watchdog's
            thread; once for each time it hangs.
    """

    def __init__(
        self,
        seconds: float = BLOCK_SECONDS,
        found: Callable[[Block], object] | None = None,
        *,
        hang_seconds: float = 30.0,
        hung: Callable[[str], object] | None = None,
    ) -> None:
        self.blocks: deque[Block] = deque(maxlen=_KEPT)
        self._seconds = seconds
        self._found = found
        self._hang_seconds = hang_seconds
        self._hung = hung
        self._watched = threading.get_ident()
        self._clock = ThreadClock.of_this_thread()
        self._pulse = _Pulse(self._answer)
        self._answered = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._rest: Place = None
        self._stack = ""

    @property
    def is_running(self) -> bool:
        """Whether it watches."""
        return self._thread is not None

    def start(self) -> None:
        """Watch from now on, until `stop` or the end of the application."""
        if self._thread is None:
            self._stopping.clear()
            app = QCoreApplication.instance()
            if app is not None:
                app.aboutToQuit.connect(self.stop)
            self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Watch no longer; returns when the watching thread has ended."""
        if self._thread is not None:
            self._stopping.set()
            self._answered.set()
            self._thread.join()
            self._thread = None

    # -- on the watching thread -----------------------------------------------------------------

    def _watch(self) -> None:
        period, looked, worked = _BUSY_PERIOD, time.perf_counter(), self._worked()
        while not self._stopping.wait(period):
            now, work = time.perf_counter(), self._worked()
            passed, spent = now - looked, work - worked
            at_rest = self._is_at_rest()
            period = _BUSY_PERIOD
            if at_rest and spent < _BUSY_SHARE * passed:
                period = _IDLE_PERIOD
            else:
                # What it worked since the last look it worked on this, most likely; a wait may
                # have begun at any time since.
                begun = now - min(passed, spent)
                since = begun if at_rest else min(begun, now - passed / 2)
                self._ask(_Question(now, since, max(begun, now - _BUSY_PERIOD)))
            looked, worked = time.perf_counter(), self._worked()

    def _ask(self, question: _Question) -> None:
        self._answered.clear()
        self._stack = ""
        self._pulse.asked.emit(question)
        if not self._answered.wait(max(0.0, question.since + self._seconds - question.asked)):
            self._look(question.since)

    def _is_at_rest(self) -> bool:
        """Whether the thread stands where its event loop waits, as far as Python sees."""
        frame = sys._current_frames().get(self._watched)
        return self._rest is not None and _place(frame) == self._rest

    def _look(self, since: float) -> None:
        """Note where the thread is until it answers; the line it was in longest is what counts."""
        seen: dict[str, int] = {}
        told = False
        while not self._stopping.is_set():
            stack = self._where()
            seen[stack] = seen.get(stack, 0) + 1
            self._stack = max(seen, key=lambda each: seen[each])
            if not told and time.perf_counter() - since >= self._hang_seconds:
                told = True
                if self._hung is not None:
                    self._hung(self._stack)
            if self._answered.wait(_LOOK_AGAIN):
                return

    def _where(self) -> str:
        frame = sys._current_frames().get(self._watched)
        if frame is None:
            return ""
        return "".join(traceback.format_stack(frame, _DEEPEST)).rstrip()

    def _worked(self) -> float:
        return 0.0 if self._clock is None else self._clock.seconds

    # -- on the watched thread ------------------------------------------------------------------

    def _answer(self, question: _Question, rest: Place) -> None:
        now, stack = time.perf_counter(), self._stack
        self._rest = rest
        self._answered.set()
        passed = now - question.since
        if passed < self._seconds or self._stopping.is_set():
            return
        block = Block(passed, now - question.certain, stack)
        self.blocks.append(block)
        # For developers: a user can do nothing about it.
        _LOG.debug("the window stood still for %d ms\n%s", round(passed * 1e3), stack)
        if self._found is not None:
            self._found(block)
