"""A project whose samples are sequences of different lengths, filled up with zeros."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from studio.engine import Dense, Input, Masking, Model, Project

TAGS = ("noun", "verb", "other")
STEPS = 6


def masked_sequences(folder: Path, **settings: object) -> Path:
    """A class and a number for each of six positions; the last positions of most are masked.

    The numbers have weights by position, of which a third are 0; of sample 3 nothing counts.
    """
    rng = np.random.default_rng(3)
    steps = rng.normal(size=(60, STEPS, 4)).astype(np.float32)
    for sample, length in enumerate(rng.integers(2, STEPS + 1, 60)):
        steps[sample, 0 if sample % 20 == 3 else length :] = 0.0
    np.savez(
        folder / "sequences.npz",
        steps=steps,
        tags=rng.integers(0, len(TAGS), (60, STEPS)),
        level=steps.sum(axis=-1, keepdims=True) + rng.normal(size=(60, STEPS, 1)),
        certain=rng.integers(0, 3, (60, STEPS)).astype(np.float32),
    )
    given = Input((STEPS, 4), name="steps")
    seen = Masking(name="masking")(given)
    outputs = [Dense(3, "softmax", name="tags")(seen), Dense(1, name="level")(seen)]
    graph = Model([given], outputs, name="sequences").graph
    data = {
        "source": "arrays",
        "path": "sequences.npz",
        "inputs": {"steps": "steps"},
        "targets": {"tags": {"array": "tags", "class_names": list(TAGS)}, "level": "level"},
        "weights": {"level": "certain"},
        "test_fraction": 0.3,
    }
    project = Project.new("sequences", graph, data, {"epochs": 3, "batch_size": 64, **settings})
    path = folder / "sequences.glassbox"
    project.save(path)
    return path
