"""Takes back what a test adds to the registries of the engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from studio.engine.core.discovery import all_or_none, import_modules

BUILT_IN = (
    "studio.engine.isa.ops", "studio.engine.layers", "studio.engine.optim",
    "studio.engine.train.callbacks", "studio.engine.interop",
)  # fmt: skip


class _TakenBackError(Exception):
    """Ends the block that `all_or_none` undoes."""


@contextmanager
def registered_meanwhile() -> Iterator[None]:
    """Instructions, layers and the like that the block declares are gone behind it."""
    for package in BUILT_IN:
        # What is found only now would be taken back as well.
        import_modules(package)
    with suppress(_TakenBackError), all_or_none():
        yield
        raise _TakenBackError
