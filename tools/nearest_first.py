"""A plugin of pytest for `tools.check`: files in the order given, and an end to the time."""

from __future__ import annotations

import time

import pytest


class NearestFirst:
    """Runs tests in the order of the files on the command line until the time is up.

    Args:
        files: paths as they were given.
        end: the moment, by ``time.time``, after which none is started.
    """

    def __init__(self, files: list[str], end: float) -> None:
        self._files = files
        self._end = end
        self._left_out = 0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Sort by the files given, within each as written."""
        places = {name: place for place, name in enumerate(self._files)}
        items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(places)))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self) -> bool | None:
        """Count what would begin too late, instead of running it."""
        if time.time() <= self._end:
            return None
        self._left_out += 1
        return True

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say how many those were."""
        if self._left_out:
            terminalreporter.write_line(
                f"{self._left_out} tests were left out, as the time is up; --all runs them"
            )


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the moment of the end."""
    parser.addoption("--until", type=float, help="no test starts later, in seconds since 1970")


def pytest_configure(config: pytest.Config) -> None:
    """Keep order and time where an end is given."""
    end = config.getoption("--until")
    if end is not None:
        config.pluginmanager.register(NearestFirst(list(config.args), float(end)))
