"""A window's clock, its tasks and a document, for models that work in the background."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from studio.engine.core.errors import StudioError
from studio.session.core.scheduling import ManualScheduler
from studio.session.core.tasks import TaskList
from studio.session.document.document import Document


class Desk:
    """What models are made with; `settle` lets the background finish."""

    def __init__(self, document: Document | None = None) -> None:
        self.scheduler = ManualScheduler()
        self.failures: list[StudioError] = []
        self.tasks = TaskList(self.scheduler, self.failures.append)
        self.document = document or Document.new()

    def current(self) -> Document:
        """The document now."""
        return self.document

    def open(self, path: Path) -> Document:
        """Replace the document by one from a file."""
        self.document = Document.open(path)
        return self.document

    def settle(self, wanted: Callable[[], bool] | None = None, seconds: float = 60.0) -> None:
        """Turn the clock until no task runs and what is wanted holds."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.scheduler.advance(0.05)
            if not self.tasks.running and (wanted is None or wanted()):
                return
            time.sleep(0.002)
        raise AssertionError(f"still running: {[task.title for task in self.tasks.running]}")
