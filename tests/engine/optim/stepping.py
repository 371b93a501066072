"""Runs optimisers on the CPU backend over gradients that are given: the loss is Σ w·g."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from studio.engine.autodiff.differentiate import differentiate
from studio.engine.core.tensor import Ref, Role
from studio.engine.cpu.backend import CpuBackend
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.ops.arithmetic import Add, Mul
from studio.engine.isa.ops.data import StepWord
from studio.engine.isa.ops.reduce import ReduceSum
from studio.engine.isa.program import Program
from studio.engine.layers.initializers import initial_values
from studio.engine.optim.emit_updates import emit_updates
from studio.engine.optim.optimizers import Optimizer

Array = npt.NDArray[np.float64]


def linear_program(shapes: Mapping[str, tuple[int, ...]]) -> Program:
    """Parameters by name, inputs ``<name>/g``, and a loss whose gradient is what is fed."""
    builder = ProgramBuilder("linear", "train")
    parameters = {
        n: builder.tensor(n, s, role=Role.PARAM, trainable=True, weight=n.startswith("w"))
        for n, s in shapes.items()
    }
    total: Ref | None = None
    fed = []
    for name, parameter in parameters.items():
        g = builder.tensor(f"{name}/g", shapes[name], role=Role.INPUT)
        fed.append(g)
        product = builder.emit("forward", Mul, name=f"{name}/product", a=parameter, b=g)[0]
        part = builder.emit("loss", ReduceSum, name=f"{name}/sum", x=product)[0]
        total = (
            part
            if total is None
            else builder.emit("loss", Add, name=f"{name}/total", x1=total, x2=part)[0]
        )
    return builder.finish(tuple(fed), ())


def steps(
    optimizer: Optimizer, start: Mapping[str, Array], gradients: Sequence[Mapping[str, Array]]
) -> list[dict[str, Array]]:
    """Parameters after each step."""
    program = emit_updates(
        differentiate(linear_program({n: v.shape for n, v in start.items()})), optimizer
    )
    backend = CpuBackend()
    session = backend.open_session()
    executable = backend.compile(program, session, 1)
    for tensor in program.of_role(Role.SLOT):
        session.write(tensor.name, initial_values(tensor, 0))
    for name, value in start.items():
        session.write(name, value.astype(np.float32))
    table = program.tensors.named("train/rates").shape[0]
    rates = np.array([optimizer.rate(s) for s in range(table)], np.float32)
    session.write("train/rates", rates)
    block = np.zeros(8, np.int32)
    path = []
    for index, gradient in enumerate(gradients):
        block[StepWord.STEP], block[StepWord.UPDATES] = index, index
        session.write("train/step", block)
        for tensor in (program.tensors[i] for i in program.inputs):
            value = gradient[tensor.name.removesuffix("/g")]
            executable.feed(tensor.id, value.astype(np.float32))
        executable.run()
        path.append({n: session.read(n).result().astype(np.float64) for n in start})
    executable.close()
    session.close()
    backend.close()
    return path


def scalar_path(optimizer: Optimizer, start: float, gradients: Sequence[float]) -> list[float]:
    """The value of one weight after each step."""
    found = steps(optimizer, {"w": np.array([start])}, [{"w": np.array([g])} for g in gradients])
    return [float(values["w"][0]) for values in found]


def pair_path(optimizer: Optimizer, count: int = 2) -> list[list[float]]:
    """w = [0, 0] after each step with the gradient [2, 4]."""
    gradient = {"w": np.array([2.0, 4.0])}
    found = steps(optimizer, {"w": np.zeros(2)}, [gradient] * count)
    return [values["w"].tolist() for values in found]
