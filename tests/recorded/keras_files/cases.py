"""Networks whose layers Keras puts in an order of its own, as graph documents."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]


def network(outputs: list[str], *nodes: tuple[str, str, dict[str, Any], list[str]]) -> Document:
    """A graph document; a class name that begins with ``=`` stands for a further call of a node."""
    made: list[Document] = []
    for name, kind, config, inputs in nodes:
        node: Document = {"id": name, "inputs": inputs}
        if kind.startswith("="):
            node["shares"] = kind[1:]
        else:
            node |= {"type": kind, "config": {"name": name, **config}}
        made.append(node)
    return {"name": "a small case", "nodes": made, "outputs": outputs}


CASES: dict[str, Document] = {
    # The branch added last is the longer one, so that its layers come first.
    "branches": network(
        ["out"],
        ("x", "Input", {"shape": [4]}, []),
        ("short", "Dense", {"units": 4}, ["x"]),
        ("long1", "Dense", {"units": 4, "activation": "celu"}, ["x"]),
        ("long2", "Dense", {"units": 4}, ["long1"]),
        ("out", "Add", {}, ["short", "long2"]),
    ),
    # A layer shared at two depths, an input nothing needs, and a layer no output depends on.
    "shared": network(
        ["b", "head"],
        ("y", "Input", {"shape": [3]}, []),
        ("x", "Input", {"shape": [4]}, []),
        ("own", "Dense", {"units": 4, "trainable": False}, ["x"]),
        ("lost", "Dense", {"units": 2}, ["own"]),
        ("a", "Dense", {"units": 4, "activation": "silu"}, ["own"]),
        ("b", "=a", {}, ["a"]),
        ("c", "=a", {}, ["b"]),
        ("tail", "Dense", {"units": 4}, ["x"]),
        ("head", "Concatenate", {}, ["tail", "c"]),
    ),
    # Outputs in another order than their layers, one of them an input.
    "outputs": network(
        ["late", "x", "early"],
        ("x", "Input", {"shape": [6, 6, 2]}, []),
        ("conv", "Conv2D", {"filters": 3, "kernel_size": 3, "kernel_initializer": "dylann_linear",
                            "kernel_regularizer": "l2(0.5)"}, ["x"]),
        ("early", "GlobalAveragePooling2D", {}, ["conv"]),
        ("pool", "MaxPooling2D", {"strides": [1, 1]}, ["conv"]),
        ("second", "Conv2D", {"filters": 2, "kernel_size": [1, 2], "activation": "relu"}, ["pool"]),
        ("flat", "Flatten", {}, ["second"]),
        ("drop", "Dropout", {"rate": 0.5}, ["flat"]),
        ("late", "Dense", {"units": 2, "kernel_regularizer": "l1_l2(0.1,0.2)"}, ["drop"]),
    ),
    # Whole numbers, and a length that may be any.
    "open": network(
        ["pooled"],
        ("x", "Input", {"shape": [None, 5, 1], "dtype": "int32"}, []),
        ("scaled", "Rescaling", {"scale": 0.5}, ["x"]),
        ("pooled", "GlobalAveragePooling2D", {}, ["scaled"]),
    ),
}  # fmt: skip
