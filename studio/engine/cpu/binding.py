"""Binds rows of the element-wise table to arrays, cut into stretches that stay in the cache.

Several instructions in a fused group run stretch by stretch: the second finds the results of the
first still in the cache, and a tensor that lives only inside the group needs one stretch of memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from studio.engine.core.tensor import Ref, Shape
from studio.engine.cpu.dense import in_turn
from studio.engine.cpu.elementwise import ROWS
from studio.engine.cpu.rows import Block, Row, Step
from studio.engine.cpu.sums import reduced_axes, sum_to
from studio.engine.cpu.team import cut_evenly, run_together
from studio.engine.cpu.views import Anything, Floats, Run, Views
from studio.engine.isa.fields import Access
from studio.engine.isa.instruction import Instruction, Twin

STRETCH = 1 << 15
"""Elements of a stretch: a handful of float32 arrays of this length fit a second-level cache."""

LONG_STRETCH = 1 << 18
"""Elements of a stretch at most where nothing is read again: fewer calls."""

_LIGHT = frozenset({"RELU", "CLIPPED_RELU", "COPY", "ADD", "SUB", "MUL"})
"""Instructions bound by memory alone."""

_WHOLE = frozenset({"step", "rates", "norm"})
"""Operands that are tables beside the elements, not elements."""


def is_row(ins: Instruction) -> bool:
    """Whether an instruction runs from the element-wise table."""
    return _mnemonic(ins) in ROWS


def is_one_pass(parts: Sequence[Instruction], views: Views) -> bool:
    """Whether instructions are a single pass that takes no longer than reading and writing."""
    return len(parts) == 1 and views.means.compiled and _mnemonic(parts[0]) in _LIGHT


def bind(parts: Sequence[Instruction], views: Views) -> Run:
    """One callable that runs element-wise instructions one after another.

    Registers of the parts that are not backed yet get working memory.
    """
    shapes = {_space(ins, views) for ins in parts}
    merged = len(shapes) == 1 and not any(_repeats(ins, views) for ins in parts)
    if len(parts) > 1 and not merged:
        _back_registers(parts, views)
        runs = [_bind_together([ins], views) for ins in parts]
        return in_turn(runs)
    return _bind_together(parts, views)


def _mnemonic(ins: Instruction) -> str:
    return ins.forward.mnemonic if isinstance(ins, Twin) else ins.mnemonic


def _space(ins: Instruction, views: Views) -> Shape:
    """The index space an instruction runs over: the shape of its result."""
    return views.shape(_result(ins))


def _result(ins: Instruction) -> Ref:
    """The operand whose shape is the index space: what is written, or changed in place."""
    for spec, ref in ins.named_operands():
        if spec.access is Access.WRITE:
            return ref
    return next(r for s, r in ins.named_operands() if s.access is Access.UPDATE)


def _repeats(ins: Instruction, views: Views) -> bool:
    """Whether a gradient has to be summed over repeats before it is delivered."""
    space = _space(ins, views)
    return isinstance(ins, Twin) and any(
        reduced_axes(space, views.shape(ref)) or views.shape(ref) != space
        for _, ref in ins.targets()
    )


def _back_registers(parts: Sequence[Instruction], views: Views) -> None:
    for ref in dict.fromkeys(r for ins in parts for r in ins.effects().writes):
        if not ref.grad and views.is_bare_register(ref):
            views.scratch_register(ref)


@dataclass(frozen=True)
class _Cut:
    """How the index space is cut: flat runs of elements, or runs of rows."""

    space: Shape
    flat: bool
    length: int
    step: int
    light: bool

    @property
    def starts(self) -> range:
        return range(0, self.length, self.step) if self.length else range(0)

    def pieces(self, array: Anything) -> list[Anything]:
        """The stretches of an operand; one of a single element repeats."""
        if array.size == 1 and prod(self.space) != 1:
            single = array.reshape(())
            return [single for _ in self.starts]
        if self.flat:
            line = array.reshape(-1)
            return [line[i : i + self.step] for i in self.starts]
        if not self.space:
            return [array]
        full = array if array.shape == self.space else np.broadcast_to(array, self.space)
        return [full[i : i + self.step] for i in self.starts]

    def shares(self, views: Views) -> list[range]:
        """Which stretches each thread runs."""
        return cut_evenly(len(self.starts), views.means.threads, prod(self.space), self.light)

    def scratch(self, views: Views, dtype: type[np.generic]) -> list[Anything]:
        """A stretch of working memory for each thread, in the form of its stretches in turn."""
        shape = (self.step,) if self.flat else (self.step, *self.space[1:])
        if not self.space:
            return [views.scratch_of((), dtype)]
        found: list[Anything] = []
        for share in self.shares(views):
            room = views.scratch_of(shape, dtype)
            found += [room[: min(self.step, self.length - self.starts[i])] for i in share]
        return found


def _cut(space: Shape, arrays: Sequence[Anything], stretch: int, light: bool) -> _Cut:
    length = prod(space)
    if space and all(a.size == 1 or (a.shape == space and a.flags.c_contiguous) for a in arrays):
        return _Cut(space, True, length, min(stretch, max(length, 1)), light)
    if not space:
        return _Cut(space, False, 1, 1, light)
    rows = max(1, stretch // max(prod(space[1:]), 1))
    return _Cut(space, False, space[0], min(rows, max(space[0], 1)), light)


def _long_stretch(space: Shape, views: Views) -> int:
    """A stretch that leaves every thread its own."""
    return max(STRETCH, min(LONG_STRETCH, -(-prod(space) // views.means.threads)))


class _Part:
    """One instruction being bound: its arrays by name, and its operands without memory.

    Args:
        ins: the instruction.
        arrays: elements by operand name (``dy`` for a gradient's), tables among them.
        registers: operands that get working memory of a stretch.
    """

    def __init__(
        self,
        ins: Instruction,
        arrays: Mapping[str, Anything],
        registers: Mapping[str, Ref] | None = None,
    ) -> None:
        self.ins = ins
        self.row: Row = ROWS[_mnemonic(ins)]
        self.arrays = {n: a for n, a in arrays.items() if n not in _WHOLE}
        self.whole = {n: a for n, a in arrays.items() if n in _WHOLE}
        self.registers = dict(registers or {})

    @classmethod
    def of(cls, ins: Instruction, views: Views) -> _Part:
        """The part an instruction makes with the arrays of its operands."""
        reads = {spec.name: ref for spec, ref in ins.named_operands() if ref.present}
        arrays: dict[str, Anything] = {}
        if isinstance(ins, Twin):
            reads = {name: ref for name, ref in reads.items() if name in ins.saves}
            arrays["dy"] = views.any(_result(ins).gradient)
        registers = {n: ref for n, ref in reads.items() if views.is_bare_register(ref)}
        arrays.update({n: views.any(ref) for n, ref in reads.items() if n not in registers})
        return cls(ins, arrays, registers)

    def constants(self) -> dict[str, Any]:
        """Attributes, tables, and ``None`` for absent operands."""
        absent = {s.name: None for s, ref in self.ins.named_operands() if not ref.present}
        return {**self.ins.attrs, **absent, **self.whole}


def bind_arrays(
    ins: Instruction, arrays: Mapping[str, Anything], space: Shape, views: Views
) -> Run:
    """As ``bind`` for one forward instruction whose arrays are given by operand name."""
    return _bind_parts([_Part(ins, arrays)], space, [], views)


def _bind_together(parts: Sequence[Instruction], views: Views) -> Run:
    targets = [views.any(r) for p in parts if isinstance(p, Twin) for _, r in p.targets()]
    return _bind_parts([_Part.of(i, views) for i in parts], _space(parts[0], views), targets, views)


def _bind_parts(
    bound: Sequence[_Part], space: Shape, targets: Sequence[Anything], views: Views
) -> Run:
    arrays = [a for part in bound for a in part.arrays.values()]
    once = len(bound) == 1 and bound[0].row.floats == 0 and views.means.compiled
    every = [*arrays, *(t for t in targets if t.shape == space)]
    light = is_one_pass([part.ins for part in bound], views)
    cut = _cut(space, every, _long_stretch(space, views) if once else STRETCH, light)
    floats = [cut.scratch(views, np.float32) for _ in range(max(p.row.floats for p in bound))]
    masks = [cut.scratch(views, np.bool_) for _ in range(2)]
    registers = {
        ref: cut.scratch(views, views.numpy_dtype(ref))
        for ref in dict.fromkeys(r for part in bound for r in part.registers.values())
    }
    steps: list[list[tuple[Step, Block]]] = [[] for _ in cut.starts]
    sums: list[Run] = []
    for part in bound:
        pieces: dict[str, list[Anything]] = {n: cut.pieces(a) for n, a in part.arrays.items()}
        pieces.update({n: registers[ref] for n, ref in part.registers.items()})
        pieces.update({f"s{i + 1}": found for i, found in enumerate(floats)})
        pieces.update({f"m{i + 1}": found for i, found in enumerate(masks)})
        constants = {**part.constants(), "compiled": cut.flat and views.means.compiled}
        blocks = [
            Block(**{**constants, **{name: found[i] for name, found in pieces.items()}})
            for i in range(len(steps))
        ]
        if isinstance(part.ins, Twin):
            _bind_gradients(part.ins, part.row, blocks, cut, steps, sums, views)
        else:
            for i, block in enumerate(blocks):
                block.in_place = _same(getattr(block, "x", None), getattr(block, "y", None))
                steps[i].append((part.row.forward, block))
        if not isinstance(part.ins, Twin):
            _note(part.ins, part.row, "", blocks, cut, views)
    shares = [[pair for i in share for pair in steps[i]] for share in cut.shares(views)]
    return _runner(shares, sums)


def _bind_gradients(
    twin: Twin,
    row: Row,
    blocks: Sequence[Block],
    cut: _Cut,
    steps: list[list[tuple[Step, Block]]],
    sums: list[Run],
    views: Views,
) -> None:
    """Add the steps of every gradient a line computes, and the sums over repeats behind them."""
    for name, ref in twin.targets():
        target: Floats = views.any(ref)
        step, into = row.gradients[name], None
        if target.shape != cut.space:
            wide = views.scratch(cut.space)
            sums.append(_summed(wide, target, twin.sets(name)))
            pieces = cut.pieces(wide)
        elif twin.sets(name):
            pieces = cut.pieces(target)
        else:
            pieces, into = cut.scratch(views, np.float32), cut.pieces(target)
        made = [_with_target(block, piece) for block, piece in zip(blocks, pieces, strict=True)]
        for i, block in enumerate(made):
            steps[i].append((step, block))
            if into is not None:
                block.into = into[i]
                steps[i].append((_accumulate, block))
        _note(twin, row, name, made, cut, views)


def _note(
    ins: Instruction, row: Row, name: str, blocks: Sequence[Block], cut: _Cut, views: Views
) -> None:
    """Say what one step calls: that of an operand's gradient, or the one that makes the result."""
    threads = len(cut.shares(views))
    loop_of = row.loops.get(name) if blocks and blocks[0].compiled else None
    loop = None if loop_of is None else loop_of(blocks[0])
    if loop is None:
        views.note(ins.mnemonic.lower(), threads, "elements")
    else:
        views.note_loop(loop, threads, "elements")


def _with_target(block: Block, target: Floats) -> Block:
    made = Block(**{**vars(block), "d": target})
    made.in_place = _same(made.dy, target)
    return made


def _same(one: Anything | None, other: Anything | None) -> bool:
    """Whether two arrays begin at the same place."""
    if one is None or other is None:
        return False
    return bool(one.ctypes.data == other.ctypes.data)


def _accumulate(block: Block) -> None:
    np.add(block.into, block.d, out=block.into)


def _summed(wide: Floats, target: Floats, sets: bool) -> Run:
    """Deliver a gradient whose operand was repeated."""

    def run() -> None:
        if sets:
            sum_to(wide, target)
        else:
            total = np.empty_like(target)
            sum_to(wide, total)
            np.add(target, total, out=target)

    return run


def _runner(shares: Sequence[Sequence[tuple[Step, Block]]], sums: Sequence[Run]) -> Run:
    parts = [_steps_runner(steps) for steps in shares]
    if not sums:
        return parts[0] if len(parts) == 1 else lambda: run_together(parts)

    def run() -> None:
        run_together(parts)
        for deliver in sums:
            deliver()

    return run


def _steps_runner(steps: Sequence[tuple[Step, Block]]) -> Run:
    if len(steps) == 1:
        step, block = steps[0]
        return lambda: step(block)

    def run() -> None:
        for step, block in steps:
            step(block)

    return run
