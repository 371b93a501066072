"""Progress of long work: the type of a progress callback, and one that ignores it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[["float | None", str], None]
"""Called with the finished share (0 to 1, None where unknown) and a text; may raise to stop."""


def unheard(share: float | None, text: str) -> None:
    """Ignore the progress."""
    del share, text
