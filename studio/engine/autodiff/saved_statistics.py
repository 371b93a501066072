"""Keeps what instructions leave for their gradients apart where they are applied more than once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from studio.engine.core.tensor import Ref, Tensor, TensorMap
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.ops.move import Copy
from studio.engine.isa.program import Program, Storage

WALKED = ("forward", "loss")
"""Sections that have gradients."""


def keep_statistics(
    program: Program, lines: Sequence[Instruction], grads: Mapping[int, GradInstruction]
) -> Program:
    """The program with copies that carry kept statistics past their next overwriting.

    A batch normalisation leaves the statistics of its batch in the gradient storages of ``mean``
    and ``var``. A layer that is applied twice overwrites them; so behind every application but the
    last they are copied away, and copied back in front of its gradient instruction.

    Args:
        program: a differentiated program.
        lines: its instructions of the sections ``WALKED``, in running order.
        grads: gradient instructions by index into ``lines``.
    """
    last = {storage: i for i, ins in enumerate(lines) for storage in _kept(program, ins)}
    behind: dict[int, list[Instruction]] = {}
    before: dict[int, list[Instruction]] = {}
    made: list[Tensor] = []
    for index, grad_ins in grads.items():
        ins = lines[index]
        for storage in sorted(_kept(program, ins)):
            if last[storage] == index:
                continue
            kept, saved = Ref(storage.root, grad=True), _saved_tensor(program, storage, made)
            made.append(saved)
            away = Copy(x=kept, y=saved.ref, owners=ins.owners)
            behind.setdefault(index, []).append(away)
            back = Copy(x=saved.ref, y=kept, owners=ins.owners)
            before.setdefault(id(grad_ins), []).append(back)
    if not made:
        return program
    return program.with_tensors(program.tensors.update(made)).with_lines(
        _grown(program, behind, before)
    )


def _grown(
    program: Program,
    behind: Mapping[int, Sequence[Instruction]],
    before: Mapping[int, Sequence[Instruction]],
) -> Iterator[tuple[str, Instruction]]:
    """All lines with copies ``behind`` walked ones (by place) and ``before`` others (by id)."""
    place = 0
    for section, _, ins in program.located():
        yield from ((section, copy) for copy in before.get(id(ins), ()))
        yield section, ins
        if section in WALKED:
            yield from ((section, copy) for copy in behind.get(place, ()))
            place += 1


def _kept(program: Program, ins: Instruction) -> set[Storage]:
    return {program.storage(ref) for ref in ins.effects().writes if ref.grad}


def _saved_tensor(program: Program, storage: Storage, made: Sequence[Tensor]) -> Tensor:
    source = program.tensors[storage.root]
    tensors = TensorMap([*program.tensors.values(), *made])
    count = 1
    while tensors.has_name(f"{source.name}/kept_{count}"):
        count += 1
    return Tensor(
        max(tensors) + 1,
        f"{source.name}/kept_{count}",
        source.shape,
        source.dtype,
        layer=source.layer,
        port="kept",
    )
