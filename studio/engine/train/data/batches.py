"""What a training loop asks of a data set: epoch order, sample weights, one-hot labels."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import ParameterError, quoted
from studio.engine.core.philox import permutation, stream_of

Indices: TypeAlias = npt.NDArray[np.int32]
Floats: TypeAlias = npt.NDArray[np.float32]

SHUFFLE_STREAM = stream_of("data/shuffle")
"""The Philox stream of the order of samples within an epoch."""


def epoch_order(seed: int, epoch: int, n: int, shuffle: bool) -> Indices:
    """The order in which an epoch visits ``n`` samples: int32[n], each index once.

    Args:
        seed: 64-bit run seed.
        epoch: number of the epoch, from 0; each has its own order.
        n: samples.
        shuffle: False gives 0 … n-1.
    """
    if n < 1:
        raise ParameterError(f"an epoch needs samples: got {n}", who="batches")
    return permutation(seed, SHUFFLE_STREAM, epoch, n) if shuffle else np.arange(n, dtype=np.int32)


def batch_count(n: int, batch_size: int) -> int:
    """Batches per epoch, the last partial one included."""
    if n < 1 or batch_size < 1:
        raise ParameterError(
            f"batches need samples and a size of at least 1: got {n} and {batch_size}",
            who="batches",
        )
    return -(-n // batch_size)


def class_weights(
    choice: Literal["balanced"] | Mapping[str | int, float],
    labels: Indices,
    class_names: Sequence[str],
) -> Floats:
    """The weight of each sample by its class, float32[n].

    Args:
        choice: ``balanced`` gives class c the weight n / (classes present * samples of c), so that
            all classes weigh the same and the mean weight is 1; a mapping gives the weight by class
            name or index, 1 where it is silent (as Keras does).
        labels: class index of each sample, int32[n].
        class_names: names of all classes.

    Raises:
        ParameterError: an unknown class, a class named twice, a weight that is negative or not
            finite, or weights that are all 0.
    """
    counts = np.bincount(labels, minlength=len(class_names))
    per_class = np.ones(len(class_names))
    if isinstance(choice, str):
        if choice != "balanced":
            raise ParameterError(
                f"class weights must be 'balanced' or a table: got {quoted(choice)}",
                who="class weights",
            )
        present = np.count_nonzero(counts)
        per_class = len(labels) / (present * np.maximum(counts, 1).astype(np.float64))
    else:
        seen: set[int] = set()
        for key, weight in choice.items():
            index = _class_index(key, class_names)
            if index in seen:
                raise ParameterError(
                    f"class {class_names[index]!r} has two weights", who="class weights"
                )
            seen.add(index)
            if not (np.isfinite(weight) and weight >= 0):
                raise ParameterError(
                    f"the weight of class {quoted(key)} must be a finite number of at least 0: "
                    f"got {weight}",
                    who="class weights",
                )
            per_class[index] = weight
    if not per_class[counts > 0].any():
        raise ParameterError("all class weights are 0: nothing would train", who="class weights")
    return per_class.astype(np.float32)[labels]


def _class_index(key: str | int, class_names: Sequence[str]) -> int:
    if isinstance(key, str) and key in class_names:
        return list(class_names).index(key)
    if isinstance(key, int) and not isinstance(key, bool) and 0 <= key < len(class_names):
        return key
    raise ParameterError(
        f"there is no class {quoted(key)}: the classes are {', '.join(class_names[:12])}"
        f"{', …' if len(class_names) > 12 else ''}",
        who="class weights",
    )


def one_hot(labels: Indices, classes: int) -> Floats:
    """Rows with a 1 at the class of each label, float32[n, classes].

    Raises:
        ParameterError: a label lies outside 0 … classes - 1.
    """
    outside = np.flatnonzero((labels < 0) | (labels >= classes))
    if outside.size:
        raise ParameterError(
            f"labels must be 0 to {classes - 1}: got {labels[outside[0]]} in sample {outside[0]}",
            who="one-hot",
        )
    result = np.zeros((len(labels), classes), np.float32)
    result[np.arange(len(labels)), labels] = 1.0
    return result
