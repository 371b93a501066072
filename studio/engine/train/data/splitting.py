"""Which samples are held out: deterministic index plans for random, stratified and tail splits."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import DataError, ParameterError
from studio.engine.core.philox import permutation, stream_of

Indices: TypeAlias = npt.NDArray[np.int32]

SPLIT_STREAM = stream_of("data/split")
"""The Philox stream of random splits."""


def training_count(n: int, fraction: float) -> int:
    """How many of ``n`` samples stay for training when ``fraction`` is held out.

    It is ``floor(n * (1 - fraction))`` in float64, the rule of Keras' ``validation_split``. Raises
    ParameterError for a fraction outside (0, 1), DataError where one part would be empty.
    """
    if not 0.0 < fraction < 1.0:
        raise ParameterError(
            f"the held-out fraction must lie between 0 and 1: got {fraction}", who="split"
        )
    kept = math.floor(n * (1.0 - fraction))
    if kept == 0 or kept == n:
        raise DataError(
            f"a split must leave samples on both sides: holding out {fraction} of {n} samples "
            f"gives {kept} and {n - kept}",
            who="split",
        )
    return kept


def tail_split_indices(n: int, fraction: float) -> tuple[Indices, Indices]:
    """The first ``training_count`` indices and the rest, in their order."""
    order = np.arange(n, dtype=np.int32)
    kept = training_count(n, fraction)
    return order[:kept], order[kept:]


def random_split_indices(n: int, fraction: float, seed: int) -> tuple[Indices, Indices]:
    """A Philox permutation cut in two: the first ``training_count`` indices and the rest."""
    order = permutation(seed, SPLIT_STREAM, 0, n)
    kept = training_count(n, fraction)
    return order[:kept], order[kept:]


def stratified_split_indices(
    labels: npt.NDArray[np.int32], fraction: float, seed: int
) -> tuple[Indices, Indices]:
    """A random split that holds out the same share of every class, as near as whole samples allow.

    The parts have the sizes of `random_split_indices`. Each class gives the whole part of its
    share; the rest goes to the largest remainders (the lower class on a tie), and the only sample
    of a class is held out last. Both parts keep the order of the permutation.

    Args:
        labels: class index of each sample, int32[n].
        fraction: the share to hold out.
        seed: 64-bit seed.
    """
    n = len(labels)
    order = permutation(seed, SPLIT_STREAM, 0, n)
    quota = _held_out_per_class(np.bincount(labels), n - training_count(n, fraction))
    by_class = order[np.argsort(labels[order], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(labels))])
    chosen = np.zeros(n, dtype=bool)
    for begin, count in zip(starts, quota, strict=False):
        chosen[by_class[begin : begin + count]] = True
    held = chosen[order]
    return order[~held], order[held]


def _held_out_per_class(counts: npt.NDArray[np.intp], held: int) -> npt.NDArray[np.intp]:
    """How many of each class to hold out, ``held`` in all, by largest remainder."""
    exact = counts.astype(object) * held
    total = int(counts.sum())
    quota = np.array([int(share) // total for share in exact], dtype=np.intp)
    remainder = np.array([int(share) % total for share in exact], dtype=np.int64)
    would_empty = quota + 1 >= counts
    ranking = np.lexsort((np.arange(len(counts)), -remainder, would_empty))
    open_classes = [rank for rank in ranking if quota[rank] < counts[rank]]
    for rank in open_classes[: held - int(quota.sum())]:
        quota[rank] += 1
    return quota


def divided_indices(
    labels: npt.NDArray[np.int32] | None, n: int, fraction: float, seed: int
) -> tuple[Indices, Indices]:
    """The indices that stay for training and those held out: stratified where there are classes.

    Args:
        labels: class index of each sample; None where samples have no one class each.
        n: samples.
        fraction: the share to hold out.
        seed: 64-bit seed.
    """
    if labels is None:
        return random_split_indices(n, fraction, seed)
    return stratified_split_indices(labels, fraction, seed)
