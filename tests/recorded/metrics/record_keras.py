"""Records metrics over an epoch of uneven batches from Keras 3, in float64.

Run from the root of the repository by an interpreter that has Keras 3.15.1:

    python -m tests.recorded.metrics.record_keras
"""

from __future__ import annotations

import json
import os
from pathlib import Path

os.environ["KERAS_BACKEND"] = "numpy"

import keras

from tests.recorded.metrics.cases import CASES, MetricCase, batches, data

TARGET_FILE = Path(__file__).parent / "keras.json"


def recorded(case: MetricCase) -> float:
    """The metric after an epoch."""
    metric = getattr(keras.metrics, case.metric)(**case.config, **case.keras, dtype="float64")
    for p, t in batches(*data(case.kind)):
        metric.update_state(t, p)
    return float(metric.result())


def main() -> None:
    """Write the file."""
    keras.config.set_floatx("float64")
    found = {case.name: recorded(case) for case in CASES}
    text = json.dumps({"keras": keras.__version__, "values": found}, indent=1)
    TARGET_FILE.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
