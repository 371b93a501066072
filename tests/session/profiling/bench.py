"""A profiler with everything it stands on; its window's clock is turned by the test."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from studio.engine.core.errors import StudioError
from studio.engine.layers.activation_layers import Activation
from studio.engine.layers.convolution import Conv2D
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.layers.normalization import BatchNormalization
from studio.engine.layers.shaping import Flatten
from studio.engine.train.project.task import Task
from studio.session.core.preferences import Preferences
from studio.session.core.scheduling import ManualScheduler
from studio.session.core.tasks import TaskList
from studio.session.profiling.profiling import ProfilingModel
from tests.engine.train.small_tasks import DIGITS, task


def network() -> LayerGraph:
    graph = LayerGraph("net")
    x = graph.add(Conv2D(4, 3, name="conv1"), graph.add(Input((8, 8, 1), name="image")))
    x = graph.add(BatchNormalization(name="norm1"), x)
    x = graph.add(Activation("relu", name="relu1"), x)
    x = graph.add(Flatten(name="flat"), x)
    graph.outputs = (graph.add(Dense(10, "softmax", name="digit"), x),)
    return graph


class ProfilingBench:
    """A profiler with everything it stands on, its clock turned by the test."""

    def __init__(self, folder: Path) -> None:
        self.scheduler = ManualScheduler()
        self.errors: list[StudioError] = []
        self.tasks = TaskList(self.scheduler, self.errors.append)
        self.preferences = Preferences()
        self.preferences.set("backend", "cpu")
        self.task: Task | None = task(network(), DIGITS, epochs=100_000)
        self.model = ProfilingModel(
            self.scheduler, self.tasks, self.preferences, folder, lambda: self.task,
            self.errors.append,
        )  # fmt: skip
        self.changes = 0
        self.model.changed.connect(self._count)

    def _count(self) -> None:
        self.changes += 1

    def until(self, wanted: Callable[[], bool], seconds: float = 30.0) -> None:
        """Let the window's clock go on until something is so."""
        end = time.monotonic() + seconds
        while not wanted():
            assert time.monotonic() < end, "waited in vain"
            time.sleep(0.002)
            self.scheduler.advance(0.5)

    @property
    def samples(self) -> int:
        found = self.model.measurement
        return 0 if found is None else found.samples
