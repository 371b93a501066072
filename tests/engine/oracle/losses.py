"""Softmax, losses, metrics and batch normalisation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Values = dict[str, Any]
Array = npt.NDArray[np.float64]
EPS = float(np.float32(1e-7))
TOP = float(np.float32(1 - 1e-7))


def _softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def _log_softmax(x: Array) -> Array:
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def _rows(f: Callable[[Array], Array]) -> Callable[[Values, Values], Values]:
    """``f`` over rows of ``step`` elements, or along a dimension."""

    def found(v: Values, a: Values) -> Values:
        axis = a.get("axis", -1)
        if axis == -1:
            return {"y": f(v["x"].reshape(-1, a["step"])).reshape(v["x"].shape)}
        return {"y": np.moveaxis(f(np.moveaxis(v["x"], axis, -1)), -1, axis)}

    return found


def _one_hot(t: Array, depth: int) -> Array:
    return (np.arange(depth) == t[..., None]).astype(np.float64)


def _spread(weights: Array | None, shape: tuple[int, ...]) -> Array:
    """Weights of entries or positions over everything behind them; 1 where there are none."""
    if weights is None:
        return np.ones(shape)
    return np.broadcast_to(
        weights.reshape(*weights.shape, *[1] * (len(shape) - weights.ndim)), shape
    )


def _entry_mean(v: Values, each: Array) -> Array:
    """The mean of weight·loss."""
    return np.asarray((_spread(v.get("weights"), each.shape) * each).mean())


def _cross_entropy(v: Values, a: Values, t: Array) -> Array:
    p = v["p"]
    if a["source"] == "logits":
        return -(t * _log_softmax(p)).sum(axis=-1)
    return -(t * np.log(np.clip(p / p.sum(axis=-1, keepdims=True), EPS, TOP))).sum(axis=-1)


def _dense(v: Values, a: Values) -> Array:
    return _cross_entropy(v, a, v["t"])


def _sparse(v: Values, a: Values) -> Array:
    """NaN where the class does not exist."""
    t, depth = v["t"], v["p"].shape[-1]
    return np.where((t >= 0) & (t < depth), _cross_entropy(v, a, _one_hot(t, depth)), np.nan)


def _binary(v: Values, a: Values) -> Array:
    p, t = v["p"], v["t"]
    if a["source"] == "logits":
        return np.maximum(p, 0) - p * t + np.log1p(np.exp(-np.abs(p)))
    q = np.clip(p, EPS, TOP)
    return -(t * np.log(q) + (1 - t) * np.log(1 - q))


Each = Callable[[Values, Values], Array]


def _mean_of(each: Each) -> Callable[[Values, Values], Values]:
    return lambda v, a: {"y": _entry_mean(v, each(v, a))}


def _weighted(each: Each) -> Callable[[Values, Values], Values]:
    def run(v: Values, a: Values) -> Values:
        found = each(v, a)
        return {"y": found * _spread(v.get("weights"), found.shape)}

    return run


def _squares(v: Values, a: Values) -> Values:
    each = (v["p"] - v["t"]) ** 2
    return {"y": np.asarray(each.sum() / 2) if a["dylann_sum"] else _entry_mean(v, each)}


def _decay(v: Values, a: Values) -> Values:
    return {"y": np.asarray((a["l1"] * np.abs(v["w"]) + a["l2"] * v["w"] ** 2).sum())}


def _accuracy(v: Values, a: Values) -> Values:
    p, t = v["p"], v["t"]
    truth = t.argmax(axis=-1) if a["kind"] == "categorical" else t
    right = (p > a["threshold"]) == t if a["kind"] == "binary" else p.argmax(axis=-1) == truth
    weights = _spread(v.get("weights"), right.shape)
    return {"y": np.asarray((right * weights).sum() / weights.sum() if weights.any() else 0.0)}


def column_stats(x: Array, axes: tuple[int, ...]) -> Array:
    """Mean, and sum of squares apart from it."""
    mean = x.mean(axis=axes)
    return np.stack([mean, ((x - mean) ** 2).sum(axis=axes)])


def _column_stats(v: Values, a: Values) -> Values:
    return {"y": column_stats(v["x"], tuple(range(v["x"].ndim - 1)))}


def _column_products(v: Values, a: Values) -> Values:
    axes = tuple(range(v["x"].ndim - 1))
    products = v["dy"] * (v["x"] - v["mean"])
    return {"y": np.stack([v["dy"].sum(axis=axes), products.sum(axis=axes)])}


def batch_statistics(v: Values, channels: bool) -> tuple[Array, Array]:
    """Mean and biased variance of a batch, from ``stats`` where they are given."""
    x = v["x"]
    axes = tuple(range(x.ndim - 1)) if channels else (0,)
    mean, squares = column_stats(x, axes) if v.get("stats") is None else v["stats"]
    return mean, squares * np.size(mean) / x.size


def _batch_norm(v: Values, a: Values, channels: bool) -> Values:
    x, found = v["x"], {"mean": v["mean"], "var": v["var"]}
    mean, var = v["mean"], v["var"]
    if not a["frozen"]:
        mean, var = batch_statistics(v, channels)
        f = a["factor"]
        found = {"mean": (1 - f) * v["mean"] + f * mean, "var": (1 - f) * v["var"] + f * var}
    y = (x - mean) / np.sqrt(var + a["eps"])
    if v.get("gamma") is not None:
        y = y * v["gamma"]
    if v.get("beta") is not None:
        y = y + v["beta"]
    return {"y": y, **found}


def logits_gradient(v: Values, a: Values, dy: float) -> Array:
    """(p·Σt - t)·weight/N for source=softmax; N left out with dylann_sum."""
    p = v["p"]
    t = v["t"] if v["t"].shape == p.shape else _one_hot(v["t"], p.shape[-1])
    each = p * t.sum(axis=-1, keepdims=True) - t
    positions = p[0, ..., 0].size
    scale = _spread(v.get("weights"), p.shape) / positions
    return dy * each * scale / (1 if a["dylann_sum"] else p.shape[0])


REFERENCES: dict[str, Callable[[Values, Values], Values]] = {
    "COLUMN_STATS": _column_stats,
    "COLUMN_PRODUCTS": _column_products,
    "SOFTMAX": _rows(_softmax),
    "SOFTMAX_CE": _rows(_softmax),
    "SOFTMAX_LOG": _rows(_log_softmax),
    "LOSS_CE": _mean_of(_dense),
    "LOSS_SPARSE_CE": _mean_of(_sparse),
    "ROW_CE": _weighted(_dense),
    "ROW_SPARSE_CE": _weighted(_sparse),
    "LOSS_MEAN": lambda v, _: {"y": np.asarray(v["x"].mean())},
    "LOSS_BCE": _mean_of(_binary),
    "LOSS_MSE": _squares,
    "LOSS_MAE": _mean_of(lambda v, _: np.abs(v["p"] - v["t"])),
    "LOSS_L1L2": _decay,
    "ACCURACY": _accuracy,
    "WEIGHTED_ACCURACY": _accuracy,
    "BATCHNORM": lambda v, a: _batch_norm(v, a, channels=False),
    "BATCHNORM2D": lambda v, a: _batch_norm(v, a, channels=True),
}
