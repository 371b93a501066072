"""Leaves the gradient of a sum with a bias where it is instead of copying it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from studio.engine.compiler.fusion import in_groups
from studio.engine.compiler.rewriting import pinned, readers_of, with_lines
from studio.engine.core.tensor import Ref, Role
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.ops.arithmetic import Add
from studio.engine.isa.program import Program, Storage

WEIGHTS = {"x1": "alpha", "x2": "beta"}
"""Operands of ADD, and what each is multiplied by."""


def share_gradients(program: Program, keep: Collection[int] = ()) -> Program:
    """The program in which the gradient of a sum with a bias is not copied.

    Where x1 has the shape of y, x2 another, and alpha is 1, dx1 is dy. If only ADD's line writes
    dx1, and all that read it are gradients of what made x1, they read dy instead, and ADD's line
    has but the sum over the rows to make. Sums of two tensors of one shape are left alone: their
    gradients cost nothing in the kernels that `fuse_gradients` makes.

    Args:
        program: any program.
        keep: tensors whose gradients must stay stored, such as those being viewed.
    """
    sharing = _Sharing(program, keep)
    for section, index, ins in program.located():
        if section == "backward" and _is_sum(ins):
            sharing.look(index)
    return with_lines(program, sharing.changes)


def _is_sum(ins: Instruction) -> bool:
    return isinstance(ins, GradInstruction) and ins.forward is Add


@dataclass(frozen=True)
class _Found:
    """An operand of ADD that needs no gradient of its own: its field, and who reads that."""

    name: str
    readers: tuple[int, ...]


class _Sharing:
    """Finds gradients to share, and the lines that change with it.

    Attributes:
        changes: lines instead of others, by running index.
    """

    def __init__(self, program: Program, keep: Collection[int]) -> None:
        self._program = program
        self._lines = list(program)
        self._taken = in_groups(program)
        self._fixed = pinned(program) | set(keep)
        self._readers = readers_of(program)
        self._writers: dict[Storage, set[int]] = {}
        for index, ins in enumerate(self._lines):
            for storage in program.writes(ins):
                self._writers.setdefault(storage, set()).add(index)
        self.changes: dict[int, Sequence[Instruction]] = {}

    def look(self, index: int) -> None:
        """Change the gradient line of an ADD, and those behind it, where that can be."""
        line = self._lines[index]
        if index in self._taken or not isinstance(line, GradInstruction):
            return
        result = line.ref("y")
        dy = self._program.storage(result.gradient)
        if max(self._writers.get(dy, {index})) >= index:
            return
        targets = [name for name, _ in line.targets()]
        found = [one for name in targets if (one := self._shared(line, index, name))]
        if not found:
            return
        for one in found:
            for reader in one.readers:
                self._put(reader, self._lines[reader].replace(y=result))
        left = [name for name in targets if name not in {one.name for one in found}]
        skipped = (*line.value("skip"), *(one.name for one in found))
        sets = tuple(name for name in line.value("set") if name in left)
        self.changes[index] = (line.replace(skip=skipped, set=sets),) if left else ()

    def _put(self, index: int, ins: Instruction) -> None:
        self._lines[index] = ins
        self.changes[index] = (ins,)
        for storage in self._program.reads(ins):
            self._readers[storage].add(index)

    def _shared(self, line: GradInstruction, index: int, name: str) -> _Found | None:
        """The operand if its gradient is that of the sum, and nothing needs it elsewhere."""
        program, given, result = self._program, line.ref(name), line.ref("y")
        tensor, whole = program.tensors[given.id], program.tensors[result.id]
        storage = program.storage(given.gradient)
        if line.value(WEIGHTS[name]) != 1.0 or not line.sets(name):
            return None
        others = [program.tensors[line.ref(n).id] for n in WEIGHTS if n != name]
        if tensor.type != whole.type or any(other.shape == whole.shape for other in others):
            return None
        if tensor.pad != whole.pad or tensor.role is not Role.ACTIVATION:
            return None
        if given.id in self._fixed or given == result:
            return None
        readers = self._readers.get(storage, set())
        if self._writers.get(storage) != {index} or not readers:
            return None
        if all(self._may_read(reader, given, index) for reader in readers):
            return _Found(name, tuple(readers))
        return None

    def _may_read(self, reader: int, given: Ref, index: int) -> bool:
        """Whether a line needs of a tensor nothing but the gradient, as of its result."""
        ins = self._lines[reader]
        return (
            reader > index
            and reader not in self._taken
            and isinstance(ins, GradInstruction)
            and given in ins.results()
            and given not in ins.effects().reads
            and all(ref != given or spec.name == "y" for spec, ref in ins.named_operands())
        )
