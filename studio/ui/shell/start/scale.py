"""Tries a new scale of the window for some seconds: unless it is confirmed, the old one returns."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QVBoxLayout, QWidget

from studio.engine.core.errors import StudioError
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import load_json
from studio.session.core.preferences import Preferences
from studio.widgets import numbers, theme

_LOG = logging.getLogger(__name__)
_LIMITS = Limits(file_bytes=MIB, json_bytes=MIB, json_depth=2, json_values=16)

SECONDS = 15
"""How long a new scale is tried."""

USUAL = 100

STEP, SMALLEST = 25, 75
"""Scales are offered in steps of so many per cent, from so many on."""


class ScaleTrial:
    """Decides at the start which scale to use, and whether it has to be confirmed.

    Args:
        memory: file of the scale last confirmed and of the one that is being tried.
        preferences: the scale the user chose.

    Attributes:
        scale: what to use now, in per cent.
        kept: what was confirmed last, in per cent.
        is_trial: whether ``scale`` has to be confirmed.
    """

    def __init__(self, memory: Path, preferences: Preferences) -> None:
        self._memory = memory
        self._preferences = preferences
        self.kept, tried = _read(memory)
        wanted = round(preferences.number("scale"))
        if wanted not in (self.kept, tried):
            self.scale, self.is_trial = wanted, True
            self._write(wanted)
        elif wanted != self.kept:
            # It was tried at the last start and not confirmed.
            self.scale, self.is_trial = self.kept, False
            self.give_up()
        else:
            self.scale, self.is_trial = self.kept, False

    def keep(self) -> None:
        """The scale stays."""
        self.kept, self.is_trial = self.scale, False
        self._write(None)

    def give_up(self) -> None:
        """The scale confirmed last is used from the next start on."""
        self.is_trial = False
        try:
            self._preferences.set("scale", self.kept)
        except StudioError as error:
            _LOG.warning("the scale could not be put back: %s", error)
        self._write(None)

    def _write(self, trying: int | None) -> None:
        text = json.dumps({"kept": self.kept, "trying": trying}) + "\n"
        try:
            self._memory.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(self._memory, text.encode())
        except (OSError, StudioError) as error:
            _LOG.warning("the scale could not be saved: %s", error)


def _read(memory: Path) -> tuple[int, int | None]:
    if not memory.is_file():
        return USUAL, None
    try:
        given = load_json(memory, _LIMITS)
    except StudioError as error:
        _LOG.warning("the scale of the last start is unknown: %s", error)
        return USUAL, None
    if not isinstance(given, Mapping):
        return USUAL, None
    kept, trying = given.get("kept"), given.get("trying")
    return (
        kept if isinstance(kept, int) and 50 <= kept <= 400 else USUAL,
        trying if isinstance(trying, int) else None,
    )


def largest_scale(screen: QSize, scale: int, least: QSize) -> int:
    """The largest scale, in per cent, at which a window still fits a screen.

    Args:
        screen: what the screen has for windows, as it is seen at the present scale.
        scale: the present scale, in per cent.
        least: the smallest size of the window.
    """
    fits = min(screen.width() * scale / least.width(), screen.height() * scale / least.height())
    return max(int(fits // STEP) * STEP, SMALLEST)


class ScaleQuestion(QDialog):
    """Asks whether the scale is kept; goes back when no time is left.

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
        back = buttons.addButton("Revert", QDialogButtonBox.ButtonRole.RejectRole)
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
        self._text.setText(f"Reverting to the previous scale in {self._left} {unit}.")

    def _finished(self, result: int) -> None:
        self._timer.stop()
        if result == QDialog.DialogCode.Accepted:
            self._keep()
        else:
            self._give_up()
