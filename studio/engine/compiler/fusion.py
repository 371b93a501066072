"""What the fusing passes share: which instructions fuse, and which tensors need no storage."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from studio.engine.compiler.rewriting import merged_owners, pinned, readers_of
from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import ABSENT, Ref
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.ops.group import End, Fuse
from studio.engine.isa.ops.linear import MatMul
from studio.engine.isa.program import Program, Storage

UNFUSED = frozenset({"update", "move"})
"""Categories that are element-wise but fuse by other rules, or only move data."""


def is_simple(program: Program, ins: Instruction) -> bool:
    """Whether an instruction may be a part of an element-wise group: float32, computing."""
    return (
        ins.elementwise
        and not ins.random
        and ins.category not in UNFUSED
        and all(program.tensors[r.id].dtype is DType.float32 for r in ins.operands if r.present)
    )


def fused(kind: str, parts: Sequence[Instruction]) -> tuple[Instruction, ...]:
    """The parts between FUSE and END, which belong to the layers of all of them."""
    owners = merged_owners(*parts)
    return (Fuse(kind=kind, owners=owners), *parts, End(owners=owners))


def in_groups(program: Program) -> set[int]:
    """Running indices of all lines from a FUSE to its END."""
    found: set[int] = set()
    inside = False
    for _, index, ins in program.located():
        inside = inside or isinstance(ins, Fuse)
        if inside:
            found.add(index)
        inside = inside and not isinstance(ins, End)
    return found


class Registers:
    """Finds the activations a group writes and nothing outside it reads: none need store them.

    Args:
        program: the program groups will be made in.
        keep: tensors that must stay stored.
    """

    def __init__(self, program: Program, keep: Collection[int]) -> None:
        self._program = program
        self._lines = list(program)
        self._readers = readers_of(program)
        self._fixed = pinned(program) | set(keep)

    def of(self, group: Iterable[int]) -> set[int]:
        """Tensors that a group of lines, given by running index, keeps to itself."""
        members = set(group)
        found: set[int] = set()
        for index in members:
            for ref in self._lines[index].effects().writes:
                tensor = self._program.tensors[ref.id]
                if ref.grad or tensor.role.persistent or tensor.pad or ref.id in self._fixed:
                    continue
                inside = self._readers.get(Storage(ref.id, False), set())
                if inside and inside <= members:
                    found.add(ref.id)
        return found


def begun_with(producer: GradInstruction) -> Ref:
    """The gradient a tail begins with: of x, or of left matrices; ABSENT if neither is made."""
    return dict(producer.targets()).get("a" if producer.forward is MatMul else "x", ABSENT)


def refs_of(ins: Instruction) -> frozenset[Ref]:
    """Everything an instruction really touches."""
    effects = ins.effects()
    return effects.reads | effects.writes
