"""Networks with unknown lengths, written once for Keras and for Glassbox.

Each is trained for two epochs on batches of different lengths, ten steps in all, from the same
weights; `record_keras.py` records what Keras reports, a test compares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.generic]

EPOCHS = 2
TOLERANCE = 1e-5


@dataclass(frozen=True)
class Case:
    """One network and its batches.

    Attributes:
        build: makes the model from a library with Keras' names (``k.Dense``, ``k.Model``).
        batches: shape of the samples of each batch, rows first.
        classes: number of classes; 0 for two numbers.
        positions: whether each position has a class of its own.
        compile: loss and metrics.
        padded: whether the last position of every second sample is 0.
    """

    build: Callable[[Any], Any]
    batches: tuple[tuple[int, ...], ...]
    classes: int = 0
    positions: bool = False
    compile: Mapping[str, Any] = field(default_factory=lambda: {"loss": "mse"})
    padded: bool = False

    def data(self) -> list[tuple[Array, Array]]:
        """The same batches on every call."""
        rng = np.random.default_rng(5)
        found: list[tuple[Array, Array]] = []
        for shape in self.batches:
            x = rng.normal(size=shape).astype(np.float32)
            if self.padded:
                x[::2, -1] = 0.0
            rows = shape[:2] if self.positions else shape[:1]
            y: Array = rng.integers(0, max(self.classes, 1), rows).astype(np.int32)
            if not self.classes:
                y = rng.normal(size=(shape[0], 2)).astype(np.float32)
            found.append((x, y))
        return found


def start(shapes: list[tuple[int, ...]]) -> list[Array]:
    """The first weights of a model, from their shapes in Keras' order."""
    rng = np.random.default_rng(11)
    return [0.3 * np.abs(rng.normal(size=shape)) for shape in shapes]


def sequence(k: Any) -> Any:
    """A convolution over the steps, and the mean of all of them."""
    x = k.Input((None, 4), name="tokens")
    steps = k.Conv2D(6, (3, 1), activation="relu", name="conv")(k.Reshape((-1, 1, 4))(x))
    return k.Model(x, k.Dense(2, name="head")(k.GlobalAveragePooling2D()(steps)))


def image(k: Any) -> Any:
    """Images of any size: convolutions, pooling, normalisation, a residual sum."""
    x = k.Input((None, None, 3), name="image")
    y = k.Conv2D(5, 3, padding="same", name="first")(x)
    y = k.Activation("relu")(k.BatchNormalization(momentum=0.5, name="norm")(y))
    y = k.MaxPooling2D()(y)
    y = k.Add()([y, k.Conv2D(5, 1, name="second")(y)])
    y = k.Conv2D(4, 3, 2, name="third")(y)
    return k.Model(x, k.Dense(3, "softmax", name="head")(k.GlobalAveragePooling2D()(y)))


def tags(k: Any) -> Any:
    """A class for each position; masked ones do not count."""
    x = k.Input((None, 4), name="tokens")
    y = k.Dense(7, "tanh", name="hidden")(k.Masking(name="mask")(x))
    return k.Model(x, k.Dense(3, "softmax", name="tag")(y))


_CLASSES = {"loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"]}

CASES = {
    "sequence": Case(sequence, ((4, 5, 4), (4, 8, 4), (3, 13, 4), (4, 5, 4), (2, 3, 4))),
    "image": Case(
        image,
        ((4, 8, 10, 3), (3, 12, 7, 3), (4, 8, 10, 3), (2, 10, 8, 3), (1, 16, 16, 3)),
        classes=3,
        compile=_CLASSES,
    ),
    "tags": Case(
        tags,
        ((4, 5, 4), (3, 2, 4), (4, 9, 4), (1, 5, 4), (2, 4, 4)),
        classes=3,
        positions=True,
        compile=_CLASSES,
        padded=True,
    ),
}
