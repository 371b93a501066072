"""The workloads in Glassbox: built from its layers, run on either backend."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from benchmarks.timing import Row, measure
from benchmarks.workloads import Workload, data, start
from studio.engine.compiler.lower_data import DataSpec, Source
from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import Role
from studio.engine.layers.activation_layers import ReLU
from studio.engine.layers.convolution import Conv2D, DepthwiseConv2D
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph, Port
from studio.engine.layers.inputs import Input
from studio.engine.layers.merging import Add
from studio.engine.layers.normalization import BatchNormalization
from studio.engine.layers.pooling import GlobalAveragePooling2D, MaxPooling2D
from studio.engine.layers.shaping import Flatten
from studio.engine.optim.losses import SparseCategoricalCrossentropy
from studio.engine.optim.optimizers import SGD, Adam
from studio.engine.runtime.backend import Backend, Executable
from studio.engine.train.data.samples import Samples
from studio.engine.train.network.data_feeder import DataFeeder, StepRange
from studio.engine.train.network.network import Network
from studio.engine.train.project.task import Task
from studio.engine.train.settings import TrainingSettings


class OurLayers:
    """Adds Glassbox layers to a graph."""

    def __init__(self, graph: LayerGraph) -> None:
        self.graph = graph

    def dense(self, x: Port, units: int) -> Port:
        """Fully connected layer."""
        return self.graph.add(Dense(units), x)

    def conv(self, x: Port, filters: int, size: int, stride: int = 1, bias: bool = True) -> Port:
        """Convolution."""
        layer = Conv2D(filters, size, strides=stride, padding="same", use_bias=bias)
        return self.graph.add(layer, x)

    def depthwise(self, x: Port, size: int, stride: int = 1) -> Port:
        """Depthwise convolution."""
        layer = DepthwiseConv2D(size, strides=stride, padding="same", use_bias=False)
        return self.graph.add(layer, x)

    def norm(self, x: Port) -> Port:
        """Batch normalisation."""
        return self.graph.add(BatchNormalization(), x)

    def relu(self, x: Port, ceiling: float | None = None) -> Port:
        """Rectifier."""
        return self.graph.add(ReLU(max_value=ceiling), x)

    def maxpool(self, x: Port) -> Port:
        """2x2 maximum."""
        return self.graph.add(MaxPooling2D(2), x)

    def mean(self, x: Port) -> Port:
        """Mean over rows and columns."""
        return self.graph.add(GlobalAveragePooling2D(), x)

    def flatten(self, x: Port) -> Port:
        """One row per entry."""
        return self.graph.add(Flatten(), x)

    def add(self, x: Port, y: Port) -> Port:
        """Sum."""
        return self.graph.add(Add(), x, y)


def graph_of(work: Workload) -> LayerGraph:
    """The layer graph of a workload."""
    graph = LayerGraph(work.id)
    x = graph.add(Input(work.shape))
    graph.outputs = (work.network(OurLayers(graph), x),)
    return graph


PEER_EPSILON = 4.5e-10
"""Adam's epsilon in the Keras form that is PyTorch's 1e-8 in the first steps.

Keras adds it before the bias correction, PyTorch behind it, which divides it by √(1 - 0.999ᵗ).
"""


@dataclass(frozen=True)
class Given:
    """What every system is given: samples, their classes, and the weights it starts from."""

    x: np.ndarray
    y: np.ndarray
    weights: Sequence[np.ndarray]

    @classmethod
    def to(cls, work: Workload, rows: int) -> Given:
        """Made for a workload, with so many samples."""
        return cls(*data(work, rows), start(work))


def task_of(
    work: Workload, batch: int, samples: Samples | None = None, epsilon: float = 1e-7
) -> Task:
    """The task of a workload: its network, and how it is trained."""
    return Task(
        work.id,
        graph_of(work),
        TrainingSettings(
            batch_size=batch,
            optimizer=Adam(1e-3, epsilon=epsilon)
            if work.optimizer == "adam"
            else SGD(0.01, momentum=0.9),
        ),
        DataSpec((Source(work.shape),), (Source((), DType.int32, classes=work.classes),)),
        (SparseCategoricalCrossentropy(from_logits=True),),
        training=samples,
    )


def network_of(
    work: Workload,
    batch: int,
    backend: Backend,
    rows: int = 0,
    epsilon: float = 1e-7,
    given: Given | None = None,
) -> tuple[Network, Samples]:
    """A network with the shared starting weights and one batch of samples, or so many rows."""
    given = given or Given.to(work, rows or batch)
    samples = Samples((given.x,), (given.y,))
    task = task_of(work, batch, samples, epsilon)
    network = Network(task, backend)
    network.initialise(0)
    write_start(network, given.weights)
    return network, samples


def write_start(network: Network, weights: Sequence[np.ndarray]) -> None:
    """Give the parameters the values every system starts from."""
    tensors = network.programs.lowered("train").of_role(Role.PARAM)
    stored = (value.T if value.ndim == 2 else value for value in weights)
    network.session.write_all(
        (tensor.name, np.ascontiguousarray(value))
        for tensor, value in zip(tensors, stored, strict=True)
    )


@contextmanager
def ready_to_train(
    work: Workload,
    batch: int,
    backend: Backend,
    rows: int = 0,
    epsilon: float = 1e-7,
    given: Given | None = None,
) -> Iterator[tuple[Network, Executable]]:
    """A network whose training program is compiled, with its data on the device.

    Args:
        work: the workload.
        batch: rows of a step.
        backend: the device.
        rows: samples in the data set; those of one batch by default.
        epsilon: Adam's.
        given: samples and weights, where they are made already.
    """
    network, samples = network_of(work, batch, backend, rows, epsilon, given)
    with network:
        feeder = DataFeeder(network, "train", samples, batch, 0, 1 << 30)
        order = np.random.default_rng(0).permutation(len(samples)) if rows else np.arange(batch)
        network.session.write("train/order", order.astype(np.int32))
        length = network.program("train").tensors.named("train/rates").shape[0]
        rate = 1e-3 if work.optimizer == "adam" else 0.01
        network.session.write("train/rates", np.full(length, rate, np.float32))
        feeder.position(StepRange(0, 0, batch, 1), step=0, epoch=0, record=0)
        yield network, network.executable("train", batch)


def train_rows(
    work: Workload, batch: int, backend: Backend, steps: int, rows: int = 0
) -> list[Row]:
    """Step time of one workload, the loss read at the end of each block.

    The memory is that of the step: what is allocated without the data set.
    """
    with ready_to_train(work, batch, backend, rows) as (network, executable):
        done = 0

        def block() -> float:
            nonlocal done
            begun = time.perf_counter()
            executable.run(steps)
            network.session.read("train/ring").result()
            done += steps
            return time.perf_counter() - begun

        found = measure(block, steps)
        ring = network.session.read("train/ring").result()
        memory = backend.memory()
        loss = float(ring[(done - 1) % len(ring)][0])
        sets = sum(a.nbytes for a in data(work, rows or batch))
        held = (memory.persistent_bytes + memory.transient_bytes - sets) / 2**20
        return [Row(work.id, batch, f"Glassbox {backend.name}", found, loss, held)]


def first_losses(work: Workload, batch: int, backend: Backend, steps: int) -> list[float]:
    """Losses of the first steps from the shared start, with PyTorch's epsilon."""
    with ready_to_train(work, batch, backend, epsilon=PEER_EPSILON) as (network, executable):
        executable.run(steps)
        ring = network.session.read("train/ring").result()
        return [float(v) for v in ring[:steps, 0]]


def infer_rows(work: Workload, batch: int, backend: Backend, steps: int) -> list[Row]:
    """Inference time of one workload."""
    network, samples = network_of(work, batch, backend)
    with network:
        executable = network.executable("infer", batch)
        program = executable.program
        executable.feed(program.inputs[0], samples.inputs[0])

        def block() -> float:
            executable.finish()
            begun = time.perf_counter()
            executable.run(steps)
            executable.finish()
            return time.perf_counter() - begun

        return [Row(work.id, batch, f"Glassbox {backend.name}", measure(block, steps))]
