"""Has batch normalisations of several workers use the statistics of the rows of all of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from studio.engine.compiler.passes.fuse_statistics import sums_tensor
from studio.engine.compiler.rewriting import with_lines
from studio.engine.core.tensor import ABSENT, Ref, Tensor
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.ops.arithmetic import AddScalar
from studio.engine.isa.ops.exchange import AllReduce
from studio.engine.isa.ops.norm import BatchNorm2D, ColumnProducts, ColumnStats, ColumnSums
from studio.engine.isa.ops.reduce import ReduceMean, ReduceSum
from studio.engine.isa.program import Program

_NEVER_ZERO = 1e-30
"""Added to a mean that something is divided by, where a number of positions had a larger one."""


def synchronize_statistics(program: Program, nodes: Collection[str]) -> Program:
    """The program with the statistics of some normalisations brought together among workers.

    Before a normalisation COLUMN_STATS finds mean and deviations of a worker's rows, and ALLREDUCE
    makes them those of all rows; before its gradient COLUMN_PRODUCTS and ALLREDUCE do so with the
    two sums of gradients. Behind a mask the layer is written out: there its sums over positions and
    the number of these become means, which ALLREDUCE can bring together, and so does it with the
    gradients of these.

    Args:
        program: with its backward part, before lines are fused.
        nodes: whose normalisations this is for.
    """
    found = _Changes(program)
    for _, index, ins in program.located():
        if program.mode == "train" and not set(nodes).isdisjoint(ins.owners):
            found.look(index, ins)
    tensors = program.tensors.update(found.tensors)
    return with_lines(program.with_tensors(tensors), found.lines)


class _Changes:
    """What is to stand in the place of lines, and the tensors that takes."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.tensors: list[Tensor] = []
        self.lines: dict[int, Sequence[Instruction]] = {}
        self._means: set[Ref] = set()

    def look(self, index: int, ins: Instruction) -> None:
        """Note the lines for one of a layer."""
        base = ins.forward if isinstance(ins, GradInstruction) else type(ins)
        if issubclass(base, BatchNorm2D) and not ins.value("frozen"):
            self.lines[index] = self._with_sums(ins)
        elif issubclass(base, ReduceSum):
            self.lines[index] = self._with_mean(ins)
        elif isinstance(ins, AddScalar) and ins.x in self._means:
            self.lines[index] = (ins.replace(beta=_NEVER_ZERO),)

    def _with_sums(self, ins: Instruction) -> Sequence[Instruction]:
        x, rows = ins.ref("x"), ABSENT
        if isinstance(ins, GradInstruction):
            mean = ins.ref("mean").gradient
            sums: ColumnSums = ColumnProducts(dy=ins.ref("y").gradient, x=x, mean=mean, y=Ref(0))
        else:
            sums, rows = ColumnStats(x=x, y=Ref(0)), x
        made = sums_tensor(self.program, sums, self.tensors)
        self.tensors.append(made)
        return (
            sums.replace(y=made.ref, owners=ins.owners),
            AllReduce(xs=[made.ref], rows=rows, owners=ins.owners),
            ins.replace(stats=made.ref),
        )

    def _with_mean(self, ins: Instruction) -> Sequence[Instruction]:
        y = ins.ref("y")
        fields = {"x": ins.ref("x"), "y": y, "owners": ins.owners, **ins.attrs}
        if isinstance(ins, GradInstruction) and ReduceMean.grad_class is not None:
            mean: Instruction = ReduceMean.grad_class(**fields)
            return AllReduce(xs=[y.gradient], owners=ins.owners), mean
        self._means.add(y)
        return ReduceMean(**fields), AllReduce(xs=[y], owners=ins.owners)
