"""Other words for layers, and what usually follows them: for search and for typed nets."""

from __future__ import annotations

from collections.abc import Mapping

from studio.engine.layers.activations import ALIASES as ACTIVATION_ALIASES
from studio.engine.layers.activations import FUNCTIONS
from studio.engine.layers.catalog import all_layers

ALIASES: Mapping[str, tuple[str, ...]] = {
    "Input": ("in", "data", "images", "source"),
    "Dense": ("fc", "linear", "fully connected", "full"),
    "Conv2D": ("conv", "convolution", "conv2"),
    "DepthwiseConv2D": ("depthwise", "dwconv", "separable"),
    "MaxPooling2D": ("pool", "maxpool", "max pool"),
    "AveragePooling2D": ("avgpool", "average pool", "mean pool"),
    "GlobalAveragePooling2D": ("gap", "global pool", "global average"),
    "Flatten": ("flat", "unroll"),
    "Reshape": ("view", "resize"),
    "ZeroPadding2D": ("pad", "padding", "border"),
    "BatchNormalization": ("bn", "norm", "batchnorm", "batch norm"),
    "Dropout": ("drop",),
    "Activation": ("act", "function"),
    "ReLU": ("relu", "rectifier", "leaky relu"),
    "Softmax": ("shares", "probabilities"),
    "Add": ("sum", "plus", "residual", "skip"),
    "Multiply": ("mul", "times", "product", "gate"),
    "Concatenate": ("concat", "cat", "join", "merge"),
    "Rescaling": ("scale", "rescale", "normalize"),
}
"""Words users type for layers, the shortest first; the class name is always known as well."""

SUCCESSORS: Mapping[str, tuple[str, ...]] = {
    "": ("Input",),
    "Input": ("Conv2D", "Flatten", "Dense", "Rescaling"),
    "Rescaling": ("Conv2D", "Flatten", "Dense"),
    "Conv2D": ("ReLU", "BatchNormalization", "MaxPooling2D", "Conv2D", "Add", "Flatten"),
    "DepthwiseConv2D": ("BatchNormalization", "Conv2D", "ReLU"),
    "BatchNormalization": ("ReLU", "Activation", "Add", "Conv2D", "Dense"),
    "ReLU": ("Conv2D", "MaxPooling2D", "Dense", "Dropout", "BatchNormalization"),
    "Activation": ("Conv2D", "Dense", "MaxPooling2D", "Dropout"),
    "MaxPooling2D": ("Conv2D", "Flatten", "Dropout", "GlobalAveragePooling2D"),
    "AveragePooling2D": ("Conv2D", "Flatten", "Dropout"),
    "GlobalAveragePooling2D": ("Dense", "Dropout"),
    "Flatten": ("Dense", "Dropout"),
    "Reshape": ("Conv2D", "Dense"),
    "ZeroPadding2D": ("Conv2D", "MaxPooling2D"),
    "Dense": ("ReLU", "Dropout", "Dense", "Softmax", "BatchNormalization"),
    "Dropout": ("Dense", "Flatten", "Conv2D"),
    "Add": ("ReLU", "Activation", "Conv2D", "GlobalAveragePooling2D"),
    "Multiply": ("Conv2D", "Add", "Dense"),
    "Concatenate": ("Conv2D", "Dense", "BatchNormalization"),
}
"""What usually follows a layer, most usual first; behind the empty name, what begins a network."""


def words_for(type_name: str) -> tuple[str, ...]:
    """Everything a layer is found by: its class name, its default name, other words."""
    known = next((c for c in all_layers() if c.__name__ == type_name), None)
    plain = () if known is None else (known.default_name(),)
    return (type_name, *plain, *ALIASES.get(type_name, ()))


def type_of_word(word: str) -> str:
    """The layer a word means exactly, in any case; empty when it means none."""
    wanted = word.casefold()
    for cls in all_layers():
        if wanted in (each.casefold() for each in words_for(cls.__name__)):
            return cls.__name__
    return ""


def function_of_word(word: str) -> str:
    """The activation function a word means; empty when it means none."""
    name = ACTIVATION_ALIASES.get(word.casefold(), word.casefold())
    return name if name in FUNCTIONS else ""


def successor_place(before: str, type_name: str) -> int:
    """Place among the usual successors of a layer, from 0; beyond them all when not usual."""
    usual = SUCCESSORS.get(before, ())
    return usual.index(type_name) if type_name in usual else len(usual) + 1
