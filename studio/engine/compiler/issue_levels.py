"""Which kernels of a program may run side by side: levels of what data flow leaves independent."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from studio.engine.compiler.lifetimes import Span, group_spans
from studio.engine.compiler.target import Target
from studio.engine.isa.instruction import GradInstruction
from studio.engine.isa.program import Program, Storage

PRODUCTS = frozenset({"linear", "convolution"})
"""Categories whose gradients are products, each computed by itself."""


@dataclass
class _Kernel:
    """An instruction or a fused group.

    Attributes:
        lines: running indices of its instructions.
        reads: storages of which it needs what was in them before, and bytes read of each.
        writes: storages it writes, and bytes written of each.
        flops: operations of all parts.
        products: whether a part makes several results by products of their own.
    """

    lines: Span
    reads: dict[Storage, int] = field(default_factory=dict)
    writes: dict[Storage, int] = field(default_factory=dict)
    flops: int = 0
    products: bool = False


@dataclass
class _Touched:
    """The last levels in which a storage was read and written."""

    read: int = -1
    written: int = -1


def issue_levels(
    program: Program,
    batch: int,
    rows: int,
    target: Target,
    without: Container[Storage] = (),
) -> list[Span]:
    """For every instruction the first and the last level that its kernel may run in.

    Kernels of one level need not wait for each other; the next level begins when all have ended. A
    kernel stands in the first level behind everything it waits for, but what fills the device by
    itself never before the last such kernel above it, since it would gain nothing. A part of a
    smaller gradient of a product (that of the weights, say) may run ``target.slack`` levels
    later, as long as one of the results is not wanted there yet.

    Args:
        program: what runs; a fused group is one kernel.
        batch: rows the ``BATCH`` symbol stands for.
        rows: rows the ``ROWS`` symbol stands for.
        target: says which kernels fill the device, and how long others may wait.
        without: storages that live inside a kernel.
    """
    kernels = list(_kernels(program, batch, rows, without))
    fills = [_fills(kernel, target) for kernel in kernels]
    levels = _soonest(kernels, fills)
    end = max(levels, default=0)
    wanted = _wanted(kernels, levels)
    spans: list[Span] = [Span(0, 0)] * len(program)
    for number, kernel in enumerate(kernels):
        level = levels[number]
        slack = target.slack if kernel.products and not fills[number] else 0
        last = min(level + slack, wanted[number] - 1)
        begin, behind = kernel.lines.first, kernel.lines.last + 1
        spans[begin:behind] = [Span(level, max(level, min(last, end)))] * (behind - begin)
    return spans


def _soonest(kernels: Sequence[_Kernel], fills: Sequence[bool]) -> list[int]:
    touched: dict[Storage, _Touched] = {}
    levels: list[int] = []
    floor = 0
    for kernel, filling in zip(kernels, fills, strict=True):
        read = [touched.setdefault(storage, _Touched()) for storage in kernel.reads]
        written = [touched.setdefault(storage, _Touched()) for storage in kernel.writes]
        level = max((one.written + 1 for one in (*read, *written)), default=0)
        level = max([level, *(one.read + 1 for one in written)])
        if filling:
            level = floor = max(level, floor)
        for one in read:
            one.read = max(one.read, level)
        for one in written:
            one.written = max(one.written, level)
        levels.append(level)
    return levels


def _wanted(kernels: Sequence[_Kernel], levels: Sequence[int]) -> list[int]:
    """By kernel the level that touches, for the first time, the result that is wanted last."""
    found = [0] * len(kernels)
    soonest: dict[Storage, int] = {}
    for number in reversed(range(len(kernels))):
        kernel, level = kernels[number], levels[number]
        found[number] = max((soonest.get(storage, 0) for storage in kernel.writes), default=0)
        for storage in {**kernel.reads, **kernel.writes}:
            soonest[storage] = min(soonest.get(storage, level), level)
    return found


def _fills(kernel: _Kernel, target: Target) -> bool:
    moved = sum(kernel.reads.values()) + sum(kernel.writes.values())
    return kernel.flops >= target.filling_flops or moved >= target.filling_bytes


def _kernels(
    program: Program, batch: int, rows: int, without: Container[Storage]
) -> Iterator[_Kernel]:
    of = cache(program.bound(batch, rows))
    found: _Kernel | None = None
    for (_, index, ins), lines in zip(program.located(), group_spans(program), strict=True):
        if found is None:
            found = _Kernel(lines)
        effects = ins.effects()
        fresh = {ref for ref in effects.reads if program.storage(ref) not in found.writes}
        for refs, known in ((fresh, found.reads), (effects.writes, found.writes)):
            for ref in refs:
                storage = program.storage(ref)
                if _stored(program, storage, without):
                    moved = ins.moved(ref, of) * of(ref).dtype.itemsize
                    known[storage] = max(known.get(storage, 0), moved)
        found.flops += ins.flops(of)
        found.products |= isinstance(ins, GradInstruction) and ins.category in PRODUCTS
        if index == lines.last:
            yield found
            found = None


def _stored(program: Program, storage: Storage, without: Container[Storage]) -> bool:
    register = not storage.grad and program.tensors[storage.root].register
    return not register and storage not in without
