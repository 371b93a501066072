"""Binds formulas to arrays, cut into stretches that stay in the cache.

Several instructions in a fused group run stretch by stretch: the second finds the results of the
first still in the cache, and a tensor that lives only inside the group needs one stretch of memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from studio.engine.core.tensor import Ref, Shape
from studio.engine.cpu.elementwise.formulas import (
    SLOPE,
    Form,
    is_gradient_itself,
    is_light,
    loop_of,
    slope_form,
    value_form,
)
from studio.engine.cpu.elementwise.formulas import Space as FormSpace
from studio.engine.cpu.elementwise.steps import DTYPES
from studio.engine.cpu.machine.threads import cut_evenly, run_together
from studio.engine.cpu.memory.views import Anything, Floats, Run, Views
from studio.engine.cpu.plan.bound_steps import Bound, Known, Memory, cells_of, in_one, row_of
from studio.engine.cpu.products.dense import in_turn
from studio.engine.cpu.reductions.sums import reduced_axes, sum_to
from studio.engine.formula.kinds import Kind
from studio.engine.isa.fields import Access
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.meaning import GRADIENT

STRETCH = 1 << 15
"""Elements of a stretch: a handful of float32 arrays of this length fit a second-level cache."""

LONG_STRETCH = 1 << 18
"""Elements of a stretch at most where nothing is read again: fewer calls."""

LOOP_FROM = 1 << 11
"""Elements from which on a compiled loop is worth compiling."""

LIGHT_PARTS = 2
"""Passes over memory at most for which a second thread takes as long to wake as it saves."""

_TABLES = frozenset({"step", "rates"})
"""Operands that are tables beside the elements, not elements."""

_COMPUTED = frozenset(np.dtype(t) for t in DTYPES.values())
"""Element types that are computed with; others are widened first."""


def is_row(ins: Instruction) -> bool:
    """Whether an instruction runs from its formula or rule."""
    return (ins.forward if isinstance(ins, GradInstruction) else type(ins)).meaning is not None


def are_light(parts: Sequence[Instruction], views: Views) -> bool:
    """Whether instructions are a pass or two that take no longer than reading and writing."""
    if len(parts) > LIGHT_PARTS or not views.config.compiled:
        return False
    return all(is_light(_mnemonic(part)) for part in parts)


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
    return ins.forward.mnemonic if isinstance(ins, GradInstruction) else ins.mnemonic


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
    return isinstance(ins, GradInstruction) and any(
        reduced_axes(space, views.shape(ref)) or views.shape(ref) != space
        for _, ref in ins.targets()
    )


def _back_registers(parts: Sequence[Instruction], views: Views) -> None:
    for ref in dict.fromkeys(r for ins in parts for r in ins.effects().writes):
        if not ref.grad and views.is_bare_register(ref):
            views.scratch_register(ref)


@dataclass(frozen=True)
class _Chunks:
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
        return cut_evenly(len(self.starts), views.config.threads, prod(self.space), self.light)

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


def _cut(space: Shape, arrays: Sequence[Anything], stretch: int, light: bool) -> _Chunks:
    length = prod(space)
    if space and all(a.size == 1 or (a.shape == space and a.flags.c_contiguous) for a in arrays):
        return _Chunks(space, True, length, min(stretch, max(length, 1)), light)
    if not space:
        return _Chunks(space, False, 1, 1, light)
    rows = max(1, stretch // max(prod(space[1:]), 1))
    return _Chunks(space, False, space[0], min(rows, max(space[0], 1)), light)


def _long_stretch(space: Shape, views: Views) -> int:
    """A stretch that leaves every thread its own."""
    return max(STRETCH, min(LONG_STRETCH, -(-prod(space) // views.config.threads)))


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
        self.arrays = {n: a for n, a in arrays.items() if n not in _TABLES}
        self.tables = {n: a for n, a in arrays.items() if n in _TABLES}
        self.registers = dict(registers or {})

    @classmethod
    def of(cls, ins: Instruction, views: Views) -> _Part:
        """The part an instruction makes with the arrays of its operands."""
        reads = {spec.name: ref for spec, ref in ins.named_operands() if ref.present}
        arrays: dict[str, Anything] = {}
        if isinstance(ins, GradInstruction):
            reads = {name: ref for name, ref in reads.items() if name in ins.saves}
            arrays[GRADIENT] = views.any(_result(ins).gradient)
        registers = {n: ref for n, ref in reads.items() if views.is_bare_register(ref)}
        arrays.update({n: views.any(ref) for n, ref in reads.items() if n not in registers})
        return cls(ins, arrays, registers)


@dataclass(frozen=True)
class _Job:
    """One formula of a part.

    Attributes:
        part: whose it is.
        operand: whose gradient it makes; empty for the result.
        target: the array of a gradient; ``None`` where the part has the targets' arrays.
        adds: whether the gradient is added to what is there.
    """

    part: _Part
    operand: str = ""
    target: Anything | None = None
    adds: bool = False


def bind_arrays(
    ins: Instruction, arrays: Mapping[str, Anything], space: Shape, views: Views
) -> Run:
    """As ``bind`` for one forward instruction whose arrays are given by operand name."""
    part = _Part(ins, arrays)
    return _Binder([part], [_Job(part)], space, views).run([])


def _bind_together(parts: Sequence[Instruction], views: Views) -> Run:
    space = _space(parts[0], views)
    bound = [_Part.of(ins, views) for ins in parts]
    sums: list[Run] = []
    jobs: list[_Job] = []
    for part in bound:
        if isinstance(part.ins, GradInstruction):
            jobs += _gradients(part, part.ins, space, views, sums)
        else:
            jobs.append(_Job(part))
    return _Binder(bound, jobs, space, views).run(sums)


def _gradients(
    part: _Part, grad_ins: GradInstruction, space: Shape, views: Views, sums: list[Run]
) -> Iterator[_Job]:
    """A job for every gradient a line computes; sums over repeats come behind them."""
    for name, ref in grad_ins.targets():
        target: Floats = views.any(ref)
        sets = grad_ins.sets(name)
        if target.shape == space:
            yield _Job(part, name, target, not sets)
        elif is_gradient_itself(grad_ins.forward, name):
            views.note(grad_ins.mnemonic.lower())
            sums.append(_summed(part.arrays[GRADIENT], target, sets))
        else:
            wide = views.scratch(space)
            sums.append(_summed(wide, target, sets))
            yield _Job(part, name, wide)


class _Binder:
    """Cuts the arrays of jobs into stretches and binds the calls of each.

    Args:
        bound: all parts.
        jobs: their formulas, in order.
        space: the index space of all.
        views: of the program.
    """

    def __init__(
        self, bound: Sequence[_Part], jobs: Sequence[_Job], space: Shape, views: Views
    ) -> None:
        self._views, self._jobs, self._space = views, jobs, space
        arrays = [a for part in bound for a in part.arrays.values()]
        arrays += [job.target for job in jobs if job.target is not None]
        light = are_light([part.ins for part in bound], views)
        self._cut = _cut(space, arrays, STRETCH, light)
        self._loops = self._cut.flat and views.config.compiled
        self._large = prod(space) >= LOOP_FROM
        forms = [self._form(job) for job in jobs]
        self._forms = forms
        if len(jobs) == 1 and views.config.compiled and self._is_pass(forms[0]):
            self._cut = _cut(space, arrays, _long_stretch(space, views), light)
        plans = [form.plan for form in forms if not self._in_loop(form)]
        self._words = self._scratch(max((p.words for p in plans), default=0), np.float32)
        self._masks = self._scratch(max((p.masks for p in plans), default=0), np.bool_)
        self._registers = {
            ref: self._cut.scratch(views, views.numpy_dtype(ref))
            for ref in dict.fromkeys(r for part in bound for r in part.registers.values())
        }

    def run(self, sums: Sequence[Run]) -> Run:
        """Everything bound, in one callable."""
        steps: list[list[Bound]] = [[] for _ in self._cut.starts]
        before: list[Bound] = []
        for job, form in zip(self._jobs, self._forms, strict=True):
            self._bind(job, form, steps, before)
        shares = [
            [pair for i in share for pair in steps[i]] for share in self._cut.shares(self._views)
        ]
        return _runner(before, shares, sums)

    def _scratch(self, count: int, dtype: type[np.generic]) -> list[list[Anything]]:
        return [self._cut.scratch(self._views, dtype) for _ in range(count)]

    def _in_loop(self, form: Form) -> bool:
        # One that rounds otherwise runs at every size: numbers do not hang on how parameters lie.
        return self._loops and form.graph is not None and (self._large or form.fast)

    def _is_pass(self, form: Form) -> bool:
        """Whether nothing is read again that would have to stay in the cache."""
        return self._in_loop(form) or not (form.plan.words or form.plan.masks)

    def _form(self, job: _Job) -> Form:
        part, grad_ins = job.part, job.part.ins
        space = self._space_of(job)
        if isinstance(grad_ins, GradInstruction):
            return slope_form(grad_ins.forward, grad_ins, job.operand, space, adds=job.adds)
        return value_form(part.ins, space)

    def _space_of(self, job: _Job) -> FormSpace:
        part = job.part
        dtypes = {name: array.dtype for name, array in part.arrays.items()}
        dtypes |= {n: np.dtype(self._views.numpy_dtype(r)) for n, r in part.registers.items()}
        if job.target is not None:
            dtypes[SLOPE] = job.target.dtype
        one = prod(self._space) != 1
        targets = dtypes.keys() & _targets(job)
        return FormSpace(
            tuple((name, _kind(dtype)) for name, dtype in dtypes.items()),
            frozenset(n for n, a in part.arrays.items() if one and a.size == 1),
            frozenset(n for n, dtype in dtypes.items() if dtype not in _COMPUTED),
            frozenset(n for n in targets if dtypes[n] in _COMPUTED),
            frozenset(
                (target, name)
                for target in targets
                for name in dtypes
                if target == name or self._may_share(job, target, name)
            ),
        )

    def _may_share(self, job: _Job, target: str, name: str) -> bool:
        one, other = self._whole(job, target), self._whole(job, name)
        if isinstance(one, Ref) or isinstance(other, Ref):
            return isinstance(one, Ref) and isinstance(other, Ref) and one == other
        return bool(np.may_share_memory(one, other))

    def _whole(self, job: _Job, name: str) -> Anything | Ref:
        if name == SLOPE and job.target is not None:
            return job.target
        return job.part.registers[name] if name in job.part.registers else job.part.arrays[name]

    @staticmethod
    def _known(job: _Job) -> Known:
        return Known(job.part.ins.attrs, job.part.arrays, job.part.tables)

    def _pieces(self, job: _Job) -> dict[str, list[Anything]]:
        part = job.part
        pieces = {n: self._cut.pieces(a) for n, a in part.arrays.items()}
        pieces |= {n: self._registers[ref] for n, ref in part.registers.items()}
        if job.target is not None:
            pieces[SLOPE] = self._cut.pieces(job.target)
        return pieces

    def _bind(self, job: _Job, form: Form, steps: list[list[Bound]], before: list[Bound]) -> None:
        """Add the calls of a formula to those of each stretch, and note what they are."""
        views, pieces = self._views, self._pieces(job)
        threads = len(self._cut.shares(views))
        mnemonic = job.part.ins.mnemonic.lower()
        if self._in_loop(form):
            same = {
                name: target
                for target in form.targets
                for name, found in pieces.items()
                if name == target or (found and _same(found[0], pieces[target][0]))
            }
            name = f"{mnemonic}_{job.operand}" if job.operand else mnemonic
            loop, function = loop_of(form, name, same)
            row = row_of(loop.cells, self._known(job), before)
            for i, calls in enumerate(steps):
                names = (*form.targets, *loop.operands)
                calls.append((function, (*(pieces[n][i] for n in names), *row), {}))
            views.note_loop(function, threads, "elements")
            return
        cells = cells_of(form.plan.cells, self._known(job), before)
        for i, calls in enumerate(steps):
            memory = Memory(
                {name: found[i] for name, found in pieces.items()},
                [found[i] for found in self._words],
                [found[i] for found in self._masks],
                cells,
            )
            calls += (memory.bound(step) for step in form.plan.steps)
        views.note(mnemonic, threads, "elements")


def _targets(job: _Job) -> set[str]:
    if job.target is not None:
        return {SLOPE}
    fields = job.part.ins.operand_fields
    return {f.name for f in fields if f.access is not Access.READ or (f.tail and f.optional)}


def _kind(dtype: np.dtype[np.generic]) -> Kind:
    return Kind.BOOL if dtype.kind == "b" else Kind.FLOAT if dtype.kind == "f" else Kind.INT


def _same(one: Anything, other: Anything) -> bool:
    """Whether two arrays begin at the same place."""
    return bool(one.ctypes.data == other.ctypes.data)


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


def _runner(before: Sequence[Bound], shares: Sequence[Sequence[Bound]], sums: Sequence[Run]) -> Run:
    """What is prepared, the stretches of each thread, and the sums behind them."""
    behind: list[Bound] = [(deliver, (), {}) for deliver in sums]
    if len(shares) == 1:
        return in_one([*before, *shares[0], *behind])
    parts = [in_one(calls) for calls in shares]
    return in_one([*before, (run_together, (parts,), {}), *behind])
