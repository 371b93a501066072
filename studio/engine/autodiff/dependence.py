"""Which tensors depend on something trainable, and so can need a gradient at all."""

from __future__ import annotations

from collections.abc import Iterable

from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import Ref, Role
from studio.engine.isa.fields import Access
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.program import Program

DIFFERENTIABLE_TYPES = frozenset({DType.float32, DType.float16})


def trainable_roots(program: Program, wrt: Iterable[Ref] = ()) -> set[int]:
    """Roots of the trainable parameters and of the tensors asked for besides."""
    roots = {program.tensors.root(ref.id) for ref in wrt}
    return roots | {program.tensors.root(t.id) for t in program.of_role(Role.PARAM) if t.trainable}


def dependent_roots(
    program: Program, lines: Iterable[Instruction], sources: Iterable[int]
) -> set[int]:
    """Roots of all tensors that ``lines`` compute from the tensors in ``sources``, those included.

    An instruction with a gradient passes dependence on through its differentiable operands only;
    one without passes it on through all, so that a break in the path can be found.
    """
    found = set(sources)
    for ins in lines:
        if any(program.tensors.root(ref.id) in found for ref in carrying_operands(ins)):
            found.update(program.tensors.root(ref.id) for ref in results(ins))
    return found


def carrying_operands(ins: Instruction) -> tuple[Ref, ...]:
    """Operands through which a result depends on something trainable."""
    return tuple(
        ref
        for spec, ref in ins.named_operands()
        if ref.present
        and (
            spec.differentiable and spec.access is Access.READ
            if ins.twin is not None
            else spec.access is not Access.WRITE
        )
    )


def results(ins: Instruction) -> tuple[Ref, ...]:
    """The data an instruction writes, without what it keeps for its gradient."""
    return tuple(
        ref for spec, ref in ins.named_operands() if spec.access is Access.WRITE and ref.present
    )


def differentiable(program: Program, ref: Ref) -> bool:
    """Whether a tensor's element type can carry a gradient."""
    return program.tensors[ref.id].dtype in DIFFERENTIABLE_TYPES
