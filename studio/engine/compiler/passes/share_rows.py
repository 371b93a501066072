"""Has the lines of a training program know that each of several workers sees a part of the rows."""

from __future__ import annotations

from collections.abc import Iterator

from studio.engine.compiler.rewriting import with_lines
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import CompileError
from studio.engine.core.tensor import BATCH, Ref, Role, Tensor
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.ops.arithmetic import Add, AddScalar, Scale
from studio.engine.isa.ops.data import Advance, Record
from studio.engine.isa.ops.exchange import AllReduce
from studio.engine.isa.ops.loss import Accuracy, Loss, LossMean, RowLoss
from studio.engine.isa.ops.metric import EpochCounts
from studio.engine.isa.ops.norm import BatchNormBase
from studio.engine.isa.ops.random import Dropout, RandomNormal, RandomUniform
from studio.engine.isa.ops.reduce import ReduceMean
from studio.engine.isa.program import Program, Storage

FIRST_ROW = "train/first_row"
"""Name of the tensor that says where a worker's rows begin among those of the batch."""

_SHARED_SECTIONS = ("data", "forward", "loss", "metrics")
_LINEAR = (Add, AddScalar, Scale, Record)
_MIXING = (EpochCounts, BatchNormBase, Advance)
"""Lines that take rows together and are no mean; what they count or keep is brought together."""


def share_rows(program: Program, workers: int) -> Program:
    """The program as each of several workers runs it on its rows of the batch.

    Draws count elements from the first row of the batch of all workers. Means over rows that a line
    uses in another way than in sums are brought together where they are made.

    Raises:
        CompileError: a line takes the rows of a batch together in a way that workers cannot.
    """
    if workers < 2 or program.mode != "train":
        return program
    return _with_global_means(_with_first_rows(program))


def _with_first_rows(program: Program) -> Program:
    def draws_rows(ins: Instruction) -> bool:
        base = ins.forward if isinstance(ins, GradInstruction) else type(ins)
        return issubclass(base, Dropout | RandomUniform | RandomNormal) and _is_batch(
            program, ins.ref("y")
        )

    if not any(draws_rows(ins) for ins in program):
        return program
    first = Tensor(program.next_id(), FIRST_ROW, (1,), DType.int32, Role.STEP)
    made = program.with_tensors(program.tensors.update([first]))
    return made.map_instructions(
        lambda ins: ins.replace(first=first.ref) if draws_rows(ins) else ins
    )


def _with_global_means(program: Program) -> Program:
    changes = {
        index: (ins, AllReduce(xs=refs, owners=ins.owners))
        for index, ins, refs in _Means(program).needed()
    }
    return with_lines(program, changes)


class _Means:
    """Finds the means over a worker's rows that must be means over all before they are used."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.makers: dict[Storage, tuple[int, Instruction, Ref]] = {}
        """Means over the rows of one worker, by storage: where they are made."""
        self.wanted: dict[int, tuple[Instruction, list[Ref]]] = {}
        self.joined = {
            program.storage(ref) for ins in program if isinstance(ins, AllReduce) for ref in ins.xs
        }

    def needed(self) -> Iterator[tuple[int, Instruction, list[Ref]]]:
        """Lines behind which means are to be brought together; CompileError as `share_rows`."""
        for section, index, ins in self.program.located():
            if section in _SHARED_SECTIONS and not isinstance(ins, GradInstruction):
                self._look(index, ins)
        for index, (ins, refs) in sorted(self.wanted.items()):
            yield index, ins, refs

    def _look(self, index: int, ins: Instruction) -> None:
        program, effects = self.program, ins.effects()
        reads = [ref for ref in effects.reads if not ref.grad]
        takes_rows = any(_is_batch(program, ref) for ref in reads)
        gives = [ref for ref in effects.writes if not ref.grad]
        mixed = takes_rows and any(not _is_batch(program, ref) for ref in gives)
        local = [ref for ref in reads if program.storage(ref) in self.makers]
        if local and not isinstance(ins, _LINEAR):
            self._bring_together(local)
            local = []
        if mixed and not isinstance(ins, _MIXING) and not self._is_joined(gives):
            if not _is_mean(ins):
                raise _refusal(ins)
            local = gives
        if local and not isinstance(ins, Record):
            self.makers |= {program.storage(ref): (index, ins, ref) for ref in gives}

    def _is_joined(self, gives: list[Ref]) -> bool:
        """Whether results are brought together by lines that are there already."""
        return all(self.program.storage(ref) in self.joined for ref in gives)

    def _bring_together(self, refs: list[Ref]) -> None:
        differentiated = self.program.gradients()
        for ref in refs:
            index, maker, made = self.makers.pop(self.program.storage(ref))
            if made.id in differentiated:
                raise _refusal(maker)
            self.wanted.setdefault(index, (maker, []))[1].append(made)


def _is_batch(program: Program, ref: Ref) -> bool:
    return program.type_of(ref).shape[:1] == (BATCH,)


def _is_mean(ins: Instruction) -> bool:
    """Whether the result is the mean over the rows of something of each row."""
    if isinstance(ins, RowLoss):
        return False
    if isinstance(ins, Loss):
        return not ("dylann_sum" in ins.attrs and ins.value("dylann_sum"))
    return isinstance(ins, LossMean | Accuracy | ReduceMean)


def _refusal(ins: Instruction) -> CompileError:
    return CompileError(
        "it takes the rows of a batch together, of which each worker has only a part",
        who=ins.owners[0] if ins.owners else ins.mnemonic,
        origin=ins.mnemonic,
        hint="train with one worker",
    )
