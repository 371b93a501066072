"""Softmax, losses, metrics and batch normalisation, entry by entry."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

Values = dict[str, Any]
EPS = float(np.float32(1e-7))
TOP = float(np.float32(1 - 1e-7))


def _rows(f: Callable[[np.ndarray], np.ndarray]) -> Callable[[Values, Values], Values]:
    def run(v: Values, a: Values) -> Values:
        x = v["x"].reshape(-1, a["step"])
        return {"y": np.stack([f(row) for row in x]).reshape(v["x"].shape)}

    return run


def softmax(row: np.ndarray) -> np.ndarray:
    powers = np.exp(row - row.max())
    return powers / powers.sum()


def _log_softmax(row: np.ndarray) -> np.ndarray:
    shifted = row - row.max()
    return shifted - math.log(np.exp(shifted).sum())


def _weights(v: Values) -> np.ndarray:
    n = v["p"].shape[0]
    return np.ones(n) if v.get("weights") is None else v["weights"]


def _entry_mean(v: Values, per_position: Callable[..., float], places: tuple[int, ...]) -> float:
    """Σ weight·(mean of the entry's positions) / N."""
    n, total = v["p"].shape[0], 0.0
    for i in range(n):
        found = [per_position((i, *place)) for place in itertools.product(*map(range, places))]
        total += _weights(v)[i] * sum(found) / len(found)
    return total / n


def _cross_entropy(p: np.ndarray, t: np.ndarray, source: str) -> float:
    if source == "logits":
        top = p.max()
        return float(
            sum(t[k] * (top + math.log(np.exp(p - top).sum()) - p[k]) for k in range(len(p)))
        )
    q = np.clip(p / p.sum(), EPS, TOP)
    return float(-sum(t[k] * math.log(q[k]) for k in range(len(p))))


def _dense_row(v: Values, a: Values) -> Callable[[tuple[int, ...]], float]:
    p, t = v["p"], v["t"]
    return lambda at: _cross_entropy(p[at], t[at], a["source"])


def _sparse_row(v: Values, a: Values) -> Callable[[tuple[int, ...]], float]:
    p, t = v["p"], v["t"]

    def one(at: tuple[int, ...]) -> float:
        index = int(t[at])
        if not 0 <= index < p.shape[-1]:
            return math.nan
        return _cross_entropy(p[at], np.eye(p.shape[-1])[index], a["source"])

    return one


RowOf = Callable[[Values, Values], Callable[[tuple[int, ...]], float]]


def _mean_of(row: RowOf) -> Callable[[Values, Values], Values]:
    return lambda v, a: {"y": np.float64(_entry_mean(v, row(v, a), v["p"].shape[1:-1]))}


def _each(row: RowOf) -> Callable[[Values, Values], Values]:
    def run(v: Values, a: Values) -> Values:
        shape = v["p"].shape[:-1]
        found = [_weights(v)[at[0]] * row(v, a)(at) for at in np.ndindex(*shape)]
        return {"y": np.array(found).reshape(shape)}

    return run


def _binary(v: Values, a: Values) -> Values:
    p, t = v["p"], v["t"]

    def one(at: tuple[int, ...]) -> float:
        if a["source"] == "logits":
            return max(p[at], 0) - p[at] * t[at] + math.log1p(math.exp(-abs(p[at])))
        q = min(max(p[at], EPS), TOP)
        return -(t[at] * math.log(q) + (1 - t[at]) * math.log(1 - q))

    return {"y": np.float64(_entry_mean(v, one, p.shape[1:]))}


def _mse(v: Values, a: Values) -> Values:
    p, t = v["p"], v["t"]
    if a["dylann_sum"]:
        return {"y": np.float64(((p - t) ** 2).sum() / 2)}
    return {"y": np.float64(_entry_mean(v, lambda at: (p[at] - t[at]) ** 2, p.shape[1:]))}


def _mae(v: Values, a: Values) -> Values:
    p, t = v["p"], v["t"]
    return {"y": np.float64(_entry_mean(v, lambda at: abs(p[at] - t[at]), p.shape[1:]))}


def _penalty(v: Values, a: Values) -> Values:
    w = v["w"].ravel()
    return {"y": np.float64(sum(a["l1"] * abs(x) + a["l2"] * x * x for x in w))}


def _accuracy(v: Values, a: Values) -> Values:
    p, t = v["p"], v["t"]
    places = list(np.ndindex(*(p.shape if a["kind"] == "binary" else p.shape[:-1])))
    hits = 0
    for at in places:
        if a["kind"] == "binary":
            hits += float(p[at] > a["threshold"]) == t[at]
        else:
            best = max(range(p.shape[-1]), key=lambda k, at=at: (p[at][k], -k))
            truth = int(np.argmax(t[at])) if a["kind"] == "categorical" else int(t[at])
            hits += best == truth
    return {"y": np.float64(hits / len(places))}


def column_stats(v: Values, axes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Mean, and sum of squares apart from it."""
    mean = v["x"].mean(axis=axes)
    return mean, ((v["x"] - mean) ** 2).sum(axis=axes)


def _column_stats(v: Values, a: Values) -> Values:
    return {"y": np.stack(column_stats(v, tuple(range(v["x"].ndim - 1))))}


def _column_products(v: Values, a: Values) -> Values:
    axes = tuple(range(v["x"].ndim - 1))
    products = v["dy"] * (v["x"] - v["mean"])
    return {"y": np.stack([v["dy"].sum(axis=axes), products.sum(axis=axes)])}


def _batch_norm(v: Values, a: Values, channels: bool) -> Values:
    x = v["x"]
    axes = tuple(range(x.ndim - 1)) if channels else (0,)
    found: Values = {}
    if a["frozen"]:
        mean, var = v["mean"], v["var"]
    else:
        mean, squares = column_stats(v, axes) if v.get("stats") is None else v["stats"]
        var = squares * np.size(mean) / x.size
        f = a["factor"]
        found = {"mean": (1 - f) * v["mean"] + f * mean, "var": (1 - f) * v["var"] + f * var}
    y = (x - mean) / np.sqrt(var + a["eps"])
    if v.get("gamma") is not None:
        y = y * v["gamma"]
    if v.get("beta") is not None:
        y = y + v["beta"]
    if a["frozen"]:
        found = {"mean": v["mean"], "var": v["var"]}
    return {"y": y, **found}


def logits_gradient(v: Values, a: Values, dy: float) -> np.ndarray:
    """(p·Σt - t)·weight/N for source=softmax; N left out with dylann_sum."""
    p = v["p"]
    t = v["t"] if v["t"].shape == p.shape else np.eye(p.shape[-1])[v["t"].astype(int)]
    each = p * t.sum(axis=-1, keepdims=True) - t
    positions = p[0, ..., 0].size
    scale = _weights(v) / positions / (1 if a["dylann_sum"] else p.shape[0])
    return dy * each * scale.reshape(-1, *[1] * (p.ndim - 1))


REFERENCES: dict[str, Callable[[Values, Values], Values]] = {
    "COLUMN_STATS": _column_stats,
    "COLUMN_PRODUCTS": _column_products,
    "SOFTMAX": _rows(softmax),
    "SOFTMAX_CE": _rows(softmax),
    "SOFTMAX_LOG": _rows(_log_softmax),
    "LOSS_CE": _mean_of(_dense_row),
    "LOSS_SPARSE_CE": _mean_of(_sparse_row),
    "ROW_CE": _each(_dense_row),
    "ROW_SPARSE_CE": _each(_sparse_row),
    "LOSS_MEAN": lambda v, _: {"y": np.float64(v["x"].sum() / v["x"].size)},
    "LOSS_BCE": _binary,
    "LOSS_MSE": _mse,
    "LOSS_MAE": _mae,
    "LOSS_L1L2": _penalty,
    "ACCURACY": _accuracy,
    "BATCHNORM": lambda v, a: _batch_norm(v, a, channels=False),
    "BATCHNORM2D": lambda v, a: _batch_norm(v, a, channels=True),
}
