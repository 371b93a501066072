"""Small models as Keras' JSON, written by hand in both dialects."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

Document = dict[str, Any]


def tensor(layer: str, call: int = 0, output: int = 0) -> Document:
    """A tensor as Keras 3 has it."""
    return {
        "class_name": "__keras_tensor__",
        "config": {"shape": [None], "dtype": "float32", "keras_history": [layer, call, output]},
    }


def entry(class_name: str, name: str, *calls: Any, **config: Any) -> Document:
    """A layer of a Functional model, called on what ``calls`` say."""
    return {
        "module": "keras.layers", "class_name": class_name, "config": {"name": name, **config},
        "registered_name": None, "name": name,
        "inbound_nodes": [
            call if isinstance(call, dict) and "args" in call else {"args": [call], "kwargs": {}}
            for call in calls
        ],
    }  # fmt: skip


def given(name: str = "x", shape: tuple[int | None, ...] = (4,), **config: Any) -> Document:
    """An input layer."""
    return entry("InputLayer", name, batch_shape=[None, *shape], dtype="float32", **config)


def functional(
    *layers: Document, inputs: Any = None, outputs: Any = None, name: str = "net"
) -> Document:
    """A Functional model; without ends told, from its first layer to its last."""
    return {
        "module": "keras.src.models.functional", "class_name": "Functional",
        "registered_name": "Functional",
        "config": {
            "name": name, "trainable": True, "layers": list(layers),
            "input_layers": inputs or [[layers[0]["name"], 0, 0]],
            "output_layers": outputs or [[layers[-1]["name"], 0, 0]],
        },
    }  # fmt: skip


def nested(model: Document, *calls: Any) -> Document:
    """A model as a layer of another."""
    name = model["config"]["name"]
    return {**model, "name": name, "inbound_nodes": entry("", name, *calls)["inbound_nodes"]}


def chain(*layers: Document, name: str = "net") -> Document:
    """A Functional model of layers one behind the other; the first is the input."""
    for before, after in pairwise(layers):
        after["inbound_nodes"] = [{"args": [tensor(before["name"])], "kwargs": {}}]
    return functional(*layers, name=name)


def sequential(*layers: Document, name: str = "net", **config: Any) -> Document:
    """A Sequential model."""
    plain = [{k: v for k, v in each.items() if k not in ("name", "inbound_nodes")}
             for each in layers]  # fmt: skip
    return {"class_name": "Sequential", "config": {"name": name, "layers": plain, **config}}


def old(class_name: str, name: str, *calls: Any, **config: Any) -> Document:
    """A layer of a Functional model as Keras 2 writes it."""
    return {"class_name": class_name, "config": {"name": name, **config}, "name": name,
            "inbound_nodes": list(calls)}  # fmt: skip
