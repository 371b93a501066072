"""The networks that are measured, each written once for every system.

A workload's ``network`` is a function of an adapter and an input; the adapter supplies the layers
of Glassbox, PyTorch or JAX and hands out parameters in order of first use, so that all systems
start from the same numbers. Layouts are Keras': dense [in,out], convolution HWIO, pictures NHWC.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


class Layers(Protocol):
    """What an adapter offers; values are opaque to the networks."""

    def dense(self, x: Any, units: int) -> Any:
        """Fully connected layer with bias."""

    def conv(self, x: Any, filters: int, size: int, stride: int = 1, bias: bool = True) -> Any:
        """Convolution with padding ``same``."""

    def depthwise(self, x: Any, size: int, stride: int = 1) -> Any:
        """Depthwise convolution with padding ``same`` and no bias."""

    def norm(self, x: Any) -> Any:
        """Batch normalisation over channels."""

    def relu(self, x: Any, ceiling: float | None = None) -> Any:
        """Rectifier, with a ceiling if given."""

    def maxpool(self, x: Any) -> Any:
        """2x2 maximum."""

    def mean(self, x: Any) -> Any:
        """Mean over rows and columns."""

    def flatten(self, x: Any) -> Any:
        """One row per entry."""

    def add(self, x: Any, y: Any) -> Any:
        """Sum."""


Network = Callable[[Layers, Any], Any]


def mlp(o: Layers, x: Any) -> Any:
    """W2: 784-512-512-10."""
    x = o.relu(o.dense(x, 512))
    x = o.relu(o.dense(x, 512))
    return o.dense(x, 10)


def cnn(o: Layers, x: Any) -> Any:
    """W3: two convolutions with pooling, dense 128, dense 10."""
    x = o.maxpool(o.relu(o.conv(x, 32, 3)))
    x = o.maxpool(o.relu(o.conv(x, 64, 3)))
    x = o.relu(o.dense(o.flatten(x), 128))
    return o.dense(x, 10)


def resnet20(o: Layers, x: Any) -> Any:
    """W4: the CIFAR ResNet-20 with 1x1 projections at the two strides."""
    x = o.relu(o.norm(o.conv(x, 16, 3, bias=False)))
    for filters in (16, 32, 64):
        for block in range(3):
            stride = 2 if filters > 16 and block == 0 else 1
            y = o.relu(o.norm(o.conv(x, filters, 3, stride, bias=False)))
            y = o.norm(o.conv(y, filters, 3, bias=False))
            if stride == 2:
                x = o.norm(o.conv(x, filters, 1, 2, bias=False))
            x = o.relu(o.add(x, y))
    return o.dense(o.mean(x), 10)


def mobilenet(o: Layers, x: Any) -> Any:
    """W1: MobileNet v1 1.0."""
    x = o.relu(o.norm(o.conv(x, 32, 3, 2, bias=False)), 6.0)
    for filters, stride in (
        (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2),
        (512, 1), (512, 1), (512, 1), (512, 1), (512, 1), (1024, 2), (1024, 1),
    ):  # fmt: skip
        x = o.relu(o.norm(o.depthwise(x, 3, stride)), 6.0)
        x = o.relu(o.norm(o.conv(x, filters, 1, bias=False)), 6.0)
    return o.dense(o.mean(x), 1000)


@dataclass(frozen=True)
class Workload:
    """A network at its input shape, and how it is trained (``adam``, ``sgd`` or not at all)."""

    id: str
    title: str
    network: Network
    shape: tuple[int, ...]
    classes: int
    optimizer: str
    batches_cpu: tuple[int, ...]
    batches_gpu: tuple[int, ...]


WORKLOADS = {
    w.id: w
    for w in (
        Workload("W1", "MobileNet v1 inference", mobilenet, (224, 224, 3), 1000, "", (1,),
                 (1, 32, 128)),
        Workload("W2", "MLP 784-512-512-10, Adam", mlp, (784,), 10, "adam", (128,), (128, 1024)),
        Workload("W3", "CNN 28x28, Adam", cnn, (28, 28, 1), 10, "adam", (128,), (128, 1024)),
        Workload("W4", "ResNet-20 32x32, SGD momentum", resnet20, (32, 32, 3), 10, "sgd", (32,),
                 (32, 128)),
    )
}  # fmt: skip


class Shapes:
    """An adapter that only follows shapes and makes parameters: He-normal kernels, zero biases."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.weights: list[np.ndarray] = []

    def _kernel(self, *shape: int) -> None:
        scale = np.sqrt(2.0 / np.prod(shape[:-1]))
        self.weights.append((self.rng.standard_normal(shape) * scale).astype(np.float32))

    def dense(self, x: tuple[int, ...], units: int) -> tuple[int, ...]:
        """Kernel [in,out] and bias."""
        self._kernel(x[-1], units)
        self.weights.append(np.zeros(units, np.float32))
        return (units,)

    def conv(
        self, x: tuple[int, ...], filters: int, size: int, stride: int = 1, bias: bool = True
    ) -> tuple[int, ...]:
        """Kernel HWIO, and a bias if asked for."""
        self._kernel(size, size, x[-1], filters)
        if bias:
            self.weights.append(np.zeros(filters, np.float32))
        return (-(-x[0] // stride), -(-x[1] // stride), filters)

    def depthwise(self, x: tuple[int, ...], size: int, stride: int = 1) -> tuple[int, ...]:
        """Kernel [h,w,channels,1]."""
        scale = np.sqrt(2.0 / size**2)
        self.weights.append(
            (self.rng.standard_normal((size, size, x[-1], 1)) * scale).astype(np.float32)
        )
        return (-(-x[0] // stride), -(-x[1] // stride), x[-1])

    def norm(self, x: tuple[int, ...]) -> tuple[int, ...]:
        """Gamma and beta."""
        self.weights += [np.ones(x[-1], np.float32), np.zeros(x[-1], np.float32)]
        return x

    def relu(self, x: tuple[int, ...], ceiling: float | None = None) -> tuple[int, ...]:
        """Unchanged."""
        return x

    def maxpool(self, x: tuple[int, ...]) -> tuple[int, ...]:
        """Halved."""
        return (x[0] // 2, x[1] // 2, x[2])

    def mean(self, x: tuple[int, ...]) -> tuple[int, ...]:
        """Channels only."""
        return x[-1:]

    def flatten(self, x: tuple[int, ...]) -> tuple[int, ...]:
        """One row."""
        return (int(np.prod(x)),)

    def add(self, x: tuple[int, ...], y: tuple[int, ...]) -> tuple[int, ...]:
        """Unchanged."""
        return x


def start(work: Workload, seed: int = 0) -> list[np.ndarray]:
    """Parameters of a workload in order of first use, the same for every system."""
    shapes = Shapes(seed)
    work.network(shapes, work.shape)
    return shapes.weights


def data(work: Workload, rows: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Random inputs and class indices of the stated shapes."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, *work.shape)).astype(np.float32)
    return x, rng.integers(0, work.classes, rows).astype(np.int32)
