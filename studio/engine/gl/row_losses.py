"""Finds losses of rows that the kernel making the rows can take along, with their gradients.

A cross-entropy asks for little: the row of logits and what stands as target. Where a work group
has whole rows of logits at hand, it leaves the loss of each row, and stores its gradient; the
loss's own kernels would be a level of the step that does nothing but wait for memory. The gradient
of the layer's input needs no more than the row's, and is taken along, too.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from studio.engine.core.tensor import Ref
from studio.engine.gl.specs import choose
from studio.engine.gl.tallies import Tallied
from studio.engine.isa.instruction import Twin
from studio.engine.isa.ops.linear import Linear
from studio.engine.isa.ops.loss import LossCE, LossSparseCE
from studio.engine.isa.ops.move import Fill

if TYPE_CHECKING:
    from studio.engine.gl.planner import Planner
    from studio.engine.isa.instruction import Instruction
    from studio.engine.runtime.entries import Entry

ROW_KERNELS = frozenset({"few"})
"""Variants of dense layers whose work groups have whole rows."""


@dataclass(frozen=True)
class RowLoss:
    """A loss that is taken along.

    Attributes:
        maker: number of the entry that makes the rows.
        loss: number of the loss's entry, which only adds up what is left for it.
        gradient: number of the gradient's entry, which has nothing to do; -1 where there is none.
        ins: the loss.
        seed: what the gradient is multiplied by.
        dylann_sum: whether the gradient leaves the batch length out.
        rows: how many.
        back: number of the entry of the layer's gradients, of which that of its input is taken
            along with all that follows in its group; -1 where it is not.
    """

    maker: int
    loss: int
    gradient: int
    ins: Instruction
    seed: float
    dylann_sum: bool
    rows: int
    back: int = -1

    @property
    def left(self) -> Tallied:
        """What the loss's own entry finds."""
        return Tallied(self.loss, self.rows, 1)


def row_losses(
    planner: Planner, found: Sequence[Entry], tallied: Container[int] = ()
) -> list[RowLoss]:
    """The losses of a program that are taken along, at most one by an entry.

    Args:
        planner: plans the program.
        found: its entries.
        tallied: numbers of those that take other sums along.
    """
    if planner.traits.is_software:
        return []
    losses: dict[int, RowLoss] = {}
    for number, entry in enumerate(found):
        taken = _row_loss(planner, found, number) if _is_loss(entry) else None
        if taken is not None and taken.maker not in losses:
            losses[taken.maker] = replace(taken, back=_back(planner, found, taken, tallied))
    return list(losses.values())


def _is_loss(entry: Entry) -> bool:
    ins = entry.parts[0]
    return not entry.kind and isinstance(ins, LossCE | LossSparseCE) and (
        ins.value("source") == "logits"
    )  # fmt: skip


def _row_loss(planner: Planner, found: Sequence[Entry], number: int) -> RowLoss | None:
    ins = found[number].parts[0]
    maker = _last_writer(planner, found[:number], ins.ref("p"))
    if maker < 0 or not _makes_rows(planner, found[maker], ins.ref("p")):
        return None
    sides = [ref for ref in (ins.ref("t"), ins.ref("weights")) if ref.present]
    if any(_last_writer(planner, found[:number], ref) > maker for ref in sides):
        return None
    rows = prod(planner.case(ins).shape("p")[:-1])
    twins = [k for k, one in enumerate(found) if k > number and _is_gradient(one, ins)]
    if not twins:
        return RowLoss(maker, number, -1, ins, 0.0, False, rows)
    gradient = twins[0]
    seed = _seed(planner, found[:gradient], ins.ref("y").gradient)
    twin = found[gradient].parts[0]
    sets = isinstance(twin, Twin) and twin.sets("p")
    kept = (ins.ref("p"), *sides)
    same = all(_last_writer(planner, found[:gradient], ref) <= maker for ref in kept)
    if len(twins) > 1 or seed is None or not same or not sets:
        return None
    if not _is_free(planner, found[maker:gradient], ins.ref("p").gradient):
        return None
    alone = bool(twin.value("dylann_sum"))
    return RowLoss(maker, number, gradient, ins, seed, alone, rows)


def _back(planner: Planner, found: Sequence[Entry], loss: RowLoss, tallied: Container[int]) -> int:
    """Number of the entry whose gradient of the layer's input may be made as early; else -1."""
    made = found[loss.maker].parts[0].ref("y")
    if loss.gradient < 0:
        return -1
    for number in range(loss.gradient + 1, len(found)):
        twin = found[number].parts[0]
        if isinstance(twin, Twin) and twin.forward is Linear and twin.ref("y") == made:
            fits = number not in tallied and _may_be_early(planner, found, loss, number)
            return number if fits else -1
    return -1


def _may_be_early(planner: Planner, found: Sequence[Entry], loss: RowLoss, number: int) -> bool:
    """Whether what the gradient of the layer's input needs is there, and what it stores is free."""
    layer, entry = found[loss.maker].parts[0], found[number]
    twin = entry.parts[0]
    own = all(twin.ref(name) == layer.ref(name) for name in ("x", "w"))
    if not own or entry.kind not in ("", "epilogue"):
        return False
    case, slopes = planner.case(twin), loss.ins.ref("p").gradient
    wanted = planner.wanted.get(twin.mnemonic, "")
    if not case.wants("x") or case.adds("dx") or choose(case, wanted).name not in ROW_KERNELS:
        return False
    before = found[:number]
    if _last_writer(planner, before, slopes) != loss.gradient:
        return False
    apart = {layer.ref("w").gradient, slopes}
    apart |= {layer.ref("b").gradient} if layer.ref("b").present else set()
    if any(_last_writer(planner, before, ref) >= loss.maker for ref in entry.reads() - apart):
        return False
    # x, w, the rows, their targets, gradient and losses, then what is there at times.
    count = 6 + layer.ref("b").present + loss.ins.ref("weights").present
    count += planner.stored(case.ref("dx")) + planner.first_case(entry).tail_storages
    if count > planner.traits.offered_blocks:
        return False
    between = found[loss.maker : number]
    stored = [ref for ref in entry.writes() - apart if planner.stored(ref)]
    return all(_is_free(planner, between, ref) for ref in stored)


def _is_gradient(entry: Entry, ins: Instruction) -> bool:
    """Whether an entry is the gradient of a loss, with nothing else in it."""
    twin = entry.parts[0]
    if not isinstance(twin, Twin) or twin.forward is not type(ins) or entry.kind:
        return False
    wanted = [name for name, _ in twin.targets()]
    return wanted == ["p"] and all(
        twin.ref(name) == ins.ref(name) for name in ("p", "t", "y", "weights")
    )


def _makes_rows(planner: Planner, entry: Entry, made: Ref) -> bool:
    ins = entry.parts[0]
    if entry.kind or not isinstance(ins, Linear) or ins.ref("y") != made:
        return False
    wanted = planner.wanted.get(ins.mnemonic, "")
    return choose(planner.case(ins), wanted).name in ROW_KERNELS


def _last_writer(planner: Planner, found: Sequence[Entry], ref: Ref) -> int:
    """Number of the last entry that writes a storage; -1 where none does."""
    storage = planner.program.storage
    wanted = storage(ref)
    written = (k for k, one in enumerate(found) if wanted in map(storage, one.writes()))
    return max(written, default=-1)


def _seed(planner: Planner, found: Sequence[Entry], ref: Ref) -> float | None:
    """The number a gradient begins with, where it is one."""
    writer = _last_writer(planner, found, ref)
    ins = found[writer].parts[0] if writer >= 0 else None
    if not isinstance(ins, Fill) or len(found[writer].parts) > 1:
        return None
    return float(ins.value("number"))


def _is_free(planner: Planner, found: Sequence[Entry], ref: Ref) -> bool:
    """Whether nobody else touches a storage's bytes while those entries run."""
    if not planner.stored(ref):
        return False
    buffer, begin, end = _span(planner, ref)
    touched = {other for one in found for other in one.reads() | one.writes()}
    spans = (_span(planner, other) for other in touched if planner.stored(other))
    return not any(own == buffer and first < end and begin < last for own, first, last in spans)


def _span(planner: Planner, ref: Ref) -> tuple[int | str, int, int]:
    """The buffer of a storage and the bytes it has there."""
    tensor = planner.program.tensors[planner.program.storage(ref).root]
    descriptor = tensor.descriptor(max(planner.batch, 1), max(planner.rows, 1))
    buffer, begin = planner.place(ref)
    return buffer, begin, begin + descriptor.device_nbytes
