"""What a run of a trace asks of its device, collected and handed over in one piece."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import ParamSpec, TypeVar

from studio.engine.runtime.backend import Backend

P = ParamSpec("P")
T = TypeVar("T")

PATIENCE = 0.001
"""Seconds `let_begin` sleeps at most."""


class Work:
    """Calls for a device, in order.

    They are kept until `send` posts them together, and nobody waits: posting each one alone, and
    waiting for it, took longer than a small network's step.

    Args:
        backend: the device.
    """

    __slots__ = ("_backend", "_begun", "_calls", "_sent")

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._begun: threading.Lock | None = None
        self._calls: list[Callable[[], object]] = []
        self._sent: Future[object] | None = None

    def do(self, call: Callable[P, object], *given: P.args, **named: P.kwargs) -> None:
        """Make a call when its turn comes."""
        self._calls.append(lambda: call(*given, **named))

    def send(self) -> None:
        """Hand the calls over; what fails among them is raised by `require`."""
        if self._calls:
            calls, self._calls = self._calls, []
            begun = self._begun = threading.Lock()
            begun.acquire()
            self._sent = self._backend.submit(lambda: _made(calls, begun))

    @property
    def done(self) -> bool:
        """Whether all of it has been handed to the driver, and nothing failed."""
        sent = self._sent
        return not self._calls and (sent is None or (sent.done() and sent.exception() is None))

    @property
    def failed(self) -> bool:
        """Whether something failed; what has not ended may still do so."""
        sent = self._sent
        return sent is not None and sent.done() and sent.exception() is not None

    def wait(self) -> None:
        """Return when it was handed to the driver, or failed."""
        if self._sent is not None:
            self._sent.exception()

    def let_begin(self) -> None:
        """Sleep until the device is at the last of the calls, or is busy with others.

        A thread that goes on in Python keeps the interpreter lock for milliseconds, in which the
        device's thread could not begin: nothing would run while more is recorded. The last call
        sends kernels from a compiled loop, which needs no such lock.
        """
        if self._begun is not None and self._begun.acquire(timeout=PATIENCE):
            self._begun.release()

    def require(self) -> None:
        """Wait for it, and raise what it raised."""
        if self._sent is not None:
            self._sent.result()

    def before(self, answer: Future[T]) -> Future[T]:
        """An answer that was asked for behind this, or the error of this."""
        sent = self._sent
        if sent is None:
            return answer
        found: Future[T] = Future()

        def look(_: Future[T]) -> None:
            # The device works in order: who answers has this behind it.
            error = sent.exception() or answer.exception()
            if error is None:
                found.set_result(answer.result())
            else:
                found.set_exception(error)

        answer.add_done_callback(look)
        return found


class WorkNow(Work):
    """Calls for a device that works on the thread that asks: each is made when it is given."""

    __slots__ = ()

    def do(self, call: Callable[P, object], *given: P.args, **named: P.kwargs) -> None:
        """Make a call."""
        call(*given, **named)

    def send(self) -> None:
        """Everything is done already."""


def _made(calls: list[Callable[[], object]], begun: threading.Lock) -> None:
    try:
        for call in calls[:-1]:
            call()
    finally:
        begun.release()
    calls[-1]()
