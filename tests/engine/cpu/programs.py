"""Small programs the tests of the NumPy backend run."""

from __future__ import annotations

import numpy as np

from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import BATCH, ROWS, Ref, Role
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.ops.activation import Relu, Sigmoid
from studio.engine.isa.ops.arithmetic import Add, Mul, Scale
from studio.engine.isa.ops.conv import Conv2D
from studio.engine.isa.ops.data import Advance, GatherBatch, Record
from studio.engine.isa.ops.function import Log
from studio.engine.isa.ops.group import End, Fuse
from studio.engine.isa.ops.linear import Linear
from studio.engine.isa.ops.loss import LossMSE
from studio.engine.isa.ops.move import Copy, Fill
from studio.engine.isa.ops.reduce import ReduceMean
from studio.engine.isa.ops.update import Begin, UpdateAdam
from studio.engine.isa.program import Program


def dense(activation: bool = True) -> Program:
    """y = relu(x·wᵀ + b), w [3,2]."""
    b = ProgramBuilder("dense", "infer")
    x = b.tensor("x", (BATCH, 2), role=Role.INPUT)
    with b.owned_by("dense"):
        w = b.tensor("dense/kernel", (3, 2), role=Role.PARAM)
        bias = b.tensor("dense/bias", (3,), role=Role.PARAM)
        (y,) = b.emit("forward", Linear, w=w, b=bias, x=x)
        if activation:
            (y,) = b.emit("forward", Relu, x=y)
    return b.finish((x,), (y,))


def logarithm() -> Program:
    """y = ln(2·x) + 1·x in layers "twice" and "log"."""
    b = ProgramBuilder("logarithm", "infer")
    x = b.tensor("x", (BATCH, 2), role=Role.INPUT)
    with b.owned_by("twice"):
        (two,) = b.emit("forward", Scale, x=x, alpha=2.0)
    with b.owned_by("log"):
        (y,) = b.emit("forward", Log, x=two)
    with b.owned_by("sum"):
        (z,) = b.emit("forward", Add, x1=y, x2=x)
    return b.finish((x,), (z,))


def epilogue(fused: bool) -> Program:
    """Convolution, sum with a branch and ReLU; fused or line by line."""
    b = ProgramBuilder("epilogue", "infer")
    x = b.tensor("x", (BATCH, 6, 5, 2), role=Role.INPUT)
    side = b.tensor("side", (BATCH, 6, 5, 3), role=Role.INPUT)
    w = b.tensor("w", (3, 3, 2, 3), role=Role.PARAM)
    bias = b.tensor("b", (3,), role=Role.PARAM)
    conv, both, soft = (
        b.tensor(name, (BATCH, 6, 5, 3), register=fused) for name in ("conv", "both", "soft")
    )
    kept = b.tensor("kept", (BATCH, 6, 5, 3))
    y = b.tensor("y", (BATCH, 6, 5, 3), pad=((0, 0), (1, 1), (1, 1), (0, 0)))
    if fused:
        b.append("forward", Fuse(kind="epilogue", owners=("a", "b")))
    b.append("forward", Conv2D(w=w, b=bias, x=x, y=conv, pad_h=1, pad_w=1, owners=("a",)))
    b.append("forward", Add(x1=conv, x2=side, y=both, owners=("b",)))
    b.append("forward", Sigmoid(x=both, y=soft, owners=("b",)))
    b.append("forward", Relu(x=both, y=kept, owners=("b",)))
    b.append("forward", Mul(a=soft, b=conv, y=y, owners=("c",)))
    if fused:
        b.append("forward", End())
    return b.finish((x, side), (y, kept))


def chain(fused: bool) -> Program:
    """A chain of rows with broadcasting in the middle."""
    b = ProgramBuilder("chain", "infer")
    x = b.tensor("x", (BATCH, 40, 1000), role=Role.INPUT)
    row = b.tensor("row", (1000,), role=Role.INPUT)
    one, two = (b.tensor(name, (BATCH, 40, 1000), register=fused) for name in ("one", "two"))
    y = b.tensor("y", (BATCH, 40, 1000))
    if fused:
        b.append("forward", Fuse(kind="chain"))
    b.append("forward", Mul(a=x, b=row, y=one))
    b.append("forward", Sigmoid(x=one, y=two))
    b.append("forward", Mul(a=one, b=two, y=y))
    if fused:
        b.append("forward", End())
    return b.finish((x, row), (y,))


SIZES = ((5, 3), (5,), (1, 5), (7, 7))


def updates(fused: bool) -> Program:
    """Adam over four parameters whose gradients are copies of inputs."""
    b = ProgramBuilder("updates", "train")
    inputs = [b.tensor(f"g{i}", size, role=Role.INPUT) for i, size in enumerate(SIZES)]
    weights = [b.tensor(f"w{i}", size, role=Role.PARAM) for i, size in enumerate(SIZES)]
    slots = [
        [b.tensor(f"w{i}/{slot}", size, role=Role.SLOT) for slot in "mv"]
        for i, size in enumerate(SIZES)
    ]
    step = b.tensor("train/step", (8,), DType.int32, Role.STEP)
    rates = b.tensor("train/rates", (4,), role=Role.STEP)
    for given, weight in zip(inputs, weights, strict=True):
        b.append("backward", Copy(x=given, y=weight.gradient))
    b.append("update", Begin(step=step))
    if fused:
        b.append("update", Fuse(kind="update"))
    for i, weight in enumerate(weights):
        b.append(
            "update",
            UpdateAdam(
                w=weight,
                g=weight.gradient,
                step=step,
                rates=rates,
                m=slots[i][0],
                v=slots[i][1],
                owners=(f"layer{i}",),
            ),
        )
    if fused:
        b.append("update", End())
    return b.finish(tuple(inputs), ())


def training() -> Program:
    """Fit y = w·x by least squares: gather, forward, loss, backward, update, metrics."""
    b = ProgramBuilder("training", "train")
    w = b.tensor("w", (1, 3), role=Role.PARAM)
    data = b.tensor("data/x", (ROWS, 3), role=Role.DATA)
    labels = b.tensor("data/y", (ROWS, 1), role=Role.DATA)
    order = b.tensor("train/order", (ROWS,), DType.int32, Role.DATA)
    step = b.tensor("train/step", (8,), DType.int32, Role.STEP)
    rates = b.tensor("train/rates", (4,), role=Role.STEP)
    ring = b.tensor("train/ring", (16, 1), role=Role.METRIC)
    slots = [b.tensor(f"w/{slot}", (1, 3), role=Role.SLOT) for slot in "mv"]
    (x,) = b.emit("data", GatherBatch, data=data, order=order, step=step)
    (t,) = b.emit("data", GatherBatch, data=labels, order=order, step=step)
    (p,) = b.emit("forward", Linear, w=w, x=x)
    (loss,) = b.emit("loss", LossMSE, p=p, t=t)
    b.append("backward", Fill(y=loss.gradient, number=1.0))
    assert LossMSE.grad_class is not None
    assert Linear.grad_class is not None
    b.append("backward", LossMSE.grad_class(p=p, t=t, y=loss, set=("p",)))
    b.append("backward", Linear.grad_class(w=w, x=x, y=p, set=("w",), skip=("x",)))
    b.append("update", Begin(step=step))
    b.append(
        "update",
        UpdateAdam(w=w, g=w.gradient, step=step, rates=rates, m=slots[0], v=slots[1]),
    )
    b.append("metrics", Record(values=(loss,), ring=ring, step=step))
    b.append("metrics", Advance(x=x, step=step))
    return b.finish((), (loss,))


def mean_of(shape: tuple[int, ...]) -> Program:
    """The mean of an input."""
    b = ProgramBuilder("mean", "infer")
    x = b.tensor("x", shape, role=Role.INPUT)
    (y,) = b.emit("forward", ReduceMean, x=x)
    return b.finish((x,), (y,))


def ref(program: Program, name: str) -> Ref:
    """The operand of a name."""
    return program.tensors.named(name).ref


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    """Standard normal float32."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
