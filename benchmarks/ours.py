"""The workloads in Glassbox: built from its layers, run on either backend."""

from __future__ import annotations

import time
from collections.abc import Iterator

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
from studio.engine.runtime.backend import Backend
from studio.engine.train.feed import Feed, Stretch
from studio.engine.train.network import Network
from studio.engine.train.samples import Samples
from studio.engine.train.settings import TrainingSettings
from studio.engine.train.task import Task


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


def network_of(work: Workload, batch: int, backend: Backend) -> tuple[Network, Samples]:
    """A network with the shared starting weights and one batch of samples."""
    x, y = data(work, batch)
    samples = Samples((x,), (y,))
    task = Task(
        work.id,
        graph_of(work),
        TrainingSettings(
            batch_size=batch,
            optimizer=Adam(1e-3) if work.optimizer == "adam" else SGD(0.01, momentum=0.9),
        ),
        DataSpec((Source(work.shape),), (Source((), DType.int32, classes=work.classes),)),
        (SparseCategoricalCrossentropy(from_logits=True),),
        training=samples,
    )
    network = Network(task, backend)
    network.initialise(0)
    write_start(network, work)
    return network, samples


def write_start(network: Network, work: Workload) -> None:
    """Give the parameters the values every system starts from."""
    values: Iterator[np.ndarray] = iter(start(work))
    for tensor in network.programs.lowered("train").of_role(Role.PARAM):
        value = next(values)
        if value.ndim == 2:
            value = value.T
        network.session.write(tensor.name, np.ascontiguousarray(value))


def train_rows(work: Workload, batch: int, backend: Backend, steps: int) -> list[Row]:
    """Step time of one workload, the loss read at the end of each block."""
    network, samples = network_of(work, batch, backend)
    with network:
        feed = Feed(network, "train", samples, batch, 0, 1 << 30)
        network.session.write("train/order", np.arange(batch, dtype=np.int32))
        network.session.write("train/rates", _rates(network, work))
        feed.position(Stretch(0, 0, batch, steps), step=0, epoch=0, record=0)
        executable = network.executable("train", batch)
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
        held = (memory.persistent_bytes + memory.transient_bytes) / 2**20
        return [Row(work.id, batch, f"Glassbox {backend.name}", found, loss, held)]


def first_losses(work: Workload, batch: int, backend: Backend, steps: int) -> list[float]:
    """Losses of the first steps from the shared start."""
    network, samples = network_of(work, batch, backend)
    with network:
        feed = Feed(network, "train", samples, batch, 0, 1 << 30)
        network.session.write("train/order", np.arange(batch, dtype=np.int32))
        network.session.write("train/rates", _rates(network, work))
        feed.position(Stretch(0, 0, batch, steps), step=0, epoch=0, record=0)
        network.executable("train", batch).run(steps)
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


def _rates(network: Network, work: Workload) -> np.ndarray:
    length = network.program("train").tensors.named("train/rates").shape[0]
    return np.full(length, 1e-3 if work.optimizer == "adam" else 0.01, np.float32)
