"""How long a thread waits for its turn."""

from __future__ import annotations

import threading
from pathlib import Path


class TurnClock:
    """Counts the seconds the thread that made it was ready to run and had no processor."""

    def __init__(self) -> None:
        self._file = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat")

    @property
    def seconds(self) -> float:
        """Seconds waited so far; 0 where the system does not say."""
        if not self._file.exists():
            return 0.0
        return int(self._file.read_text().split()[1]) * 1e-9
