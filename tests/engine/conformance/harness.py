"""Builds programs of one instruction and its gradient, and runs them on a backend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import ABSENT, Ref, Role, Tensor, TensorMap, TensorType
from studio.engine.isa.fields import Access
from studio.engine.isa.instruction import GradInstruction, Instruction, by_mnemonic
from studio.engine.isa.ops.move import Copy
from studio.engine.isa.program import Program
from studio.engine.runtime.backend import Backend
from tests.engine.conformance.case import Case, Given


@dataclass
class Built:
    """A case as tensors and an instruction.

    ``named`` holds the refs of every operand field (a list for operand lists), ``fed`` the tensors
    a test gives values to, ``outputs`` those the instruction makes.
    """

    case: Case
    ins: Instruction
    tensors: dict[int, Tensor]
    named: dict[str, list[Ref]]
    inferred: tuple[TensorType, ...]


def forward_class(case: Case) -> type[Instruction]:
    cls = by_mnemonic(case.mnemonic)
    assert cls is not None, case.mnemonic
    return cls


def build(case: Case) -> Built:
    """Tensors for the operands, the instruction, and tensors of the inferred types for results."""
    cls = forward_class(case)
    tensors: dict[int, Tensor] = {}
    named: dict[str, list[Ref]] = {}
    updated = {f.name for f in cls.operand_fields if f.access is Access.UPDATE}

    def add(name: str, shape: tuple[int, ...], dtype: DType, role: Role, pad: Any = ()) -> Ref:
        ref = Ref(len(tensors))
        tensors[ref.id] = Tensor(ref.id, name, shape, dtype, role, pad=pad)
        return ref

    for spec in cls.operand_fields:
        given = case.operands.get(spec.name)
        if given is None:
            continue
        role = Role.STATE if spec.name in updated else Role.INPUT
        several = [given] if isinstance(given, Given) else list(given)
        named[spec.name] = [
            add(f"{spec.name}{i}", g.shape, g.dtype, role, g.pad) for i, g in enumerate(several)
        ]
    for name, other in case.same.items():
        named[name] = named[other]
    written = [f.name for f in cls.operand_fields if f.access is Access.WRITE]
    fields: dict[str, Any] = {
        f.name: (tuple(named[f.name]) if f.variadic else named[f.name][0])
        if f.name in named
        else (ABSENT if f.optional else Ref(0))
        for f in cls.operand_fields
    }
    draft = cls(**fields, **case.attrs)
    inferred = draft.infer(lambda ref: tensors[ref.id].type)
    for i, name in enumerate(written):
        if name in case.without:
            continue
        kind = inferred[i] if case.out is None else TensorType(case.out.shape, case.out.dtype)
        kind = kind.bind(BATCH_ROWS)
        named[name] = [add(name, kind.shape, kind.dtype, Role.ACTIVATION, case.out_pad)]
        fields[name] = named[name][0]
    return Built(case, cls(owners=("layer",), **fields, **case.attrs), tensors, named, inferred)


BATCH_ROWS = 3
"""What the symbol N stands for where an instruction infers it (GATHER_BATCH, shapes with -1)."""


def program_of(
    built: Built,
    backward: tuple[Instruction, ...] = (),
    more: Mapping[int, Tensor] | None = None,
    fetched: tuple[int, ...] = (),
) -> Program:
    tensors = {**built.tensors, **(more or {})}
    inputs = tuple(t.id for t in tensors.values() if t.role is Role.INPUT)
    results = tuple(
        r.id for s, r in built.ins.named_operands() if s.access is Access.WRITE and r.present
    )
    return Program(
        "case",
        "train",
        TensorMap(tensors.values()),
        {"forward": (built.ins,), "backward": backward},
        inputs,
        (*results, *fetched),
    )


class Running:
    """A program compiled on a backend, its operands filled."""

    def __init__(self, backend: Backend, program: Program, built: Built) -> None:
        self.program = program
        self.session = backend.open_session()
        self.executable = backend.compile(program, self.session, BATCH_ROWS)
        values = built.case.values()
        for name in built.case.operands:
            found = values[name] if isinstance(values[name], list) else [values[name]]
            for ref, array in zip(built.named[name], found, strict=True):
                self.give(ref, array)

    def give(self, ref: Ref, array: np.ndarray) -> None:
        tensor = self.program.tensors[ref.id]
        if tensor.role is Role.INPUT:
            self.executable.feed(ref.id, array)
        else:
            self.session.write(tensor.name, array)

    def take(self, ref: Ref) -> np.ndarray:
        tensor = self.program.tensors[ref.id]
        if tensor.role is Role.STATE and not ref.grad:
            return self.session.read(tensor.name).result(60)
        return self.executable.fetch(ref).result(60)

    def run(self) -> None:
        assert self.executable.run(1) == 1
        self.executable.finish()

    def close(self) -> None:
        self.executable.close()
        self.session.close()


def results(backend: Backend, case: Case) -> dict[str, np.ndarray]:
    """What a backend leaves in every written or updated operand."""
    built = build(case)
    running = Running(backend, program_of(built), built)
    try:
        running.run()
        return {
            spec.name: running.take(ref)
            for spec, ref in built.ins.named_operands()
            if ref.present and (spec.access is not Access.READ or ref in built.ins.effects().writes)
        }
    finally:
        running.close()


def grad_of(built: Built, set_: tuple[str, ...], skip: tuple[str, ...]) -> GradInstruction:
    assert built.ins.grad_class is not None
    fields: dict[str, Any] = {
        spec.name: built.ins.refs(spec.name) if spec.variadic else built.ins.ref(spec.name)
        for spec in built.ins.operand_fields
    }
    return built.ins.grad_class(**fields, **built.ins.attrs, set=set_, skip=skip)


def target_names(built: Built) -> tuple[str, ...]:
    """Differentiable operand fields that are there."""
    return tuple(dict.fromkeys(name for name, _ in grad_of(built, (), ()).targets()))


def gradients(
    backend: Backend,
    case: Case,
    slope: np.ndarray,
    before: Mapping[str, list[np.ndarray]],
    *,
    set_: tuple[str, ...] = (),
    skip: tuple[str, ...] = (),
) -> dict[str, list[np.ndarray]]:
    """What a backend leaves in the gradients when the result's gradient is ``slope``.

    ``before`` is what the gradients hold when the gradient instruction begins.
    """
    built = build(case)
    result = next(r for s, r in built.ins.named_operands() if s.access is Access.WRITE)
    more: dict[int, Tensor] = {}
    given: dict[Ref, np.ndarray] = {}
    lines: list[Instruction] = []

    def preload(ref: Ref, values: np.ndarray) -> None:
        source = Ref(len(built.tensors) + len(more))
        more[source.id] = Tensor(source.id, f"given{source.id}", values.shape, role=Role.INPUT)
        given[source] = values.astype(np.float32)
        lines.append(Copy(x=source, y=ref.gradient))

    preload(result, slope)
    for name, values in before.items():
        for ref, array in dict(zip(built.named[name], values, strict=True)).items():
            preload(ref, array)
    fetched = tuple(dict.fromkeys(r.id for name in before for r in built.named[name]))
    lines.append(grad_of(built, set_, skip))
    # Fetching needs the gradients alive at the end; a last copy reads each of them.
    copies: dict[Ref, Ref] = {}
    for name in before:
        for ref in built.named[name]:
            if ref not in copies:
                kept = Ref(len(built.tensors) + len(more))
                shape = built.tensors[ref.id].shape
                more[kept.id] = Tensor(kept.id, f"kept{kept.id}", shape)
                copies[ref] = kept
                lines.append(Copy(x=ref.gradient, y=kept))
    program = program_of(built, tuple(lines), more, tuple(k.id for k in copies.values()))
    assert set(fetched) <= set(built.tensors)
    running = Running(backend, program, built)
    try:
        for ref, array in given.items():
            running.give(ref, array)
        running.run()
        return {name: [running.take(copies[r]) for r in built.named[name]] for name in before}
    finally:
        running.close()
