"""Byte counts as people read them."""

from __future__ import annotations


def format_bytes(nbytes: int) -> str:
    """A byte count as people read it: ``1.5 MiB``."""
    value = float(nbytes)
    for unit in ("bytes", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"
