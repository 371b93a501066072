"""Computes at compile time what depends on constants only."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
import numpy.typing as npt

from studio.engine.compiler.rewriting import pinned, with_lines
from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import Ref, Role, Tensor
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.arithmetic import Add, AddScalar, Div, Mul, Scale
from studio.engine.isa.program import Program

Array = npt.NDArray[np.float32]

LARGEST = 4096
"""Elements a folded constant may have: it is printed with the program."""

PLAIN: dict[str, Callable[..., Array]] = {
    "MUL": np.multiply,
    "DIV": np.divide,
    "MAXIMUM": np.maximum,
    "MINIMUM": np.minimum,
    "NEG": np.negative,
    "ABS": np.abs,
    "SQUARE": np.square,
    "SQRT": np.sqrt,
    "RECIPROCAL": np.reciprocal,
    "FLATTEN": np.copy,
    "RESHAPE": np.copy,
    "COPY": np.copy,
}
"""Results by mnemonic from operand values; only rules that every device rounds alike."""

WITH_ATTRIBUTES: dict[str, Callable[..., Array]] = {
    "ADD": lambda i, a, b: np.float32(i.value("alpha")) * a + np.float32(i.value("beta")) * b,
    "SCALE": lambda i, x: np.float32(i.value("alpha")) * x,
    "ADD_SCALAR": lambda i, x: x + np.float32(i.value("beta")),
    "TRANSPOSE": lambda i, x: x.transpose(i.value("perm")),
}
"""The same for rules that take attributes; the instruction comes first."""


def fold_constants(program: Program) -> Program:
    """The program with results of constants made constants, and uniform operands made scalars.

    An instruction that reads only constants disappears and its result becomes a constant. MUL and
    DIV by a constant of one repeated value become SCALE, ADD with one becomes ADD_SCALAR, where
    the result has the shape of the other operand. The loss stays an instruction. Programs that
    have a backward section are left alone.
    """
    if program.section("backward"):
        return program
    tensors = program.tensors
    kept = pinned(program)
    changes: dict[int, tuple[Instruction, ...]] = {}
    for section, index, ins in program.located():
        operands = _reads(ins)
        constants = [tensors[r.id] for r in operands if _is_constant(tensors[r.id])]
        if len(constants) < len(operands) or not operands:
            simpler = _with_scalar(ins, tensors.__getitem__)
            if simpler is not None:
                changes[index] = (simpler,)
            continue
        known = ins.mnemonic in PLAIN or ins.mnemonic in WITH_ATTRIBUTES
        if not known or section == "loss" or ins.ref("y").id in kept:
            continue
        result = tensors[ins.ref("y").id]
        value = _computed(ins, constants, result)
        if value is not None:
            tensors = tensors.update([result.replace(role=Role.CONST, value=value)])
            changes[index] = ()
    return with_lines(program.with_tensors(tensors), changes)


def _reads(ins: Instruction) -> list[Ref]:
    return [r for s, r in ins.named_operands() if s.access.value == "reads" and r.present]


def _is_constant(tensor: Tensor) -> bool:
    return tensor.role is Role.CONST and tensor.value is not None and tensor.dtype is DType.float32


def _array(tensor: Tensor) -> Array:
    return np.asarray(tensor.value, np.float32).reshape(tensor.shape)


def _computed(ins: Instruction, operands: list[Tensor], result: Tensor) -> tuple[float, ...] | None:
    """The value of the result, or None where it is too large or not of a fixed shape."""
    if result.dtype is not DType.float32 or any(d < 0 for d in result.shape):
        return None
    if prod(result.shape) > LARGEST:
        return None
    with np.errstate(all="ignore"):
        arrays = [_array(t) for t in operands]
        if ins.mnemonic in PLAIN:
            value = PLAIN[ins.mnemonic](*arrays)
        else:
            value = WITH_ATTRIBUTES[ins.mnemonic](ins, *arrays)
    flat = np.asarray(value, np.float32).reshape(-1)
    if flat.size != prod(result.shape) or not np.isfinite(flat).all():
        return None
    return tuple(float(v) for v in flat)


def _with_scalar(ins: Instruction, tensor: Callable[[int], Tensor]) -> Instruction | None:
    """The instruction with a constant of one repeated value taken in as a number."""
    if isinstance(ins, Mul | Div):
        left, right = ins.a, ins.b
    elif isinstance(ins, Add):
        left, right = ins.x1, ins.x2
    else:
        return None
    for x, c, swapped in ((left, right, False), (right, left, True)):
        number = _uniform(tensor(c.id))
        if number is None or tensor(x.id).type != tensor(ins.ref("y").id).type:
            continue
        if isinstance(ins, Mul):
            return Scale(x=x, y=ins.y, alpha=number, owners=ins.owners)
        if isinstance(ins, Div) and not swapped and _is_power_of_two(number):
            return Scale(x=x, y=ins.y, alpha=1 / number, owners=ins.owners)
        if isinstance(ins, Add):
            own, other = (ins.beta, ins.alpha) if swapped else (ins.alpha, ins.beta)
            if own == 1:
                return AddScalar(x=x, y=ins.y, beta=other * number, owners=ins.owners)
    return None


def _uniform(tensor: Tensor) -> float | None:
    """The one value of a constant whose elements are all the same."""
    if not _is_constant(tensor) or not tensor.value:
        return None
    return tensor.value[0] if len(set(tensor.value)) == 1 else None


def _is_power_of_two(number: float) -> bool:
    """Only then does multiplying by the reciprocal round as dividing does."""
    return number != 0 and abs(float(np.frexp(number)[0])) == 0.5
