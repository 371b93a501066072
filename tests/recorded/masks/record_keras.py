"""Records losses and weights of networks with masks from Keras 3, over a few steps.

Run from the root of the repository by an interpreter that has Keras 3.15.1 and JAX 0.10.2:

    python -m tests.recorded.masks.record_keras
"""

from __future__ import annotations

import os
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np

from tests.recorded.masks.cases import (
    CASES,
    LOSSES,
    METRICS,
    RATE,
    STEPS,
    WEIGHTED,
    first_weight,
    inputs,
    sample_weights,
    targets,
)

TARGET_FILE = Path(__file__).parent / "keras.npz"


class Names:
    """The names of a case in Keras."""

    def __getattr__(self, name: str) -> object:
        return keras.Input if name == "Input" else getattr(keras.layers, name)


def record(case: str, weighted: bool) -> dict[str, np.ndarray]:
    """Loss of each step, and the weights afterwards."""
    x, output = CASES[case](Names())
    model = keras.Model(x, output)
    start = [first_weight(case, i, tuple(w.shape)) for i, w in enumerate(model.weights)]
    model.set_weights(start)
    metrics = [METRICS.get(case, "mae")]
    model.compile(keras.optimizers.SGD(RATE), LOSSES.get(case, "mse"), metrics=metrics)
    given = inputs(case, tuple(x.shape[1:])), targets(case, tuple(output.shape[1:]))
    weights = sample_weights(case) if weighted else None
    losses = []
    for _ in range(STEPS):
        model.reset_metrics()
        losses.append(model.train_on_batch(*given, sample_weight=weights)[0])
    model.reset_metrics()
    # The metrics of a training step have lost the mask on their way out of JAX's gradient.
    measured = np.array(model.test_on_batch(*given, sample_weight=weights))
    found = {"losses": np.array(losses), "measured": measured}
    return found | {f"weight{i}": np.asarray(w) for i, w in enumerate(model.get_weights())}


def main() -> None:
    """Write the file."""
    found = {}
    for case in CASES:
        for weighted in (False, True) if case in WEIGHTED else (False,):
            name = f"{case}:weighted" if weighted else case
            found |= {f"{name}:{key}": v for key, v in record(case, weighted).items()}
    np.savez_compressed(TARGET_FILE, **found)


if __name__ == "__main__":
    main()
