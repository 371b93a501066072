"""How far something is: what hears of it, and what stands in where nobody does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[["float | None", str], None]
"""Hears how far something is, from 0 to 1 or None, and what is done; may raise to stop it."""


def unheard(share: float | None, text: str) -> None:
    """Hear nothing."""
    del share, text
