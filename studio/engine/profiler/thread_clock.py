"""Processor time of one thread, readable from any other."""

from __future__ import annotations

import threading
import time
from typing import Self


class ThreadClock:
    """Counts the seconds a thread was on a processor.

    Made on the thread it watches, since a thread can only be asked for its clock while it lives;
    a clock whose thread has ended stands still.

    Args:
        number: the system's number of the clock.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._last = 0.0

    @classmethod
    def of_this_thread(cls) -> Self | None:
        """The clock of the calling thread; None where the system has none to read."""
        find = getattr(time, "pthread_getcpuclockid", None)
        return None if find is None else cls(find(threading.get_ident()))

    @property
    def seconds(self) -> float:
        """Seconds on a processor so far."""
        try:
            self._last = max(self._last, time.clock_gettime(self._number))
        except OSError:
            return self._last
        return self._last
