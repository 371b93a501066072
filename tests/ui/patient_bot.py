"""Waiting for widgets on a machine of any speed."""

from __future__ import annotations

from collections.abc import Callable

from pytestqt.qtbot import QtBot

WAIT_MS = 60_000
"""How long something may take that does come; only what hangs is to fail."""


class PatientBot(QtBot):
    """pytest-qt's bot with a longer wait where a test does not say how long."""

    def waitUntil(  # noqa: N802 - a name of pytest-qt
        self, callback: Callable[[], bool | None], *, timeout: int = WAIT_MS
    ) -> None:
        """See pytest-qt."""
        super().waitUntil(callback, timeout=timeout)
