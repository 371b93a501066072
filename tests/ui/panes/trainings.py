"""A studio with a small project open, and its trainings waited for on Qt's event loop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pytestqt.qtbot import QtBot

from studio.samples import open_copy
from studio.session.document.edits.sections import set_training
from studio.session.studio import Studio
from studio.session.training.state import State

WAIT = 30_000


class Trainings:
    """Drives the trainings of a studio as a user would, and waits for them."""

    def __init__(self, studio: Studio, qtbot: QtBot, folder: Path, sample: str | Path) -> None:
        self.studio = studio
        self.qtbot = qtbot
        studio.preferences.set("backend", "cpu")
        # Measuring steps, and then the device's peaks, would only take the tests' time.
        studio.preferences.set("profile_live", False)
        studio.open(open_copy(sample, folder) if isinstance(sample, str) else sample)

    def settings(self, **changes: object) -> None:
        """Change how the project is trained."""
        document = self.studio.document
        document.apply("settings", set_training(document.state, changes))

    def until(self, wanted: Callable[[], object]) -> None:
        """Let the window live until something is so."""
        self.qtbot.waitUntil(lambda: bool(wanted()), timeout=WAIT)

    def until_state(self, *states: State) -> None:
        """Wait for the training to be in one of these."""
        self.until(lambda: self.studio.training.state in states)

    def train(self) -> None:
        """Train to the end, with the run listed."""
        before = len(self.studio.runs.runs)
        self.studio.training.start()
        self.until_state("finished", "failed", "stopped")
        self.until(lambda: len(self.studio.runs.runs) > before and not self.studio.runs.is_loading)

    def tested(self) -> None:
        """Train to the end and wait for the test."""
        self.train()
        self.until(lambda: self.studio.evaluation.status in ("ready", "failed"))
