"""A profiler, with a training on the CPU for it to follow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from studio.engine.train.devices import Opened, open_backend
from studio.engine.train.loop.trainer import Trainer
from studio.session.profiling.measurement import Measurement
from tests.session.profiling.bench import ProfilingBench


@pytest.fixture
def profiler(tmp_path: Path) -> Iterator[ProfilingBench]:
    made = ProfilingBench(tmp_path)
    yield made
    made.model.close()
    made.tasks.close()
    assert made.errors == []


@pytest.fixture
def cpu() -> Iterator[Opened]:
    with open_backend("cpu") as opened:
        yield opened


@pytest.fixture
def trainer(profiler: ProfilingBench, cpu: Opened) -> Iterator[Trainer]:
    assert profiler.task is not None
    with Trainer(profiler.task, cpu.backend) as made:
        made.start()
        yield made


@pytest.fixture
def measured(profiler: ProfilingBench, trainer: Trainer) -> Measurement:
    profiler.model.follow(trainer)
    profiler.until(lambda: profiler.samples >= 2)
    profiler.model.unfollow()
    found = profiler.model.measurement
    assert found is not None
    return found
