"""A profiler, a training for it to follow, and what it measured of one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from studio.engine.train.devices import Opened, open_backend
from studio.engine.train.trainer import Trainer
from studio.ui.models.profiling_measurement import Measurement
from tests.ui.models.profiling.profiling_bench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.model.close()
    made.tasks.close()
    assert made.errors == []


@pytest.fixture
def cpu() -> Iterator[Opened]:
    with open_backend("cpu") as opened:
        yield opened


@pytest.fixture
def trainer(bench: Bench, cpu: Opened) -> Iterator[Trainer]:
    assert bench.task is not None
    with Trainer(bench.task, cpu.backend) as made:
        made.start()
        yield made


@pytest.fixture
def measured(bench: Bench, trainer: Trainer) -> Measurement:
    bench.model.follow(trainer)
    bench.until(lambda: bench.samples >= 2)
    bench.model.unfollow()
    found = bench.model.measurement
    assert found is not None
    return found
