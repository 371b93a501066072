"""Makes the sums a batch normalisation begins with inside the kernel that produces what it sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from math import prod

from studio.engine.compiler.fusion import fused
from studio.engine.compiler.rewriting import with_lines
from studio.engine.compiler.target import Target
from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import Ref, Tensor
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.ops.conv import Conv2D
from studio.engine.isa.ops.group import End, Fuse
from studio.engine.isa.ops.linear import Linear, MatMul
from studio.engine.isa.ops.norm import BatchNormBase, ColumnProducts, ColumnStats, ColumnSums
from studio.engine.isa.program import Program, Storage

PRODUCERS = (Conv2D, Linear, MatMul)
"""Classes whose kernels can leave sums of the columns of what they store."""
BACK = (Conv2D, Linear)
"""Those whose gradient for x can."""
QUAD = 4
"""Columns a kernel has at once."""


def fuse_statistics(program: Program, target: Target) -> Program:
    """The program with the sums of batch normalisations made where their operand is produced.

    Behind what makes the input of a normalisation, as the last part of its group, stands
    COLUMN_STATS; behind what makes the gradient of its result COLUMN_PRODUCTS. The normalisation,
    or its gradient, takes the result as ``stats``. A producer is a product or convolution, or the
    gradient of one, alone or with its epilogue, that is the last to write the operand. Sums of
    products need the normalisation's input and batch mean to be there before the producer runs.

    Args:
        program: any program; normalisations by running statistics have no sums.
        target: says whether kernels can do this, and for how many columns.
    """
    if not target.fuses_statistics:
        return program
    kernels = list(_kernels(program))
    written: dict[Storage, int] = {}
    tensors: list[Tensor] = []
    changes: dict[int, Sequence[Instruction]] = {}
    for number, kernel in enumerate(kernels):
        wanted = _wanted(program, kernel.parts[0], target)
        if wanted is not None:
            producer = written.get(program.storage(wanted.source), -1)
            ready = all(
                written.get(program.storage(ref), -1) < producer for ref in wanted.operands[1:-1]
            )
            known = ready and producer >= 0 and kernels[producer].makes(wanted.source)
            if known and not kernels[producer].parts[0].merged(program.type_of):
                tensor = sums_tensor(program, wanted, tensors, partial=True)
                tensors.append(tensor)
                sums = wanted.replace(y=tensor.ref, owners=kernel.parts[0].owners)
                kernels[producer].sums.append(sums)
                changes[kernel.first] = [kernel.parts[0].replace(stats=tensor.ref)]
        written |= {s: number for part in kernel.parts for s in program.writes(part)}
    for kernel in kernels:
        if kernel.sums:
            changes |= kernel.with_sums()
    return with_lines(program.with_tensors(program.tensors.update(tensors)), changes)


@dataclass
class _Kernel:
    """A line by itself, or a group.

    Attributes:
        index: running index of the line, or of FUSE.
        kind: of the group; empty for a line.
        parts: what computes.
        sums: what is to be made of what it stores.
    """

    index: int
    kind: str
    parts: list[Instruction] = field(default_factory=list)
    sums: list[Instruction] = field(default_factory=list)

    @property
    def first(self) -> int:
        """Running index of the first line that computes."""
        return self.index + bool(self.kind)

    def makes(self, ref: Ref) -> bool:
        """Whether it is a product, and stores a tensor or gradient element by element."""
        first = self.parts[0]
        if self.kind not in ("", "epilogue"):
            return False
        if isinstance(first, GradInstruction):
            made = dict(first.targets()).get("x") if issubclass(first.forward, BACK) else None
        else:
            made = first.ref("y") if isinstance(first, PRODUCERS) else None
        stored = {made} | {r for part in self.parts[1:] for r in part.effects().writes}
        return made is not None and ref in stored

    def with_sums(self) -> dict[int, Sequence[Instruction]]:
        """Its lines with the sums behind them."""
        last = self.index + len(self.parts) + 1 if self.kind else self.index
        found: dict[int, Sequence[Instruction]] = dict.fromkeys(range(self.index, last + 1), ())
        return found | {self.index: fused("epilogue", [*self.parts, *self.sums])}


def _kernels(program: Program) -> Iterator[_Kernel]:
    """Lines and groups in running order."""
    group: _Kernel | None = None
    for _, index, ins in program.located():
        if isinstance(ins, Fuse):
            group = _Kernel(index, ins.value("kind"))
        elif isinstance(ins, End):
            if group is not None and group.parts:
                yield group
            group = None
        elif group is not None:
            group.parts.append(ins)
        else:
            yield _Kernel(index, "", [ins])


def _wanted(program: Program, ins: Instruction, target: Target) -> ColumnSums | None:
    """The sums a line begins with, their result still open; None for one that had better not."""
    base = ins.forward if isinstance(ins, GradInstruction) else type(ins)
    if not issubclass(base, BatchNormBase) or ins.value("frozen") or ins.ref("stats").present:
        return None
    x, columns = program.tensors[ins.ref("x").id], prod(program.tensors[ins.ref("mean").id].shape)
    fits = 0 < columns <= target.joined_columns and columns % QUAD == 0
    if not fits or x.shape[-1] != columns or x.dtype is not DType.float32:
        return None
    if not isinstance(ins, GradInstruction):
        return ColumnStats(x=ins.ref("x"), y=Ref(0))
    if "x" not in dict(ins.targets()):
        return None
    return ColumnProducts(
        dy=ins.ref("y").gradient, x=ins.ref("x"), mean=ins.ref("mean").gradient, y=Ref(0)
    )


def sums_tensor(
    program: Program, sums: ColumnSums, made: Sequence[Tensor], *, partial: bool = False
) -> Tensor:
    """The tensor that sums go to, named after what is summed; ``made`` are not in the program."""
    (kind,) = sums.infer(program.type_of)
    source = program.tensors[sums.source.id]
    stem = f"{source.name}/{sums.mnemonic.lower()}"
    taken = {tensor.name for tensor in (*made, *program.tensors.values())}
    name = next(n for n in chain([stem], (f"{stem}_{k}" for k in count(2))) if n not in taken)
    number = program.next_id() + len(made)
    return Tensor(number, name, kind.shape, kind.dtype, partial=partial, layer=source.layer)
