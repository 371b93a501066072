"""Moves, fills and the data instructions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Values = dict[str, Any]


def _slice(v: Values, a: Values) -> Values:
    y = v["x"]
    for axis, (begin, size) in enumerate(zip(a["begin"], a["size"], strict=True)):
        step = a["steps"][axis] if a["steps"] else 1
        count = y.shape[axis] if size == -1 else size
        y = y.take([begin + i * step for i in range(count)], axis)
    return {"y": y}


def _pad(v: Values, a: Values) -> Values:
    pairs = list(zip(a["pads"][::2], a["pads"][1::2], strict=True))
    if a["mode"] == "constant":
        return {"y": np.pad(v["x"], pairs, constant_values=a["fill"])}
    return {"y": np.pad(v["x"], pairs, mode=a["mode"])}


def _shape(v: Values, a: Values) -> tuple[int, ...]:
    return tuple(v["rows"] if d == -1 else d for d in a["shape"])


def _gather(v: Values, a: Values) -> Values:
    cursor, count = int(v["step"][2]), len(v["order"])
    rows = [v["data"][int(v["order"][(cursor + i) % count])] for i in range(v["rows"])]
    return {"y": np.stack(rows)}


def _take(v: Values, a: Values) -> Values:
    table = v["table"]
    y = np.full((*v["i"].shape, *table.shape[1:]), np.nan)
    for place in np.ndindex(*v["i"].shape):
        if 0 <= v["i"][place] < len(table):
            y[place] = table[int(v["i"][place])]
    return {"y": y}


def _record(v: Values, a: Values) -> Values:
    ring = v["ring"].copy()
    ring[int(v["step"][4]) % len(ring)] = [float(value) for value in v["values"]]
    return {"ring": ring}


def _advance(v: Values, a: Values) -> Values:
    step = v["step"].copy()
    step[0] += 1
    step[4] += 1
    step[2] += v["x"].shape[0]
    return {"step": step}


def _begin(v: Values, a: Values) -> Values:
    step = v["step"].copy()
    step[3] += 1
    return {"step": step, "now": step}


def _norm(v: Values, a: Values) -> Values:
    return {"y": np.float64(math.sqrt(sum(float(x) ** 2 for g in v["gs"] for x in g.ravel())))}


REFERENCES: dict[str, Callable[[Values, Values], Values]] = {
    "CONCAT": lambda v, a: {"y": np.concatenate(v["xs"], axis=a["axis"])},
    "CONCAT_CHANNEL": lambda v, a: {"y": np.concatenate(v["xs"], axis=-1)},
    "FLATTEN": lambda v, a: {"y": v["x"].reshape(len(v["x"]), -1)},
    "RESHAPE": lambda v, a: {"y": v["x"].reshape(_shape(v, a))},
    "TRANSPOSE": lambda v, a: {"y": np.transpose(v["x"], a["perm"])},
    "SLICE": _slice,
    "PAD": _pad,
    "BROADCAST": lambda v, a: {"y": np.broadcast_to(v["x"], _shape(v, a))},
    "FILL": lambda v, a: {"y": np.full(v["y_shape"], a["number"])},
    "ZERO": lambda v, a: {"y": np.zeros(v["y_shape"])},
    "GATHER_BATCH": _gather,
    "TAKE": _take,
    "RECORD": _record,
    "ADVANCE": _advance,
    "BEGIN_UPDATE": _begin,
    "GLOBAL_NORM": _norm,
}
