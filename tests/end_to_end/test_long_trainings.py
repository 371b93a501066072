"""Long, disturbed and repeated trainings: nothing grows, nothing hangs, no number changes."""

from __future__ import annotations

import os
import random
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from studio.engine.train.devices import open_backend
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder
from tests.engine.train.small_tasks import DIGITS, cnn, equal_bytes, mlp, project, task

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from studio.engine.runtime.backend import Backend, MemoryReport

GL = pytest.param("gl", marks=pytest.mark.gl)
BACKENDS = pytest.mark.parametrize("choice", ["cpu", GL])
GROWTH = 24 << 20
"""Bytes the process may grow by while it trains on: allocators keep what they got."""


@contextmanager
def opened(choice: str) -> Iterator[Backend]:
    with open_backend(choice) as found:
        yield found.backend


def resident_bytes() -> int:
    """Memory of this process, or 0 where the system does not say."""
    statm = Path("/proc/self/statm")
    if not statm.is_file():
        return 0
    return int(statm.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def counters(report: MemoryReport) -> tuple[int, ...]:
    return (
        report.persistent_bytes,
        report.transient_bytes,
        report.pooled_bytes,
        report.buffers,
        report.peak_bytes,
        report.misses,
    )


def train_long(choice: str, epochs: int, folder: Path) -> int:
    """Train with validation, dropout, Adam, a run folder and checkpoints; the number of steps."""
    made = project(mlp(rate=0.2), epochs=epochs, optimizer="adam", checkpoints={"keep": 2})
    made.save(folder / "long.glassbox")
    measured: list[tuple[int, ...]] = []
    sizes: list[int] = []

    def note(epoch: int, logs: Mapping[str, float]) -> None:
        assert np.isfinite(logs["loss"])
        measured.append(counters(backend.memory()))
        sizes.append(resident_bytes())

    with opened(choice) as backend:
        run = RunFolder.create(made)
        with Trainer(Task.of_project(made), backend, run=run) as trainer:
            trainer.epoch_ended.connect(note)
            result = trainer.run()
    assert result.outcome == "finished"
    assert len(measured) == len(list(run.metrics())) == epochs
    # The first epochs allocate what training and validation need; after that nothing may.
    assert set(measured[2:]) == {measured[2]}
    assert max(sizes) - sizes[epochs // 4] < GROWTH
    assert len(list(run.checkpoints.glob("*.safetensors"))) <= 4
    return result.steps


@pytest.mark.slow
@BACKENDS
def test_memory_stays_level_over_a_training(choice: str, tmp_path: Path) -> None:
    assert train_long(choice, 60, tmp_path) == 60 * 5


@pytest.mark.full
@BACKENDS
@pytest.mark.timeout(3600)
def test_memory_stays_level_over_a_long_training(choice: str, tmp_path: Path) -> None:
    assert train_long(choice, 4000, tmp_path) == 20_000


def train_again_and_again(choice: str, rounds: int) -> None:
    """Train networks anew on one backend; each must leave the memory as the first ones did."""
    left: list[tuple[int, int]] = []
    sizes: list[int] = []
    with opened(choice) as backend:
        for _ in range(rounds):
            for made in (
                task(mlp(rate=0.1), epochs=1),
                task(cnn(), data=DIGITS, epochs=1, batch_size=512),
            ):
                with Trainer(made, backend) as trainer:
                    trainer.run()
            report = backend.memory()
            left.append((report.persistent_bytes, report.transient_bytes))
            sizes.append(resident_bytes())
        assert set(left) == {(0, 0)}
        # What is kept for reuse is reached in the first rounds.
        assert backend.memory().pooled_bytes <= backend.memory().peak_bytes
    assert max(sizes) - sizes[max(1, rounds // 4)] < GROWTH


@pytest.mark.slow
@BACKENDS
def test_closed_trainings_leave_nothing_behind(choice: str) -> None:
    train_again_and_again(choice, 3)


@pytest.mark.full
@BACKENDS
@pytest.mark.timeout(3600)
def test_hundreds_of_closed_trainings_leave_nothing_behind(choice: str) -> None:
    train_again_and_again(choice, 200)


def disturb(trainer: Trainer, seed: int, actions: int, heard: list[str]) -> None:
    """Press the buttons of a training at random, as somebody impatient would."""
    rng = random.Random(seed)
    control = trainer.control
    for _ in range(actions):
        match rng.randrange(6):
            case 0 | 1:
                control.pause()
            case 2:
                control.step(rng.randint(1, 3))
            case 3:
                control.resume()
            case 4:
                heard.append(control.call(lambda: threading.current_thread().name).result(60))
            case _:
                control.wait(["paused", "finished"], rng.random() * 0.002)
        time.sleep(rng.random() * 0.001)


def storm(choice: str, rounds: int, actions: int) -> int:
    """Disturb trainings from four threads at once; how many times they paused."""
    settings = {"epochs": 12, "batch_size": 16}
    paused = 0
    with opened(choice) as backend:
        with Trainer(task(mlp(rate=0.2), **settings), backend) as trainer:
            steps, wanted = trainer.run().steps, trainer.read_weights()
        for number in range(rounds):
            stop = number % 3 == 2
            with Trainer(task(mlp(rate=0.2), **settings), backend) as trainer:
                states: list[str] = []
                trainer.control.changed.connect(keep := states.append)
                if number % 2:
                    trainer.control.pause()
                future = trainer.start()
                heard: list[str] = []
                threads = [
                    threading.Thread(target=disturb, args=(trainer, 7 * number + i, actions, heard))
                    for i in range(4)
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join(120)
                    assert not thread.is_alive()
                if stop:
                    trainer.control.stop()
                else:
                    trainer.control.resume()
                result = future.result(120)
                assert trainer.control.state == "finished"
                assert states[-1] == "finished"
                paused += states.count("paused")
                if stop and result.outcome == "stopped":
                    assert result.steps <= steps
                    continue
                assert result.steps == steps
                found = trainer.read_weights()
                if choice == "cpu":
                    assert equal_bytes(found, wanted)
                for name, values in wanted.items():
                    np.testing.assert_allclose(found[name], values, rtol=1e-4, atol=1e-5)
            del keep
    return paused


@pytest.mark.slow
@BACKENDS
def test_buttons_pressed_by_many_threads_change_no_number(choice: str) -> None:
    assert storm(choice, 3, 15) > 0


@pytest.mark.full
@BACKENDS
@pytest.mark.timeout(3600)
def test_a_long_storm_of_buttons_changes_no_number(choice: str) -> None:
    assert storm(choice, 150, 60) > 150
