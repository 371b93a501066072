"""Live views with a training beside them; the window's clock is turned by the test."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from studio.engine.core.tensor import Shape
from studio.engine.runtime.live_sheet import Pick, Sheet
from studio.engine.train.loop.trainer import Trainer
from studio.session.core import entities
from studio.session.core.scheduling import ManualScheduler
from studio.session.core.tasks import TaskList
from studio.session.live.tensors import LiveTensors, LiveView


class Studio:
    """The parts of the studio that look at tensors, with a clock turned by hand."""

    def __init__(self) -> None:
        self.scheduler = ManualScheduler()
        self.tasks = TaskList(self.scheduler)
        self.live = LiveTensors(self.scheduler, self.tasks)

    def until(self, wanted: Callable[[], object], seconds: float = 30.0) -> None:
        deadline = time.monotonic() + seconds
        while not wanted():
            assert time.monotonic() < deadline, "it did not come"
            self.scheduler.advance(0.01)
            time.sleep(0.001)

    def close(self) -> None:
        self.live.close()
        self.tasks.close()
        self.scheduler.advance(1.0)


def map_of(shape: Shape) -> tuple[Sheet, ...]:
    if len(shape) != 2:
        return ()
    return (Sheet(shape, tuple(Pick(0, 1, n) for n in shape), rows=0, columns=1),)


class Running:
    """A training under way that the studio looks at."""

    def __init__(self, studio: Studio, trainer: Trainer, *, paused: bool = True) -> None:
        self.trainer = trainer
        self._studio = studio
        if paused:
            trainer.control.pause()
        self.future = trainer.start()
        if paused:
            assert trainer.control.wait(["paused"], 30)
        studio.live.started(trainer)

    def step(self, count: int = 1) -> None:
        before = self.steps
        self.trainer.control.step(count)
        deadline = time.monotonic() + 30
        while self.steps < before + count:
            assert time.monotonic() < deadline

    @property
    def steps(self) -> int:
        loop = self.trainer.loop
        return int(self.trainer.control.call(lambda: loop.total_step).result(30))

    def finish(self) -> None:
        self.trainer.control.resume()
        self.future.result(60)


def opened(studio: Studio, name: str, **wish: object) -> LiveView:
    view = studio.live.open(entities.Entity("tensor", name))
    view.want(active=True, **wish)
    return view


def asked_for(studio: Studio, trainer: Trainer, count: int) -> None:
    """Wait until so many taps have been asked for a picture."""
    live = trainer.network.live
    studio.until(lambda: sum(tap.wanted for tap in live.taps) == count)


def shown(view: LiveView) -> np.ndarray:
    assert view.frame is not None
    return view.frame.snapshot.array()
