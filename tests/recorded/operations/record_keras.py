"""Records what functions of Keras 3 answer to the cases of our operations, in float64.

Run from the root of the repository by an interpreter that has Keras 3.15 and JAX:

    python -m tests.recorded.operations.record_keras
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

os.environ["KERAS_BACKEND"] = "jax"
os.environ["JAX_ENABLE_X64"] = "1"

import jax
import keras
import numpy as np

from studio.engine.operations import OPERATIONS
from tests.engine.operations.cases.case import Case
from tests.recorded.operations.answers import Answer, cases_of, main, slopes

k = keras.ops
Call = Callable[..., Any]


def attention(q: Any, key: Any, v: Any, mask: Any = None, *, scale: float | None = None) -> Any:
    """Keras has heads in the last dimension but one; values are as wide as keys there."""
    batch, wide = q.ndim == 3, v.shape[-1]
    v = k.pad(v, [(0, 0)] * (v.ndim - 1) + [(0, key.shape[-1] - wide)])
    q, key, v = (x[:, :, None] if batch else x[None, :, None] for x in (q, key, v))
    bias = None if mask is None else mask[None, None]
    found = k.dot_product_attention(q, key, v, bias=bias, scale=scale)[:, :, 0, :wide]
    return found if batch else found[0]


def normalised(x: Any, m: Any, v: Any, offset: Any = None, scale: Any = None, *, axis: int = -1,
               epsilon: float = 1e-3) -> Any:  # fmt: skip
    """The order of operands is Keras' own."""
    return k.batch_normalization(x, m, v, axis, offset, scale, epsilon)


def pooled(function: Call) -> Call:
    def call(x: Any, *, size: Any = (2, 2), strides: Any = None, padding: str = "valid") -> Any:
        return function(x, size, strides or size, padding, "channels_last")

    return call


def convolved(function: Call, kernels: int = 1) -> Call:
    """A bias comes behind the kernels."""

    def call(x: Any, *more: Any, strides: Any = 1, padding: str = "valid",
             dilation: Any = 1) -> Any:  # fmt: skip
        found = function(x, *more[:kernels], strides, padding, "channels_last", dilation)
        return found + more[kernels] if more[kernels:] else found

    return call


def transposed(x: Any, kernel: Any, bias: Any = 0.0, *, strides: Any = 1, padding: str = "valid",
               dilation: Any = 1) -> Any:  # fmt: skip
    """A bias comes behind the kernel."""
    return k.conv_transpose(x, kernel, strides, padding, None, "channels_last", dilation) + bias


def parted(x: Any, *, parts: int = 2, sizes: Sequence[int] = (), axis: int = -1) -> Any:
    return k.split(x, list(np.cumsum(sizes[:-1])) if sizes else parts, axis)


def boxed(x: Any, *, begin: Sequence[int], size: Sequence[int] = (-1,)) -> Any:
    begins = (*begin, *[0] * (x.ndim - len(begin)))
    sizes = (*size, *[-1] * (x.ndim - len(size)))
    ends = zip(sizes, begins, x.shape, strict=True)
    return k.slice(x, begins, [n - b if s < 0 else s for s, b, n in ends])


def measured(x: Any, *, order: float = 2.0, axis: int) -> Any:
    return k.norm(x, np.inf if order == 0 else order, axis)


def centred_padding(x: Any, *, pads: Any, value: float = 0.0, mode: str = "constant") -> Any:
    return k.pad(x, pads, mode, value if mode == "constant" else None)


# Calls that are not the function of the same name with the same operands and options.
CALLS: Mapping[str, Call] = {
    "arange": lambda *, start=0.0, stop, step=1.0, dtype=None: k.arange(start, stop, step, dtype),
    "average_pool2d": pooled(k.average_pool),
    "batch_normalization": normalised,
    "bincount": lambda x, *, length: k.bincount(k.ravel(x), minlength=length),
    "broadcast_to": lambda x, *, shape: k.broadcast_to(x, [3 if n < 0 else n for n in shape]),
    "clip": lambda x, *, low, high: k.clip(x, low, high),
    "concatenate": lambda *xs, axis=-1: k.concatenate(xs, axis),
    "conv2d": convolved(k.conv),
    "conv2d_transpose": transposed,
    "depthwise_conv2d": convolved(k.depthwise_conv),
    "diagonal": lambda x: k.diagonal(x, 0, -2, -1),
    "dot_product_attention": attention,
    "einsum": lambda *xs, equation: k.einsum(equation, *xs),
    "eye": lambda *, rows, columns, diagonal: k.eye(rows, columns, diagonal),
    "full": lambda *, shape, value: k.full(shape, value),
    "full_like": lambda x, *, value: k.full_like(x, value),
    "identity": lambda *, size: k.identity(size),
    "layer_normalization": lambda x, s, b: k.layer_normalization(x, s, b, epsilon=1e-3),
    "linspace": lambda *, start, stop, count: k.linspace(start, stop, count),
    "logspace": lambda *, stop, count: k.logspace(0, stop, count),
    "map_coordinates": lambda x, p, *, fill: k.image.map_coordinates(x, p, 1, "constant", fill),
    "matmul": lambda a, b, *, transpose_a=False, transpose_b=False: k.matmul(
        a.T if transpose_a else a, b.T if transpose_b else b
    ),
    "max_pool2d": pooled(k.max_pool),
    "mish": keras.activations.mish,
    "moments": lambda x, *, axis: k.moments(x, axis),
    "norm": measured,
    "one_hot": lambda x, *, depth, on=1.0, off=0.0, axis=-1: (
        k.one_hot(x, depth, axis, dtype="float64") * (on - off) + off
    ),
    "pad": centred_padding,
    "reshape": lambda x, *, shape: k.reshape(x, shape),
    "resize": lambda x, *, height, width, method="bilinear", antialias=False, exclude=True: (
        k.image.resize(x, (height, width), method, antialias)
    ),
    "rms_normalization": lambda x, s: k.rms_normalization(x, s, epsilon=1e-7),
    "rotate_quarters": lambda x, *, turns: k.rot90(x, turns, (1, 2)),
    "search_sorted": lambda x, v, *, side="left": k.searchsorted(x, v, side),
    "segment_sum": lambda x, i, *, count: k.segment_sum(x, i, count),
    "separable_conv2d": convolved(k.separable_conv, 2),
    "slice": boxed,
    "sort": lambda x, *, axis=-1, descending=False: -k.sort(-x, axis) if descending
    else k.sort(x, axis),
    "split": parted,
    "stack": lambda *xs, axis=0: k.stack(xs, axis),
    "tensordot": lambda a, b, *, axes_a=(-1,), axes_b=(0,): k.tensordot(a, b, (axes_a, axes_b)),
    "thresholded_relu": lambda x, *, threshold: k.threshold(x, threshold, 0),
    "tri": lambda *, rows, diagonal: k.tri(rows, k=diagonal),
    "tril": lambda x, *, diagonal=0: k.tril(x, diagonal),
    "triu": lambda x, *, diagonal=0: k.triu(x, diagonal),
    "unstack": lambda x, *, axis: k.unstack(x, axis=axis),
}  # fmt: skip


def call_of(name: str) -> Call:
    """The function of Keras for an operation, taking our operands and options."""
    path = OPERATIONS[name].aliases["keras"][0].split(".")
    found: Call = CALLS.get(name) or reduce(getattr, path, k)
    return found


def answer(case: Case) -> Answer:
    """What Keras gives, and the gradients of Σ slope·result."""
    call = call_of(case.name)
    operands = [x.astype(np.float64) if x.dtype.kind == "f" else x for x in case.arrays()]
    floats = [i for i, x in enumerate(operands) if x.dtype.kind == "f"]

    def results(*given: Any) -> list[Any]:
        every = [given[floats.index(i)] if i in floats else x for i, x in enumerate(operands)]
        found = call(*map(k.convert_to_tensor, every), **case.options)
        return list(found) if isinstance(found, tuple | list) else [found]

    def loss(*given: Any) -> Any:
        return sum((slopes(y.shape) * y).sum() for y in results(*given))

    given = [operands[i] for i in floats]
    made = [np.asarray(y) for y in results(*given)]
    gradients: dict[int, np.ndarray] = {}
    if case.gradients and floats:
        found = jax.grad(loss, argnums=tuple(range(len(floats))))(*map(jax.numpy.asarray, given))
        gradients = {i: np.asarray(x) for i, x in zip(floats, found, strict=True)}
    return Answer(made, gradients)


def answers() -> dict[str, Answer]:
    """Of all cases that Keras has a function for."""
    return {str(case): answer(case) for case in cases_of("keras")}


if __name__ == "__main__":
    main("keras", answers())
