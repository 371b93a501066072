"""Between NumPy arrays and the bytes of device storage: bool as words, halo cells, packed rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from studio.engine.core.descriptor import ShapeDescriptor
from studio.engine.core.dtypes import DType

Array = npt.NDArray[np.generic]


def device_dtype(dtype: DType) -> np.dtype[np.generic]:
    """The NumPy dtype of one element as the device stores it."""
    return np.dtype(np.uint32) if dtype is DType.bool else dtype.np


def to_device(values: Array, dtype: DType) -> Array:
    """Dense values in the device's element type, C-contiguous."""
    return np.asarray(values, dtype=device_dtype(dtype), order="C")


def padded_to_device(values: Array, descriptor: ShapeDescriptor) -> Array:
    """Values laid out with their halo, which is zero."""
    cells = np.zeros(descriptor.alloc_length(), dtype=descriptor.dtype.np)
    descriptor.view(cells)[...] = values
    return to_device(cells, descriptor.dtype)


def from_device(raw: npt.NDArray[np.uint8], descriptor: ShapeDescriptor) -> Array:
    """The dense, row-major values in a storage's bytes."""
    dtype = descriptor.dtype
    cells = raw[: descriptor.alloc_length() * dtype.device_itemsize].view(device_dtype(dtype))
    if dtype is DType.bool:
        cells = cells != 0
    return np.array(descriptor.view(cells), order="C")
