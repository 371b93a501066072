"""Walks a host list of entries: whole runs, a stop that is asked between entries, single steps."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from studio.engine.core.errors import BackendError

IN_FLIGHT = 3
"""Runs queued on a device and not finished, at most."""


@dataclass(frozen=True, order=True)
class Position:
    """The pause point: runs finished, and the entry of the present run that comes next."""

    step: int
    index: int


class Fence(Protocol):
    """A point in a queue of work that can be waited for."""

    def wait(self) -> None:
        """Return when the device has got there."""
        ...


class Executor:
    """Runs the entries of a program in order, again and again.

    Args:
        entries: what one run calls, in order.
        fence: makes a fence after what was queued; ``None`` if entries run when called.
    """

    def __init__(
        self, entries: Sequence[Callable[[], object]], fence: Callable[[], Fence] | None = None
    ) -> None:
        self._entries = tuple(entries)
        self._calls = self._entries
        self._fence = fence
        self._fences: deque[Fence] = deque()
        self._step = 0
        self._index = 0

    @property
    def position(self) -> Position:
        """Where the next entry is."""
        return Position(self._step, self._index)

    @property
    def in_flight(self) -> int:
        """Runs queued and not known to be finished."""
        return len(self._fences)

    def hook(self, behind: Mapping[int, Callable[[], object]]) -> None:
        """Call these behind the entries of those numbers, instead of any given before.

        From any thread; a run under way goes on without them. Positions do not count them.
        """
        self._calls = tuple(
            _both(entry, behind[number]) if number in behind else entry
            for number, entry in enumerate(self._entries)
        )

    def run(self, steps: int = 1, stop: Callable[[], bool] | None = None) -> int:
        """Finish the present run and queue whole runs after it; returns how many were finished.

        A run that was paused inside counts as the first. ``stop`` is asked between entries; once it
        says yes, the present run is finished and none is begun after it.
        """
        if steps < 0:
            raise BackendError(f"the number of runs cannot be negative: got {steps}", who="run")
        done, stopped = 0, False
        while done < steps and not stopped:
            if self._index == 0 and stop is not None and stop():
                break
            stopped = self._finish_run(stop)
            done += 1
        return done

    def _finish_run(self, stop: Callable[[], bool] | None) -> bool:
        stopped = False
        calls = self._calls
        for index in range(self._index, len(calls)):
            self._index = index
            calls[index]()
            if stop is not None:
                stopped = stopped or stop()
        self._step += 1
        self._index = 0
        if self._fence is not None:
            self._fences.append(self._fence())
            while len(self._fences) > IN_FLIGHT:
                self._fences.popleft().wait()
        return stopped

    def run_to(self, index: int) -> Position:
        """Run single entries of the present run until ``index`` comes next, and pause there.

        ``index`` one behind the last entry finishes the run. BackendError where the present run has
        passed it already.
        """
        if not self._index <= index <= len(self._entries):
            raise BackendError(
                f"entry {index} cannot be run to: expected {self._index} to {len(self._entries)}",
                who="run",
            )
        if index == len(self._entries):
            self._finish_run(None)
            return self.position
        while self._index < index:
            self._calls[self._index]()
            self._index += 1
        return self.position

    def finish(self) -> None:
        """Wait for everything queued."""
        while self._fences:
            self._fences.popleft().wait()


def _both(first: Callable[[], object], second: Callable[[], object]) -> Callable[[], object]:
    def call() -> None:
        first()
        second()

    return call
