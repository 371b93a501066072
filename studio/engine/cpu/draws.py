"""Random numbers keyed by the step block."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
import numpy.typing as npt

from studio.engine.core.philox import bits, philox4x32
from studio.engine.cpu.memory.views import Ints, Views
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.data import StepWord

Words = npt.NDArray[np.uint32]


def word(step: Ints, index: int) -> int:
    """A word of a step block as an unsigned number."""
    return int(step[index]) & 0xFFFFFFFF


def seed_of(step: Ints) -> int:
    """The 64-bit seed of a step block."""
    return word(step, StepWord.SEED_HIGH) << 32 | word(step, StepWord.SEED_LOW)


def step_words(step: Ints, stream: int, count: int, start: int = 0) -> Words:
    """Words ``start`` and on of the sequence of this step, the top 24 bits of each."""
    return bits(seed_of(step), stream, word(step, StepWord.STEP), count, start=start) >> np.uint32(
        8
    )


def first_element(ins: Instruction, views: Views, operand: str) -> Callable[[], int]:
    """Where the elements of an operand begin among those of all workers, asked at every step.

    Args:
        ins: a line that draws, with or without ``first``.
        views: its arrays.
        operand: what is drawn for; dimension 0 is the batch.
    """
    if not ins.ref("first").present:
        return lambda: 0
    first, shape = views.ints(ins.ref("first")), views.shape(ins.ref(operand))
    each = prod(shape[1:])
    return lambda: int(first[0]) * each


def samples_of(step: Ints, order: Ints, count: int) -> npt.NDArray[np.int64]:
    """Numbers, in the whole data set, of the samples a batch holds."""
    places = (word(step, StepWord.CURSOR) + np.arange(count)) % len(order)
    return order[places].astype(np.int64) + int(step[StepWord.OFFSET])


def sample_uniforms(
    step: Ints, stream: int, samples: npt.NDArray[np.int64], count: int
) -> npt.NDArray[np.float32]:
    """The first ``count`` uniforms of each sample in this epoch, [samples, count]."""
    blocks = -(-count // 4)
    counters = np.empty((len(samples), blocks, 4), np.uint32)
    counters[..., 0] = np.arange(blocks)
    counters[..., 1] = word(step, StepWord.EPOCH)
    counters[..., 2] = stream
    counters[..., 3] = ((samples + 1) & 0xFFFFFFFF)[:, None]
    key = np.array([word(step, StepWord.SEED_LOW), word(step, StepWord.SEED_HIGH)], np.uint32)
    words = philox4x32(counters, key).reshape(len(samples), 4 * blocks)[:, :count]
    return (words >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)
