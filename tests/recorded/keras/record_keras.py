"""Records models as several versions of Keras save them, with what they answer.

    python -m tests.recorded.keras.record_keras [tf_keras]

Run from the root of the repository by an interpreter that has the version wanted: Keras 3.0.5,
3.6.0, 3.10.0 and 3.15.1 with JAX, and tf_keras 2.21.0. Each adds its files to ``models.tar.xz``,
packed as one since they hold much text that is alike. ``net`` uses every layer class that
is here, a Sequential and a Functional model in it that are called twice, and a shared layer; two
steps of Adam were taken. ``line`` is Sequential.
"""

from __future__ import annotations

import io
import os
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "jax")

import numpy as np

ARCHIVE = Path(__file__).with_name("models.tar.xz")
ROWS = 3


def unpacked() -> dict[str, bytes]:
    """What is in the archive by name: ``3.15.1/net.keras``, ``.h5`` and ``.npz``."""
    with tarfile.open(ARCHIVE) as archive:
        files = {each.name: archive.extractfile(each) for each in archive.getmembers()}
        return {name: file.read() for name, file in files.items() if file is not None}


def net(keras: Any) -> Any:
    """The Functional model."""
    layers = keras.layers
    picture = keras.Input((8, 6, 2), name="picture")
    row = keras.Input((5, 3), name="row")
    stem = keras.Sequential(
        [layers.Conv2D(3, 3, padding="same", activation="relu"), layers.BatchNormalization()],
        name="stem",
    )
    seen = keras.Input((8, 6, 3), name="seen")
    halves = keras.Model(
        seen,
        [layers.MaxPooling2D(2, name="largest")(seen), layers.AveragePooling2D(2)(seen)],
        name="halves",
    )
    y = layers.Rescaling(0.5, offset=-0.25)(picture)
    first = stem(y)
    second = stem(layers.Activation("swish")(y))
    largest, mean = halves(first)
    _, other = halves(second)
    y = layers.Add()([largest, mean, other])
    y = layers.DepthwiseConv2D(2, depth_multiplier=2, depthwise_regularizer="l2")(y)
    y = layers.ReLU(max_value=6.0)(layers.ZeroPadding2D(((1, 0), (0, 2)))(y))
    pooled = layers.GlobalAveragePooling2D()(y)
    shared = layers.Dense(
        6, activation=keras.activations.tanh, name="shared",
        kernel_initializer=keras.initializers.VarianceScaling(2.0, mode="fan_out"),
    )  # fmt: skip
    gate = layers.Multiply()([shared(pooled), shared(layers.Dropout(0.25)(pooled))])
    kept = layers.Flatten()(layers.Dense(2)(layers.Masking(0.0)(row)))
    y = layers.Concatenate()([gate, kept, layers.Flatten()(y)])
    y = layers.Dense(6, activation=layers.LeakyReLU(0.125), name="last")(y)
    y = layers.Softmax(name="shares")(layers.Reshape((2, 3))(y))
    model = keras.Model([picture, row], [y, gate], name="net")
    model.compile(optimizer=keras.optimizers.Adam(0.01), loss=["mse", None],
                  metrics=[["mae"], []])  # fmt: skip
    return model


def line(keras: Any) -> Any:
    """The Sequential model."""
    layers = keras.layers
    model = keras.Sequential(
        [keras.Input((5,)), layers.Dense(4, use_bias=False), layers.LeakyReLU(0.1),
         layers.ELU(), layers.Dense(2, activation="softmax")],
        name="line",
    )  # fmt: skip
    rate = keras.optimizers.schedules.ExponentialDecay(0.125, 100, 0.5)
    model.compile(
        optimizer=keras.optimizers.SGD(rate, momentum=0.5),
        loss=keras.losses.CategoricalCrossentropy(label_smoothing=0.25),
        metrics=["accuracy", keras.metrics.AUC()],
    )
    return model


def record(keras: Any, model: Any, folder: Path) -> None:
    """Save a model in both forms, its inputs and its answers."""
    draw = np.random.default_rng(17)
    inputs = [draw.normal(size=(ROWS, *x.shape[1:])).astype(np.float32) for x in model.inputs]
    if model.name == "net":
        inputs[1][:, 3:] = 0.0
        target = draw.uniform(size=(ROWS, 2, 3)).astype(np.float32)
        for _ in range(2):
            model.train_on_batch(inputs, [target, np.zeros((ROWS, 6), np.float32)])
    given = inputs if len(inputs) > 1 else inputs[0]
    answers = model.predict(given, verbose=0)
    answers = answers if isinstance(answers, list) else [answers]
    model.save(folder / f"{model.name}.keras")
    model.save(folder / f"{model.name}.h5")
    named = {f"input{i}": x for i, x in enumerate(inputs)}
    np.savez(folder / f"{model.name}.npz", **named,
             **{f"output{i}": np.asarray(y) for i, y in enumerate(answers)})  # fmt: skip


def main(module: str) -> None:
    """Add what this version saves to the archive."""
    keras = __import__(module)
    held = unpacked() if ARCHIVE.exists() else {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for make in (net, line):
            keras.utils.set_random_seed(5)
            record(keras, make(keras), folder)
        for path in sorted(folder.iterdir()):
            held[f"{keras.__version__}/{path.name}"] = path.read_bytes()
    with tarfile.open(ARCHIVE, "w:xz", preset=9) as archive:
        for name in sorted(held, key=lambda each: each.split("/")[::-1]):
            member = tarfile.TarInfo(name)
            member.size = len(held[name])
            archive.addfile(member, io.BytesIO(held[name]))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "keras")
