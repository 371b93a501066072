"""Plans the dispatches of a program's entries: rows, kernel files, fused groups, updates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from studio.engine.compiler.fusion import begun_with
from studio.engine.core.tensor import ABSENT, Ref, Shape
from studio.engine.gl.kernels.dispatch_kernel import plan_dispatch
from studio.engine.gl.kernels.element_kernel import LARGE, element_kernel
from studio.engine.gl.kernels.epilogue import Epilogue
from studio.engine.gl.kernels.families import choose
from studio.engine.gl.kernels.partial_sums import RowSplit, Sums, takeable
from studio.engine.gl.kernels.reduce_kernel import plan_reduction
from studio.engine.gl.kernels.specs import BoundInstruction, DeviceCaps, DispatchSpec, Variant
from studio.engine.gl.kernels.update_kernel import Place, plan_updates
from studio.engine.gl.shader.assignments import Assignment, assignments_of, has_formula, storages_of
from studio.engine.gl.shader.dispatch import split_line
from studio.engine.gl.shader.layout import Layout
from studio.engine.gl.shader.planned import PlannedDispatch, StorageBinding
from studio.engine.isa.fields import Access
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.ops.norm import ColumnSums, is_affine
from studio.engine.isa.ops.update import Update
from studio.engine.isa.program import Program, Storage
from studio.engine.runtime.entries import Entry


@dataclass(frozen=True)
class Planner:
    """Knows a program and a device, and plans entries.

    Attributes:
        program: what is planned.
        batch: rows of the batch symbol.
        rows: rows of the resident data set.
        caps: capabilities of the device.
        place: where storages lie, for kernels that address several by a table.
        inner: gradients that live inside one fused kernel and have no storage.
        wanted: variant to take by mnemonic, where a measurement chose one.
        layouts: those of the program's storages that were asked for.
        row_splits: how the rows of partial tensors are split, by the entries planned so far.
    """

    program: Program
    batch: int
    rows: int
    caps: DeviceCaps
    place: Place
    inner: frozenset[Storage] = frozenset()
    wanted: Mapping[str, str] = field(default_factory=dict)
    layouts: dict[Ref, Layout] = field(default_factory=dict)
    row_splits: dict[Storage, RowSplit] = field(default_factory=dict)

    def plan_all(
        self, found: Sequence[Entry], hear: Callable[[PlannedDispatch], object] = lambda _: None
    ) -> list[list[PlannedDispatch]]:
        """The dispatches of all entries of a program, in order; ``hear`` gets each at once."""
        plans: list[list[PlannedDispatch]] = []
        for entry in found:
            plans.append(self.plan(entry))
            for one in plans[-1]:
                hear(one)
        return plans

    def plan(self, entry: Entry) -> list[PlannedDispatch]:
        """The dispatches of an entry, in order.

        Raises:
            BackendError: an instruction has no kernel, or none for its shapes.
        """
        if entry.kind == "row_loss":
            return self._row_loss(entry)
        first = self.first_case(entry)
        if self._has_epilogue(entry):
            return self._with_epilogue(first, entry.parts[1:])
        if len(entry.parts) == 1 and not has_formula(entry.parts[0]) and not _is_update(entry):
            return self._dispatches(first)
        return self._plan_rows(entry)

    def _row_loss(self, entry: Entry) -> list[PlannedDispatch]:
        """A layer and its rows' losses: as many parts as one kernel takes, then the others."""
        parts = entry.parts
        cuts = (len(parts), 3, 2)
        taken = next((n for n in cuts if n <= len(parts) and self._takes_rows(parts[:n])), 0)
        back = max(taken, 3)
        others = [Entry(entry.section, entry.index, (part,)) for part in parts[taken:3]]
        if parts[back:]:
            others.append(Entry(entry.section, entry.index, parts[back:], "epilogue"))
        first = self._with_row_loss(parts[:taken]) if taken else []
        return [*first, *(one for other in others for one in self.plan(other))]

    def _takes_rows(self, parts: Sequence[Instruction]) -> bool:
        """Whether one kernel runs a layer with the losses of its rows and what follows."""
        variant = self._choose(self.op(parts[0]))
        touched = {ref for part in parts for ref in part.effects().reads | part.effects().writes}
        if variant.row_loss is None or sum(map(self.stored, touched)) > self.caps.offered_blocks:
            return False
        return len(parts) < 4 or self._choose(self.op(parts[3])).name == variant.name

    def _with_row_loss(self, parts: Sequence[Instruction]) -> list[PlannedDispatch]:
        """The dispatch of a layer with the losses of its rows."""
        op, row, *more = map(self.op, parts)
        variant = self._choose(op)
        if variant.row_loss is None:
            raise RuntimeError(f"variant {variant.name} has no rows")
        gradient, back = (*more[:2], None, None)[:2]
        one = variant.row_loss(op, row, gradient, back)
        tail = None if back is None else self._tail(back, more[2:])
        return [plan_dispatch(op, one, variant.name, tail)]

    def _choose(self, op: BoundInstruction) -> Variant:
        return choose(op, self.wanted.get(op.ins.mnemonic, ""))

    def _plan_rows(self, entry: Entry) -> list[PlannedDispatch]:
        """Updates, and what rows of element-wise functions run."""
        ops = [self.op(part) for part in entry.parts]
        if _is_update(entry):
            return plan_updates(ops, self.place)
        if all(has_formula(part) for part in entry.parts):
            return self._elements(ops)
        alone = (Entry(entry.section, entry.index, (part,)) for part in entry.parts)
        return [one for part in alone for one in self.plan(part)]

    def first_case(self, entry: Entry) -> BoundInstruction:
        """The first instruction of an entry, which knows what its group brings to its kernel."""
        first = entry.parts[0]
        if not self._has_epilogue(entry):
            return self.op(first)
        following = (part for part in entry.parts[1:] if not isinstance(part, ColumnSums))
        tail = [a for part in following for a in assignments_of(part)]
        touched = {ref for refs in storages_of(tail) for ref in refs if self.stored(ref)}
        return self.op(first, len(touched - {_produced(first)}))

    def _has_epilogue(self, entry: Entry) -> bool:
        return entry.kind == "epilogue" and not has_formula(entry.parts[0])

    def op(self, ins: Instruction, tail_storages: int = 0) -> BoundInstruction:
        """An instruction bound to its operands' shapes and layouts.

        Args:
            ins: the instruction.
            tail_storages: storages that what follows in its group brings to its kernel.
        """
        return BoundInstruction(
            self.program,
            ins,
            self.batch,
            self.rows,
            self.caps,
            self.layouts,
            self.row_splits,
            tail_storages,
        )

    def stored(self, ref: Ref) -> bool:
        """Whether a storage exists; a register's data and gradients inside a kernel have none."""
        if ref.grad:
            return self.program.storage(ref) not in self.inner
        return not self.program.tensors[self.program.tensors.root(ref.id)].register

    def _dispatches(
        self, op: BoundInstruction, tail: Epilogue | None = None, sums: Sequence[ColumnSums] = ()
    ) -> list[PlannedDispatch]:
        """The dispatches of an instruction, with what follows it in its group.

        Args:
            op: the instruction.
            tail: the element-wise part of what follows.
            sums: sums of columns, each taken along where the kernel can and made behind it where it
                cannot.
        """
        if not op.ins.operands:
            return []
        variant = self._choose(op)
        dispatches = variant.plan(op)
        taken: list[Sums] = []
        if sums and _can_sum(op, dispatches):
            tail = tail or Epilogue((), _produced(op.ins), op.layout_of, self.stored)
            tail, taken = self._taking(op, dispatches, tail, [self._sums(one) for one in sums])
        planned = [plan_dispatch(op, one, variant.name, tail) for one in dispatches]
        for one in dispatches:
            if one.row_split is not None:
                self.row_splits[self.program.storage(op.ref("y"))] = one.row_split
        left = (one for one in sums if one.ref("y") not in {found.result for found in taken})
        return [*planned, *(single for one in left for single in self._dispatches(self.op(one)))]

    def _sums(self, ins: ColumnSums) -> Sums:
        of, program = self.program.bound(self.batch, self.rows), self.program
        return Sums.of(ins, of(ins.source).shape, program.tensor(ins.ref("y")).partial)

    def _taking(
        self,
        op: BoundInstruction,
        dispatches: Sequence[DispatchSpec],
        tail: Epilogue,
        sums: Sequence[Sums],
    ) -> tuple[Epilogue | None, list[Sums]]:
        """The tail with as many of the sums as the kernel that stores the result can take along."""
        stores = [one for one in dispatches if one.bind.get("y", op.ref("y")) == tail.produced]
        grid = stores[0].sum_grid if len(stores) == 1 else None
        plain = tail if tail.assignments else None
        if grid is None:
            return plain, []
        room = op.caps.offered_blocks - len(plan_dispatch(op, stores[0], "", tail).bindings)
        found: list[Sums] = []
        for one in sums:
            fits = sum(1 + len(other.read) for other in (*found, one)) <= room
            alike = all(other.columns == one.columns for other in found)
            if fits and alike and takeable(one, grid, self._touched(tail), op.layout_of):
                found.append(one)
        if not found:
            return plain, []
        self.row_splits.update(
            (self.program.storage(one.result), grid.row_split(one.rows)) for one in found
        )
        return replace(tail, sums=tuple(found)), found

    def _touched(self, tail: Epilogue) -> set[Ref]:
        """What a kernel's stores touch; what it makes is looked at without a storage, too."""
        refs = {ref for found in storages_of(tail.assignments) for ref in found}
        return {ref for ref in refs if self.stored(ref)} | {tail.produced}

    def _with_epilogue(
        self, producer: BoundInstruction, following: Sequence[Instruction]
    ) -> list[PlannedDispatch]:
        sums = [part for part in following if isinstance(part, ColumnSums)]
        tail = [self.op(part) for part in following if not isinstance(part, ColumnSums)]
        if self.caps.is_software and any(is_affine(op.ins) for op in tail):
            apart = (single for one in sums for single in self._dispatches(self.op(one)))
            return [*self._one_after_another(producer, tail), *apart]
        return self._dispatches(producer, self._tail(producer, tail), sums)

    def _tail(
        self, producer: BoundInstruction, tail: Iterable[BoundInstruction]
    ) -> Epilogue | None:
        """What the kernel of a group does where it stores its result."""
        assignments = tuple(a for op in tail for a in assignments_of(op.ins))
        epilogue = Epilogue(assignments, _produced(producer.ins), producer.layout_of, self.stored)
        return epilogue if assignments else None

    def _one_after_another(
        self, producer: BoundInstruction, tail: Sequence[BoundInstruction]
    ) -> list[PlannedDispatch]:
        """A group whose tail is a separate kernel, in place if only the tail reads the product.

        Renderers on a CPU take seconds to compile statistics into an unrolled product.
        """
        made = producer.ref("y")
        if self.stored(made):
            return [*self._dispatches(producer), *self._elements(tail)]
        last = next(op.ref("y") for op in reversed(tail) if self.stored(op.ref("y")))

        def settle(ref: Ref) -> Ref:
            return last if ref == made else ref

        moved = [self.op(op.ins.map_refs(settle)) for op in (producer, *tail)]
        return [*self._dispatches(moved[0]), *self._elements(moved[1:])]

    def _elements(self, ops: Sequence[BoundInstruction]) -> list[PlannedDispatch]:
        """Runs of assignments over one index space; sums over repeats stand by themselves."""
        planned: list[PlannedDispatch] = []
        run: list[Assignment] = []
        space: Shape | None = None
        for op in ops:
            shape = self._space(op)
            for step in assignments_of(op.ins):
                if not self._covers(step.target, shape):
                    planned += self._run(ops, run, space)
                    run = []
                    planned += plan_reduction(op, step, shape)
                    continue
                if run and (shape != space or self._clashes(run, step)):
                    planned += self._run(ops, run, space)
                    run = []
                space = shape
                run.append(step)
        return planned + self._run(ops, run, space)

    def _run(
        self, ops: Sequence[BoundInstruction], run: list[Assignment], space: Shape | None
    ) -> list[PlannedDispatch]:
        if not run or space is None:
            return []
        op = ops[0]
        name = "_".join(dict.fromkeys(c.ins.mnemonic.lower() for c in ops))[:60]
        count = prod(bound for bound in self._bound(space))
        large = count >= LARGE and not self.caps.is_software
        kernel = element_kernel(name, run, space, op.layout_of, self.stored, large=large)
        groups, launch = kernel.grid(count)
        bindings = tuple(StorageBinding(ref, use) for ref, use in kernel.storages)
        return [PlannedDispatch(kernel.source, bindings, split_line(groups), launch, "elements")]

    def _bound(self, shape: Shape) -> Iterable[int]:
        return (self.batch if d == -1 else self.rows if d == -2 else d for d in shape)

    def _space(self, op: BoundInstruction) -> Shape:
        """The index space of an element-wise instruction: the shape of its result."""
        ins = op.ins
        found = {
            access: ref
            for access in (Access.UPDATE, Access.WRITE)
            for spec, ref in ins.named_operands()
            if spec.access is access
        }
        return self.program.tensor(found.get(Access.WRITE, found.get(Access.UPDATE, ABSENT))).shape

    def _covers(self, target: Ref, space: Shape) -> bool:
        shape = self.program.tensor(target).shape
        missing = len(space) - len(shape)
        return (1,) * missing + shape == space

    def _clashes(self, run: Sequence[Assignment], step: Assignment) -> bool:
        """Whether a storage of the run is met again in another shape: a view of it."""
        root = self.program.tensors.root
        seen = {(root(r.id), r.grad): r for a in run for r in (a.target, *a.operands.values())}
        for ref in (step.target, *step.operands.values()):
            other = seen.get((root(ref.id), ref.grad))
            if other is not None and other != ref:
                return True
        return False


def _can_sum(op: BoundInstruction, dispatches: Sequence[DispatchSpec]) -> bool:
    """Whether a dispatch can also sum columns of the single result that is summed."""
    result = "dx" if isinstance(op.ins, GradInstruction) else "y"
    return op.has(result) and any(one.sum_grid is not None for one in dispatches)


def _produced(ins: Instruction) -> Ref:
    """What the elements of a group's tail start from."""
    return begun_with(ins) if isinstance(ins, GradInstruction) else ins.ref("y")


def _is_update(entry: Entry) -> bool:
    return all(isinstance(part, Update) for part in entry.parts)
