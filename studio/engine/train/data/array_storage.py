"""From any numeric array to the three storage types samples are kept in."""

from typing import cast

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import DataError
from studio.engine.train.data.labels import to_float32
from studio.engine.train.data.normalization import Array


def to_storage(values: Array, who: str) -> Array:
    """``values`` [n, …] as uint8, int32 or float32, contiguous and in native byte order.

    uint8 stays and bool becomes uint8; other whole numbers become int32; float16, float32 and
    float64 become float32.

    Raises:
        DataError: a NaN, an infinity or a number beyond the type, named by its place; or a type
            with no numbers in it.
    """
    kind, size = values.dtype.kind, values.dtype.itemsize
    if kind == "b" or (kind == "u" and size == 1):
        return np.ascontiguousarray(values, dtype=np.uint8)
    if kind == "f":
        return to_float32(values, who)
    if kind not in "iu":
        raise DataError(f"expected numbers, got elements of type {values.dtype}", who=who)
    if size > 4 or (kind == "u" and size == 4):
        bounds = np.iinfo(np.int32)
        whole = cast("npt.NDArray[np.int64]", values)
        outside = (whole > bounds.max) | (whole < bounds.min)
        if outside.any():
            place = np.unravel_index(int(np.argmax(outside)), values.shape)
            where = ", ".join(str(int(i)) for i in place[1:])
            raise DataError(
                f"sample {int(place[0])}, element [{where}] must fit int32: got {values[place]}",
                who=who,
            )
    return np.ascontiguousarray(values, dtype=np.int32)
