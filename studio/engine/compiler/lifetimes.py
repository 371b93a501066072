"""From where to where each transient storage of a program is needed."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import NamedTuple

from studio.engine.core.tensor import Ref
from studio.engine.isa.instruction import Instruction, Twin
from studio.engine.isa.ops.group import End, Fuse
from studio.engine.isa.program import Program, Storage


class Span(NamedTuple):
    """First and last running index of the instructions a storage is needed by, both included."""

    first: int
    last: int


def group_spans(program: Program) -> list[Span]:
    """For every instruction the indices of the kernel it runs in: its own, or its whole group."""
    spans = [Span(i, i) for i in range(len(program))]
    begin = -1
    for _, index, ins in program.located():
        if isinstance(ins, Fuse):
            begin = index
        elif isinstance(ins, End) and begin >= 0:
            spans[begin : index + 1] = [Span(begin, index)] * (index + 1 - begin)
            begin = -1
    return spans


def transient(program: Program, storage: Storage) -> bool:
    """Whether an executable owns the storage: gradients always, data of activations and inputs.

    Data of persistent roles belongs to the session, and a register tensor has none.
    """
    root = program.tensors[storage.root]
    return storage.grad or not (root.role.persistent or root.register)


def inner_gradients(program: Program) -> frozenset[Storage]:
    """Gradients that one fused gradient kernel makes and uses up; nothing else touches them.

    A backend whose kernels keep them in registers needs no room for them.
    """
    groups: dict[Storage, set[int]] = {}
    used: set[Storage] = set()
    group, parts = -1, 0
    for _, index, ins in program.located():
        if isinstance(ins, Fuse):
            group, parts = (index if ins.kind == "epilogue" else -1), 0
            continue
        if isinstance(ins, End):
            group = -1
            continue
        parts += 1
        if parts == 1 and not isinstance(ins, Twin):
            group = -1
        reads = program.reads(ins)
        for storage in reads | program.writes(ins):
            if storage.grad:
                fresh = storage in groups or storage not in reads
                groups.setdefault(storage, set()).add(group if fresh else -1)
        used |= reads
    return frozenset(
        s for s, where in groups.items() if len(where) == 1 and -1 not in where and s in used
    )


def touches(program: Program, ins: Instruction) -> Iterator[tuple[Storage, bool]]:
    """Transient storages an instruction touches, and whether it needs what was in them before."""
    effects = ins.effects()
    before = {program.storage(r) for r in effects.reads}
    for storage in sorted(before | {program.storage(r) for r in effects.writes}):
        if transient(program, storage):
            yield storage, storage in before


def lifetimes(
    program: Program,
    without: Container[Storage] = (),
    lingers: Callable[[Instruction], int] = lambda _: 0,
) -> dict[Storage, Span]:
    """The span of every transient storage that a run touches, feeds or fetches.

    A fused group counts as one instruction. Fed tensors live for the whole run, so that one feed
    serves several runs; fetched ones live to its end. A padded tensor keeps its place, since its
    halo must stay zero, and so does a storage that is read before the run has written it.

    Args:
        program: what runs.
        without: storages that need no room.
        lingers: how many kernels further a part of an instruction may run; what it reads is needed
            until those have run.
    """
    spans = group_spans(program)
    end = max(len(spans) - 1, 0)
    found: dict[Storage, Span] = {}
    kept: set[Storage] = {program.storage(Ref(i)) for i in program.inputs}
    for _, index, ins in program.located():
        span = spans[index]
        for storage, needs_before in touches(program, ins):
            if storage in without:
                continue
            first, last = found.get(storage, span)
            if needs_before and storage not in found:
                kept.add(storage)
            reach = span.last
            for _ in range(lingers(ins) if needs_before else 0):
                reach = spans[min(reach + 1, end)].last
            last = max(last, reach)
            found[storage] = Span(first, max(last, span.last))
    for storage in (program.storage(Ref(i)) for i in program.outputs):
        if transient(program, storage):
            found[storage] = Span(found.get(storage, Span(0, end)).first, end)
    for storage in [*kept, *(s for s in found if program.tensors[s.root].pad)]:
        if transient(program, storage):
            found[storage] = Span(0, end)
    return found
