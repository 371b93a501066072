"""Takes frozen batch normalisations into the weights of the product before them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from studio.engine.compiler.rewriting import (
    merged_owners,
    pinned,
    uses_of,
    with_lines,
    without_tensors,
)
from studio.engine.core.tensor import Ref, Role, Tensor
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.conv import Conv2D, DepthwiseConv2D
from studio.engine.isa.ops.linear import Linear
from studio.engine.isa.ops.norm import BatchNorm, BatchNorm2D, BatchNormBase
from studio.engine.isa.program import Program

Array = npt.NDArray[np.generic]
Read = Callable[[str], Array]
Wide = npt.NDArray[np.float64]


class Scaled(NamedTuple):
    """Weights as a product: those named ``source``, times factors that broadcast to them."""

    source: str
    factors: Wide


class Folded(NamedTuple):
    """A program without the normalisations, and values of the parameters it has in their place.

    Attributes:
        program: the program.
        values: of the derived parameters by name.
        scaled: those of them that are weights, as products.
    """

    program: Program
    values: dict[str, npt.NDArray[np.float32]]
    scaled: dict[str, Scaled]


def fold_batchnorm(program: Program, read: Read) -> Folded:
    """An inference program with frozen normalisations folded into convolutions and dense layers.

    With s = gamma/√(var + eps) the weights become w·s and the bias (b - mean)·s + beta. A program
    holds no values, so the folded ones are derived parameters ``<weights>/folded`` whose values,
    made in float64 and rounded once, come back beside the program and must be written to its
    session. They are snapshots: fold again when the parameters have changed. Folded is a
    normalisation whose input nothing else reads. Training programs are left alone.

    Args:
        program: an inference or evaluation program.
        read: gives the value of a parameter or running statistic by name.
    """
    if program.mode == "train" or program.section("backward"):
        return Folded(program, {}, {})
    values: dict[str, npt.NDArray[np.float32]] = {}
    scaled: dict[str, Scaled] = {}
    while (folding := _next_folding(program)) is not None:
        program = folding.apply(read, values, scaled)
    program = _without_leftovers(program)
    kept = {n: v for n, v in values.items() if program.tensors.has_name(n)}
    return Folded(program, kept, {n: each for n, each in scaled.items() if n in kept})


class _Folding(NamedTuple):
    """A producer and the normalisation behind it."""

    program: Program
    place: int
    producer: Instruction
    norm_place: int
    norm: Instruction

    def apply(
        self,
        read: Read,
        values: dict[str, npt.NDArray[np.float32]],
        scaled: dict[str, Scaled],
    ) -> Program:
        """The program after this folding; derived values go into ``values`` and ``scaled``."""

        def value(ref: Ref) -> Wide:
            name = self.program.tensors[ref.id].name
            return np.asarray(values.get(name) if name in values else read(name), np.float64)

        weights = self.program.tensors[self.producer.ref("w").id]
        scale, shift = self._scale_and_shift(value)
        along = self._along_outputs(scale, weights.shape)
        folded = value(weights.ref) * along
        made = [
            self._derived(weights, "folded", 0, weights.shape),
            self._derived(weights, "folded_bias", 1, scale.shape),
        ]
        values[made[0].name] = folded.astype(np.float32)
        values[made[1].name] = shift.astype(np.float32)
        source, before = scaled.get(weights.name, Scaled(weights.name, np.ones(())))
        factors = along.reshape((1,) * (len(weights.shape) - along.ndim) + along.shape)
        scaled[made[0].name] = Scaled(source, before * factors)
        line = self.producer.replace(
            w=made[0].ref,
            b=made[1].ref,
            y=self.norm.ref("y"),
            owners=merged_owners(self.producer, self.norm),
        )
        changed = with_lines(self.program, {self.place: (line,), self.norm_place: ()})
        # The result stays where the product stood; its readers all come later.
        grown = changed.with_tensors(changed.tensors.update(made))
        return without_tensors(grown, [self.producer.ref("y").id])

    def _scale_and_shift(self, value: Callable[[Ref], Wide]) -> tuple[Wide, Wide]:
        norm = self.norm
        mean, var = value(norm.ref("mean")), value(norm.ref("var"))
        gamma = value(norm.ref("gamma")) if norm.ref("gamma").present else np.ones_like(var)
        beta = value(norm.ref("beta")) if norm.ref("beta").present else np.zeros_like(var)
        scale = gamma / np.sqrt(var + norm.value("eps"))
        bias = self.producer.ref("b")
        before = value(bias) if bias.present else np.zeros_like(var)
        return scale, (before - mean) * scale + beta

    def _along_outputs(self, scale: Wide, shape: tuple[int, ...]) -> Wide:
        if isinstance(self.producer, Linear):
            return scale[:, None]
        return scale.reshape(shape[2:]) if isinstance(self.producer, DepthwiseConv2D) else scale

    def _derived(self, weights: Tensor, port: str, offset: int, shape: tuple[int, ...]) -> Tensor:
        name = f"{weights.name}/{port}"
        count = 2
        while self.program.tensors.has_name(name):
            name, count = f"{weights.name}/{port}_{count}", count + 1
        return Tensor(
            self.program.next_id() + offset, name, shape, role=Role.PARAM,
            layer=weights.layer, port=port,
        )  # fmt: skip


def _next_folding(program: Program) -> _Folding | None:
    uses = uses_of(program)
    kept = pinned(program)
    lines = list(program)
    writers = {ins.ref("y").id: i for i, ins in enumerate(lines) if _is_product(ins)}
    for place, norm in enumerate(lines):
        if not isinstance(norm, BatchNormBase) or not norm.frozen:
            continue
        x = norm.ref("x")
        if x.id not in writers or x.id in kept or len(uses.get(x.id, ())) != 1:
            continue
        producer = lines[writers[x.id]]
        if _fits(program, producer, norm):
            return _Folding(program, writers[x.id], producer, place, norm)
    return None


def _is_product(ins: Instruction) -> bool:
    return isinstance(ins, Conv2D | DepthwiseConv2D | Linear)


def _fits(program: Program, producer: Instruction, norm: Instruction) -> bool:
    """Whether the statistics are one per output of the producer."""
    if isinstance(norm, BatchNorm2D):
        return True
    rank = len(program.tensors[producer.ref("y").id].shape)
    return isinstance(norm, BatchNorm) and isinstance(producer, Linear) and rank == 2


def _without_leftovers(program: Program) -> Program:
    """The program without parameters and statistics that only the folded lines used."""
    used = {ref.id for ins in program for ref in ins.operands}
    used |= {*program.inputs, *program.outputs}
    used |= {t.view_of for t in program.tensors.values() if t.view_of is not None}
    gone = [
        t.id
        for t in program.tensors.values()
        if t.role in (Role.PARAM, Role.STATE) and t.id not in used
    ]
    return without_tensors(program, gone)
