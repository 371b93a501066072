"""Sequences brought to a few lengths, so that few programs have to be compiled for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import DataError, ParameterError, quoted

Array: TypeAlias = npt.NDArray[np.generic]


def pad_to_lengths(
    samples: Iterable[npt.ArrayLike], lengths: Sequence[int] | None = None, value: float = 0.0
) -> list[Array]:
    """Each sample padded at its end to the next of some lengths.

    A `Masking` layer in the network leaves padded positions out; other networks count them.

    Args:
        samples: arrays [length, …], or lists of numbers.
        lengths: those a sample may have, in any order; powers of two unless given.
        value: what is added.

    Raises:
        DataError: a sample has no dimension, or is longer than the largest of ``lengths``.
        ParameterError: ``lengths`` are not whole numbers of at least 1.
    """
    if lengths is not None:
        for each in lengths:
            if isinstance(each, bool) or not isinstance(each, int) or each < 1:
                raise ParameterError(f"lengths: expected whole numbers from 1 up, got "
                                     f"{quoted(each)}", who="pad_to_lengths")  # fmt: skip
    found: list[Array] = []
    for index, sample in enumerate(samples):
        array = np.asarray(sample)
        if not array.ndim:
            raise DataError(f"expected samples [length, …], sample {index} is a number",
                            who="pad_to_lengths")  # fmt: skip
        wanted = _next_length(len(array), lengths)
        if wanted is None:
            raise DataError(
                f"sample {index} has {len(array)} positions, the largest length is "
                f"{max(lengths or (0,))}",
                who="pad_to_lengths",
                hint="give a larger length, or cut the sample",
            )
        around = [(0, wanted - len(array)), *[(0, 0)] * (array.ndim - 1)]
        found.append(np.pad(array, around, constant_values=value))
    return found


def _next_length(length: int, lengths: Sequence[int] | None) -> int | None:
    """The smallest length that holds so many positions; None where none does."""
    if lengths is None:
        return 1 << max(length - 1, 0).bit_length()
    return min((each for each in lengths if each >= length), default=None)
