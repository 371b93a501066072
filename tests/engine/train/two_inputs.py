"""A project with two inputs and two outputs, and a data set that both can be learned from."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from studio.engine import Concatenate, Dense, Flatten, Input, Model, Project, load_digits

CLASSES = ("even", "odd")


def two_inputs(folder: Path, **settings: object) -> Path:
    """A picture and three numbers in; whether the picture's digit is odd and their sum out."""
    digits = load_digits()
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(400, 3)).astype(np.float32)
    np.savez(
        folder / "two.npz",
        pixels=digits.x[:400],
        numbers=numbers,
        parity=np.array(CLASSES)[digits.y[:400] % 2],
        total=numbers.sum(axis=1, keepdims=True),
    )
    picture, row = Input((8, 8, 1), name="picture"), Input((3,), name="row")
    seen = Dense(16, "relu", name="seen")(Flatten(name="flat")(picture))
    joined = Concatenate(name="joined")([seen, row])
    outputs = [
        Dense(2, "softmax", name="parity")(joined),
        Dense(1, name="total")(row),
    ]
    graph = Model([picture, row], outputs, name="two").graph
    data = {
        "source": "arrays",
        "path": "two.npz",
        "inputs": {"picture": {"array": "pixels", "range": [0, 16]}, "row": "numbers"},
        "targets": {"parity": "parity", "total": "total"},
    }
    project = Project.new("two", graph, data, {"epochs": 20, "batch_size": 16, **settings})
    path = folder / "two.glassbox"
    project.save(path)
    return path
