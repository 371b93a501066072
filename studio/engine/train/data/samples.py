"""Arrays of one part of the data as they lie on the device: inputs, targets, weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import DataError
from studio.engine.core.tensor import Shape
from studio.engine.train.data.stored_rows import SampleArray, StoredRows, chosen_rows

Array: TypeAlias = npt.NDArray[np.generic]
Weights: TypeAlias = npt.NDArray[np.float32]

_LARGEST = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Samples:
    """Equally long arrays.

    Attributes:
        inputs: one array [n, …] per input of the network, in storage types; some may stay in
            their files.
        targets: one array [n, …] per output, None for one without targets; class indices are
            int32[n].
        weights: float32[n] or float32[n, positions]: one for all outputs, or one for each output,
            None where all samples of an output count the same; empty without any.
    """

    inputs: tuple[SampleArray, ...]
    targets: tuple[Array | None, ...] = ()
    weights: tuple[Weights | None, ...] = ()

    def __post_init__(self) -> None:
        lengths = {len(array) for array in self.arrays()}
        if len(lengths) != 1 or 0 in lengths:
            raise DataError(
                "inputs, targets and weights need the same number of samples, at least one: got "
                f"{', '.join(str(n) for n in sorted(lengths)) or 'none'}",
                who="data",
            )

    def __len__(self) -> int:
        return len(self.inputs[0])

    @property
    def parts(self) -> tuple[Samples, ...]:
        """The samples of each length, here all of them."""
        return (self,)

    def arrays(self) -> tuple[SampleArray, ...]:
        """All of them: inputs, targets, weights."""
        own = (array for array in (*self.targets, *self.weights) if array is not None)
        return (*self.inputs, *own)

    @property
    def row_bytes(self) -> int:
        """Bytes of one sample with targets and weight."""
        return max(1, sum(array.nbytes // len(array) for array in self.arrays()))

    @property
    def stored_budget(self) -> int:
        """Bytes of memory that samples may take which stay in their files; 0 where none do."""
        found = (each.budget for each in self.inputs if isinstance(each, StoredRows))
        return min(found, default=0)

    def subset(self, indices: npt.NDArray[np.int32]) -> Samples:
        """The samples at ``indices``, in that order; those in memory are copied."""
        return Samples(
            tuple(chosen_rows(array, indices) for array in self.inputs),
            tuple(None if array is None else array[indices] for array in self.targets),
            tuple(None if array is None else array[indices] for array in self.weights),
        )


class Batch(NamedTuple):
    """Rows that make a step: which of the parts they are in, the first, and how many."""

    part: int
    first: int
    rows: int


@dataclass(frozen=True, eq=False)
class MixedSamples(Samples):
    """Samples of several lengths; its own arrays are those of the first length.

    Attributes:
        others: samples of each other length.
        batches: the steps, where these are settled; empty to cut each part into batches.
    """

    others: tuple[Samples, ...] = ()
    batches: tuple[Batch, ...] = ()

    def __len__(self) -> int:
        return sum(len(part.inputs[0]) for part in (self, *self.others))

    @property
    def parts(self) -> tuple[Samples, ...]:
        """The samples of each length."""
        return (Samples(self.inputs, self.targets, self.weights), *self.others)

    @property
    def row_bytes(self) -> int:
        """Bytes of the largest sample with targets and weight."""
        return max(part.row_bytes for part in self.parts)

    def subset(self, indices: npt.NDArray[np.int32]) -> Samples:
        """Refused with DataError: samples of several lengths have no common order."""
        raise DataError("expected samples of one length to take a part of", who="data",
                        hint="give validation_data instead of validation_split")  # fmt: skip


def of_one_type(parts: Sequence[Samples]) -> list[Samples]:
    """The parts with one type for each array: float32 where one part has floats, else int32.

    An array that has one type in all parts keeps it.
    """
    inputs = zip(
        *map(_of_one_type, zip(*(part.inputs for part in parts), strict=True)), strict=True
    )
    targets = [_of_one_type(each) for each in zip(*(part.targets for part in parts), strict=True)]
    return [
        Samples(
            tuple(array for array in own if array is not None),
            tuple(each[index] for each in targets),
            part.weights,
        )
        for index, (part, own) in enumerate(zip(parts, inputs, strict=True))
    ]


def _of_one_type(arrays: Sequence[Array | None]) -> list[Array | None]:
    types = {array.dtype for array in arrays if array is not None}
    if len(types) < 2:
        return list(arrays)
    wanted = np.float32 if any(each.kind == "f" for each in types) else np.int32
    return [None if array is None else array.astype(wanted) for array in arrays]


def weight_shapes(*samples: Samples | None) -> tuple[Shape | None, ...]:
    """What a program sees of the weights that at least one part has; the others weigh 1.

    Where some weigh samples and others positions, it sees weights of positions. Their length is
    that of the first part that has such.
    """
    parts = [part for each in samples if each is not None for part in each.parts]
    count = max((len(part.weights) for part in parts), default=0)
    found: list[Shape | None] = []
    for index in range(count):
        own = (weight_of(part, index) for part in parts)
        shapes = [weight.shape[1:] for weight in own if weight is not None]
        found.append(max(shapes, key=len, default=None))
    return tuple(found)


def weight_of(samples: Samples, index: int) -> Weights | None:
    """The weights for one output, by its place; None where all samples count the same."""
    given = samples.weights
    return given[index if len(given) > 1 else 0] if given else None


def filled_weight(samples: Samples, index: int, shape: Shape) -> Weights:
    """The weights for one output in the shape a program takes.

    Ones where samples have none; the weight of a sample counts at all of its positions.
    """
    own = weight_of(samples, index)
    if own is None:
        return np.ones((len(samples), *shape), np.float32)
    missing = len(shape) - (own.ndim - 1)
    if missing <= 0:
        return own
    wide = own.reshape(own.shape + (1,) * missing)
    return np.ascontiguousarray(np.broadcast_to(wide, (len(own), *shape)))


def stored_array(values: object, who: str) -> Array:
    """Values in a type that samples are stored in, without loss of meaning.

    uint8, int32 and float32 stay; bool becomes uint8, other whole numbers int32, other floats
    float32. DataError for anything else, for numbers that do not fit, and for NaN and infinity.
    """
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise DataError(
            "expected an array of numbers, got rows of different lengths", who=who,
            hint="a network of unknown length takes a list with an array for each sample",
        ) from error  # fmt: skip
    if array.dtype.kind == "b":
        return array.astype(np.uint8)
    if array.dtype in (np.dtype(np.uint8), np.dtype(np.int32)):
        return array
    if array.dtype.kind in "iu":
        if array.size and (array.max() > _LARGEST or array.min() < -_LARGEST - 1):
            raise DataError("whole numbers must fit 32 bits", who=who)
        return array.astype(np.int32)
    if array.dtype.kind != "f":
        raise DataError(f"expected an array of numbers, got {array.dtype}", who=who)
    with np.errstate(over="ignore"):
        found = array.astype(np.float32)
    if not np.isfinite(found).all():
        row = int(np.argmin(np.isfinite(found).reshape(len(found), -1).all(axis=1)))
        raise DataError(f"sample {row} holds NaN or infinity", who=who)
    return found
