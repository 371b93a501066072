"""Rules about who writes and reads each storage, in running order."""

from __future__ import annotations

from collections.abc import Iterator

from studio.engine.compiler.rules.breach import Breach
from studio.engine.core.tensor import Ref, Role
from studio.engine.isa.fields import Access
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.ops.exchange import AllReduce
from studio.engine.isa.ops.norm import BatchNormBase, ColumnProducts, ColumnStats, ColumnSums
from studio.engine.isa.program import SETUP, Program, Storage


def check_data_flow(program: Program) -> Iterator[Breach]:
    """Breaches in running order."""
    yield from _Flow(program).run()


class _Flow:
    """What has been written so far, while the program is walked."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.fed = {program.storage(Ref(i)) for i in program.inputs}
        self.written: set[Storage] = set()
        self.sums: dict[Storage, ColumnSums] = {}
        """Column sums by their result, as long as what they summed has not changed since."""
        self.index, self.section = -1, ""

    def run(self) -> Iterator[Breach]:
        """Every breach, in running order."""
        for section, index, ins in self.program.located():
            self.index, self.section = index, section
            if isinstance(ins, GradInstruction):
                yield from self._check_gradient(ins)
            else:
                yield from self._check_plain(ins)
            yield from self._check_stats(ins)
            self._note_sums(ins)
            self.written |= self.program.writes(ins)
        for output in self.program.outputs:
            if not self._readable(self.program.storage(Ref(output))):
                name = self.program.tensors[output].name
                yield Breach("outputs are written", f"nothing writes {name}")

    def _readable(self, storage: Storage) -> bool:
        root = self.program.tensors[storage.root]
        kept = root.role.persistent and not storage.grad
        return kept or storage in self.fed or storage in self.written

    def _note_sums(self, ins: Instruction) -> None:
        changed = self.program.writes(ins)
        of = self.program.storage
        # Sums of one worker's rows that become those of all workers' are still what they were.
        last = -1 if isinstance(ins, AllReduce) else None
        self.sums = {
            result: one
            for result, one in self.sums.items()
            if changed.isdisjoint(of(ref) for ref in one.operands[:last])
        }
        if isinstance(ins, ColumnSums):
            self.sums[self.program.storage(ins.ref("y"))] = ins

    def _check_stats(self, ins: Instruction) -> Iterator[Breach]:
        """What a normalisation takes as its sums; fed ones may be anything."""
        base = ins.forward if isinstance(ins, GradInstruction) else type(ins)
        if not issubclass(base, BatchNormBase) or not ins.ref("stats").present:
            return
        stats = self.program.storage(ins.ref("stats"))
        if stats not in self.written:
            return
        wanted: tuple[Ref, ...] = (ins.ref("x"),)
        kind: type[ColumnSums] = ColumnStats
        if isinstance(ins, GradInstruction):
            wanted = (ins.ref("y").gradient, ins.ref("x"), ins.ref("mean").gradient)
            kind = ColumnProducts
        sums = self.sums.get(stats)
        if not isinstance(sums, kind) or sums.operands[:-1] != wanted:
            rule = f"stats are what {kind.mnemonic} finds of the operands as they are here"
            yield self._breach(rule, stats)

    def _check_plain(self, ins: Instruction) -> Iterator[Breach]:
        in_place = _in_place(self.program, ins)
        for storage in sorted(self.program.reads(ins)):
            if not self._readable(storage):
                yield self._breach("a storage is written before it is read", storage)
        for storage in sorted(self.program.writes(ins)):
            # Means over a worker's rows become means over all rows where they are.
            if not (isinstance(ins, AllReduce) and storage in self.written):
                yield from self._check_write(storage, storage in in_place)

    def _check_gradient(self, ins: GradInstruction) -> Iterator[Breach]:
        targets = [(self.program.storage(ref), ins.sets(name)) for name, ref in ins.targets()]
        for storage in sorted(self.program.reads(ins) - {storage for storage, _ in targets}):
            if not self._readable(storage):
                yield self._breach("a storage is written before it is read", storage)
        # Targets are written in operand order, so one may set what the next adds to.
        fresh: set[Storage] = set()
        for storage, sets in targets:
            known = storage in fresh or self._readable(storage)
            if sets and known:
                yield self._breach("a gradient is set only once, before it is added to", storage)
            elif not sets and not known:
                yield self._breach("a gradient is cleared or set before it is added to", storage)
            fresh.add(storage)

    def _check_write(self, storage: Storage, in_place: bool) -> Iterator[Breach]:
        root = self.program.tensors[storage.root]
        if storage.grad:
            # Statistics kept for the backward pass may be kept again by the next application.
            if storage in self.written and not in_place and root.role is not Role.STATE:
                yield self._breach("a gradient is set only once, before it is added to", storage)
        elif in_place:
            if not root.role.persistent:
                yield self._breach("only persistent tensors change in place", storage)
        elif root.role.persistent and not self._makes_constant(storage):
            yield self._breach("persistent tensors are only changed in place", storage)
        elif storage in self.fed:
            yield self._breach("fed tensors are not written", storage)
        elif storage in self.written:
            yield self._breach("data has one writer", storage)

    def _makes_constant(self, storage: Storage) -> bool:
        """Whether the line, one that runs once, may write a constant that has no value yet."""
        root = self.program.tensors[storage.root]
        is_open = root.role is Role.CONST and root.value is None
        return self.section == SETUP and is_open and storage not in self.written

    def _breach(self, rule: str, storage: Storage) -> Breach:
        name = self.program.tensors[storage.root].name
        return Breach(rule, f"{storage} ({name}) breaks it", self.index)


def _in_place(program: Program, ins: Instruction) -> set[Storage]:
    """Storages an instruction updates: by declaration, or as an optional slot of its tail."""
    written = ins.effects().writes
    named = [(spec, ref) for spec, ref in ins.named_operands() if ref.present and ref in written]
    overwritten = {program.storage(ref) for spec, ref in named if spec.access is Access.WRITE}
    changed = {
        program.storage(ref)
        for spec, ref in named
        if spec.access is Access.UPDATE or (spec.access is Access.READ and spec.tail)
    }
    return changed - overwritten
