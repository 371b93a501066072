"""A small compiled network as files of other programs, put together by hand."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from tests.engine.interop.keras.documents import Document, chain, entry, given, old

RNG = np.random.default_rng(8)
WEIGHTS = {
    ("c", "kernel"): RNG.normal(size=(3, 3, 2, 4)).astype(np.float32),
    ("c", "bias"): np.zeros(4, np.float32),
    ("n", "gamma"): np.ones(4, np.float32),
    ("n", "beta"): np.zeros(4, np.float32),
    ("n", "moving_mean"): RNG.normal(size=4).astype(np.float32),
    ("n", "moving_variance"): np.ones(4, np.float32),
    ("d", "kernel"): RNG.normal(size=(64, 3)).astype(np.float32),
    ("d", "bias"): np.zeros(3, np.float32),
}
"""By layer and name, in Keras' layout and order."""

PATHS = {"c": "layers/conv2d", "n": "layers/batch_normalization", "d": "layers/dense"}
TRAINED = [key for key in WEIGHTS if not key[1].startswith("moving")]
ADAM = {
    "module": "keras.optimizers", "class_name": "Adam", "registered_name": None,
    "config": {"name": "adam", "learning_rate": 0.001, "beta_1": 0.9, "beta_2": 0.999,
               "epsilon": 1e-7, "amsgrad": False},
}  # fmt: skip
COMPILED = {
    "optimizer": ADAM, "loss": "sparse_categorical_crossentropy", "loss_weights": None,
    "metrics": ["accuracy"], "weighted_metrics": None,
}  # fmt: skip


def document() -> Document:
    """The network in the dialect of Keras 3."""
    made = chain(
        given("x", (4, 4, 2)),
        entry("Conv2D", "c", filters=4, kernel_size=[3, 3], strides=[1, 1], padding="same",
              activation="relu", use_bias=True),
        entry("BatchNormalization", "n", axis=-1, momentum=0.99, epsilon=0.001),
        entry("Dropout", "o", rate=0.5, seed=None),
        entry("Flatten", "f"),
        entry("Dense", "d", units=3, activation="softmax"),
    )  # fmt: skip
    return made | {"compile_config": COMPILED}


def old_document() -> Document:
    """The network in the dialect of Keras 2."""
    layers = [
        old("InputLayer", "x", batch_input_shape=[None, 4, 4, 2], dtype="float32", sparse=False),
        old("Conv2D", "c", [["x", 0, 0, {}]], filters=4, kernel_size=[3, 3], padding="same",
            activation="relu"),
        old("BatchNormalization", "n", [["c", 0, 0, {}]], axis=[3], momentum=0.99, epsilon=0.001),
        old("Dropout", "o", [["n", 0, 0, {}]], rate=0.5),
        old("Flatten", "f", [["o", 0, 0, {}]]),
        old("Dense", "d", [["f", 0, 0, {}]], units=3, activation="softmax"),
    ]  # fmt: skip
    return {
        "class_name": "Functional",
        "config": {"name": "net", "trainable": True, "layers": layers,
                   "input_layers": [["x", 0, 0]], "output_layers": [["d", 0, 0]]},
    }  # fmt: skip


def hdf5(fill: Any) -> bytes:
    """An HDF5 file that a function fills."""
    made = io.BytesIO()
    with h5py.File(made, "w") as file:
        fill(file)
    return made.getvalue()


def by_path(file: h5py.File) -> None:
    """Weights and the state of Adam as Keras 3 lays them out."""
    for name in (*PATHS.values(), "layers/dropout", "layers/flatten", "optimizer"):
        file.create_group(f"{name}/vars")
    file.create_group("vars")
    for (layer, _), array in WEIGHTS.items():
        group = file[f"{PATHS[layer]}/vars"]
        group[str(len(group))] = array
    state = file["optimizer/vars"]
    state["0"], state["1"] = np.array(3, np.int64), np.array(0.001, np.float32)
    for key in TRAINED:
        for _ in range(2):
            state[str(len(state))] = np.full_like(WEIGHTS[key], 0.25)


def by_group(file: h5py.File) -> None:
    """Weights as Keras 2 lays them out."""
    group = file.create_group("model_weights")
    group.attrs["layer_names"] = np.array([b"x", b"c", b"n", b"o", b"f", b"d"])
    for layer in "xcnofd":
        inner = group.create_group(layer)
        names = [name for held, name in WEIGHTS if held == layer]
        listed = [f"{layer}/{name}:0".encode() for name in names]
        inner.attrs["weight_names"] = np.array(listed) if listed else np.asarray([])
        for name in names:
            inner[f"{layer}/{name}:0"] = WEIGHTS[layer, name]


def archive(members: Mapping[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    """A zip archive."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return made.getvalue()


def text(value: Any) -> bytes:
    """JSON as its file has it."""
    return value if isinstance(value, bytes) else json.dumps(value).encode()


def keras_members(config: Any = None, weights: bytes | None = None) -> dict[str, bytes]:
    """What is in a ``.keras`` file."""
    return {
        "metadata.json": text({"keras_version": "3.10.0", "date_saved": "2026-01-01@00:00:00"}),
        "config.json": text(document() if config is None else config),
        "model.weights.h5": hdf5(by_path) if weights is None else weights,
    }


def keras_file(folder: Path, config: Any = None, weights: bytes | None = None) -> Path:
    """A ``.keras`` file."""
    path = folder / "m.keras"
    path.write_bytes(archive(keras_members(config, weights)))
    return path


def hdf5_file(folder: Path, config: Any = None, fill: Any = by_group) -> Path:
    """A whole model in an ``.h5`` file."""
    path = folder / "m.h5"

    def whole(file: h5py.File) -> None:
        file.attrs["keras_version"] = "2.15.0"
        # A text in HDF5 ends at the first byte of zeros.
        content = text(old_document() if config is None else config).replace(b"\0", b"\1")
        file.attrs.create("model_config", content, dtype=h5py.string_dtype())
        file.attrs["training_config"] = json.dumps({"optimizer_config": ADAM, "loss": "mse"})
        fill(file)

    path.write_bytes(hdf5(whole))
    return path


def tfjs_folder(folder: Path, config: Any = None, shard: bytes | None = None) -> Path:
    """A TensorFlow.js layers model; its ``model.json``."""
    listed = [
        {"name": f"{layer}/{name}", "shape": list(array.shape), "dtype": "float32"}
        for (layer, name), array in WEIGHTS.items()
    ]
    network = text(old_document() if config is None else config)
    content = {
        "format": "layers-model", "generatedBy": "keras v2.15.0", "convertedBy": None,
        "modelTopology": {"keras_version": "2.15.0", "backend": "tensorflow",
                          "model_config": "NETWORK"},
        "weightsManifest": [{"paths": ["group1-shard1of1.bin"], "weights": listed}],
    }  # fmt: skip
    whole = b"".join(array.tobytes() for array in WEIGHTS.values())
    (folder / "group1-shard1of1.bin").write_bytes(whole if shard is None else shard)
    path = folder / "model.json"
    path.write_bytes(text(content).replace(b'"NETWORK"', network))
    return path
