"""Small sweeps: a project that trains in a moment, and workers that are threads of the test."""

from __future__ import annotations

import threading
from pathlib import Path
from queue import Empty, SimpleQueue

from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.scale.sweep.coordinator import Coordinator
from studio.engine.scale.sweep.folder import SweepFolder, TrialRow
from studio.engine.scale.sweep.planning import Wishes, make_plan
from studio.engine.scale.sweep.trial import Job, run_trial
from studio.engine.scale.sweep.workers import Event
from studio.engine.train.project.project import Project
from tests.engine.train.small_tasks import project

RATE = "learning_rate=log:1e-4..1e-1"
UNITS = "dense.units=2,4,8"


def linear() -> LayerGraph:
    """A network that a huge learning rate drives to infinity."""
    graph = LayerGraph("linear")
    hidden = graph.add(Dense(8), graph.add(Input((2,))))
    graph.outputs = (graph.add(Dense(2, "softmax"), hidden),)
    return graph


def saved(folder: Path, graph: LayerGraph | None = None, **training: object) -> Project:
    """A small project in a folder, which validates on a part of its own."""
    # Trainings of one process share callbacks that are not named; those here run side by side.
    own = {"epochs": 2, "validation": "random", "checkpoints": {"keep": 1}}
    settings = {**own, **training}
    found = project(graph, **settings)  # type: ignore[arg-type]
    folder.mkdir(exist_ok=True)
    found.save(folder / "small.glassbox")
    return found


class ThreadPool:
    """Trains trials on threads of this process.

    Args:
        losing: trials whose worker is lost so many times.
    """

    where = "in the test"

    def __init__(self, losing: dict[int, int] | None = None) -> None:
        self.most = 0
        self.begun: list[int] = []
        self._losing = dict(losing or {})
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._answers: dict[int, SimpleQueue[bool]] = {}
        self._threads: dict[int, threading.Thread] = {}

    def submit(self, job: Job) -> None:
        self.begun.append(job.number)
        if self._losing.get(job.number, 0):
            self._losing[job.number] -= 1
            self._events.put(Event("lost", job.number, why="it was killed"))
            return
        answers = self._answers[job.number] = SimpleQueue()

        def report(epochs: int, value: float, asks: bool) -> bool:
            self._events.put(Event("report", job.number, epochs, value, asks))
            return answers.get() if asks else True

        def work() -> None:
            self._events.put(Event("done", job.number, outcome=run_trial(job, report)))

        thread = self._threads[job.number] = threading.Thread(target=work)
        thread.start()
        self.most = max(self.most, sum(each.is_alive() for each in self._threads.values()))

    def answer(self, number: int, go_on: bool) -> None:
        self._answers[number].put(go_on)

    def next(self, timeout: float) -> Event | None:
        try:
            event = self._events.get(timeout=timeout)
        except Empty:
            return None
        if event.kind == "done":
            self._threads.pop(event.number).join()
        return event

    def close(self) -> None:
        for answers in self._answers.values():
            answers.put(False)
        for thread in self._threads.values():
            thread.join()


def begin(found: Project, *vary: str, **wishes: object) -> SweepFolder:
    """The folder of a sweep that may begin; the caller closes it."""
    wanted = {"vary": vary or (RATE, UNITS), "backend": "cpu", **wishes}
    plan, _ = make_plan(found, Wishes(**wanted), workers=2)  # type: ignore[arg-type]
    return SweepFolder.create(found, plan)


def swept(
    found: Project, *vary: str, pool: ThreadPool | None = None, **wishes: object
) -> list[TrialRow]:
    """The trials of a whole sweep."""
    with begin(found, *vary, **wishes) as folder:
        return run(folder, found, pool)


def run(folder: SweepFolder, found: Project, pool: ThreadPool | None = None) -> list[TrialRow]:
    """The trials of a sweep that has begun, trained to the end."""
    workers = pool or ThreadPool()
    assert found.path is not None
    coordinator = Coordinator(folder, found.path)
    try:
        coordinator.run(workers)
    finally:
        workers.close()
    return coordinator.rows


def table(rows: list[TrialRow]) -> list[tuple[object, ...]]:
    """What must be the same wherever trials are trained: no times, no devices."""
    return [
        (row.number, dict(row.values), row.state, row.value, row.outcome and row.outcome.epochs)
        for row in rows
    ]
