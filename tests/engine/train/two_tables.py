"""A project whose two inputs and two outputs are columns of a table."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from studio.engine import Concatenate, Dense, Input, Model, Project

HEAD = "area,rooms,distance,district,price"


def two_tables(folder: Path, **settings: object) -> Path:
    """Area and rooms, and the distance, in; one of two districts and the price out."""
    rng = np.random.default_rng(0)
    lines = [
        f"{a:.4f},{b:.4f},{c:.4f},{'north' if a + c > 0 else 'south'},{a + b:.4f}"
        for a, b, c in rng.normal(size=(120, 3))
    ]
    (folder / "houses.csv").write_text("\n".join([HEAD, *lines]) + "\n")
    house, place = Input((2,), name="house"), Input((1,), name="place")
    joined = Concatenate(name="joined")([Dense(4, "tanh", name="seen")(house), place])
    outputs = [Dense(2, "softmax", name="district")(joined), Dense(1, name="price")(joined)]
    data = {
        "source": "columns",
        "path": "houses.csv",
        "inputs": {"house": ["area", "rooms"], "place": ["distance"]},
        "targets": {"district": "district", "price": "price"},
    }
    graph = Model([house, place], outputs, name="houses").graph
    path = folder / "houses.glassbox"
    Project.new("houses", graph, data, {"epochs": 3, "batch_size": 16, **settings}).save(path)
    return path
