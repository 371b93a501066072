"""Parameters between their stored form and Keras' public one: the only place that turns them."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import Shape
from studio.engine.layers.layer import Layer, Parameter, shape_text

Array: TypeAlias = npt.NDArray[np.generic]


def public_shape(layer: Layer, parameter: Parameter) -> Shape:
    """The public shape of one of a layer's parameters."""
    return layer.public_form(parameter).shape_of(parameter.shape)


def to_public(layer: Layer, parameter: Parameter, stored: Array) -> Array:
    """Public values, such as a dense kernel as [inputs, units]; a copy in row-major order."""
    form = layer.public_form(parameter)
    turned = stored.transpose(form.permutation) if form.permutation else stored
    return np.array(turned.reshape(form.shape_of(parameter.shape)), order="C")


def to_stored(layer: Layer, parameter: Parameter, public: Array) -> Array:
    """Values to store, float32; ShapeError unless ``public`` has the parameter's public shape."""
    form = layer.public_form(parameter)
    wanted = form.shape_of(parameter.shape)
    if tuple(public.shape) != wanted:
        raise ShapeError(
            f"{parameter.role}: expected {shape_text(wanted)}, got {shape_text(public.shape)}",
            who=layer.who,
        )
    turned = public.reshape(form.permuted(parameter.shape))
    if form.permutation:
        turned = turned.transpose(np.argsort(form.permutation))
    return np.array(turned, dtype=np.float32, order="C")
