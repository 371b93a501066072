"""Documents trained on the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.session.training.bench import TrainingBench

LONG = 100_000


@pytest.fixture
def benches() -> Iterator[list[TrainingBench]]:
    made: list[TrainingBench] = []
    yield made
    for bench in made:
        bench.close()


@pytest.fixture
def bench(tmp_path: Path, benches: list[TrainingBench]) -> TrainingBench:
    benches.append(TrainingBench(tmp_path, epochs=3))
    return benches[0]


@pytest.fixture
def long(tmp_path: Path, benches: list[TrainingBench]) -> TrainingBench:
    benches.append(TrainingBench(tmp_path, epochs=LONG))
    return benches[0]
