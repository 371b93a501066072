"""Takes back what a test adds to the registries of the engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from studio.engine.core.discovery import all_or_none


class _TakenBackError(Exception):
    """Ends the block that `all_or_none` undoes."""


@contextmanager
def registered_meanwhile() -> Iterator[None]:
    """Instructions, layers and the like that the block declares are gone behind it."""
    with suppress(_TakenBackError), all_or_none():
        yield
        raise _TakenBackError
