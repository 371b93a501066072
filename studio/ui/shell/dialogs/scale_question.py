"""Asks whether a new scale is to stay, and goes back by itself."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QVBoxLayout, QWidget

from studio.widgets import numbers, theme


class ScaleQuestion(QDialog):
    """The question, with the seconds that are left.

    Args:
        scale: what is tried, in per cent.
        seconds: how long.
        keep: called when it is to stay.
        give_up: called otherwise.
        window: the main window.
    """

    def __init__(
        self,
        scale: int,
        seconds: int,
        keep: Callable[[], object],
        give_up: Callable[[], object],
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self.setObjectName("scale_question")
        self.setWindowTitle("Keep this scale?")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._left = seconds
        self._keep, self._give_up = keep, give_up
        heading = QLabel(f"Keep {scale}{numbers.THIN}%?", self)
        heading.setFont(theme.font("title"))
        self._text = QLabel(self)
        self._text.setObjectName("seconds_left")
        buttons = QDialogButtonBox(self)
        stay = buttons.addButton("Keep", QDialogButtonBox.ButtonRole.AcceptRole)
        stay.setObjectName("keep")
        stay.setProperty("primary", True)
        back = buttons.addButton("Go back", QDialogButtonBox.ButtonRole.RejectRole)
        back.setObjectName("go_back")
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 24, 24, 16)
        column.setSpacing(12)
        for widget in (heading, self._text, buttons):
            column.addWidget(widget)
        self._timer = QTimer(self)
        self._timer.setInterval(1000)
        self._timer.timeout.connect(self._tick)
        self._timer.start()
        self.finished.connect(self._finished)
        self._say()

    def _tick(self) -> None:
        self._left -= 1
        if self._left <= 0:
            self.reject()
        else:
            self._say()

    def _say(self) -> None:
        unit = "second" if self._left == 1 else "seconds"
        self._text.setText(f"The scale before comes back in {self._left} {unit}.")

    def _finished(self, result: int) -> None:
        self._timer.stop()
        if result == QDialog.DialogCode.Accepted:
            self._keep()
        else:
            self._give_up()
