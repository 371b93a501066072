"""Records in which order Keras puts the layers of networks, whatever the order of their file.

Run from the root of the repository by an interpreter that has Keras 3 and JAX:

    python -m tests.recorded.keras_files.record_keras

Files for Keras count weights in this order.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

os.environ["KERAS_BACKEND"] = "jax"

import keras

from tests.recorded.keras_files.cases import CASES, Document

TARGET_FILE = Path(__file__).parent / "order.json"


def order(document: Document) -> list[str]:
    """Names of the layers of a functional model, as Keras lists them."""
    values: dict[str, Any] = {}
    layers: dict[str, Any] = {}
    inputs = []
    for node in document["nodes"]:
        config = dict(node.get("config", {}))
        if node.get("type") == "Input":
            values[node["id"]] = keras.Input(**config)
            inputs.append(values[node["id"]])
            continue
        if "shares" not in node:
            for key in [k for k in config if k.endswith(("_regularizer", "_initializer"))]:
                del config[key]
            layers[node["id"]] = getattr(keras.layers, node["type"])(**config)
        given = [values[i] for i in node["inputs"]]
        layer = layers[node.get("shares", node["id"])]
        values[node["id"]] = layer(given if len(given) > 1 else given[0])
    model = keras.Model(inputs, [values[i] for i in document["outputs"]])
    return [layer.name for layer in model.layers]


if __name__ == "__main__":
    found = {name: order(document) for name, document in CASES.items()}
    TARGET_FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
