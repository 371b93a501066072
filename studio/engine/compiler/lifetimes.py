"""From where to where each transient storage of a program is needed."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

from studio.engine.core.tensor import Ref
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.ops.group import End, Fuse
from studio.engine.isa.program import Program, Storage


class Span(NamedTuple):
    """First and last running index of the instructions a storage is needed by, both included."""

    first: int
    last: int


class Life(NamedTuple):
    """When a storage is needed: at which lines, and in which levels they may run."""

    lines: Span
    levels: Span

    def precedes(self, other: Life) -> bool:
        """Whether it is over before the other begins, both line after line and level by level."""
        return self.lines.last < other.lines.first and self.levels.last < other.levels.first

    def meets(self, other: Life) -> bool:
        """Whether both may be needed at the same time."""
        return not (self.precedes(other) or other.precedes(self))

    def joined(self, other: Life) -> Life:
        """From the first need of either to the last one."""
        return Life(*(Span(min(a.first, b.first), max(a.last, b.last))
                      for a, b in zip(self, other, strict=True)))  # fmt: skip

    def until(self, other: Life) -> Life:
        """From its own first need to the last one of the other."""
        return Life(*(Span(a.first, b.last) for a, b in zip(self, other, strict=True)))


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
    kind, opened, group, is_first = "", -1, -1, False
    for _, index, ins in program.located():
        if isinstance(ins, Fuse):
            kind, opened, is_first = ins.kind, index, True
            continue
        if isinstance(ins, End):
            kind, group = "", -1
            continue
        if group < 0 and _begins_tail(kind, ins, is_first):
            group = opened
        is_first = False
        reads = program.reads(ins)
        for storage in reads | program.writes(ins):
            if storage.grad:
                fresh = storage in groups or storage not in reads
                groups.setdefault(storage, set()).add(group if fresh else -1)
        used |= reads
    return frozenset(
        s for s, where in groups.items() if len(where) == 1 and -1 not in where and s in used
    )


def shared_gradients(program: Program) -> frozenset[Storage]:
    """Gradients without a storage because their readers take that of a sum (`share_gradients`).

    The gradient line of what made such a tensor names the sum as its result.
    """
    named: dict[tuple[object, ...], set[Ref]] = {}
    touched: set[Storage] = set()
    for ins in program:
        touched |= program.reads(ins) | program.writes(ins)
        if isinstance(ins, GradInstruction) and len(ins.results()) == 1:
            named.setdefault(_apart_from_result(ins.forward.of_grad(ins)), set()).update(
                ins.results()
            )
    found: set[Storage] = set()
    for ins in program:
        results = ins.results()
        if not isinstance(ins, GradInstruction) and len(results) == 1 and not results[0].grad:
            storage = program.storage(results[0].gradient)
            others = named.get(_apart_from_result(ins), set()) - {results[0]}
            if others and storage not in touched:
                found.add(storage)
    return frozenset(found)


def _apart_from_result(ins: Instruction) -> tuple[object, ...]:
    (result,) = ins.results()
    operands = tuple(ref for ref in ins.operands if ref != result)
    return type(ins), operands, tuple(ins.attrs.items())


def _begins_tail(kind: str, ins: Instruction, is_first: bool) -> bool:
    """Whether a part of a group is the gradient whose element-wise tail the others are."""
    if not isinstance(ins, GradInstruction):
        return False
    return is_first if kind == "epilogue" else kind == "row_loss" and ins.category != "loss"


def touches(program: Program, ins: Instruction) -> Iterator[tuple[Storage, bool]]:
    """Transient storages an instruction touches, and whether it needs what was in them before."""
    effects = ins.effects()
    before = {program.storage(r) for r in effects.reads}
    for storage in sorted(before | {program.storage(r) for r in effects.writes}):
        if transient(program, storage):
            yield storage, storage in before


def whole_run(levels: Sequence[Span]) -> Life:
    """From the first instruction to the last one, and from level to level.

    Args:
        levels: by instruction those it may run in.
    """
    last = max((span.last for span in levels), default=0)
    return Life(Span(0, max(len(levels) - 1, 0)), Span(0, last))


def lifetimes(
    program: Program, without: Container[Storage] = (), levels: Sequence[Span] = ()
) -> dict[Storage, Life]:
    """When every transient storage is needed that a run touches, feeds or fetches.

    A fused group counts as one instruction. Fed tensors live for the whole run, so that one feed
    serves several runs, and so does a storage that is read before the run has written it; fetched
    ones, and gradients of fed ones, live to its end.

    Args:
        program: what runs.
        without: storages that need no room.
        levels: by instruction the levels it may run in; by default each line has its own.
    """
    spans = group_spans(program)
    levels = levels or spans
    whole = whole_run(levels)
    found: dict[Storage, Life] = {}
    kept: set[Storage] = {program.storage(Ref(i)) for i in program.inputs}
    for _, index, ins in program.located():
        own = Life(spans[index], levels[index])
        for storage, needs_before in touches(program, ins):
            if storage in without:
                continue
            if needs_before and storage not in found:
                kept.add(storage)
            found[storage] = found[storage].joined(own) if storage in found else own
    for storage in (program.storage(Ref(i)) for i in program.outputs):
        if transient(program, storage):
            found[storage] = found.get(storage, whole).until(whole)
    for storage in (program.storage(Ref(i).gradient) for i in program.inputs):
        if storage in found:
            found[storage] = found[storage].until(whole)
    for storage in kept:
        if transient(program, storage):
            found[storage] = whole
    return found
