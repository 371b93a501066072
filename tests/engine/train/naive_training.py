"""Training of a small network written out in float64, as an answer to compare with."""

from __future__ import annotations

import numpy as np

from studio.engine.train.project.task import Task
from studio.engine.train.weights import initial_weights

Weights = dict[str, np.ndarray]


def normalised(task: Task, x: np.ndarray) -> np.ndarray:
    source = task.spec.inputs[0]
    return x.astype(np.float64) * np.array(source.scale) + np.array(source.shift)


def start(task: Task) -> Weights:
    """Initial weights in float64; dense kernels are [out, in]."""
    found = initial_weights(task.graph, task.settings.seed)
    return {name: values.astype(np.float64) for name, values in found.items()}


def forward(w: Weights, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Hidden values of the tanh layer, and the shares."""
    hidden = np.tanh(x @ w["dense/kernel"].T + w["dense/bias"])
    logits = hidden @ w["dense_1/kernel"].T + w["dense_1/bias"]
    shares = np.exp(logits - logits.max(1, keepdims=True))
    return hidden, shares / shares.sum(1, keepdims=True)


def gradients(
    w: Weights, x: np.ndarray, y: np.ndarray, weight: np.ndarray
) -> tuple[float, Weights]:
    """Loss and gradients of Σ weight·(-ln p_y)/N."""
    hidden, shares = forward(w, x)
    n = len(x)
    picked = np.clip(shares[np.arange(n), y], 1e-7, 1 - 1e-7)
    loss = float((-np.log(picked) * weight).sum() / n)
    change = shares.copy()
    change[np.arange(n), y] -= 1.0
    change *= weight[:, None] / n
    back = change @ w["dense_1/kernel"] * (1 - hidden**2)
    return loss, {
        "dense_1/kernel": change.T @ hidden,
        "dense_1/bias": change.sum(0),
        "dense/kernel": back.T @ x,
        "dense/bias": back.sum(0),
    }


def train_sgd(
    task: Task,
    orders: list[np.ndarray],
    batch: int,
    rate: float,
    class_weights: np.ndarray | None = None,
) -> tuple[list[float], list[float], Weights]:
    """Losses and accuracies per epoch (means over rows), and the weights in the end."""
    assert task.training is not None
    w = start(task)
    x, y = normalised(task, task.training.inputs[0]), task.training.targets[0]
    factors = np.ones(len(y)) if class_weights is None else class_weights[y]
    losses, accuracies = [], []
    for order in orders:
        total = right = 0.0
        for begin in range(0, len(order), batch):
            rows = order[begin : begin + batch]
            right += (forward(w, x[rows])[1].argmax(1) == y[rows]).sum()
            loss, found = gradients(w, x[rows], y[rows], factors[rows])
            total += loss * len(rows)
            for name, gradient in found.items():
                w[name] = w[name] - rate * gradient
        losses.append(total / len(order))
        accuracies.append(right / len(order))
    return losses, accuracies, w
