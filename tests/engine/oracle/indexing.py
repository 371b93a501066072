"""Look-ups and changes by indices, and what depends on the order along a dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Values = dict[str, Any]


def _whole(index: np.ndarray) -> np.ndarray:
    return np.asarray(index).astype(np.int64)


def _gather(v: Values, a: Values) -> Values:
    """take, with NaN where an index is outside."""
    x, i, axis = v["x"], _whole(v["i"]), a["axis"] % v["x"].ndim
    outside = (i < -x.shape[axis]) | (i >= x.shape[axis])
    y = np.take(x, np.where(outside, 0, i), axis=axis).astype(np.float64)
    holes = outside.reshape((1,) * axis + i.shape + (1,) * (x.ndim - axis - 1))
    return {"y": np.where(holes, np.nan, y)}


def _gather_elements(v: Values, a: Values) -> Values:
    """take_along_axis of the part of x that the indices cover."""
    x, i, axis = v["x"], _whole(v["i"]), a["axis"] % v["x"].ndim
    x = x[tuple(slice(None) if d == axis else slice(n) for d, n in enumerate(i.shape))]
    outside = (i < -x.shape[axis]) | (i >= x.shape[axis])
    y = np.take_along_axis(x, np.where(outside, 0, i), axis)
    return {"y": np.where(outside, np.nan, y)}


def _gather_nd(v: Values, a: Values) -> Values:
    """x[tuple], tuple by tuple."""
    x, i, batch = v["x"], _whole(v["i"]), a["batch"]
    depth = batch + i.shape[-1]
    y = np.full((*i.shape[:-1], *x.shape[depth:]), np.nan)
    for place in np.ndindex(*i.shape[:-1]):
        one = i[place]
        if all(-n <= k < n for k, n in zip(one, x.shape[batch:], strict=False)):
            y[place] = x[(*place[:batch], *one)]
    return {"y": y}


REFERENCES: dict[str, Callable[[Values, Values], Values]] = {
    "GATHER": _gather,
    "GATHER_ELEMENTS": _gather_elements,
    "GATHER_ND": _gather_nd,
    "REVERSE": lambda v, a: {"y": np.flip(v["x"], a["axes"] or None)},
    "RANGE": lambda v, a: {
        "y": v["start"] + v["delta"] * np.arange(v["rows"] if a["count"] < 0 else a["count"])
    },
}
