"""How much memory the machine has left, and refusing what it does not hold before it is taken."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from studio.engine.core.errors import BackendError

_TOLD_BY = Path("/proc/meminfo")
_SYSCONF: Callable[[str], int] | None = getattr(os, "sysconf", None)
_LARGEST_RESERVE = 1 << 30
_SMALL = 64 << 20
"""Less than this is never refused: asking what is free would take longer than it is worth."""


def free_memory(
    told_by: Path = _TOLD_BY, sysconf: Callable[[str], int] | None = _SYSCONF
) -> int | None:
    """Bytes of the machine's memory that programs can have, where the system tells.

    Linux gives away what it has kept of files, which its count of free pages leaves out.
    """
    try:
        lines = told_by.read_text("ascii").splitlines()
        told = next(line for line in lines if line.startswith("MemAvailable:"))
        return int(told.split()[1]) << 10
    except (OSError, ValueError, IndexError, StopIteration):
        pass
    if sysconf is None:
        return None
    try:
        return int(sysconf("SC_AVPHYS_PAGES")) * int(sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError):
        return None


def reserve_of(free: int) -> int:
    """How much of the free memory stays free: an eighth, at most 1 GiB.

    Results are copied, libraries take room of their own, and other programs grow meanwhile.
    """
    return min(free // 8, _LARGEST_RESERVE)


def shortage_text(nbytes: int, free: int) -> str:
    """The end of a sentence that says how much is needed, and how much there is."""
    return (
        f"needs {format_bytes(nbytes)} of memory, but {format_bytes(free)} are free, "
        f"of which {format_bytes(reserve_of(free))} are kept in reserve"
    )


def require_memory(nbytes: int, purpose: str) -> None:
    """BackendError where the machine has not as much memory left, less a reserve.

    A system hands over more than it has and ends the program that touches it, so that no code could
    be told afterwards.
    """
    if nbytes < _SMALL:
        return
    free = free_memory()
    if free is not None and nbytes > free - reserve_of(free):
        raise BackendError(
            f"{purpose} {shortage_text(nbytes, free)}",
            who="cpu",
            hint="use a smaller batch or smaller layers, or close other programs",
        )


def format_bytes(nbytes: int) -> str:
    """A byte count as people read it: ``1.5 MiB``."""
    value = float(nbytes)
    for unit in ("bytes", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"
