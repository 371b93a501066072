"""Keras' application models with seeded weights, and what each of their layers answers.

    python -m tests.end_to_end.keras_applications NAME FOLDER

Runs in a process of its own, since Keras and its backend need memory that is not given back.
Writes ``model.keras``, ``model.h5`` and ``answers.npz``: the pictures, the answer, and for each
layer the answer's mean magnitude and a sample of its values.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

SIDES = {
    "MobileNet": 64,
    "MobileNetV2": 64,
    "ResNet50": 64,
    "ResNet50V2": 64,
    "DenseNet121": 64,
    "VGG16": 64,
    "InceptionV3": 96,
}
"""The models, and rows and columns of the pictures each is given here."""

DIGITS = Path(__file__).resolve().parents[2] / "projects" / "data" / "digits.npz"

SAMPLED = 512
CLASSES = 10


def sampled(values: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """At most `SAMPLED` values spread over an array."""
    flat = np.asarray(values, dtype=np.float32).ravel()
    return flat[:: max(1, -(-flat.size // SAMPLED))]


def build(name: str) -> Any:
    """A model with weights under which no layer saturates: each keeps the size of its input."""
    import keras

    keras.utils.set_random_seed(7)
    side = SIDES[name]
    made = getattr(keras.applications, name)(
        weights=None, input_shape=(side, side, 3), classes=CLASSES
    )
    rng = np.random.default_rng(11)
    for layer in made.layers:
        kernels = [w for w in layer.weights if "kernel" in w.name]
        for kernel in kernels:
            depthwise = type(layer).__name__ == "DepthwiseConv2D"
            fan = np.prod(kernel.shape[:-2] if depthwise else kernel.shape[:-1])
            scale = np.sqrt((1.0 if layer is made.layers[-1] else 2.0) / fan)
            kernel.assign(rng.normal(0.0, scale, kernel.shape))
        for weight in layer.weights:
            if weight.name in ("beta", "bias"):
                # Shifted up, so that rounding does not grow from layer to layer as it does where
                # every rectifier cuts through the middle.
                weight.assign(rng.normal(0.7, 0.1, weight.shape))
            elif weight.name == "gamma":
                weight.assign(rng.uniform(0.6, 1.2, weight.shape))
    # Statistics become those of a batch: what a trained network has learned.
    norms = [layer for layer in made.layers if type(layer).__name__ == "BatchNormalization"]
    for norm in norms:
        norm.momentum = 0.0
    made(rng.uniform(-1.0, 1.0, (8, side, side, 3)).astype(np.float32), training=True)
    for norm in norms:
        norm.momentum = 0.99
    return made


def main(name: str, folder: Path) -> None:
    """Write the files of one model."""
    os.environ["KERAS_BACKEND"] = "jax"
    import keras

    made = build(name)
    side = SIDES[name]
    pictures = np.random.default_rng(3).uniform(-1.0, 1.0, (2, side, side, 3)).astype(np.float32)
    layers = [each for each in made.layers if type(each).__name__ != "InputLayer"]
    whole = keras.Model(made.inputs, [each.output for each in layers])
    answers = whole.predict(pictures, verbose=0)
    found = {f"layer/{each.name}": sampled(a) for each, a in zip(layers, answers, strict=True)}
    np.savez(folder / "answers.npz", pictures=pictures, answer=np.asarray(answers[-1]), **found)
    made.save(folder / "model.keras")
    made.save(folder / "model.h5")


def files_of(name: str, base: Path) -> Path:
    """The folder of one model's files below a folder all workers share; made where missing."""
    folder = base / "keras_applications" / name
    if not folder.is_dir():
        folder.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as made:
            inside = Path(made) / name
            inside.mkdir()
            subprocess.run([sys.executable, "-m", __name__, name, str(inside)], check=True)
            # Another worker may have made the same meanwhile.
            with suppress(OSError):
                inside.rename(folder)
    return folder


def pictures_of_digits(side: int, count: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Handwritten digits as pictures of three channels from -1 to 1, and their classes."""
    with np.load(DIGITS) as stored:
        small, classes = stored["x"][:count], stored["y"][:count]
    times = -(-side // 8)
    large = np.kron(small.reshape(-1, 8, 8), np.ones((1, times, times)))[:, :side, :side]
    pictures = np.repeat(large[..., None], 3, axis=3) / 8.0 - 1.0
    return pictures.astype(np.float32), classes.astype(np.int32)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
