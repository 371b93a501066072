"""Parameters between their stored form and Keras' public one: the only place that turns them."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import Shape
from studio.engine.layers.layer import Layer, shape_text

Array: TypeAlias = npt.NDArray[np.generic]


def is_transposed(layer: Layer, role: str) -> bool:
    """Whether a parameter is stored as the transpose of its public form (dense kernels)."""
    return role in layer.transposed


def public_shape(layer: Layer, role: str, stored: Shape) -> Shape:
    """The public shape of a parameter stored with ``stored``."""
    return stored[::-1] if is_transposed(layer, role) else stored


def to_public(layer: Layer, role: str, stored: Array) -> Array:
    """Public values, such as a dense kernel as [inputs, units]; a copy in row-major order."""
    return np.array(stored.T if is_transposed(layer, role) else stored, order="C")


def to_stored(layer: Layer, role: str, public: Array, expected: Shape) -> Array:
    """Values to store, float32; ShapeError unless ``public`` fits the stored shape ``expected``."""
    wanted = public_shape(layer, role, expected)
    if tuple(public.shape) != wanted:
        raise ShapeError(
            f"{role}: expected {shape_text(wanted)}, got {shape_text(public.shape)}", who=layer.who
        )
    turned = public.T if is_transposed(layer, role) else public
    return np.array(turned, dtype=np.float32, order="C")
