"""Reports tests without the mark ``slow`` that took long; a report, since times depend on load."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest

SECONDS = 1.0
"""A test of the quick part should take a third of a second on a quiet core."""

SHOWN = 20
NOT_QUICK = frozenset(("slow", "peers", "full"))


class QuickPart:
    """Adds up how long each test of the quick part took, and names the longest at the end."""

    def __init__(self) -> None:
        self._seconds: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if NOT_QUICK.isdisjoint(report.keywords):
            self._seconds[report.nodeid] += report.duration

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        lines = too_long(self._seconds)
        if lines:
            title = f"tests over {SECONDS:g} s without the mark slow"
            terminalreporter.section(title)
            terminalreporter.write("".join(f"{line}\n" for line in lines))


def too_long(seconds: Mapping[str, float]) -> list[str]:
    """A line for each test that took longer than `SECONDS`, the longest first."""
    over = sorted(((s, name) for name, s in seconds.items() if s > SECONDS), reverse=True)
    lines = [f"{s:6.1f} s  {name}" for s, name in over[:SHOWN]]
    return [*lines, f"and {len(over) - SHOWN} more"] if len(over) > SHOWN else lines
