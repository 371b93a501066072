"""Two hundred steps on OpenGL end where they end on the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from studio.engine.runtime.backend import Backend
from studio.engine.train.callbacks.callback import Callback
from studio.engine.train.devices import open_backend
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.samples import sample_root

STEPS = 200


class Losses(Callback):
    """Remembers the loss of every step, and ends after `STEPS`."""

    def __init__(self) -> None:
        self.losses: list[float] = []

    def on_train_batch_end(self, batch: int, logs: Mapping[str, float]) -> None:
        self.losses.append(logs["loss"])


def losses(task: Task, backend: Backend) -> list[float]:
    """The losses of the first steps."""
    listener = Losses()
    with Trainer(task, backend, callbacks=[listener]) as trainer:
        trainer.control.pause()
        trainer.control.step(STEPS)
        future = trainer.start()
        while trainer.loop_or_none() is None or trainer.loop.total_step < STEPS:
            trainer.control.wait(["paused", "finished"], 0.05)
            if future.done():
                break
        trainer.control.stop()
        future.result(300)
    return listener.losses[:STEPS]


@pytest.mark.gl
@pytest.mark.slow
@pytest.mark.parametrize("name", ["digits-mlp", "digits-cnn", "digits-resnet"])
def test_two_hundred_steps_agree_with_the_cpu(name: str) -> None:
    task = Task.of_project(Project.load(sample_root() / name / f"{name}.glassbox"))
    task = replace(task, validation=None)
    found = []
    for choice in ("cpu", "gl"):
        with open_backend(choice) as opened:
            found.append(losses(task, opened.backend))
    assert len(found[0]) == len(found[1]) == STEPS
    first = found[0][0]
    for step, (a, b) in enumerate(zip(*found, strict=True)):
        assert abs(a - b) <= 1e-3 * max(a, first / 10), f"step {step}: {a} on CPU, {b} on GL"
