"""Change signals: plain data emits them when it changes, without knowing its listeners."""

from __future__ import annotations

import weakref
from contextlib import contextmanager
from inspect import ismethod
from threading import Lock
from typing import TYPE_CHECKING, Generic, ParamSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

P = ParamSpec("P")


class Signal(Generic[P]):
    """A list of listeners called, in the order they connected, on the thread that emits.

    Listeners are held weakly: one without other references simply drops out, so views need not
    disconnect when they close. A lambda or local function must therefore be kept by its owner.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._listeners: tuple[weakref.ref[Callable[P, object]], ...] = ()
        self._blocked = 0

    @property
    def has_listeners(self) -> bool:
        """Whether anything would be called."""
        return any(each() is not None for each in self._listeners)

    def connect(self, listener: Callable[P, object]) -> None:
        """Call ``listener`` from now on; connecting it again changes nothing."""
        known: weakref.ref[Callable[P, object]] = (
            weakref.WeakMethod(listener) if ismethod(listener) else weakref.ref(listener)
        )
        with self._lock:
            alive = tuple(each for each in self._listeners if each() is not None)
            self._listeners = alive if known in alive else (*alive, known)

    def disconnect(self, listener: Callable[P, object]) -> None:
        """Never call ``listener`` again; no effect if it is not connected."""
        with self._lock:
            self._listeners = tuple(
                each for each in self._listeners if each() not in (None, listener)
            )

    def emit(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call every listener; all are called even if one raises, then the first error is raised.

        A listener connected meanwhile waits for the next time, one disconnected is left out.
        """
        if self._blocked:
            return
        first: Exception | None = None
        listeners = self._listeners
        for each in listeners:
            listener = each()
            # The tuple is replaced by each change: only then is it searched.
            gone = self._listeners is not listeners and each not in self._listeners
            if listener is None or gone:
                continue
            try:
                listener(*args, **kwargs)
            except Exception as error:
                first = first or error
        if first is not None:
            raise first

    @contextmanager
    def block(self) -> Iterator[None]:
        """Inside this ``with`` nothing is emitted, on any thread; blocks may be nested."""
        with self._lock:
            self._blocked += 1
        try:
            yield
        finally:
            with self._lock:
                self._blocked -= 1
