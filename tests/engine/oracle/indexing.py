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


def _topk(v: Values, a: Values) -> Values:
    """A stable sort; NaN is above all, so first among the largest."""
    axis = a["axis"]
    x = np.asarray(v["x"], np.float64)
    ranked = np.where(np.isnan(x), np.inf, x)
    if a["order"] == "largest":
        order = np.lexsort((-ranked, ~np.isnan(x)), axis=axis)
    else:
        order = np.lexsort((ranked, np.isnan(x)), axis=axis)
    first = np.take(order, np.arange(a["k"]), axis=axis)
    return {"y": np.take_along_axis(x, first, axis), "i": first}


def _cumulate(v: Values, a: Values) -> Values:
    """Element by element along the axis."""
    join = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}[a["op"]]
    first = {"sum": 0.0, "prod": 1.0, "max": -np.inf, "min": np.inf}[a["op"]]
    x = np.moveaxis(v["x"], a["axis"], 0)
    y = np.empty_like(x)
    run = np.full(x.shape[1:], first)
    places = range(len(x) - 1, -1, -1) if a["reverse"] else range(len(x))
    for k in places:
        more = join(run, x[k])
        y[k] = run if a["exclusive"] else more
        run = more
    return {"y": np.moveaxis(y, 0, a["axis"])}


_MEET: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "none": lambda there, brought: brought,
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


def _scatter(v: Values, a: Values) -> Values:
    """Element by element, in row-major order."""
    y, i, axis = v["x"].astype(np.float64), _whole(v["i"]), a["axis"] % v["x"].ndim
    for place in np.ndindex(*i.shape):
        if -y.shape[axis] <= i[place] < y.shape[axis]:
            at = (*place[:axis], i[place], *place[axis + 1 :])
            y[at] = _MEET[a["reduction"]](y[at], v["u"][place])
    return {"y": y}


def _scatter_nd(v: Values, a: Values) -> Values:
    """Tuple by tuple, in row-major order."""
    y, i = v["x"].astype(np.float64), _whole(v["i"])
    for place in np.ndindex(*i.shape[:-1]):
        one = tuple(i[place])
        if all(-n <= k < n for k, n in zip(one, y.shape, strict=False)):
            y[one] = _MEET[a["reduction"]](y[one], v["u"][place])
    return {"y": y}


def extreme_gradient(v: Values, a: Values, dy: np.ndarray) -> dict[str, np.ndarray]:
    """Every result's slope goes to the first element that is the extreme of those it has."""
    x, slope = (np.moveaxis(array, a["axis"], 0) for array in (v["x"], dy))
    if a["reverse"]:
        x, slope = x[::-1], slope[::-1]
    dx = np.zeros_like(x)
    for k in range(int(a["exclusive"]), len(x)):
        seen = x[: k + (not a["exclusive"])]
        best = seen.argmax(axis=0) if a["op"] == "max" else seen.argmin(axis=0)
        for place in np.ndindex(*x.shape[1:]):
            dx[(best[place], *place)] += slope[(k, *place)]
    return {"x": np.moveaxis(dx[::-1] if a["reverse"] else dx, 0, a["axis"])}


REFERENCES: dict[str, Callable[[Values, Values], Values]] = {
    "GATHER": _gather,
    "GATHER_ELEMENTS": _gather_elements,
    "GATHER_ND": _gather_nd,
    "SCATTER": _scatter,
    "SCATTER_ND": _scatter_nd,
    "TOPK": _topk,
    "CUMULATE": _cumulate,
    "REVERSE": lambda v, a: {"y": np.flip(v["x"], a["axes"] or None)},
    "RANGE": lambda v, a: {
        "y": v["start"] + v["delta"] * np.arange(v["rows"] if a["count"] < 0 else a["count"])
    },
}
