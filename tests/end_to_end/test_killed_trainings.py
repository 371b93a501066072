"""A training killed at any moment leaves every file readable, and goes on from there."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.train.devices import open_backend
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder, latest_run, list_runs
from tests.engine.train.small_tasks import mlp, project

TRAIN = """
import sys
from studio.engine.train.devices import open_backend
from studio.engine.train.project.project import Project
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.project.task import Task
from studio.engine.train.loop.trainer import Trainer

project = Project.load(sys.argv[1])
with open_backend("cpu") as device:
    run = RunFolder.create(project)
    sys.stdout.write("begun\\n")
    sys.stdout.flush()
    with Trainer(Task.of_project(project), device.backend, run=run) as trainer:
        trainer.run()
"""


def killed_after(path: Path, seconds: float) -> None:
    """Train in a process of its own and kill it some seconds after the run began."""
    with training(path):
        time.sleep(seconds)


def killed_with_checkpoint(path: Path) -> None:
    """Train in a process of its own and kill it once it has saved a checkpoint."""
    with training(path):
        deadline = time.monotonic() + 60.0
        while list_runs(Project.load(path))[-1].last_checkpoint() is None:
            assert time.monotonic() < deadline, "no checkpoint within a minute"
            time.sleep(0.01)


@contextmanager
def training(path: Path) -> Iterator[None]:
    """A training in a process of its own, begun on entry and killed on exit."""
    child = subprocess.Popen(
        [sys.executable, "-c", TRAIN, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == "begun\n"
        yield
    finally:
        child.kill()
        child.wait(30)
        child.stdout.close()


def check_readable(run: RunFolder) -> None:
    assert run.project().name == "small"
    assert run.summary()["state"] == "running"
    epochs = [int(m["epoch"]) for m in run.metrics()]
    assert epochs == list(range(len(epochs)))
    for path in run.checkpoints.glob("[!.]*.safetensors"):
        assert Checkpoint.load(path).position.epoch <= len(epochs)
    run.sweep()
    assert not list(run.path.rglob("*.tmp"))


def kill_and_look(path: Path, times: int, longest: float) -> None:
    rng = random.Random(times)
    for _ in range(times):
        killed_after(path, rng.uniform(0.0, longest))
        check_readable(list_runs(Project.load(path))[-1])


def saved(folder: Path) -> Path:
    # Weights of some size make the moments of writing long enough to be hit.
    made = project(mlp(units=4000), epochs=100_000, batch_size=80, checkpoints={"keep": 3})
    return made.save(folder / "small.glassbox")


@pytest.mark.slow
def test_a_few_killed_trainings_leave_everything_readable(tmp_path: Path) -> None:
    path = saved(tmp_path)
    kill_and_look(path, 2, 0.6)
    killed_with_checkpoint(path)
    check_readable(list_runs(Project.load(path))[-1])
    run = latest_run(Project.load(path))
    assert run is not None
    checkpoint = run.last_checkpoint()
    assert checkpoint is not None
    begun = Checkpoint.load(checkpoint).position.epoch
    task = Task.of_project(run.project()).with_settings(epochs=begun + 2)
    with open_backend("cpu") as device, Trainer(task, device.backend, run=run) as trainer:
        trainer.resume(checkpoint)
        result = trainer.run()
    assert result.epochs == tuple(range(begun + 2))
    assert [m["epoch"] for m in run.metrics()][: begun + 2] == list(range(begun + 2))


@pytest.mark.full
def test_many_killed_trainings_leave_everything_readable(tmp_path: Path) -> None:
    kill_and_look(saved(tmp_path), 200, 1.5)
