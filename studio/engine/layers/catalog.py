"""The closed list of layers: what a project file may name and a palette shows."""

from __future__ import annotations

from studio.engine.layers import (
    activation_layers,
    convolution,
    dense,
    dropout,
    inputs,
    merging,
    normalization,
    pooling,
    rescaling,
    shaping,
)
from studio.engine.layers.layer import Layer

_FAMILIES = (
    inputs,
    dense,
    convolution,
    pooling,
    shaping,
    normalization,
    dropout,
    activation_layers,
    merging,
    rescaling,
)


def layer_class(name: object) -> type[Layer]:
    """The layer of that Keras name; ParameterError, with the names there are, for another."""
    return Layer.member(name)


def all_layers() -> tuple[type[Layer], ...]:
    """Every layer class, in palette order: family by family, as declared."""
    modules = [family.__name__ for family in _FAMILIES]
    found = [c for c in Layer.members.values() if issubclass(c, Layer)]
    return tuple(
        sorted((c for c in found if c.__module__ in modules),
               key=lambda c: modules.index(c.__module__))
    )  # fmt: skip
