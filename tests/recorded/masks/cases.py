"""Networks with masks, written once for Keras and for this engine."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]

ROWS = 6
STEPS = 5
RATE = 0.1


def rows(k: Any) -> tuple[Any, Any]:
    """One mask entry for each sample."""
    x = k.Input((3,))
    hidden = k.Dense(4, activation="tanh")(k.Masking()(x))
    return x, k.Dense(2)(hidden)


def behind_weights(k: Any) -> tuple[Any, Any]:
    """The mask itself depends on parameters, by way of a ReLU that gives rows of zeros."""
    x = k.Input((3,))
    hidden = k.Masking()(k.ReLU()(k.Dense(2)(x)))
    return x, k.Dense(2)(hidden)


def value(k: Any) -> tuple[Any, Any]:
    """Another value than 0, dropout that drops nothing, and a rescaling."""
    x = k.Input((3,))
    hidden = k.Rescaling(0.5, offset=0.25)(k.Masking(mask_value=-1.5)(x))
    return x, k.Dense(2, activation="softmax")(k.Dropout(0.0)(hidden))


def either(k: Any) -> tuple[Any, Any]:
    """A sum counts where one of its inputs counts."""
    x = k.Input((3,))
    left, right = k.Masking()(x), k.Masking(mask_value=-1.5)(x)
    return x, k.Dense(2)(k.Add()([left, right]))


def half(k: Any) -> tuple[Any, Any]:
    """A product with an input that has no mask has none."""
    x = k.Input((3,))
    return x, k.Dense(2)(k.Multiply()([k.Masking()(x), x]))


def replaced(k: Any) -> tuple[Any, Any]:
    """A second masking replaces the mask of the first."""
    x = k.Input((3,))
    return x, k.Dense(2)(k.Masking()(k.Masking(mask_value=-1.5)(x)))


def joined(k: Any) -> tuple[Any, Any]:
    """Features side by side: a position counts that counts in any input."""
    x = k.Input((3,))
    left, right = k.Masking()(x), k.Masking(mask_value=-1.5)(x)
    return x, k.Dense(2)(k.Concatenate()([left, right]))


def steps(k: Any) -> tuple[Any, Any]:
    """A mask entry for each step of a sequence."""
    x = k.Input((4, 3))
    hidden = k.Dense(4, activation="relu")(k.Masking()(x))
    return x, k.Dense(2)(hidden)


def longer(k: Any) -> tuple[Any, Any]:
    """Sequences one behind the other, one of them without a mask."""
    x = k.Input((4, 3))
    both = k.Concatenate(axis=1)([k.Masking()(x), k.Dense(3)(x), k.Masking(mask_value=-1.5)(x)])
    return x, k.Dense(2)(both)


def normalized(k: Any) -> tuple[Any, Any]:
    """Statistics of the steps that count."""
    x = k.Input((4, 3))
    hidden = k.BatchNormalization(momentum=0.8)(k.Dense(5)(k.Masking()(x)))
    return x, k.Dense(2)(k.Activation("tanh")(hidden))


def normalized_rows(k: Any) -> tuple[Any, Any]:
    """Statistics of the samples that count, neither scaled nor shifted; then running ones."""
    x = k.Input((3,))
    hidden = k.BatchNormalization(scale=False, center=False)(k.Masking()(x))
    still = k.BatchNormalization(trainable=False, epsilon=1.0)(k.Dense(4)(hidden))
    return x, k.Dense(2)(still)


CASES: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    each.__name__: each
    for each in (
        rows,
        behind_weights,
        value,
        either,
        half,
        replaced,
        joined,
        steps,
        longer,
        normalized,
        normalized_rows,
    )
}
LOSSES = {"value": "categorical_crossentropy"}
METRICS = {"value": "categorical_accuracy"}
"""Metrics other than ``mae``."""
NORMALIZED = ("normalized", "normalized_rows")
WEIGHTED = ("rows",)
"""Cases recorded with sample weights too."""


def draw(case: str, name: str, shape: tuple[int, ...]) -> Array:
    """Values of a named array of a case."""
    rng = np.random.default_rng(zlib.crc32(f"{case}/{name}".encode()))
    return rng.uniform(-1.4, 1.4, shape).astype(np.float32)


def first_weight(case: str, index: int, shape: tuple[int, ...]) -> Array:
    """The first value of a weight; none is negative where variances are among them."""
    found = draw(case, str(index), shape)
    return np.abs(found) if case in NORMALIZED else found


def inputs(case: str, shape: tuple[int, ...]) -> Array:
    """Samples [rows, …, features], some positions all 0 and some all -1.5."""
    found = draw(case, "x", (ROWS, *shape))
    flat = found.reshape(-1, shape[-1])
    flat[1::3] = 0.0
    flat[2::5] = -1.5
    return found


def targets(case: str, shape: tuple[int, ...]) -> Array:
    """Numbers, or one class of each row where the loss wants shares."""
    found = draw(case, "y", (ROWS, *shape))
    if case not in LOSSES:
        return found
    return np.eye(shape[-1], dtype=np.float32)[found.argmax(-1)]


def sample_weights(case: str) -> Array:
    """One factor for each sample."""
    return np.abs(draw(case, "w", (ROWS,)))
