"""Long work that its caller can cancel without the code in between taking part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_check: ContextVar[Callable[[], object] | None] = ContextVar("check", default=None)


@contextmanager
def interrupted_by(check: Callable[[], object]) -> Iterator[None]:
    """Have long work within, on this thread, call ``check`` now and then; it raises to end it."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def go_on() -> None:
    """Ask whether to go on, at least every tenth of a second of work; raises where not."""
    check = _check.get()
    if check is not None:
        check()
