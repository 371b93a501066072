"""Turns reshapes and copies into views, which cost nothing."""

from __future__ import annotations

from studio.engine.compiler.rewriting import changed_in_place, with_lines
from studio.engine.core.tensor import Ref, Role, Tensor, TensorMap
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.move import Copy, Flatten, Reshape
from studio.engine.isa.program import Program


def make_views(program: Program) -> Program:
    """The program with FLATTEN, RESHAPE and COPY replaced by views of their input.

    A view shares both storages with its base, so that gradients flow without an instruction. Left
    alone are copies of gradients, of tensors that change in place while the program runs, of padded
    ones, results that are fed, and everything in programs that have a backward section.
    """
    if program.section("backward"):
        return program
    volatile = changed_in_place(program)
    tensors = program.tensors
    changes: dict[int, tuple[Instruction, ...]] = {}
    for _, index, ins in program.located():
        if not isinstance(ins, Flatten | Reshape | Copy):
            continue
        x, y = ins.ref("x"), ins.ref("y")
        if _may_share(program, tensors, x, y, volatile):
            tensors = tensors.update([tensors[y.id].replace(view_of=x.id)])
            changes[index] = ()
    return with_lines(program.with_tensors(_bases_first(tensors)), changes)


def _may_share(program: Program, tensors: TensorMap, x: Ref, y: Ref, volatile: set[int]) -> bool:
    base, view = tensors[x.id], tensors[y.id]
    root = tensors[tensors.root(x.id)]
    if x.grad or y.grad or view.role.persistent or view.view_of is not None:
        return False
    if any(t.pad or t.register for t in (base, view, root)):
        return False
    if root.id in volatile and root.role is not Role.PARAM:
        return False
    return y.id not in program.inputs and base.dtype is view.dtype


def _bases_first(tensors: TensorMap) -> TensorMap:
    """The map ordered so that every base stands before its views, else by id."""
    placed: dict[int, Tensor] = {}

    def place(tensor: Tensor) -> None:
        if tensor.view_of is not None and tensor.view_of not in placed:
            place(tensors[tensor.view_of])
        placed.setdefault(tensor.id, tensor)

    for tensor in tensors.values():
        place(tensor)
    return TensorMap(placed.values())
