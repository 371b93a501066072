"""Optimisers, losses and schedules: what is recorded from Keras and PyTorch and run here."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Config = dict[str, Any]

STEPS = 20
SHAPES = {"w": (3, 4), "b": (5,)}
"""Two parameters, so that norms of one and of all gradients differ."""

KERAS_OPTIMIZERS: dict[str, tuple[str, Config]] = {
    "sgd": ("SGD", {}),
    "sgd_momentum": ("SGD", {"learning_rate": 0.05, "momentum": 0.9}),
    "sgd_nesterov": ("SGD", {"learning_rate": 0.05, "momentum": 0.8, "nesterov": True}),
    "sgd_decay": ("SGD", {"learning_rate": 0.05, "weight_decay": 0.1}),
    "rmsprop": ("RMSprop", {"learning_rate": 0.01}),
    "rmsprop_momentum": ("RMSprop", {"learning_rate": 0.01, "momentum": 0.7, "rho": 0.8}),
    "rmsprop_centered": ("RMSprop", {"learning_rate": 0.01, "centered": True, "epsilon": 1e-3}),
    "rmsprop_centered_momentum": (
        "RMSprop", {"learning_rate": 0.01, "centered": True, "momentum": 0.5, "epsilon": 1e-3},
    ),
    "adam": ("Adam", {"learning_rate": 0.02}),
    "adam_amsgrad": ("Adam", {"learning_rate": 0.02, "amsgrad": True, "beta_2": 0.8}),
    "adamw": ("AdamW", {"learning_rate": 0.02, "weight_decay": 0.05}),
    "adamw_default": ("AdamW", {}),
    "adagrad": ("Adagrad", {"learning_rate": 0.1}),
    "adagrad_zero": ("Adagrad", {"learning_rate": 0.1, "initial_accumulator_value": 0.0}),
    "adadelta": ("Adadelta", {"learning_rate": 1.0, "rho": 0.9, "epsilon": 1e-4}),
    "adamax": ("Adamax", {"learning_rate": 0.02}),
    "clipvalue": ("SGD", {"learning_rate": 0.1, "clipvalue": 0.3}),
    "clipnorm": ("SGD", {"learning_rate": 0.1, "clipnorm": 1.1}),
    "global_clipnorm": ("Adam", {"learning_rate": 0.1, "global_clipnorm": 1.3}),
    "sgd_cosine": (
        "SGD",
        {"learning_rate": {"type": "CosineDecay",
                           "config": {"initial_learning_rate": 0.2, "decay_steps": 15}}},
    ),
}  # fmt: skip

TORCH_OPTIMIZERS: dict[str, tuple[str, Config, str, Config]] = {
    "sgd_momentum": ("SGD", {"lr": 0.05, "momentum": 0.9},
                     "SGD", {"learning_rate": 0.05, "momentum": 0.9}),
    "sgd_nesterov": ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True},
                     "SGD", {"learning_rate": 0.05, "momentum": 0.9, "nesterov": True}),
    "rmsprop": ("RMSprop", {"lr": 0.01, "alpha": 0.95, "eps": 1e-6},
                "RMSprop", {"learning_rate": 0.01, "rho": 0.95, "epsilon": 1e-6,
                            "epsilon_outside": True}),
    "rmsprop_centered": ("RMSprop", {"lr": 0.01, "alpha": 0.9, "eps": 1e-3, "centered": True,
                                     "momentum": 0.6},
                         "RMSprop", {"learning_rate": 0.01, "rho": 0.9, "epsilon": 1e-3,
                                     "epsilon_outside": True, "centered": True,
                                     "momentum": 0.6}),
    "adam": ("Adam", {"lr": 0.02, "eps": 1e-4},
             "Adam", {"learning_rate": 0.02, "epsilon": 1e-4, "epsilon_at": "hat"}),
    "adamw": ("AdamW", {"lr": 0.02, "weight_decay": 0.1, "eps": 1e-4},
              "AdamW", {"learning_rate": 0.02, "weight_decay": 0.1, "epsilon": 1e-4,
                        "epsilon_at": "hat"}),
    "adagrad": ("Adagrad", {"lr": 0.1, "eps": 1e-3},
                "Adagrad", {"learning_rate": 0.1, "epsilon": 1e-3, "epsilon_outside": True,
                            "initial_accumulator_value": 0.0}),
    "adadelta": ("Adadelta", {"lr": 1.0, "rho": 0.9, "eps": 1e-4},
                 "Adadelta", {"learning_rate": 1.0, "rho": 0.9, "epsilon": 1e-4}),
}  # fmt: skip
"""PyTorch's name and options, and ours that mean the same. (Its Adamax adds epsilon before the
maximum, and its AMSGrad corrects before the maximum, so neither has a counterpart here.)"""

SCHEDULES: dict[str, tuple[str, Config]] = {
    "exponential": ("ExponentialDecay", {"initial_learning_rate": 0.1, "decay_steps": 7,
                                         "decay_rate": 0.5}),
    "exponential_stairs": ("ExponentialDecay", {"initial_learning_rate": 0.1, "decay_steps": 7,
                                                "decay_rate": 0.5, "staircase": True}),
    "inverse": ("InverseTimeDecay", {"initial_learning_rate": 0.1, "decay_steps": 5,
                                     "decay_rate": 0.5}),
    "inverse_stairs": ("InverseTimeDecay", {"initial_learning_rate": 0.1, "decay_steps": 5,
                                            "decay_rate": 0.5, "staircase": True}),
    "polynomial": ("PolynomialDecay", {"initial_learning_rate": 0.1, "decay_steps": 13,
                                       "power": 2.0, "end_learning_rate": 0.01}),
    "polynomial_cycle": ("PolynomialDecay", {"initial_learning_rate": 0.1, "decay_steps": 13,
                                             "cycle": True}),
    "cosine": ("CosineDecay", {"initial_learning_rate": 0.1, "decay_steps": 20, "alpha": 0.1}),
    "cosine_warm": ("CosineDecay", {"initial_learning_rate": 0.01, "decay_steps": 20,
                                    "warmup_target": 0.2, "warmup_steps": 6}),
    "restarts": ("CosineDecayRestarts", {"initial_learning_rate": 0.1, "first_decay_steps": 5,
                                         "m_mul": 0.8, "alpha": 0.05}),
    "restarts_even": ("CosineDecayRestarts", {"initial_learning_rate": 0.1,
                                              "first_decay_steps": 6, "t_mul": 1.0}),
    "piecewise": ("PiecewiseConstantDecay", {"boundaries": [4, 9], "values": [0.3, 0.2, 0.1]}),
}  # fmt: skip
SCHEDULE_STEPS = 40

LOSSES: dict[str, tuple[str, Config, str, tuple[int, ...]]] = {
    "cce_probs": ("CategoricalCrossentropy", {}, "rows", (4, 5)),
    "cce_logits": ("CategoricalCrossentropy", {"from_logits": True}, "rows", (4, 5)),
    "cce_smooth": ("CategoricalCrossentropy", {"label_smoothing": 0.2}, "rows", (4, 5)),
    "cce_sequence": ("CategoricalCrossentropy", {"from_logits": True}, "rows", (3, 2, 4)),
    "sparse_probs": ("SparseCategoricalCrossentropy", {}, "indices", (4, 5)),
    "sparse_logits": ("SparseCategoricalCrossentropy", {"from_logits": True}, "indices", (4, 5)),
    "bce_probs": ("BinaryCrossentropy", {}, "bits", (4, 3)),
    "bce_logits": ("BinaryCrossentropy", {"from_logits": True}, "bits", (4, 3)),
    "bce_smooth": ("BinaryCrossentropy", {"label_smoothing": 0.3}, "bits", (4, 1)),
    "sparse_sequence": (
        "SparseCategoricalCrossentropy", {"from_logits": True}, "indices", (3, 4, 5),
    ),
    "bce_sequence": ("BinaryCrossentropy", {"from_logits": True}, "bits", (3, 4, 2)),
    "mse": ("MeanSquaredError", {}, "numbers", (4, 3)),
    "mse_sequence": ("MeanSquaredError", {}, "numbers", (3, 2, 4)),
    "mae": ("MeanAbsoluteError", {}, "numbers", (4, 3)),
}  # fmt: skip
"""Class, options, kind of targets, shape of predictions."""

POSITIONS = tuple(name for name, (*_, shape) in LOSSES.items() if len(shape) > 2)
"""Losses that can have weights of positions."""


def parameters() -> dict[str, Array]:
    """Values of both parameters before the first step."""
    rng = np.random.default_rng(1)
    return {name: rng.normal(size=shape) for name, shape in SHAPES.items()}


def gradients() -> list[dict[str, Array]]:
    """The gradient of each step: one row is always 0, and sizes change along the way."""
    rng = np.random.default_rng(2)
    found = []
    for step in range(STEPS):
        made = {n: rng.normal(size=s) * (0.2 + 0.1 * step) for n, s in SHAPES.items()}
        made["w"][0] = 0.0
        found.append(made)
    return found


def loss_data(name: str) -> tuple[Array, Array, Array]:
    """Predictions, targets and sample weights of a loss case."""
    _, config, kind, shape = LOSSES[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    p = rng.normal(size=shape) * 2.0
    if not config.get("from_logits") and kind in ("rows", "indices"):
        p = np.exp(p) / np.exp(p).sum(-1, keepdims=True)
    elif not config.get("from_logits") and kind == "bits":
        p = 1.0 / (1.0 + np.exp(-p))
    targets = {
        "rows": rng.dirichlet(np.ones(shape[-1]), shape[:-1]),
        "indices": rng.integers(0, shape[-1], shape[:-1]).astype(float),
        "bits": rng.integers(0, 2, shape).astype(float),
        "numbers": rng.normal(size=shape),
    }
    return p, targets[kind], rng.uniform(0.2, 2.0, shape[:1])


def position_weights(name: str) -> Array:
    """Weights of the positions of a loss case; some are 0, as a mask has it."""
    rng = np.random.default_rng(len(name))
    shape = LOSSES[name][3][:-1]
    return rng.uniform(0.2, 2.0, shape) * (rng.random(shape) > 0.3)
