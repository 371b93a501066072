"""Device buffers on loan, ranges of them, and the sizes they come in."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from studio.engine.gl.device.device import SLICE_ALIGNMENT

BufferKind = Literal["device", "readback", "exchange"]

_SMALL_BYTES = 4096
_LARGE_BYTES = 1 << 20
_HUGE_BYTES = 32 << 20
_HUGE_STEP = 1 << 20


def size_class(nbytes: int) -> int:
    """The size a request is rounded up to, bytes.

    Multiples of 256 up to 4 KiB, then four classes per doubling (at most a quarter is wasted). From
    1 MiB on waste costs more than a miss: 32 classes per doubling, and whole MiB from 32 MiB on.
    """
    if nbytes <= _SMALL_BYTES:
        step = SLICE_ALIGNMENT
    elif nbytes <= _HUGE_BYTES:
        classes = 4 if nbytes <= _LARGE_BYTES else 32
        step = (1 << (nbytes - 1).bit_length() - 1) // classes
    else:
        step = _HUGE_STEP
    return max(step, -(-nbytes // step) * step)


@dataclass(slots=True)
class Allocation:
    """One buffer object of the driver.

    Attributes:
        name: the driver's number for it.
        capacity: bytes it holds.
        kind: what it was made for.
        mapped: host address of its bytes where it is mapped for good, else None.
    """

    name: int
    capacity: int
    kind: BufferKind
    mapped: int | None = None


@dataclass(frozen=True, slots=True)
class Slice:
    """A range of a buffer.

    Attributes:
        buffer: the buffer it lies in.
        offset: bytes from the buffer's start.
        nbytes: bytes it covers.
    """

    buffer: PoolBuffer
    offset: int
    nbytes: int


class PoolBuffer:
    """A buffer on loan from the pool.

    Attributes:
        nbytes: what was asked for, bytes.
        purpose: what it is for, as error messages and the memory view name it.
    """

    __slots__ = ("_allocation", "nbytes", "purpose")

    def __init__(self, allocation: Allocation, nbytes: int, purpose: str) -> None:
        self._allocation: Allocation | None = allocation
        self.nbytes = nbytes
        self.purpose = purpose

    @property
    def name(self) -> int:
        """The driver's number of the buffer.

        Raises:
            RuntimeError: the buffer was given back, a fault of the program.
        """
        return self.allocation.name

    @property
    def capacity(self) -> int:
        """Bytes the buffer really holds; at least ``nbytes``."""
        return self.allocation.capacity

    @property
    def memory(self) -> npt.NDArray[np.uint8] | None:
        """Its bytes as the host sees them, where it is mapped for good."""
        address = self.allocation.mapped
        if address is None:
            return None
        whole = (ctypes.c_ubyte * self.nbytes).from_address(address)
        return np.frombuffer(memoryview(whole), np.uint8)

    @property
    def allocation(self) -> Allocation:
        """What the driver holds for it; for the pool."""
        if self._allocation is None:
            raise RuntimeError(f"the buffer for {self.purpose} was used after it was given back")
        return self._allocation

    def slice(self, offset: int = 0, nbytes: int | None = None) -> Slice:
        """A range of the buffer, by default from the offset to what was asked for.

        Raises:
            ValueError: the range leaves the buffer, a fault of the program.
        """
        length = self.nbytes - offset if nbytes is None else nbytes
        if offset < 0 or length < 0 or offset + length > self.capacity:
            raise ValueError(
                f"bytes {offset} to {offset + length} leave the buffer for {self.purpose} "
                f"({self.capacity} bytes)"
            )
        return Slice(self, offset, length)

    def detach(self) -> Allocation:
        """Take what the driver holds out of it; for the pool."""
        allocation = self.allocation
        self._allocation = None
        return allocation
