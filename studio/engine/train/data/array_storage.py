"""From any numeric array to the three storage types samples are kept in."""

from typing import cast

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import DataError
from studio.engine.train.data.normalization import Array


def refuse_where(
    wrong: npt.NDArray[np.bool_], values: Array, rule: str, who: str,
    numbers: npt.NDArray[np.integer] | None = None,
) -> None:  # fmt: skip
    """DataError naming the first place [n, …] where ``wrong`` is set and the value there.

    ``rule`` goes on the sentence, as in ``must fit int32``; ``numbers`` are those of the samples
    where they are not all of the set.
    """
    if wrong.any():
        place = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        where = ", ".join(str(int(i)) for i in place[1:])
        sample = int(place[0]) if numbers is None else int(numbers[place[0]])
        raise DataError(f"sample {sample}, element [{where}] {rule}: got {values[place]}", who=who)


def to_float32(
    values: Array, who: str, numbers: npt.NDArray[np.integer] | None = None
) -> npt.NDArray[np.float32]:
    """``values`` [n, …] as float32; DataError with the place of a NaN, infinity or overflow."""
    with np.errstate(over="ignore"):
        result = np.ascontiguousarray(values, dtype=np.float32)
    rule = "must be a finite number within float32"
    refuse_where(~np.isfinite(result), values, rule, who, numbers)
    return result


def storage_type(dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """The type that `to_storage` makes of numbers of a type."""
    return to_storage(np.empty(0, dtype.newbyteorder("=")), "").dtype


def to_storage(values: Array, who: str, numbers: npt.NDArray[np.integer] | None = None) -> Array:
    """``values`` [n, …] as uint8, int32 or float32, contiguous and in native byte order.

    uint8 stays and bool becomes uint8; other whole numbers become int32; float16, float32 and
    float64 become float32.

    Args:
        values: the samples.
        who: what errors call them.
        numbers: those of the samples, for errors, where they are not all of the set.

    Raises:
        DataError: a NaN, an infinity or a number beyond the type, named by its place; or a type
            with no numbers in it.
    """
    kind, size = values.dtype.kind, values.dtype.itemsize
    if kind == "b" or (kind == "u" and size == 1):
        return np.ascontiguousarray(values, dtype=np.uint8)
    if kind == "f":
        return to_float32(values, who, numbers)
    if kind not in "iu":
        raise DataError(f"expected numbers, got elements of type {values.dtype}", who=who)
    if size > 4 or (kind == "u" and size == 4):
        bounds = np.iinfo(np.int32)
        whole = cast("npt.NDArray[np.int64]", values)
        outside = (whole > bounds.max) | (whole < bounds.min)
        refuse_where(outside, values, "must fit int32", who, numbers)
    return np.ascontiguousarray(values, dtype=np.int32)
