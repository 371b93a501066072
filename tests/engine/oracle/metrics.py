"""Counts and sums that go on from step to step, entry by entry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Values = dict[str, Any]
Array = npt.NDArray[np.float64]
Place = tuple[int, ...]


def _weight(v: Values, place: Place) -> float:
    weights = v.get("weights")
    return 1.0 if weights is None else float(weights[place[: weights.ndim]])


def _grown(v: Values, counts: Array, steps: Iterator[tuple[Place, float]]) -> Array:
    """Counts after steps; with weights pairs."""
    weighted = v.get("weights") is not None
    found = counts.sum(axis=0) if weighted else counts.copy()
    for cell, weight in steps:
        found[cell] += weight
    return _pair(found) if weighted else found


def _pair(total: Array) -> Array:
    """The nearest float32, and what is missing to it."""
    near = total.astype(np.float32).astype(np.float64)
    return np.stack([near, total - near])


def _is_among(row: Array, c: int, top: int) -> bool:
    larger = sum(1 for k, other in enumerate(row) if other > row[c] or (other == row[c] and k < c))
    return not top or larger < top


def _threshold_counts(v: Values, a: Values) -> Values:
    def steps() -> Iterator[tuple[Place, float]]:
        for place in np.ndindex(v["p"].shape):
            c = place[-1]
            if a["class_id"] not in (-1, c):
                continue
            row = v["p"][place[:-1]]
            above = sum(1 for bound in v["thresholds"] if row[c] > bound)
            cell = (c if a["by_class"] else 0, int(v["t"][place] != 0))
            above = above if _is_among(row, c, a["top_k"]) else 0
            yield (*cell, above), _weight(v, place[:-1])

    return {"counts": _grown(v, v["counts"], steps())}


def _confusion(v: Values, a: Values) -> Values:
    classes = v["p"].shape[-1]

    def steps() -> Iterator[tuple[Place, float]]:
        for place in np.ndindex(v["p"].shape[:-1]):
            t = v["t"][place]
            wanted = int(t) if np.ndim(t) == 0 else int(np.argmax(t))
            if 0 <= wanted < classes and wanted != a["ignore"]:
                yield (wanted, int(np.argmax(v["p"][place]))), _weight(v, place)

    return {"counts": _grown(v, v["counts"], steps())}


def _accumulate(v: Values, a: Values) -> Values:
    found = v["sums"].sum(axis=0)
    for place in np.ndindex(v["x"].shape[:-1]):
        weight = _weight(v, place)
        found[:-1] += weight * v["x"][place] ** (2 if a["square"] else 1)
        found[-1] += weight
    return {"sums": _pair(found)}


REFERENCES: dict[str, Callable[[Values, Values], Values]] = {
    "THRESHOLD_COUNTS": _threshold_counts,
    "CONFUSION": _confusion,
    "ACCUMULATE": _accumulate,
}
