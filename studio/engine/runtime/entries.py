"""What runs as one: single instructions, and FUSE … END groups with their parts."""

from __future__ import annotations

from dataclasses import dataclass

from studio.engine.compiler.lifetimes import inner_gradients
from studio.engine.core.errors import BackendError
from studio.engine.core.tensor import Ref
from studio.engine.isa.instruction import GradInstruction, Instruction, TypeOf
from studio.engine.isa.ops.group import End, Fuse
from studio.engine.isa.program import Program


@dataclass(frozen=True)
class Entry:
    """One entry of the host list.

    Attributes:
        section: section of the first part; parts of a group may be of several.
        index: running index of the instruction, or of the FUSE line of a group.
        parts: the instructions that compute; several in a fused group.
        kind: ``epilogue``, ``chain``, ``update`` or ``row_loss``; empty for a single instruction.
    """

    section: str
    index: int
    parts: tuple[Instruction, ...]
    kind: str = ""

    @property
    def mnemonic(self) -> str:
        """The instruction, or the parts joined by ``+``; an update group is named once."""
        if self.kind == "update":
            return "+".join(dict.fromkeys(p.mnemonic for p in self.parts))
        return "+".join(p.mnemonic for p in self.parts)

    @property
    def owners(self) -> tuple[str, ...]:
        """Owners of all parts, each once, in order."""
        return tuple(dict.fromkeys(o for part in self.parts for o in part.owners))

    def reads(self) -> frozenset[Ref]:
        """Operands whose contents from before the entry are read."""
        found: set[Ref] = set()
        written: set[Ref] = set()
        for part in self.parts:
            effects = part.effects()
            found |= effects.reads - written
            written |= effects.writes
        return frozenset(found)

    def writes(self) -> frozenset[Ref]:
        """Operands written by any part."""
        return frozenset(ref for part in self.parts for ref in part.effects().writes)

    def flops(self, program: Program, batch: int, rows: int) -> int:
        """Arithmetic operations of all parts."""
        of = program.bound(batch, rows)
        return sum(part.flops(of) for part in self.parts)

    def traffic(self, program: Program, batch: int, rows: int) -> int:
        """Bytes moved to and from storages, each once per direction; registers move none."""
        of = program.bound(batch, rows)
        total = 0
        fused = self.kind == "epilogue" and isinstance(self.parts[0], GradInstruction)
        fused = fused or self.kind == "row_loss"
        inner = inner_gradients(program) if fused else frozenset()
        for refs in (self.reads(), self.writes()):
            kept = {program.storage(r): r for r in refs if r.grad or not _register(program, r)}
            kept = {s: r for s, r in kept.items() if s not in inner}
            total += sum(self._moved(r, of) * of(r).dtype.itemsize for r in kept.values())
        return total

    def _moved(self, ref: Ref, of: TypeOf) -> int:
        """Elements of a storage that the part which takes most of it reads or writes."""
        touching = [p for p in self.parts if ref in p.effects().reads | p.effects().writes]
        return max(part.moved(ref, of) for part in touching)


def entries(program: Program) -> tuple[Entry, ...]:
    """The entries of a program in running order.

    Raises BackendError where FUSE and END do not pair up.
    """
    found: list[Entry] = []
    opened: tuple[int, str] | None = None
    home = ""
    parts: list[Instruction] = []
    for section, index, ins in program.located():
        if isinstance(ins, Fuse):
            if opened is not None:
                raise _unpaired(program, index)
            opened, parts = (index, ins.kind), []
        elif isinstance(ins, End):
            if opened is None:
                raise _unpaired(program, index)
            if parts:
                found.append(Entry(home, opened[0], tuple(parts), opened[1]))
            opened = None
        elif opened is not None:
            home = home if parts else section
            parts.append(ins)
        else:
            found.append(Entry(section, index, (ins,)))
    if opened is not None:
        raise _unpaired(program, opened[0])
    return tuple(found)


def unfused(program: Program) -> tuple[Entry, ...]:
    """Every instruction as an entry of its own, group markers left out."""
    return tuple(
        Entry(section, index, (ins,))
        for section, index, ins in program.located()
        if not isinstance(ins, Fuse | End)
    )


def _register(program: Program, ref: Ref) -> bool:
    return program.tensors[program.tensors.root(ref.id)].register


def _unpaired(program: Program, index: int) -> BackendError:
    return BackendError(
        f"FUSE and END must pair up: line {index} has no partner",
        who=program.name,
    )
