"""The seed of random operations: every draw of a thread has a number of its own."""

from __future__ import annotations

import threading

import numpy as np

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ParameterError
from studio.engine.core.tensor import TensorType
from studio.engine.isa.ops.data import STEP_WORDS, StepWord
from studio.engine.ops.patterns import kind_of
from studio.engine.ops.values import Value


class _Draws(threading.local):
    """Seed and number of the next draw of one thread."""

    seed = 0
    number = 0


_DRAWS = _Draws()
_MOST = 1 << 64


def seed(number: int) -> None:
    """Begin a series of random numbers; the same seed gives the same series on every device.

    Args:
        number: 0 to 2⁶⁴ - 1. A thread that sets none begins with 0.

    Raises:
        ParameterError: another number.
    """
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < _MOST:
        raise ParameterError(f"a seed is a whole number from 0 to 2^64 - 1: got {number!r}",
                             who="seed")  # fmt: skip
    _DRAWS.seed, _DRAWS.number = number, 0


def next_block() -> Value:
    """The step block of the next draw."""
    words = np.zeros(STEP_WORDS, np.uint32)
    words[StepWord.STEP] = _DRAWS.number & 0x7FFFFFFF
    words[StepWord.SEED_LOW] = _DRAWS.seed & 0xFFFFFFFF
    words[StepWord.SEED_HIGH] = _DRAWS.seed >> 32
    _DRAWS.number += 1
    return Value(kind_of(TensorType((STEP_WORDS,), DType.int32)), words.view(np.int32))
