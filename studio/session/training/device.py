"""The device this window trains on: opened when first needed, and kept for the next training."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Protocol, TypeAlias

from studio.engine.gl.device.context import DeviceContext
from studio.engine.train.devices import Opened, open_backend
from studio.session.core.scheduling import Scheduler


class LentContext(Protocol):
    """Opens the engine's context, as ``ContextProvider``, and is closed on the window's thread."""

    def create(self) -> DeviceContext:
        """Open the context and leave it current; called by the engine."""
        ...

    def close(self) -> None:
        """Give back what the window made for it; the engine has ended."""
        ...


ContextFactory: TypeAlias = Callable[[], LentContext | None]
"""Makes the provider of a context, on the window's thread; None for a standalone one."""


class Device:
    """Opens one backend and keeps it while the same is asked for.

    Args:
        scheduler: the window's thread, where providers are closed.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._lock = RLock()
        self._choice = ""
        self._opened: Opened | None = None
        self._context: LentContext | None = None

    def is_open(self, choice: str) -> bool:
        """Whether the device of a choice is open already."""
        return self._opened is not None and choice == self._choice

    def open(self, choice: str, context: LentContext | None) -> Opened:
        """The backend of a choice; another one is closed first. Not on the window's thread.

        Raises:
            BackendError: it cannot be had.
        """
        with self._lock:
            if self._opened is not None and choice == self._choice:
                self._give_back(context)
                return self._opened
            self.close()
            self._context = context
            try:
                self._opened = open_backend(choice, context)
            except BaseException:
                self.close()
                raise
            if self._opened.backend.name != "gl":
                self._give_back(self._context)
                self._context = None
            self._choice = choice
            return self._opened

    def close(self) -> None:
        """Close the backend; everything on it is void."""
        with self._lock:
            self._end()
            self._give_back(self._context)
            self._context = None

    def close_for_good(self) -> None:
        """The same on the window's thread, which will run no posted work any more."""
        with self._lock:
            self._end()
            if self._context is not None:
                self._context.close()
            self._context = None

    def _end(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def _give_back(self, context: LentContext | None) -> None:
        if context is not None:
            self._scheduler.post(context.close)
