"""Families of layers: what the canvas colours and the palette groups them by."""

from __future__ import annotations

from typing import Literal, TypeAlias

from studio.engine.layers.catalog import layer_class
from studio.session.document.layer_types import is_known

Family: TypeAlias = Literal[
    "data", "linear", "norm", "activation", "shape", "merge", "sequence", "loss", "operation",
    "missing", "block",
]  # fmt: skip

FAMILY_NAMES: dict[Family, str] = {
    "data": "Data",
    "linear": "Linear",
    "norm": "Normalisation",
    "activation": "Activation",
    "shape": "Shape and pooling",
    "merge": "Merge",
    "sequence": "Sequence",
    "loss": "Loss",
    "operation": "Operations",
}
"""Headings of the palette, in its order; what is missing and blocks are under none."""

_OF_CATEGORY: dict[str, Family] = {
    "convolution": "linear",
    "pooling": "shape",
    "shape": "shape",
    "normalization": "norm",
    "regularization": "norm",
    "activation": "activation",
    "merge": "merge",
    "sequence": "sequence",
    "preprocessing": "data",
    "operation": "operation",
}


def family_of(type_name: str) -> Family:
    """The family of a layer type; ``missing`` where there is no such layer."""
    if not is_known(type_name):
        return "missing"
    found = layer_class(type_name)
    if found.arity == (0, 0):
        return "data"
    return _OF_CATEGORY.get(found.category, "linear")
