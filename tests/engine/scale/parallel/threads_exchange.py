"""Several workers as threads of one process: sums behind a barrier, in order of their ranks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from studio.engine.runtime.exchange import Doubles, Exchange, Floats, Transfer

T = TypeVar("T")

_SECONDS = 120.0


@dataclass
class Meeting:
    """Where the threads of one training meet."""

    size: int
    values: dict[int, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.barrier = threading.Barrier(self.size)

    def all_values(self, rank: int, value: object) -> list[Any]:
        """What every rank brings."""
        self.values[rank] = value
        self.barrier.wait(_SECONDS)
        found = [self.values[each] for each in range(self.size)]
        self.barrier.wait(_SECONDS)
        return found


class _Sum:
    def __init__(self, exchange: ThreadsExchange, sent: Floats, out: Floats) -> None:
        self._exchange, self._sent, self._out = exchange, sent, out
        self._flags = exchange.flags

    def wait(self) -> None:
        exchange = self._exchange
        found = exchange.meeting.all_values(exchange.rank, (self._sent, self._flags))
        np.copyto(self._out, np.sum([sent for sent, _ in found], axis=0, dtype=np.float32))
        for _, flags in found:
            exchange.agree(flags)

    def abandon(self) -> None:
        """Nothing works on the memory but `wait`."""


class ThreadsExchange(Exchange):
    """One thread among others."""

    def __init__(self, meeting: Meeting, rank: int) -> None:
        super().__init__(rank, meeting.size)
        self.meeting = meeting

    def begin_sum(self, given: Floats, out: Floats, scale: float = 1.0) -> Transfer:
        return _Sum(self, given * np.float32(scale), out)

    def total(self, values: Doubles) -> Doubles:
        found = self.meeting.all_values(self.rank, values.copy())
        return np.sum(found, axis=0)

    def from_first(self, data: bytes) -> bytes:
        return self.meeting.all_values(self.rank, data)[0]

    def all_words(self, word: str) -> list[str]:
        return self.meeting.all_values(self.rank, word)


def together(size: int, work: Callable[[Exchange], T]) -> list[T]:
    """What each of so many workers found; the first error of any of them is raised."""
    meeting = Meeting(size)

    def one(rank: int) -> T:
        try:
            return work(ThreadsExchange(meeting, rank))
        except BaseException:
            meeting.barrier.abort()
            raise

    with ThreadPoolExecutor(size) as pool:
        futures = [pool.submit(one, rank) for rank in range(size)]
        errors = [e for f in futures if (e := f.exception()) is not None]
        real = [e for e in errors if not isinstance(e, threading.BrokenBarrierError)]
        for error in (*real, *errors):
            raise error
        return [future.result() for future in futures]
