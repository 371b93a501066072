"""How much of the machine other processes use while something is measured."""

from __future__ import annotations

import os
import time
from pathlib import Path

_STAT = Path("/proc/stat")


class OtherLoad:
    """Processor seconds of other processes since it was made, per second; 0 where unknown."""

    def __init__(self) -> None:
        self._begun = time.perf_counter()
        self._all, self._own = _all_busy(), _own_busy()

    @property
    def cores(self) -> float:
        """Cores that others used on average."""
        passed = time.perf_counter() - self._begun
        others = (_all_busy() - self._all) - (_own_busy() - self._own)
        return max(0.0, others / passed) if passed and self._all else 0.0


def _all_busy() -> float:
    try:
        ticks = [int(each) for each in _STAT.read_text().splitlines()[0].split()[1:9]]
        # user, nice, system, idle, iowait, irq, softirq, steal: all but idle and waiting for disks.
        return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0


def _own_busy() -> float:
    found = os.times()
    return found.user + found.system
