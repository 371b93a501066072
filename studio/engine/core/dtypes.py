"""The six element types a tensor may have, with their sizes on the host and on the device."""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

import numpy as np

from studio.engine.core.errors import ParameterError, quoted

NumpyDType: TypeAlias = "np.dtype[np.generic]"
"""A NumPy dtype of any scalar type."""

NumpyDTypeLike: TypeAlias = "np.dtype[np.generic] | type[np.generic]"
"""A NumPy dtype or scalar type."""


class DType(Enum):
    """An element type; ``DType.float32.name`` is the name written in listings and files.

    float32 is the compute type, the others are storage types. The value of a member is its
    ``code``, the number that stands for it in the binary instruction form; codes are never reused.
    """

    float32 = 1
    float16 = 2
    int32 = 3
    uint8 = 4
    bool = 5
    int8 = 6

    @property
    def code(self) -> int:
        """The stable number of this type in the binary instruction form."""
        return int(self.value)

    @property
    def np(self) -> NumpyDType:
        """The NumPy dtype, in native byte order."""
        return np.dtype(self.name)

    @property
    def itemsize(self) -> int:
        """Bytes per element on the host (a bool is one byte there)."""
        return self.np.itemsize

    @property
    def device_itemsize(self) -> int:
        """Bytes per element on the device.

        A bool is a whole 32-bit word there, since GLSL 4.3 has no byte stores; uint8, int8 and
        float16 stay packed, four, four and two to a word.
        """
        return 4 if self is DType.bool else self.itemsize

    def __str__(self) -> str:
        return self.name

    @classmethod
    def parse(cls, name: str) -> DType:
        """The type called ``name``; raises ParameterError for any other name."""
        member = cls.__members__.get(name)
        if member is None:
            raise ParameterError(
                f"unknown dtype: expected one of {_NAMES}, got {quoted(name)}", who="dtype"
            )
        return member

    @classmethod
    def from_code(cls, code: int) -> DType:
        """The type whose binary code is ``code``; raises ParameterError for any other number."""
        for member in cls:
            if member.value == code:
                return member
        raise ParameterError(
            f"unknown dtype code: expected 1 to {len(cls)}, got {code}", who="dtype"
        )

    @classmethod
    def of(cls, dtype: NumpyDTypeLike) -> DType:
        """The type that stores elements of a NumPy dtype, whatever its byte order.

        Raises ParameterError where there is none (float64, int64, strings, objects …).
        """
        found = np.dtype(dtype)
        member = cls.__members__.get(found.name)
        if member is None:
            raise ParameterError(
                f"unsupported array dtype: expected one of {_NAMES}, got {found.name}",
                who="dtype",
                hint="convert the array first, for instance with .astype('float32')",
            )
        return member


_NAMES = ", ".join(DType.__members__)
