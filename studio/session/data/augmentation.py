"""What augmentation makes of samples: the same instructions a training step runs, on a few rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from studio.engine.compiler.lower_augment import Augmentation
from studio.engine.compiler.lower_data import DataSection, DataSpec, Source
from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import BATCH, ROWS, Ref, Role, Tensor
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.ops.data import STEP_WORDS, StepWord
from studio.engine.isa.program import Program
from studio.engine.train.data.normalization import Array, Floats, Normalization
from studio.engine.train.devices import open_backend

_MASK = 0xFFFFFFFF
_OWNER = "data"


@dataclass(frozen=True, eq=False)
class AugmentedSamples:
    """Samples as the network gets them without and with augmentation, in raw values.

    Attributes:
        before: float32 [samples, height, width, channels].
        after: float32 [samples, epochs, height, width, channels], mapped back through the
            normalisation.
    """

    before: Floats
    after: Floats


def augmented(
    rows: Array,
    indices: Sequence[int],
    steps: Sequence[Augmentation],
    normalization: Normalization,
    *,
    seed: int,
    epochs: int,
) -> AugmentedSamples:
    """What the first epochs of a training make of some samples.

    Args:
        rows: the samples, pictures [n, height, width, channels] as stored.
        indices: where they stand in the training part, which decides what is drawn for them.
        steps: the augmentations, in order.
        normalization: applied before them, as in training.
        seed: the training's seed.
        epochs: how many epochs to show; every one draws anew.

    Raises:
        ShapeError: the samples are no pictures.
    """
    source = Source(
        tuple(rows.shape[1:]),
        DType.of(rows.dtype),
        tuple(float(v) for v in normalization.scale),
        tuple(float(v) for v in normalization.shift),
    )
    program = _program(DataSpec((source,), augment=tuple(steps)))
    made = np.empty((len(rows), epochs, *rows.shape[1:]), np.float32)
    with open_backend("cpu") as opened:
        session = opened.backend.open_session()
        try:
            session.ensure(_resident(program), 1)
            session.write("train/order", np.zeros(1, np.int32))
            executable = opened.backend.compile(program, session, 1)
            for number, (row, index) in enumerate(zip(rows, indices, strict=True)):
                session.write("data/x", np.ascontiguousarray(row[np.newaxis]))
                for epoch in range(epochs):
                    session.write("train/step", _step_block(seed, epoch, index))
                    executable.run()
                    answer = executable.fetch(Ref(program.outputs[0])).result()
                    made[number, epoch] = answer[0]
            executable.close()
        finally:
            session.close()
    return AugmentedSamples(rows.astype(np.float32), normalization.invert(made))


def _program(spec: DataSpec) -> Program:
    """The data section of a training program and nothing behind it."""
    builder = ProgramBuilder("augmentation", "train")
    with builder.owned_by(_OWNER):
        target = builder.tensor("batch", (BATCH, *spec.inputs[0].shape))
        DataSection(builder, "train", spec).feed_input(0, target, _OWNER)
    return builder.finish((), (target,))


def _step_block(seed: int, epoch: int, index: int) -> npt.NDArray[np.int32]:
    """The step block of a batch that begins with sample ``index``, the only one resident."""
    words = np.zeros(STEP_WORDS, np.int64)
    words[StepWord.EPOCH] = epoch
    words[StepWord.SEED_LOW] = seed & _MASK
    words[StepWord.SEED_HIGH] = seed >> 32 & _MASK
    words[StepWord.OFFSET] = index
    return words.astype(np.uint32).view(np.int32)


def _resident(program: Program) -> list[Tensor]:
    return [
        t
        for t in program.of_role(Role.DATA, Role.STEP)
        if t.shape[:1] == (ROWS,) or t.role is Role.STEP
    ]
