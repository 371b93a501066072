"""Random instructions, word by word of the generator; it has known-answer tests of its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from studio.engine.core.philox import bits

Values = dict[str, Any]


def _seed(step: np.ndarray) -> int:
    return (int(step[6]) << 32) | int(step[5])


def _step_uniform(v: Values, a: Values, count: int) -> np.ndarray:
    """Draws of a step; those of step 0 and seed 0 where no step block is given."""
    step = v.get("step", np.zeros(8))
    words = bits(_seed(step), a["stream"], int(step[0]), count)
    return np.array([(int(w) >> 8) * 2.0**-24 for w in words])


def _sample_uniform(v: Values, a: Values, row: int, count: int) -> list[float]:
    step, order = v["step"], v["order"]
    sample = int(order[(int(step[2]) + row) % len(order)]) + int(step[7])
    words = bits(_seed(step), a["stream"], int(step[1]), count, lane=(1 + sample) % 2**32)
    return [(int(w) >> 8) * 2.0**-24 for w in words]


def _uniform(v: Values, a: Values) -> Values:
    shape = tuple(v["rows"] if size == -1 else size for size in a["shape"])
    u = _step_uniform(v, a, math.prod(shape)).reshape(shape)
    return {"y": a["low"] + (a["high"] - a["low"]) * u}


def _normal(v: Values, a: Values) -> Values:
    shape = tuple(v["rows"] if size == -1 else size for size in a["shape"])
    count = math.prod(shape)
    u = _step_uniform(v, a, count + count % 2).reshape(-1, 2)
    radius, angle = np.sqrt(-2 * np.log(u[:, 0] + 2.0**-24)), 2 * np.pi * u[:, 1]
    z = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).ravel()[:count]
    return {"y": a["mean"] + a["deviation"] * z.reshape(shape)}


def _dropout(v: Values, a: Values) -> Values:
    x = v["x"]
    if a["rate"] == 0:
        return {"y": x}
    u = _step_uniform(v, a, x.size).reshape(x.shape)
    return {"y": np.where(u >= a["rate"], x / (1 - a["rate"]), 0.0)}


def _flip(v: Values, a: Values) -> Values:
    y = v["x"].copy()
    for n in range(len(y)):
        u = _sample_uniform(v, a, n, 2)
        if a["horizontal"] and u[0] < 0.5:
            y[n] = y[n][:, ::-1].copy()
        if a["vertical"] and u[1] < 0.5:
            y[n] = y[n][::-1].copy()
    return {"y": y}


def _shift(v: Values, a: Values) -> Values:
    x = v["x"]
    y = np.full(x.shape, a["fill"])
    count, height, width, _ = x.shape
    for n in range(count):
        u = _sample_uniform(v, a, n, 2)
        dy = math.floor(u[0] * (2 * a["rows"] + 1)) - a["rows"]
        dx = math.floor(u[1] * (2 * a["cols"] + 1)) - a["cols"]
        for i in range(height):
            for j in range(width):
                if 0 <= i - dy < height and 0 <= j - dx < width:
                    y[n, i, j] = x[n, i - dy, j - dx]
    return {"y": y}


def _rotate(v: Values, a: Values) -> Values:
    x = v["x"]
    count, height, width, channels = x.shape
    y = np.zeros(x.shape)
    ci, cj = (height - 1) / 2, (width - 1) / 2

    def cell(n: int, i: int, j: int) -> np.ndarray:
        if 0 <= i < height and 0 <= j < width:
            return x[n, i, j]
        return np.full(channels, a["fill"])

    for n in range(count):
        u = _sample_uniform(v, a, n, 2)
        angle = math.radians((2 * u[0] - 1) * a["degrees"])
        zoom = 1 + u[1] * (a["zoom"] - 1)
        for i in range(height):
            for j in range(width):
                down = (math.cos(angle) * (i - ci) + math.sin(angle) * (j - cj)) / zoom + ci
                across = (-math.sin(angle) * (i - ci) + math.cos(angle) * (j - cj)) / zoom + cj
                top, left = math.floor(down), math.floor(across)
                for p, q in ((0, 0), (0, 1), (1, 0), (1, 1)):
                    weight = abs(1 - p - (down - top)) * abs(1 - q - (across - left))
                    y[n, i, j] += weight * cell(n, top + p, left + q)
    return {"y": y}


def _noise(v: Values, a: Values) -> Values:
    y = v["x"].copy()
    for n in range(len(y)):
        u = _sample_uniform(v, a, n, 12 * y[n].size)
        for e, place in enumerate(np.ndindex(*y[n].shape)):
            y[n][place] += a["deviation"] * (sum(u[12 * e : 12 * e + 12]) - 6)
    return {"y": y}


def _standardize(v: Values, a: Values) -> Values:
    y = v["x"].copy()
    for picture in y:
        low, high = picture.min(), picture.max()
        if low == high:
            picture[...] = a["low"]
        elif a["moments"]:
            picture[...] = (picture - picture.mean()) / picture.std() * a["high"] + a["low"]
        else:
            picture[...] = (picture - low) / (high - low) * (a["high"] - a["low"]) + a["low"]
    return {"y": y}


REFERENCES: dict[str, Callable[[Values, Values], Values]] = {
    "RANDOM_UNIFORM": _uniform,
    "RANDOM_NORMAL": _normal,
    "DROPOUT": _dropout,
    "AUGMENT_FLIP": _flip,
    "AUGMENT_SHIFT": _shift,
    "AUGMENT_ROTATE": _rotate,
    "AUGMENT_NOISE": _noise,
    "AUGMENT_STANDARDIZE": _standardize,
}
