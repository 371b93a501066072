"""A training model with everything it stands on; its window's clock is turned by the test."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from studio.engine.core.errors import StudioError
from studio.engine.layers.graph import LayerGraph
from studio.session.core.preferences import Preferences
from studio.session.core.scheduling import ManualScheduler
from studio.session.core.tasks import TaskList
from studio.session.document.document import Document
from studio.session.training.device import ContextFactory
from studio.session.training.state import State, TrainingOutcome
from studio.session.training.training import TrainingModel
from tests.engine.train.small_tasks import SPIRALS, project


def _no_context() -> None:
    return None


class TrainingBench:
    """A document, and the model that trains it on the CPU."""

    def __init__(
        self,
        folder: Path,
        graph: LayerGraph | None = None,
        data: Mapping[str, object] = SPIRALS,
        *,
        saved: bool = True,
        contexts: ContextFactory = _no_context,
        **training: object,
    ) -> None:
        made = project(graph, data, **training)
        if saved:
            made.save(folder / "small.glassbox")
        self.folder = folder
        self.scheduler = ManualScheduler()
        self.errors: list[StudioError] = []
        self.said: list[str] = []
        self.states: list[State] = []
        self.endings: list[TrainingOutcome] = []
        self.tasks = TaskList(self.scheduler, self.errors.append)
        self.preferences = Preferences()
        self.preferences.set("backend", "cpu")
        self.document = Document.of_project(made)
        self.model = TrainingModel(
            lambda: self.document, self.scheduler, self.tasks, self.preferences, folder / "data",
            said=lambda text, _: self.said.append(text), contexts=contexts,
        )  # fmt: skip
        self.model.state_changed.connect(self._hear_state)
        self.model.ended.connect(self._hear_end)

    def _hear_state(self, state: State) -> None:
        self.states.append(state)

    def _hear_end(self, outcome: TrainingOutcome) -> None:
        self.endings.append(outcome)

    def until(self, wanted: Callable[[], bool], seconds: float = 60.0) -> None:
        """Let the window's clock go on until something is so."""
        end = time.monotonic() + seconds
        while not wanted():
            assert time.monotonic() < end, f"waited in vain; {self.model.state}, {self.errors}"
            time.sleep(0.001)
            self.scheduler.advance(0.05)

    def until_state(self, *states: State) -> None:
        """Let the window's clock go on until the training is in one of these."""
        self.until(lambda: self.model.state in states)

    def train(self) -> None:
        """Train to the end."""
        self.model.start()
        self.until_state("finished", "failed", "stopped")

    def close(self) -> None:
        """End everything."""
        self.model.close()
        self.tasks.close()
