"""Records gradients of the test networks from PyTorch, in float64.

Run from the root of the repository by an interpreter that has PyTorch 2.13.0:

    python -m tests.recorded.autodiff.record

The networks are written down here again in PyTorch's own terms (channels first), from the same
named arrays. Dropout is left out, by a rate of 0 on the other side.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

TARGET_FILE = Path(__file__).parent / "gradients.npz"
BATCH = 3

SHAPES: dict[str, dict[str, tuple[int, ...]]] = {
    "mlp": {
        "input": (BATCH, 6), "dense1/kernel": (5, 6), "dense1/bias": (5,),
        "dense2/kernel": (3, 5), "dense2/bias": (3,),
    },
    "cnn": {
        "input": (BATCH, 6, 6, 2), "conv1/kernel": (3, 3, 2, 4), "conv1/bias": (4,),
        "conv2/kernel": (3, 3, 4, 3), "dense/kernel": (3, 27), "dense/bias": (3,),
    },
    "resnet": {
        "input": (BATCH, 5, 5, 2), "conv/kernel": (3, 3, 2, 3), "conv/bias": (3,),
        "conv1/kernel": (3, 3, 3, 3), "conv1/bias": (3,),
        "conv2/kernel": (3, 3, 3, 3), "conv2/bias": (3,),
        "dense/kernel": (3, 3), "dense/bias": (3,),
        **{f"{bn}/{p}": (3,) for bn in ("bn", "bn1", "bn2") for p in ("gamma", "beta")},
    },
    "branches": {
        "input": (BATCH, 4, 4, 2), "target": (BATCH, 4),
        "dw/kernel": (3, 3, 2, 2), "dw/bias": (4,), "conv/kernel": (3, 3, 4, 2), "conv/bias": (2,),
        "frozen/kernel": (4, 160), "frozen/bias": (4,),
        "value/kernel": (4, 160), "value/bias": (4,),
    },
    "expression": {"x1": (2, 3), "x2": (2, 3), "x3": (2, 3), "target": (2, 3)},
    "logits": {
        "input": (BATCH, 6), "dense1/kernel": (5, 6), "dense1/bias": (5,),
        "dense2/kernel": (3, 5), "dense2/bias": (3,),
    },
    "normalised": {
        "input": (BATCH, 4, 3, 2), "conv/kernel": (3, 3, 2, 4),
        "conv1/kernel": (3, 3, 4, 4), "conv1/bias": (4,), "conv2/kernel": (3, 3, 4, 4),
        "product/kernel": (4, 8), "dense1/kernel": (3, 8), "dense1/bias": (3,),
        **{f"{bn}/{p}": (4,) for bn in ("bn", "bn1", "bn2") for p in ("gamma", "beta")},
        **{f"bn3/{p}": (8,) for p in ("gamma", "beta")},
    },
    "typed": {
        "input": (BATCH, 6), "w1": (6, 5), "b1": (5,), "w2": (5, 4), "b2": (1, 4),
        "w3": (4, 3), "b3": (3,),
    },
}  # fmt: skip

Tensors = dict[str, torch.Tensor]


def first(x: torch.Tensor) -> torch.Tensor:
    """Channels first."""
    return x.permute(0, 3, 1, 2)


def last(x: torch.Tensor) -> torch.Tensor:
    """Channels last."""
    return x.permute(0, 2, 3, 1)


def conv(v: Tensors, name: str, x: torch.Tensor) -> torch.Tensor:
    """A convolution with padding 1 on channels-first pictures."""
    weight = v[f"{name}/kernel"].permute(3, 2, 0, 1)
    return functional.conv2d(x, weight, v.get(f"{name}/bias"), padding=1)


def dense(v: Tensors, name: str, x: torch.Tensor) -> torch.Tensor:
    """A fully connected layer."""
    return functional.linear(x, v[f"{name}/kernel"], v[f"{name}/bias"])


def mlp(v: Tensors) -> torch.Tensor:
    """Logits behind one hidden layer."""
    return functional.cross_entropy(
        dense(v, "dense2", torch.relu(dense(v, "dense1", v["input"]))), v["target"]
    )


def cnn(v: Tensors) -> torch.Tensor:
    """Two convolutions and a dense layer."""
    a = functional.max_pool2d(torch.relu(conv(v, "conv1", first(v["input"]))), 2)
    a = torch.tanh(conv(v, "conv2", a))
    return functional.cross_entropy(dense(v, "dense", last(a).flatten(1)), v["target"])


def norm(v: Tensors, name: str, x: torch.Tensor) -> torch.Tensor:
    """Batch normalisation with the statistics of the batch."""
    return functional.batch_norm(
        x, None, None, v[f"{name}/gamma"], v[f"{name}/beta"], training=True, eps=1e-3
    )


def resnet(v: Tensors) -> torch.Tensor:
    """A stem and one identity block."""
    a = torch.relu(norm(v, "bn", conv(v, "conv", first(v["input"]))))
    b = torch.relu(norm(v, "bn1", conv(v, "conv1", a)))
    b = norm(v, "bn2", conv(v, "conv2", b))
    c = torch.relu(a + b).mean(dim=(2, 3))
    return functional.cross_entropy(dense(v, "dense", c), v["target"])


def branches(v: Tensors) -> torch.Tensor:
    """Shared and frozen branches, a weight penalty."""
    weight = v["dw/kernel"].permute(2, 3, 0, 1).reshape(4, 1, 3, 3)
    left = functional.conv2d(first(v["input"]), weight, v["dw/bias"], padding=1, groups=2)
    left = torch.sigmoid(left)
    right = conv(v, "conv", left)
    flat = last(torch.cat([left, right, left], dim=1)).flatten(1)
    gate = torch.sigmoid(dense(v, "frozen", flat))
    y = gate * torch.tanh(dense(v, "value", flat))
    kernel = v["value/kernel"]
    penalty = 0.01 * kernel.abs().sum() + 0.02 * (kernel**2).sum()
    return functional.mse_loss(y, v["target"]) + penalty


def expression(v: Tensors) -> torch.Tensor:
    """X1 + softmax(relu(X2 + 3·X3))."""
    y = v["x1"] + torch.softmax(torch.relu(v["x2"] + 3 * v["x3"]), dim=1)
    return functional.mse_loss(y, v["target"])


def logits(v: Tensors) -> torch.Tensor:
    """Logits behind one hidden layer with another activation."""
    return functional.cross_entropy(
        dense(v, "dense2", torch.tanh(dense(v, "dense1", v["input"]))), v["target"]
    )


def normalised(v: Tensors) -> torch.Tensor:
    """Convolutions and a product with normalisations behind them."""
    a = torch.relu(norm(v, "bn", conv(v, "conv", first(v["input"]))))
    b = norm(v, "bn1", torch.relu(conv(v, "conv1", a)))
    a = b + norm(v, "bn2", conv(v, "conv2", a))
    a = torch.relu(a).mean(dim=(2, 3))
    a = torch.relu(norm(v, "bn3", a @ v["product/kernel"]))
    return functional.cross_entropy(dense(v, "dense1", a), v["target"])


def typed(v: Tensors) -> torch.Tensor:
    """Products and biases as separate operations."""
    a = torch.relu(v["input"] @ v["w1"] + v["b1"])
    a = torch.tanh(v["b2"] + a @ v["w2"])
    return functional.cross_entropy(a @ v["w3"] + v["b3"], v["target"])


NETWORKS: dict[str, Callable[[Tensors], torch.Tensor]] = {
    "mlp": mlp,
    "cnn": cnn,
    "resnet": resnet,
    "branches": branches,
    "expression": expression,
    "logits": logits,
    "normalised": normalised,
    "typed": typed,
}


def main() -> None:
    """Write values, losses and gradients of all networks."""
    rng = np.random.default_rng(20250101)
    found: dict[str, np.ndarray] = {}
    for name, shapes in SHAPES.items():
        values = {key: rng.uniform(-0.9, 0.9, shape) for key, shape in shapes.items()}
        tensors = {key: torch.tensor(value) for key, value in values.items()}
        if "target" not in shapes:
            classes = rng.integers(0, 3, BATCH)
            values["target"] = np.eye(3)[classes]
            tensors["target"] = torch.tensor(classes)
        trained = [k for k in shapes if k not in ("input", "target") and "frozen" not in k]
        for key in trained:
            tensors[key].requires_grad_(True)
        loss = NETWORKS[name](tensors)
        loss.backward()
        found |= {f"{name}|value|{key}": value for key, value in values.items()}
        found |= {f"{name}|grad|{key}": tensors[key].grad.numpy() for key in trained}
        found[f"{name}|loss"] = np.asarray(loss.detach().numpy())
    np.savez_compressed(TARGET_FILE, **found)


if __name__ == "__main__":
    main()
