"""Records what Keras 3 reports while networks train on batches of different lengths, in float64.

Run from the root of the repository by an interpreter that has Keras 3.15.1 and JAX 0.10.2:

    python -m tests.recorded.lengths.record_keras
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ["KERAS_BACKEND"] = "jax"
os.environ["JAX_ENABLE_X64"] = "1"

import keras

from tests.recorded.lengths.cases import CASES, EPOCHS, Case, start

TARGET_FILE = Path(__file__).parent / "keras.json"

keras.config.set_floatx("float64")

LAYERS = (
    "Activation", "Add", "BatchNormalization", "Conv2D", "Dense", "GlobalAveragePooling2D",
    "Masking", "MaxPooling2D", "Reshape",
)  # fmt: skip
LIBRARY = SimpleNamespace(
    Model=keras.Model, Input=keras.Input, **{name: getattr(keras.layers, name) for name in LAYERS}
)


class Batches(keras.utils.PyDataset):
    """The batches of a case, each of one length."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.batches = case.data()

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, index: int) -> Any:
        return self.batches[index]


def record(case: Case) -> dict[str, Any]:
    """Output shapes, history by name, what evaluate gives in the end, and the last weights."""
    keras.utils.clear_session()
    model = case.build(LIBRARY)
    model.set_weights(start([tuple(w.shape) for w in model.get_weights()]))
    model.compile(keras.optimizers.SGD(0.05, momentum=0.9), **case.compile)
    shapes = [list(layer.output.shape[1:]) for layer in model.layers]
    history = model.fit(Batches(case), epochs=EPOCHS, shuffle=False, verbose=0).history
    measured = model.evaluate(Batches(case), verbose=0)
    return {
        "shapes": shapes,
        "history": {name: [float(v) for v in values] for name, values in history.items()},
        "evaluate": [float(v) for v in measured] if isinstance(measured, list) else measured,
        "weights": [w.ravel().tolist() for w in model.get_weights()],
    }


if __name__ == "__main__":
    made = {name: record(case) for name, case in CASES.items()}
    TARGET_FILE.write_text(json.dumps(made, indent=1, sort_keys=True) + "\n", "utf-8")
