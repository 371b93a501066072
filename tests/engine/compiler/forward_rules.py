"""What each instruction computes, written naively in float64 NumPy from the instruction manual."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.conv import geometry_ends

Array = npt.NDArray[np.float64]
Rule = Callable[..., Array]

_ROOT = math.sqrt(2 / math.pi)


def _sigmoid(x: Array) -> Array:
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), 1 - 1 / (1 + np.exp(-np.abs(x))))


def _softplus(x: Array) -> Array:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


UNARY: dict[str, Callable[[Instruction, Array], Array]] = {
    "SCALE": lambda i, x: i.alpha * x,
    "ADD_SCALAR": lambda i, x: x + i.beta,
    "NEG": lambda i, x: -x,
    "ABS": lambda i, x: np.abs(x),
    "EXP": lambda i, x: np.exp(x),
    "LOG": lambda i, x: np.log(x),
    "SQRT": lambda i, x: np.sqrt(x),
    "RSQRT": lambda i, x: 1 / np.sqrt(x),
    "SQUARE": lambda i, x: x * x,
    "RECIPROCAL": lambda i, x: 1 / x,
    "SIGN": lambda i, x: np.sign(x),
    "FLOOR": lambda i, x: np.floor(x),
    "SIN": lambda i, x: np.sin(x),
    "COS": lambda i, x: np.cos(x),
    "CLIP": lambda i, x: np.clip(x, i.low, i.high),
    "COPY": lambda i, x: x.copy(),
    "CAST": lambda i, x: np.trunc(x),
    "RELU": lambda i, x: np.maximum(x, 0),
    "SIGMOID": lambda i, x: _sigmoid(x),
    "TANH": lambda i, x: np.tanh(x),
    "ELU": lambda i, x: np.where(x > 0, x, i.alpha * (np.exp(np.minimum(x, 0)) - 1)),
    "SWISH": lambda i, x: x * _sigmoid(i.beta * x),
    "CLIPPED_RELU": lambda i, x: np.minimum(np.maximum(x, 0), i.ceiling),
    "LEAKY_RELU": lambda i, x: np.where(x > 0, x, i.alpha * x),
    "THRESHOLDED_RELU": lambda i, x: np.where(
        x >= i.ceiling, i.ceiling, np.where(x >= i.threshold, x, i.slope * (x - i.threshold))
    ),
    "SELU": lambda i, x: (
        1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * (np.exp(np.minimum(x, 0)) - 1))
    ),
    "SOFTPLUS": lambda i, x: _softplus(x),
    "SOFTSIGN": lambda i, x: x / (1 + np.abs(x)),
    "HARD_SIGMOID": lambda i, x: np.minimum(np.maximum(x / 6 + 0.5, 0), 1),
    "GELU": lambda i, x: x / 2 * (1 + np.tanh(_ROOT * (x + 0.044715 * x**3))),
    "GELU_EXACT": lambda i, x: x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    "MISH": lambda i, x: x * np.tanh(_softplus(x)),
}

BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "MUL": lambda a, b: a * b,
    "DIV": lambda a, b: a / b,
    "MAXIMUM": np.maximum,
    "MINIMUM": np.minimum,
    "POW": lambda a, b: a**b,
    "EQUAL": lambda a, b: (a == b).astype(float),
    "GREATER": lambda a, b: (a > b).astype(float),
}


def convolution(ins: Instruction, w: Array, b: Array | None, x: Array) -> Array:
    """Cross-correlation tap by tap; depthwise where the instruction says so."""
    depthwise = ins.mnemonic.endswith("DEPTHWISE_CONV2D")
    kh, kw = w.shape[:2]
    below, right = geometry_ends(ins)
    padded = np.pad(x, ((0, 0), (ins.pad_h, below), (ins.pad_w, right), (0, 0)))
    rows = (padded.shape[1] - (kh - 1) * ins.dil_h - 1) // ins.stride_h + 1
    cols = (padded.shape[2] - (kw - 1) * ins.dil_w - 1) // ins.stride_w + 1
    channels = w.shape[2] * w.shape[3] if depthwise else w.shape[3]
    y = np.zeros((x.shape[0], rows, cols, channels))
    for r, s in itertools.product(range(kh), range(kw)):
        top, left = r * ins.dil_h, s * ins.dil_w
        cut = padded[
            :,
            top : top + (rows - 1) * ins.stride_h + 1 : ins.stride_h,
            left : left + (cols - 1) * ins.stride_w + 1 : ins.stride_w,
        ]
        if depthwise:
            y += np.einsum("nijc,cm->nijcm", cut, w[r, s]).reshape(y.shape)
        else:
            y += cut @ w[r, s]
    return y if b is None else y + b


def pool(ins: Instruction, x: Array) -> Array:
    """Window by window."""
    below, right = geometry_ends(ins)
    largest = ins.mnemonic.endswith("MAXPOOL2D")
    fill = -np.inf if largest else 0.0
    pads = ((0, 0), (ins.pad_h, below), (ins.pad_w, right), (0, 0))
    padded = np.pad(x, pads, constant_values=fill)
    inside = np.pad(np.ones_like(x), pads)
    rows = (padded.shape[1] - ins.window_h) // ins.stride_h + 1
    cols = (padded.shape[2] - ins.window_w) // ins.stride_w + 1
    y = np.zeros((x.shape[0], rows, cols, x.shape[3]))
    for i, j in itertools.product(range(rows), range(cols)):
        top, left = i * ins.stride_h, j * ins.stride_w
        box = (slice(None), slice(top, top + ins.window_h), slice(left, left + ins.window_w))
        if largest:
            y[:, i, j] = padded[box].max(axis=(1, 2))
        elif ins.exclude:
            y[:, i, j] = padded[box].sum(axis=(1, 2)) / inside[box].sum(axis=(1, 2))
        else:
            y[:, i, j] = padded[box].mean(axis=(1, 2))
    return y


def batch_norm(
    ins: Instruction, x: Array, gamma: Array | None, beta: Array | None, mean: Array, var: Array
) -> tuple[Array, Array, Array]:
    """Result, and the mean and biased variance it used."""
    if not ins.frozen:
        axes = (0,) if ins.mnemonic.endswith("BATCHNORM") else tuple(range(x.ndim - 1))
        mean, var = x.mean(axis=axes), x.var(axis=axes)
    y = (x - mean) / np.sqrt(var + ins.eps)
    y = y if gamma is None else y * gamma
    return (y if beta is None else y + beta), mean, var


def column_stats(x: Array) -> Array:
    """Mean of every column, and the sum of squares apart from it."""
    rows = x.reshape(-1, x.shape[-1])
    return np.stack([rows.mean(axis=0), rows.var(axis=0) * len(rows)])


def column_products(dy: Array, x: Array, mean: Array) -> Array:
    """Sums of the columns of dy, and of dy times x less its mean."""
    axes = tuple(range(x.ndim - 1))
    return np.stack([dy.sum(axis=axes), (dy * (x - mean)).sum(axis=axes)])


def softmax(x: Array, step: int) -> Array:
    """Rows of ``step`` elements."""
    rows = x.reshape(-1, step)
    e = np.exp(rows - rows.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True)).reshape(x.shape)


def log_softmax(x: Array, step: int) -> Array:
    """Logarithm of the softmax of rows of ``step`` elements."""
    rows = x.reshape(-1, step)
    rows = rows - rows.max(axis=1, keepdims=True)
    return (rows - np.log(np.exp(rows).sum(axis=1, keepdims=True))).reshape(x.shape)


def one_hot(t: Array, depth: int) -> Array:
    """Rows with a 1 at the index."""
    return (np.arange(depth) == t[..., None]).astype(float)


def loss(ins: Instruction, p: Array, t: Array, weights: Array | None) -> Array:
    """Mean over the entries of the mean over an entry's own positions; of ROW_… each by itself."""
    kind = ins.mnemonic.removeprefix("GRADS_").replace("ROW_", "LOSS_")
    if kind == "LOSS_MSE" and ins.dylann_sum:
        return np.asarray(((p - t) ** 2).sum() / 2)
    if kind in ("LOSS_CE", "LOSS_SPARSE_CE"):
        wanted = one_hot(t, p.shape[-1]) if kind == "LOSS_SPARSE_CE" else t
        if ins.source == "logits":
            logs = log_softmax(p, p.shape[-1])
        else:
            logs = np.log(np.clip(p / p.sum(axis=-1, keepdims=True), 1e-7, 1 - 1e-7))
        each = -(wanted * logs).sum(axis=-1)
    elif kind == "LOSS_BCE" and ins.source == "logits":
        each = np.maximum(p, 0) - p * t + np.log1p(np.exp(-np.abs(p)))
    elif kind == "LOSS_BCE":
        q = np.clip(p, 1e-7, 1 - 1e-7)
        each = -(t * np.log(q) + (1 - t) * np.log(1 - q))
    else:
        each = (p - t) ** 2 if kind == "LOSS_MSE" else np.abs(p - t)
    if ins.mnemonic.startswith("ROW_"):
        return each if weights is None else each * weights.reshape(-1, *[1] * (each.ndim - 1))
    entries = each.reshape(p.shape[0], -1).mean(axis=1)
    return np.asarray((entries if weights is None else entries * weights).sum() / p.shape[0])


def reduce(ins: Instruction, x: Array) -> Array:
    """Sum, mean, max or min over the axes."""
    axes = tuple(ins.axes) or tuple(range(x.ndim))
    how = {"SUM": np.sum, "MEAN": np.mean, "MAX": np.max, "MIN": np.min}
    return np.asarray(how[ins.mnemonic.rpartition("_")[2]](x, axis=axes, keepdims=ins.keepdims))


def moved(ins: Instruction, x: Array, shape: tuple[int, ...]) -> Array:
    """Moves of one tensor; ``shape`` is that of the result."""
    kind = ins.mnemonic.removeprefix("GRADS_")
    if kind == "TRANSPOSE":
        return x.transpose(ins.perm)
    if kind == "SLICE":
        box = tuple(
            slice(b, None if s == -1 else b + s) for b, s in zip(ins.begin, ins.size, strict=True)
        )
        return x[box]
    if kind == "PAD":
        pads = list(zip(ins.pads[::2], ins.pads[1::2], strict=True))
        return np.pad(x, pads, constant_values=ins.fill)
    if kind == "BROADCAST":
        return np.broadcast_to(x, shape).copy()
    return x.reshape(shape)
