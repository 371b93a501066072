"""Products, convolutions, pooling and reductions, with loops over the places of a window."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Values = dict[str, Any]


def _linear(v: Values, a: Values) -> Values:
    y = np.einsum("...i,oi->...o", v["x"], v["w"])
    return {"y": y if v.get("b") is None else y + v["b"]}


def _matmul(v: Values, a: Values) -> Values:
    left = np.swapaxes(v["a"], -1, -2) if a["ta"] else v["a"]
    right = np.swapaxes(v["b"], -1, -2) if a["tb"] else v["b"]
    return {"y": np.einsum("...ij,...jk->...ik", left, right)}


def _ends(a: Values) -> tuple[int, int]:
    return tuple(a["pad_end"]) if a["pad_end"] else (a["pad_h"], a["pad_w"])


def _size(a: Values, height: int, width: int, kh: int, kw: int) -> tuple[int, int]:
    dh, dw = a.get("dil_h", 1), a.get("dil_w", 1)
    end_h, end_w = _ends(a)
    return (
        (height + a["pad_h"] + end_h - (dh * (kh - 1) + 1)) // a["stride_h"] + 1,
        (width + a["pad_w"] + end_w - (dw * (kw - 1) + 1)) // a["stride_w"] + 1,
    )


def _cells(
    a: Values, i: int, j: int, kh: int, kw: int, height: int, width: int
) -> Iterator[tuple[int, int, int, int]]:
    """Window place (r, s) and the cell of the picture it lies on, where that is inside."""
    for r, s in itertools.product(range(kh), range(kw)):
        row = i * a["stride_h"] + r * a.get("dil_h", 1) - a["pad_h"]
        col = j * a["stride_w"] + s * a.get("dil_w", 1) - a["pad_w"]
        if 0 <= row < height and 0 <= col < width:
            yield r, s, row, col


def _filtered(
    v: Values, a: Values, per_tap: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> Values:
    """Cross-correlation, one place of the kernel after the other."""
    w, x = v["w"], v["x"]
    kh, kw = w.shape[:2]
    oh, ow = _size(a, *x.shape[1:3], kh, kw)
    ends = _ends(a)
    padded = np.pad(x, ((0, 0), (a["pad_h"], ends[0]), (a["pad_w"], ends[1]), (0, 0)))
    y = 0.0
    for r, s in itertools.product(range(kh), range(kw)):
        top, left = r * a["dil_h"], s * a["dil_w"]
        bottom = top + (oh - 1) * a["stride_h"] + 1
        right = left + (ow - 1) * a["stride_w"] + 1
        y = y + per_tap(
            padded[:, top : bottom : a["stride_h"], left : right : a["stride_w"]], w[r, s]
        )
    return {"y": y if v.get("b") is None else y + v["b"]}


def _conv(v: Values, a: Values) -> Values:
    return _filtered(v, a, lambda x, w: x @ w)


def _depthwise(v: Values, a: Values) -> Values:
    """Output channels of one input channel lie side by side."""
    return _filtered(v, a, lambda x, w: (x[..., None] * w).reshape(*x.shape[:-1], w.size))


def _pool(v: Values, a: Values, pick: Callable[[list[np.ndarray]], np.ndarray]) -> Values:
    x = v["x"]
    n, height, width, channels = x.shape
    kh, kw = a["window_h"], a["window_w"]
    oh, ow = _size(a, height, width, kh, kw)
    y = np.zeros((n, oh, ow, channels))
    for i, j in itertools.product(range(oh), range(ow)):
        found = [x[:, row, col] for _, _, row, col in _cells(a, i, j, kh, kw, height, width)]
        y[:, i, j] = pick(found)
    return {"y": y}


def _average(v: Values, a: Values) -> Values:
    whole = a["window_h"] * a["window_w"]
    return _pool(v, a, lambda cells: sum(cells) / (len(cells) if a["exclude"] else whole))


def first_max_gradient(v: Values, a: Values, dy: np.ndarray) -> np.ndarray:
    """Gradient of MAXPOOL2D: each dy goes to the first cell of its window that is the maximum."""
    shape = v["x"].shape
    x, dy = v["x"].reshape(-1, *shape[-3:]), dy.reshape(-1, *dy.shape[-3:])
    n, height, width, channels = x.shape
    kh, kw = a["window_h"], a["window_w"]
    dx = np.zeros(x.shape)
    for p, i, j, c in itertools.product(range(n), *map(range, dy.shape[1:3]), range(channels)):
        cells = [(row, col) for _, _, row, col in _cells(a, i, j, kh, kw, height, width)]
        best = int(np.argmax([x[p, row, col, c] for row, col in cells]))
        dx[p, cells[best][0], cells[best][1], c] += dy[p, i, j, c]
    return dx.reshape(shape)


def _pictures(f: Callable[[Values, Values], Values]) -> Callable[[Values, Values], Values]:
    """``f`` over pictures, whatever dimensions stand in front of their rows."""

    def run(v: Values, a: Values) -> Values:
        lead = v["x"].shape[:-3]
        y = f({**v, "x": v["x"].reshape(-1, *v["x"].shape[-3:])}, a)["y"]
        return {"y": y.reshape(*lead, *y.shape[1:])}

    return run


def _reduced(f: Callable[..., np.ndarray]) -> Callable[[Values, Values], Values]:
    return lambda v, a: {"y": f(v["x"], axis=a["axes"] or None, keepdims=a["keepdims"])}


def _arg_max(v: Values, a: Values) -> Values:
    x = np.moveaxis(v["x"], a["axis"], -1)
    y = np.zeros(x.shape[:-1])
    for place in np.ndindex(*x.shape[:-1]):
        best = 0
        for i, value in enumerate(x[place]):
            if np.isnan(value):
                best = i
                break
            if value > x[place][best]:
                best = i
        y[place] = best
    return {"y": y}


def _product(v: Values, a: Values) -> Values:
    axes = a["axes"] or tuple(range(v["x"].ndim))
    y = v["x"]
    for axis in reversed(axes):
        # A loop keeps the sign of zeros and NaN as they are met.
        total = np.ones_like(y.take(0, axis))
        for part in np.moveaxis(y, axis, 0):
            total = total * part
        y = np.expand_dims(total, axis)
    return {"y": y if a["keepdims"] else y.squeeze(axes)}


def _one_hot(v: Values, a: Values) -> Values:
    y = np.zeros((*v["x"].shape, a["depth"]))
    for place in np.ndindex(*v["x"].shape):
        index = int(v["x"][place])
        if 0 <= index < a["depth"]:
            y[(*place, index)] = 1
    return {"y": y}


REFERENCES: dict[str, Callable[[Values, Values], Values]] = {
    "LINEAR": _linear,
    "MATMUL": _matmul,
    "CONV2D": _pictures(_conv),
    "DEPTHWISE_CONV2D": _pictures(_depthwise),
    "MAXPOOL2D": _pictures(lambda v, a: _pool(v, a, lambda cells: np.maximum.reduce(cells))),
    "AVGPOOL2D": _pictures(_average),
    "GLOBAL_AVGPOOL2D": lambda v, _: {"y": v["x"].mean(axis=(-3, -2))},
    "REDUCE_SUM": _reduced(np.sum),
    "REDUCE_MEAN": _reduced(np.mean),
    "REDUCE_MAX": _reduced(np.max),
    "REDUCE_MIN": _reduced(np.min),
    "REDUCE_PROD": _product,
    "ARGMAX": _arg_max,
    "ARGMIN": lambda v, a: _arg_max({"x": -v["x"]}, a),
    "ONE_HOT": _one_hot,
}
