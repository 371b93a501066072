"""Data of several lengths from Python: batches of one length each, or single samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import DataError
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.lengths import Lengths
from studio.engine.runtime.free_memory import require_memory
from studio.engine.train.data.samples import Array
from studio.engine.train.model.keras_arguments import arrays_by_name

Indices: TypeAlias = npt.NDArray[np.int32]


def are_batches(x: object, y: object) -> bool:
    """Whether ``x`` gives batches: a list of tuples, an iterator, or Keras' ``PyDataset``."""
    if y is not None or x is None or isinstance(x, tuple | str | bytes | Mapping):
        return False
    if isinstance(x, list):
        return bool(x) and all(isinstance(each, tuple) for each in x)
    is_dataset = hasattr(x, "__len__") and hasattr(x, "__getitem__") and not hasattr(x, "shape")
    return is_dataset or hasattr(x, "__next__")


def listed_batches(x: object, who: str) -> list[tuple[object, ...]]:
    """All batches, each (x, y) or (x, y, weights).

    An iterator is read to its end. DataError for no batches, and for other than such tuples;
    BackendError where they need more memory than there is.
    """
    found: list[tuple[object, ...]] = []
    size = 0
    for batch in _each(x):
        if not isinstance(batch, tuple) or len(batch) not in (2, 3):
            raise DataError(
                f"expected batches (x, y) or (x, y, weights), batch {len(found)} is "
                f"{type(batch).__name__}",
                who=who,
            )
        size += sum(_bytes_of(part) for part in batch)
        require_memory(size, "reading all batches")
        found.append(batch)
    if not found:
        raise DataError("expected batches, got none", who=who)
    return found


def _each(x: object) -> Iterable[object]:
    if hasattr(x, "__len__") and hasattr(x, "__getitem__"):
        return (x[index] for index in range(len(x)))
    return x if isinstance(x, Iterable) else ()


def _bytes_of(value: object) -> int:
    if isinstance(value, Mapping):
        return sum(map(_bytes_of, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(_bytes_of, value))
    return int(getattr(value, "nbytes", 0))


def single_samples(x: object, graph: LayerGraph) -> list[Sequence[Array]] | None:
    """For each input its samples one by one, where they are given so; None for arrays.

    Samples of an input are a list, or an array of objects. DataError where inputs have not equally
    many.
    """
    shapes = graph.input_shapes
    if not graph.has_unknown_lengths:
        return None
    only = len(shapes) == 1 and not isinstance(x, Mapping)
    listed = [x] if only else arrays_by_name(x, list(shapes), "x")
    if isinstance(x, list) and not only and len(x) == len(shapes):
        listed = x
    if len(listed) != len(shapes):
        return None
    found: list[Sequence[Array]] = []
    for each, shape in zip(listed, shapes.values(), strict=True):
        samples = _samples_in(each, len(shape))
        if samples is None:
            return None
        found.append(samples)
    if len({len(each) for each in found}) > 1:
        counts = ", ".join(str(len(each)) for each in found)
        raise DataError(f"all inputs need the same number of samples, got {counts}", who=graph.name)
    return found


def _samples_in(value: object, rank: int) -> list[Array] | None:
    """Samples of ``rank`` dimensions, where a value is a list of such or an array of objects."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return None
    if not isinstance(value, list | np.ndarray) or not len(value):
        return None
    if not all(hasattr(each, "shape") for each in value):
        return None
    samples = [np.asarray(each) for each in value]
    return samples if all(each.ndim == rank for each in samples) else None


def groups_of(samples: Sequence[Sequence[Array]], graph: LayerGraph) -> dict[Lengths, Indices]:
    """Which samples have the same lengths, in order of first appearance.

    ShapeError, naming the input, where a sample does not fit.
    """
    places: dict[Lengths, list[int]] = {}
    for index, each in enumerate(zip(*samples, strict=True)):
        lengths = graph.lengths_of([tuple(sample.shape) for sample in each])
        places.setdefault(lengths, []).append(index)
    return {lengths: np.array(own, np.int32) for lengths, own in places.items()}


@dataclass(frozen=True)
class Chosen:
    """Some of the samples of a set.

    Attributes:
        indices: which.
        count: samples of the whole set.
        outputs: outputs of the network.
    """

    indices: Indices
    count: int
    outputs: int

    def of(self, values: object, what: str) -> object:
        """Targets or weights of these samples, from those of all; None for none.

        DataError, naming the argument ``what``, where there are not as many as samples.
        """
        if isinstance(values, Mapping):
            return {name: self._taken(each, what) for name, each in values.items()}
        if self.outputs > 1 and isinstance(values, list | tuple) and len(values) == self.outputs:
            return [self._taken(each, what) for each in values]
        return self._taken(values, what)

    def _taken(self, values: object, what: str) -> object:
        if values is None:
            return None
        given = list(values) if isinstance(values, list | tuple) else np.asarray(values)
        found = len(given) if isinstance(given, list) or given.ndim else 0
        if found != self.count:
            raise DataError(f"expected {self.count} entries, one for each sample, got "
                            f"{found}", who=what)  # fmt: skip
        if isinstance(given, np.ndarray) and given.dtype != object:
            return given[self.indices]
        return _stacked([given[index] for index in self.indices], what)


def _stacked(values: Sequence[object], what: str) -> Array:
    """One array of the targets or weights of samples of one length."""
    try:
        return np.stack([np.asarray(each) for each in values])
    except ValueError as error:
        raise DataError(
            "expected entries of one shape for samples of one length, got several", who=what
        ) from error


def in_order(parts: Iterable[tuple[Indices, Sequence[Array]]]) -> list[Array | list[Array]]:
    """Outputs of groups of samples in the order of the samples.

    Each output is one array, or a list with an array for each sample where their shapes differ.
    """
    placed: dict[int, Sequence[Array]] = {}
    for indices, outputs in parts:
        rows = zip(*outputs, strict=True)
        placed.update(zip(indices.tolist(), rows, strict=True))
    columns = zip(*(placed[index] for index in sorted(placed)), strict=True)
    return [
        np.stack(column) if len({each.shape for each in column}) == 1 else list(column)
        for column in columns
    ]
