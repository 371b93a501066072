"""Samples that stay in their files: each worker reads the rows of its part of every batch alone."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.layers.shaping import Flatten
from studio.engine.train.data.arrays.array_files import FileRows
from studio.engine.train.data.batches import epoch_order
from studio.engine.train.data.stored_rows import Array
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from tests.engine.scale.parallel.threads_exchange import together
from tests.engine.scale.parallel.trained import require_alike, require_close, train

SIZE, ROWS, SEED = 30, 1500, 5
TRAINED = 1200
"""Rows of the training part."""


@pytest.fixture
def folder(rng: np.random.Generator, tmp_path: Path) -> Path:
    y = rng.integers(0, 3, ROWS)
    x = (rng.integers(0, 120, (ROWS, SIZE, SIZE)) + 40 * y[:, None, None]).astype(np.uint8)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    return tmp_path


def stored(folder: Path, batch: int) -> Task:
    """1.35 MB of augmented pictures, of which 1 MB may be in memory."""
    graph = LayerGraph("stored")
    x = graph.add(Flatten(), graph.add(Input((SIZE, SIZE, 1))))
    graph.outputs = (graph.add(Dense(3, "softmax"), x),)
    data = {"source": "npz", "x": "x.npy", "y": "y.npy", "normalization": "standard", "memory": 1}
    data["augment"] = [{"type": "Flip"}, {"type": "Shift"}]
    training = {"epochs": 2, "batch_size": batch, "seed": SEED}
    project = Project.new("stored", graph, data, training)
    project.save(folder / "stored.glassbox")
    return Task.of_project(Project.load(folder / "stored.glassbox"))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Mapping[int, Counter[int]]:
    """How often each row was read while training, by the identity of the array it belongs to."""
    found: Mapping[int, Counter[int]] = defaultdict(Counter)
    lock, plain = threading.Lock(), FileRows.__getitem__

    def counted(self: FileRows, key: np.ndarray | slice) -> Array:
        with lock:
            found[id(self)].update(np.arange(len(self))[key].tolist())
        return plain(self, key)

    monkeypatch.setattr(FileRows, "__getitem__", counted)
    return found


def own_rows(batch: int, rank: int, workers: int) -> Counter[int]:
    """Rows of one worker in two epochs, written out; one without rows reads one all the same."""
    found: Counter[int] = Counter()
    for epoch in range(2):
        order = epoch_order(SEED, epoch, TRAINED, True)
        for begin in range(0, TRAINED, batch):
            rows = order[begin : begin + batch]
            first, end = (len(rows) * n // workers for n in (rank, rank + 1))
            found.update(rows[first : max(end, first + 1)].tolist())
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("batch", "workers"), [(28, 2), (28, 4), (11, 4)])
def test_each_worker_reads_its_part_of_every_batch(
    folder: Path, reads: Mapping[int, Counter[int]], batch: int, workers: int
) -> None:
    # 11 rows to a batch: the last one has a single row, of which three workers have none.
    alone = train(stored(folder, batch))
    tasks = [stored(folder, batch) for _ in range(workers)]
    samples = [task.training_samples().inputs[0] for task in tasks]
    reads.clear()
    found = together(workers, lambda exchange: train(tasks[exchange.rank], exchange))
    require_alike(found)
    require_close(found[0], alone)
    for rank, array in enumerate(samples):
        assert isinstance(array, FileRows)
        assert reads[id(array)] == own_rows(batch, rank, workers)
    total = sum(sum(reads[id(array)].values()) for array in samples)
    idle = 2 * sum(min(workers, TRAINED % batch or workers) < rank + 1 for rank in range(workers))
    assert total == 2 * TRAINED + idle
