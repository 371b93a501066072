"""Keys that mean something while they are held, and something else when they are tapped."""

from __future__ import annotations

from PySide6.QtCore import QElapsedTimer, Qt

TAP_MS = 200
"""A key released sooner than this, with the pointer at rest, was tapped."""

HOLDABLE = (Qt.Key.Key_Space, Qt.Key.Key_K, Qt.Key.Key_Z)


class HeldKeys:
    """Which of the holdable keys are down."""

    def __init__(self) -> None:
        self._down: dict[int, QElapsedTimer] = {}
        self._used: set[int] = set()

    def __contains__(self, key: object) -> bool:
        return key in self._down

    def press(self, key: int) -> bool:
        """A key went down; whether it is one that is held."""
        if key not in HOLDABLE:
            return False
        clock = QElapsedTimer()
        clock.start()
        self._down[key] = clock
        self._used.discard(key)
        return True

    def use(self) -> None:
        """Something was done with the keys that are down, so they are no taps."""
        self._used.update(self._down)

    def release(self, key: int) -> bool:
        """A key came up; whether it was tapped."""
        clock = self._down.pop(key, None)
        return clock is not None and key not in self._used and clock.elapsed() < TAP_MS

    def clear(self) -> None:
        """Forget them all, as when the focus leaves."""
        self._down.clear()
        self._used.clear()
