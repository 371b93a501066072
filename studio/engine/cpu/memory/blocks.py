"""Counts what the NumPy backend holds."""

from __future__ import annotations

import threading

from studio.engine.runtime.backend import MemoryReport


class MemoryCount:
    """Bytes and buffers alive, and the most bytes ever."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._persistent = 0
        self._transient = 0
        self._buffers = 0
        self._peak = 0
        self._made = 0

    def persistent(self, nbytes: int, buffers: int) -> None:
        """Add to what sessions hold."""
        with self._lock:
            self._persistent += nbytes
            self._changed(buffers)

    def transient(self, nbytes: int, buffers: int) -> None:
        """Add to what executables hold."""
        with self._lock:
            self._transient += nbytes
            self._changed(buffers)

    def _changed(self, buffers: int) -> None:
        self._buffers += buffers
        self._made += max(buffers, 0)
        self._peak = max(self._peak, self._persistent + self._transient)

    def report(self) -> MemoryReport:
        """What is held now. Nothing is pooled: NumPy returns memory to the system."""
        with self._lock:
            return MemoryReport(
                persistent_bytes=self._persistent,
                transient_bytes=self._transient,
                buffers=self._buffers,
                peak_bytes=self._peak,
                misses=self._made,
            )
