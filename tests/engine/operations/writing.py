"""Runs one operation on a backend, with its gradients, as a program of its lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from studio.engine.autodiff.differentiate import differentiate
from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import BATCH, Ref, Role, Tensor, TensorType
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.arithmetic import Add, Mul
from studio.engine.isa.ops.data import STEP_WORDS
from studio.engine.isa.ops.move import Copy
from studio.engine.isa.ops.reduce import ReduceSum
from studio.engine.isa.program import Program
from studio.engine.operations import Operation
from studio.engine.runtime.backend import Backend


class ProgramLines:
    """Lines of a program that a test builds."""

    def __init__(self) -> None:
        self.builder = ProgramBuilder("operation", "train")
        self.given: list[Ref] = []
        self.draws = 0
        self._step: Ref | None = None

    @property
    def step(self) -> Ref:
        if self._step is None:
            self._step = self.builder.tensor("step", (STEP_WORDS,), DType.int32, Role.STEP)
        return self._step

    def type_of(self, ref: Ref) -> TensorType:
        return self.builder.type_of(ref)

    def emit(self, cls: type[Instruction], /, **fields: Any) -> tuple[Ref, ...]:
        return self.builder.emit("forward", cls, **fields)

    def constant(self, values: Any) -> Ref:
        array = np.asarray(values)
        dtype = (
            DType.float32 if array.dtype.kind == "f" else DType.of(array.astype(kept(array)).dtype)
        )
        flat = tuple(float(v) for v in array.reshape(-1))
        return self.builder.tensor("const", array.shape, dtype, Role.CONST, value=flat)

    def stream(self, role: str) -> int:
        self.draws += 1
        return self.draws

    def operand(self, values: np.ndarray, *, batch: bool = False) -> Ref:
        shape = (BATCH, *values.shape[1:]) if batch else values.shape
        ref = self.builder.tensor(f"x{len(self.given)}", shape, DType.of(values.dtype), Role.INPUT)
        self.given.append(ref)
        return ref


def kept(array: np.ndarray) -> type:
    return np.bool_ if array.dtype.kind == "b" else np.int32


def run(
    backend: Backend,
    made: Operation,
    operands: Sequence[np.ndarray],
    options: Mapping[str, object],
    *,
    slopes: Sequence[np.ndarray] = (),
    batch: bool = False,
) -> tuple[list[np.ndarray], list[np.ndarray | None]]:
    """Results of an operation, and the gradients of Σ slope·result for operands of floats."""
    lines = ProgramLines()
    refs = [lines.operand(values, batch=batch and i == 0) for i, values in enumerate(operands)]
    results = [copied(lines, ref) for ref in made.write(lines, *refs, **options)]
    fed = dict(zip(refs, operands, strict=True))
    wanted: list[Ref] = []
    if slopes:
        loss = None
        for ref, slope in zip(results, slopes, strict=True):
            weight = lines.operand(slope, batch=lines.type_of(ref).is_batch)
            fed[weight] = slope
            part = lines.emit(ReduceSum, x=lines.emit(Mul, a=ref, b=weight)[0])[0]
            loss = part if loss is None else lines.emit(Add, x1=loss, x2=part)[0]
        wanted = [ref for ref in refs if lines.type_of(ref).dtype is DType.float32]
        program = lines.builder.finish(tuple(lines.given), tuple(results))
        program = with_gradients(differentiate(program, loss, wrt=wanted), wanted)
    else:
        program = lines.builder.finish(tuple(lines.given), tuple(results))
    rows = operands[0].shape[0] if batch else 1
    found = values_of(backend, program, fed, rows)
    gradients = dict(zip(wanted, found[len(results) :], strict=True))
    return found[: len(results)], [gradients.get(ref) for ref in refs]


def copied(lines: ProgramLines, ref: Ref) -> Ref:
    """A result of its own, where an operation hands an operand or a constant on."""
    if lines.builder.peek(ref).role is Role.ACTIVATION:
        return ref
    return lines.emit(Copy, x=ref)[0]


def with_gradients(program: Program, wanted: Sequence[Ref]) -> Program:
    """The program with copies of gradients behind it, which can be fetched."""
    first = max(program.tensors) + 1
    made = [
        Tensor(first + i, f"gradient{i}", program.tensors[ref.id].shape)
        for i, ref in enumerate(wanted)
    ]
    copies = tuple(Copy(x=r.gradient, y=t.ref) for r, t in zip(wanted, made, strict=True))
    sections = dict(program.sections)
    sections["backward"] = (*sections["backward"], *copies)
    return Program(
        program.name,
        program.mode,
        program.tensors.update(made),
        sections,
        program.inputs,
        (*program.outputs, *(t.id for t in made)),
    )


def values_of(
    backend: Backend, program: Program, fed: Mapping[Ref, np.ndarray], rows: int
) -> list[np.ndarray]:
    """What a program leaves in its outputs."""
    session = backend.open_session()
    try:
        executable = backend.compile(program, session, rows)
        try:
            for ref, array in fed.items():
                executable.feed(ref.id, array)
            executable.run(1)
            executable.finish()
            return [executable.fetch(Ref(i)).result(60) for i in program.outputs]
        finally:
            executable.close()
    finally:
        session.close()
