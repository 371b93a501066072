"""Where tests of one pane show it."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from tests.ui.fixtures import shown

Shown = TypeVar("Shown", bound=QWidget)


class Stage:
    """Shows widgets that a window would hold, and closes them when the test is over."""

    def __init__(self, qtbot: QtBot) -> None:
        self._qtbot = qtbot
        self._shown: list[QWidget] = []

    def show(self, widget: Shown, wide: int, high: int) -> Shown:
        """Show a widget in a size, and wait until it is seen."""
        self._qtbot.addWidget(widget)
        self._shown.append(widget)
        widget.resize(wide, high)
        shown(self._qtbot, widget)
        return widget

    def close(self) -> None:
        """Close what was shown, the last first."""
        while self._shown:
            self._shown.pop().close()
