"""A project on disk with the model of its sweeps; the window's clock is turned by the test."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from studio.engine.core.errors import StudioError
from studio.engine.train.project.project import Project
from studio.samples import open_copy
from studio.session.core.preferences import Preferences
from studio.session.core.scheduling import ManualScheduler
from studio.session.core.tasks import TaskList
from studio.session.document.document import Document
from studio.session.sweeps.checking import SweepCheck
from studio.session.sweeps.sweeps import SweepModel

PATIENCE = 300.0


def iris(folder: Path, epochs: int = 1) -> Path:
    """A project that trains in a moment."""
    path = Path(open_copy("iris", folder))
    path = path if path.is_absolute() else folder / path
    document = json.loads(path.read_text("utf-8"))
    document["training"]["epochs"] = epochs
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


class SweepBench:
    """The model of sweeps over a document."""

    def __init__(self, document: Document) -> None:
        self.scheduler = ManualScheduler()
        self.errors: list[StudioError] = []
        self.said: list[str] = []
        self.checks: list[SweepCheck] = []
        self.runs_changes = 0
        self.tasks = TaskList(self.scheduler, self.errors.append)
        preferences = Preferences()
        preferences.set("backend", "cpu")
        self.document = document
        self.model = SweepModel(
            lambda: self.document, self.scheduler, self.tasks, preferences,
            lambda settings, at: settings.open(at), self.errors.append,
            lambda text, _: self.said.append(text),
        )  # fmt: skip
        self.model.checked.connect(self._take)
        self.model.runs_changed.connect(self._count)
        self.model.follow(document)

    def _take(self, found: SweepCheck) -> None:
        self.checks.append(found)

    def _count(self) -> None:
        self.runs_changes += 1

    def until(self, wanted: Callable[[], object], step: float = 0.005) -> None:
        """Let the window's clock go on until something is so.

        Args:
            wanted: what is to be so.
            step: seconds of the window in each turn; no more than turns take where a process is
                stopped, which is killed after a while.
        """
        end = time.monotonic() + PATIENCE
        while not wanted():
            assert time.monotonic() < end, f"waited in vain; {self.model.state}, {self.errors}"
            time.sleep(0.005)
            self.scheduler.advance(step)

    def states(self) -> list[str]:
        """How the trials of the sweep looked at stand."""
        record = self.model.chosen
        return [] if record is None else [row.state for row in record.rows]

    def project(self) -> Project:
        return self.document.project()

    def close(self) -> None:
        self.model.close()
        self.tasks.close()
