"""Records 20 steps of each optimiser, learning rates and losses from Keras 3, in float64.

Run from the root of the repository by an interpreter that has Keras 3.15.1 and JAX 0.10.2:

    python -m tests.recorded.optim.record_keras
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

os.environ["KERAS_BACKEND"] = "jax"
os.environ["JAX_ENABLE_X64"] = "1"

import jax
import jax.numpy as jnp
import keras
import numpy as np

from tests.recorded.optim.cases import (
    KERAS_OPTIMIZERS,
    LOSSES,
    POSITIONS,
    SCHEDULE_STEPS,
    SCHEDULES,
    SHAPES,
    Array,
    gradients,
    loss_data,
    parameters,
    position_weights,
)

TARGET_FILE = Path(__file__).parent / "keras.npz"


def schedule(kind: str, config: dict[str, Any]) -> Any:
    """The Keras schedule of the same name and options."""
    return getattr(keras.optimizers.schedules, kind)(**config)


def optimizer_path(kind: str, config: dict[str, Any]) -> dict[str, Array]:
    """Both parameters after each step: [steps, …]."""
    options = dict(config)
    if isinstance(options.get("learning_rate"), dict):
        rate = options["learning_rate"]
        options["learning_rate"] = schedule(rate["type"], rate["config"])
    optimizer = getattr(keras.optimizers, kind)(**options)
    start = parameters()
    variables = [keras.Variable(start[n], dtype="float64", name=n) for n in SHAPES]
    optimizer.build(variables)
    path: dict[str, list[Array]] = {n: [] for n in SHAPES}
    for step in gradients():
        optimizer.apply([jnp.asarray(step[n]) for n in SHAPES], variables)
        for name, variable in zip(SHAPES, variables, strict=True):
            path[name].append(np.asarray(variable.value))
    return {n: np.stack(values) for n, values in path.items()}


def loss_rank(name: str) -> int:
    """Dimensions of the loss before it is averaged."""
    return len(LOSSES[name][3]) - 1


def loss_values(name: str) -> dict[str, Array]:
    """Value and gradient, without weights, with those of samples and with those of positions."""
    kind, config, _, _ = LOSSES[name]
    compare = getattr(keras.losses, kind)(**config)
    p, t, weights = loss_data(name)
    found = {}
    per_entry = jnp.asarray(weights).reshape(-1, *[1] * (loss_rank(name) - 1))
    labels: dict[str, Any] = {"plain": None, "weighted": per_entry}
    if name in POSITIONS:
        labels["positions"] = jnp.asarray(position_weights(name))
    for label, given in labels.items():
        value, gradient = jax.value_and_grad(
            lambda q, w=given: compare(jnp.asarray(t), q, sample_weight=w)
        )(jnp.asarray(p))
        found[f"{label}|value"] = np.asarray(value)
        found[f"{label}|grad"] = np.asarray(gradient)
    return found


def record_all() -> dict[str, Array]:
    """Everything, under ``group|case|name``."""
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")
    found: dict[str, Array] = {}
    for case, (kind, config) in KERAS_OPTIMIZERS.items():
        for name, path in optimizer_path(kind, config).items():
            found[f"optimizer|{case}|{name}"] = path
    for case, (kind, config) in SCHEDULES.items():
        rates = schedule(kind, config)
        found[f"schedule|{case}|rate"] = np.array(
            [float(rates(step)) for step in range(SCHEDULE_STEPS)]
        )
    for case in LOSSES:
        found |= {f"loss|{case}|{n}": v for n, v in loss_values(case).items()}
    return found


if __name__ == "__main__":
    np.savez_compressed(TARGET_FILE, **record_all())
