"""Gradients of whole programs by central differences of their loss, and values to start from."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from studio.engine.autodiff.differentiate import differentiate
from studio.engine.core.tensor import Role, bind_shape
from studio.engine.isa.program import Program
from tests.engine.oracle.interpreter import Interpreter

Array = npt.NDArray[np.float64]
Values = dict[str, Array]


def values_for(
    program: Program, rng: np.random.Generator, batch: int, low: float = -1.5, high: float = 1.5
) -> Values:
    """Values for everything a run reads from outside; targets fit their loss, indices: 0, 1."""
    found: Values = {}
    losses = {ins.ref("t").id: ins for ins in program if hasattr(ins, "t")}
    for tensor in program.tensors.values():
        shape = bind_shape(tensor.shape, batch)
        if tensor.role in (Role.STEP, Role.METRIC, Role.SLOT):
            found[tensor.name] = np.zeros(shape)
        elif tensor.role is Role.STATE:
            found[tensor.name] = rng.uniform(0.5, 1.5, shape)
        elif tensor.role is Role.TARGET:
            found[tensor.name] = _target(losses[tensor.id].mnemonic, shape, rng)
        elif tensor.role in (Role.INPUT, Role.PARAM):
            found[tensor.name] = rng.uniform(low, high, shape)
        if tensor.name == "c":
            found[tensor.name] = (found[tensor.name] > 0).astype(float)
        if tensor.name == "i":
            found[tensor.name] = rng.integers(0, 2, shape).astype(float)
    return found


def _target(mnemonic: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    if mnemonic == "LOSS_SPARSE_CE":
        return rng.integers(0, 4, shape).astype(float)
    if mnemonic in ("LOSS_CE", "ACCURACY"):
        return np.eye(shape[-1])[rng.integers(0, shape[-1], shape[:-1])]
    return rng.uniform(0.1, 0.9, shape)


def loss_value(program: Program, values: Values, batch: int) -> float:
    """The loss of the forward part."""
    machine = Interpreter(program, batch)
    machine.run(values)
    last = program.section("loss")[-1]
    return float(machine.get(last.y))


def computed_gradients(program: Program, values: Values, batch: int, **options: object) -> Values:
    """Gradients of trainable parameters as the differentiated program leaves them."""
    machine = Interpreter(differentiate(program, **options), batch)
    machine.run(values)
    return {t.name: machine.get(t.ref.gradient) for t in program.of_role(Role.PARAM) if t.trainable}


def measured_gradient(
    program: Program, values: Values, batch: int, name: str, index: tuple[int, ...]
) -> float:
    """Central difference of the loss in one element of one parameter."""
    step = 1e-5
    sides = []
    for sign in (1, -1):
        moved = values[name].copy()
        moved[index] += sign * step
        sides.append(loss_value(program, {**values, name: moved}, batch))
    return (sides[0] - sides[1]) / (2 * step)
