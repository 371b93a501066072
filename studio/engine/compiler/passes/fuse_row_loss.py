"""Puts the losses of rows and their gradients into the kernel that makes the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from studio.engine.compiler.fusion import fused
from studio.engine.compiler.target import Target
from studio.engine.core.tensor import Ref, Tensor
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.ops.group import End, Fuse
from studio.engine.isa.ops.linear import Linear
from studio.engine.isa.ops.loss import ROW_LOSSES, LossMean
from studio.engine.isa.ops.move import Fill
from studio.engine.isa.program import Program, Storage

LOSSES = tuple(ROW_LOSSES)


def fuse_row_loss(program: Program, target: Target) -> Program:
    """The program with cross-entropies of logits in the group of the dense layer before them.

    A kernel that makes whole rows of logits has all that their losses and the gradient of the
    logits need. A group of kind row_loss holds the layer, ROW_CE or ROW_SPARSE_CE, the gradient of
    the loss, and the gradient of the layer's input with its element-wise tail. Behind it stay the
    mean of the rows' losses, and the gradients of the layer's weights as a line of their own. What
    the gradient starts from is filled in before the group.

    The layer must be short enough for one work group to have whole rows, and what the moved lines
    read and write must be free from the layer's place to their own.

    Args:
        program: any program; gradients are fused already.
        target: says whether kernels can do this, and how long rows may be.
    """
    if not target.fuses_row_losses:
        return program
    while (found := _Search(program, target).first()) is not None:
        program = _rewritten(program, found)
    return program


class _Line(NamedTuple):
    section: str
    ins: Instruction


@dataclass(frozen=True)
class _RowLoss:
    """Places of the lines that make a group; -1 or nothing where there is none.

    Attributes:
        maker: the dense layer.
        loss: the loss of its rows.
        seed: the line that fills in the loss's own gradient.
        gradient: the gradient of the logits.
        back: the gradient of the layer's input, with the lines of its group.
    """

    maker: int
    loss: int
    seed: int = -1
    gradient: int = -1
    back: range = range(0)


class _Search:
    """Finds what can become a group.

    Args:
        program: where.
        target: what kernels can do.
    """

    def __init__(self, program: Program, target: Target) -> None:
        self._program = program
        self._target = target
        self._lines = list(program)
        self._groups = _groups(self._lines)
        self._reads = [program.reads(ins) for ins in self._lines]
        self._writes = [program.writes(ins) for ins in self._lines]

    def first(self) -> _RowLoss | None:
        """The first loss that can join its layer; None where there is none."""
        places = (k for k, ins in enumerate(self._lines) if isinstance(ins, LOSSES))
        return next((found for k in places if (found := self._at(k)) is not None), None)

    def _at(self, loss: int) -> _RowLoss | None:
        ins = self._lines[loss]
        maker = self._last_writer(ins.ref("p"), loss)
        if ins.value("source") != "logits" or not self._makes_rows(maker, ins.ref("p")):
            return None
        if loss in self._groups or not self._may_move([loss], maker):
            return None
        gradient = self._gradient(ins, loss)
        seed = self._last_writer(ins.ref("y").gradient, gradient)
        if not self._is_seed(seed, maker) or not self._may_move([seed, loss, gradient], maker):
            return _RowLoss(maker, loss)
        back = self._back(maker, gradient)
        if not self._may_move([seed, loss, gradient, *back], maker):
            back = range(0)
        return _RowLoss(maker, loss, seed, gradient, back)

    def _makes_rows(self, place: int, made: Ref) -> bool:
        ins = self._lines[place] if place >= 0 else None
        if not isinstance(ins, Linear) or place in self._groups or ins.y != made:
            return False
        out, depth = self._program.type_of(ins.w).shape
        return out <= self._target.row_outputs and depth <= self._target.row_inputs

    def _gradient(self, ins: Instruction, loss: int) -> int:
        """The line that sets the gradient of a loss; -1 where none does."""
        for place in range(loss + 1, len(self._lines)):
            grad_ins = self._lines[place]
            if (
                not isinstance(grad_ins, GradInstruction)
                or grad_ins.forward is not type(ins)
                or place in self._groups
            ):
                continue
            same = all(grad_ins.ref(name) == ins.ref(name) for name in ("p", "t", "y", "weights"))
            if same and grad_ins.sets("p") and [name for name, _ in grad_ins.targets()] == ["p"]:
                return place
        return -1

    def _is_seed(self, place: int, maker: int) -> bool:
        return place > maker and isinstance(self._lines[place], Fill) and place not in self._groups

    def _back(self, maker: int, gradient: int) -> range:
        """The places of the gradient of the layer's input; none where it is not set there."""
        layer = self._lines[maker]
        for place in range(gradient + 1, len(self._lines)):
            grad_ins = self._lines[place]
            if (
                isinstance(grad_ins, GradInstruction)
                and grad_ins.forward is Linear
                and grad_ins.ref("y") == layer.ref("y")
            ):
                own = all(grad_ins.ref(name) == layer.ref(name) for name in ("x", "w"))
                made = any(name == "x" for name, _ in grad_ins.targets()) and grad_ins.sets("x")
                return self._places_of(place) if own and made else range(0)
        return range(0)

    def _places_of(self, place: int) -> range:
        """A line by itself, or the group it is the first part of; none within other groups."""
        group = self._groups.get(place, range(place, place + 1))
        if len(group) == 1:
            return group
        parts = [self._lines[k] for k in group[2:-1]]
        tail = all(isinstance(ins, GradInstruction) and ins.elementwise for ins in parts)
        return group if place == group[1] and tail else range(0)

    def _last_writer(self, ref: Ref, before: int) -> int:
        """The last line before a place that writes a storage; -1 where none does."""
        storage = self._program.storage(ref)
        return max((k for k in range(before) if storage in self._writes[k]), default=-1)

    def _may_move(self, places: Sequence[int], home: int) -> bool:
        """Whether lines can run at an earlier place, in the order they are in."""
        moved = set(places)
        return not any(
            self._clash(place, other)
            for place in places
            for other in range(home + 1, place)
            if other not in moved
        )

    def _clash(self, place: int, other: int) -> bool:
        own = self._written(place)
        return bool(
            own & (self._reads[other] | self._writes[other])
            or self._read(place) & self._writes[other]
        )

    def _written(self, place: int) -> frozenset[Storage]:
        """What a moved line writes; the value of a loss stays where it is made."""
        ins = self._lines[place]
        if isinstance(ins, LOSSES):
            return frozenset()
        return self._writes[place] - self._weight_gradients(ins)

    def _read(self, place: int) -> frozenset[Storage]:
        return self._reads[place] - self._weight_gradients(self._lines[place])

    def _weight_gradients(self, ins: Instruction) -> frozenset[Storage]:
        """What the part of a dense layer's gradients that stays behind writes."""
        if not isinstance(ins, GradInstruction) or ins.forward is not Linear:
            return frozenset()
        weights = (ref for name, ref in ins.targets() if name != "x")
        return frozenset(self._program.storage(ref) for ref in weights)


def _groups(lines: Sequence[Instruction]) -> dict[int, range]:
    """For every line from a FUSE to its END the places of all of them."""
    found: dict[int, range] = {}
    begin = 0
    for place, ins in enumerate(lines):
        if isinstance(ins, Fuse):
            begin = place
        elif isinstance(ins, End):
            group = range(begin, place + 1)
            found |= dict.fromkeys(group, group)
    return found


def _rewritten(program: Program, found: _RowLoss) -> Program:
    """The program with the group in the layer's place."""
    lines = [_Line(section, ins) for section, _, ins in program.located()]
    loss = lines[found.loss]
    rows = _rows(program, loss.ins)
    changes: dict[int, list[_Line]] = {k: [] for k in (found.seed, found.gradient, *found.back)}
    mean = LossMean(x=rows.ref, y=loss.ins.ref("y"), owners=loss.ins.owners)
    changes[found.loss] = [_Line(loss.section, mean)]
    group = [lines[found.maker], _Line(loss.section, _row_loss(loss.ins, rows))]
    seed: list[_Line] = []
    if found.gradient >= 0:
        seed = [lines[found.seed]]
        group.append(lines[found.gradient])
    parts = [lines[k] for k in found.back if not isinstance(lines[k].ins, Fuse | End)]
    if parts:
        section, grad_ins = parts[0]
        ours, theirs = _split(grad_ins)
        group += [_Line(section, ours), *parts[1:]]
        changes[found.back[0]] = [] if theirs is None else [_Line(section, theirs)]
    changes[found.maker] = [*seed, *_grouped(group)]
    made = program.with_lines(
        new for place, line in enumerate(lines) for new in changes.get(place, [line])
    )
    return made.with_tensors(made.tensors.update([rows]))


def _grouped(parts: Sequence[_Line]) -> list[_Line]:
    begin, *_, end = fused("row_loss", [part.ins for part in parts])
    return [_Line(parts[0].section, begin), *parts, _Line(parts[-1].section, end)]


def _rows(program: Program, loss: Instruction) -> Tensor:
    """The tensor of the losses of the rows."""
    value, p = program.tensor(loss.ref("y")), program.type_of(loss.ref("p"))
    name = f"{value.name}/rows"
    return Tensor(program.next_id(), name, p.shape[:-1], layer=value.layer)


def _row_loss(loss: Instruction, rows: Tensor) -> Instruction:
    operands = {name: loss.ref(name) for name in ("p", "t", "weights")}
    cls = next(row for whole, row in ROW_LOSSES.items() if isinstance(loss, whole))
    return cls(**operands, y=rows.ref, source=loss.value("source"), owners=loss.owners)


def _split(grad_ins: Instruction) -> tuple[Instruction, Instruction | None]:
    """A dense layer's gradients as that of its input and those of its weights, where wanted."""
    weights = (
        [name for name, _ in grad_ins.targets() if name != "x"]
        if isinstance(grad_ins, GradInstruction)
        else []
    )
    if not weights:
        return grad_ins, None
    sets, skip = grad_ins.value("set"), grad_ins.value("skip")
    kept = [name for name in sets if name != "x"]
    ours = grad_ins.replace(set=("x",), skip=(*skip, *weights))
    return ours, grad_ins.replace(set=kept, skip=(*skip, "x"))
