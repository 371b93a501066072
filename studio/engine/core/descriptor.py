"""How a tensor's elements lie in a flat buffer: type, shape, strides, offset, padding."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntFlag
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ParameterError, ShapeError
from studio.engine.core.stride_rules import (
    Dims,
    element_wise_stride,
    loose_check,
    padded_strides,
    reach,
    recovered_paddings,
)
from studio.engine.core.view_rules import (
    broadcast_strides,
    filled_in,
    reshaped_strides,
    sliced_offset,
    turned_axes,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_RANK = 32
ARRAY_HAS_PADDED_BUFFER = 1 << 25
"""Bit of `ShapeDescriptor.extra` that says the buffer is padded; it never means anything else."""


class Status(IntFlag):
    """What `ShapeDescriptor.validate` found; 0 is sound."""

    OK = 0
    BAD_STRIDES = 1
    BAD_EWS = 2
    BAD_RANK = 4
    BAD_BOUNDS = 8


@dataclass(frozen=True)
class ShapeDescriptor:
    """Where each element of a tensor is in its storage.

    All lengths and strides are in elements. The storage is a flat run of `alloc_length` cells that
    several descriptors may share; element (i0, i1, …) is at ``offset + i0*strides[0] + …``.
    Equality and hash cover every field, strides, offset and padding included.

    Fields:
        dtype: element type.
        shape: sizes, rank 0 to 32.
        strides: cells from one index to the next, per axis.
        order: 'c' where the last axis is meant to be the fastest, 'f' where the first.
        ews: element-wise stride, the single step that visits all elements in this order; 0 where
            there is none.
        offset: cell of the first element.
        allocation: cells in the storage where that is more than the strides alone say; 0 if not.
        padded: the strides (or the allocation) leave room for paddings.

    Decisions where the descriptor this follows (libnd4j's) has traps:
        * padding the slowest axis alone allocates that padding and sets the flag; ews stays 1
          there, since the elements still touch. ``outermost_alone=False`` gives the old numbers;
        * a size of 0 makes the tensor empty: no cells, strides as if the size were 1, sound;
        * vectors are checked like anything else; rank is the length of ``shape``, so the two
          cannot disagree;
        * bit 25 always means padded; a view is told by its offset and allocation;
        * `validate` judges a descriptor that is to own storage. Permuted and broadcast views break
          the stride rule by nature (they report BAD_STRIDES) and are only checked for bounds.
    """

    dtype: DType
    shape: Dims
    strides: Dims
    order: str = "c"
    ews: int = 1
    offset: int = 0
    allocation: int = 0
    padded: bool = False

    def __post_init__(self) -> None:
        if self.order not in ("c", "f"):
            raise ParameterError(
                f"order must be 'c' or 'f', got {self.order!r}", who="shape descriptor"
            )
        object.__setattr__(self, "shape", tuple(int(size) for size in self.shape))
        object.__setattr__(self, "strides", tuple(int(step) for step in self.strides))

    # Making one

    @classmethod
    def plain(cls, dtype: DType, shape: Sequence[int], order: str = "c") -> ShapeDescriptor:
        """Elements one after another, without padding."""
        strides = padded_strides(order, shape, [0] * len(shape))
        return cls(dtype, tuple(shape), strides, order)

    @classmethod
    def padded_buffer_descriptor(
        cls,
        dtype: DType,
        order: str,
        shape: Sequence[int],
        paddings: Sequence[int] = (),
        *,
        outermost_alone: bool = True,
    ) -> ShapeDescriptor:
        """A buffer with room for ``paddings[i]`` more elements on axis i; missing ones count as 0.

        With ``outermost_alone`` False, padding nothing but the slowest axis is ignored (the
        behaviour of libnd4j). Raises ShapeError for negative or surplus paddings.
        """
        rank = len(shape)
        if len(paddings) > rank or any(pad < 0 for pad in paddings):
            raise ShapeError(
                f"paddings must be at most {rank} numbers from 0 up, got {list(paddings)}",
                who="shape descriptor",
            )
        pads = [*paddings, *[0] * (rank - len(paddings))]
        plain = cls.plain(dtype, shape, order)
        if not any(pads) or plain.numel == 0:
            return plain
        slowest = 0 if order == "c" else rank - 1
        strides = padded_strides(order, shape, pads)
        inner = any(pad for axis, pad in enumerate(pads) if axis != slowest)
        if not inner and not outermost_alone:
            return plain
        return cls(
            dtype,
            tuple(shape),
            strides,
            order,
            ews=0 if inner else 1,
            allocation=strides[slowest] * (shape[slowest] + pads[slowest]),
            padded=True,
        )

    @classmethod
    def create(
        cls,
        order: str,
        shape: Sequence[int],
        dtype: DType,
        paddings: Sequence[int] | None = None,
        offsets: Sequence[int] | None = None,
    ) -> ShapeDescriptor:
        """A checked descriptor for new storage, its first element moved into the padding.

        Args:
            order: 'c' or 'f'.
            shape: sizes, at most 32.
            dtype: element type.
            paddings: one per axis, or None for none.
            offsets: per axis 0 to its padding, the part of the padding that lies before the data.

        Raises ShapeError where one of these rules is broken.
        """
        rank = len(shape)
        pads = [0] * rank if paddings is None else list(paddings)
        starts = [0] * rank if offsets is None else list(offsets)
        if len(pads) != rank or len(starts) != rank:
            raise ShapeError(
                f"one padding and one offset per axis: expected {rank}, "
                f"got {len(pads)} and {len(starts)}",
                who="shape descriptor",
            )
        if any(not 0 <= start <= pad for start, pad in zip(starts, pads, strict=True)):
            raise ShapeError(
                f"offsets must lie inside the paddings: expected 0 to {pads}, got {starts}",
                who="shape descriptor",
            )
        made = cls.padded_buffer_descriptor(dtype, order, shape, pads)
        offset = sum(start * step for start, step in zip(starts, made.strides, strict=True))
        return replace(made, offset=offset).checked()

    @classmethod
    def strided(
        cls,
        dtype: DType,
        shape: Sequence[int],
        strides: Sequence[int],
        order: str = "c",
        *,
        offset: int = 0,
        allocation: int = 0,
    ) -> ShapeDescriptor:
        """A descriptor of given strides, its element-wise stride worked out (0 if axes overlap)."""
        sound = loose_check(order, shape, strides)[0]
        ews = element_wise_stride(order, shape, strides) if sound else 0
        return cls(dtype, tuple(shape), tuple(strides), order, ews, offset, allocation)

    def __str__(self) -> str:
        text = f"{self.dtype}[{','.join(map(str, self.shape))}] {self.order}"
        text += f" strides {','.join(map(str, self.strides))} ews {self.ews}"
        text += f" at {self.offset}" if self.offset else ""
        text += f" of {self.allocation}" if self.allocation else ""
        return text + (" padded" if self.padded else "")

    # Judging one

    def validate(self) -> Status:
        """Status bits of this descriptor as the owner of storage; 0 is sound."""
        status = Status.OK
        if self.rank > MAX_RANK:
            status |= Status.BAD_RANK
        if len(self.strides) != self.rank:
            return status | Status.BAD_STRIDES
        if not loose_check(self.order, self.shape, self.strides)[0]:
            status |= Status.BAD_STRIDES
        if self.ews != element_wise_stride(self.order, self.shape, self.strides):
            status |= Status.BAD_EWS
        if not self.in_bounds():
            status |= Status.BAD_BOUNDS
        return status

    def in_bounds(self, cells: int = 0) -> bool:
        """Whether every element lies in a storage of ``cells`` cells.

        0 stands for the stored allocation; where there is none the storage is as long as needed.
        """
        lengths = (*self.shape, *self.strides, self.offset)
        if len(self.strides) != self.rank or any(length < 0 for length in lengths):
            return False
        span, limit = reach(self.shape, self.strides), cells or self.allocation
        return span == 0 or limit == 0 or self.offset + span <= limit

    def checked(self) -> ShapeDescriptor:
        """Itself; raises ShapeError naming the broken rules where `validate` finds any."""
        status = self.validate()
        if status:
            rules = ", ".join(str(bit.name).lower().replace("_", " ") for bit in status)
            raise ShapeError(f"a descriptor must be sound, got {self}: {rules}", who="tensor")
        return self

    # Reading one

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def numel(self) -> int:
        """Number of elements, padding not counted."""
        return prod(self.shape)

    @property
    def extra(self) -> int:
        """The flag word: bit 25 is set if the buffer is padded."""
        return ARRAY_HAS_PADDED_BUFFER if self.padded else 0

    @property
    def byte_strides(self) -> Dims:
        """The strides in bytes, on the host."""
        return tuple(step * self.dtype.itemsize for step in self.strides)

    @property
    def nbytes(self) -> int:
        """Bytes of the whole storage on the host, padding included."""
        return self.alloc_length() * self.dtype.itemsize

    @property
    def device_nbytes(self) -> int:
        """Bytes of the whole storage on the device, rounded up to a 32-bit word."""
        return -(-self.alloc_length() * self.dtype.device_itemsize // 4) * 4

    @property
    def is_contiguous(self) -> bool:
        """Whether each stride is exactly the next faster one times that axis' size."""
        return self.rank == 0 or all(loose_check(self.order, self.shape, self.strides))

    @property
    def is_dense(self) -> bool:
        """Whether row-major sequence visits consecutive cells; axes of size 1 do not matter."""
        step = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size != 1 and stride != step:
                return self.numel == 0
            step *= size
        return True

    def alloc_length(self) -> int:
        """Cells of the storage: as allocated, or else up to the last cell that is addressed."""
        if self.allocation > 0:
            return self.allocation
        if self.numel == 0:
            return 0
        if self.ews == 1 and self.rank > 1:
            slowest = 0 if self.order == "c" else -1
            return self.offset + self.shape[slowest] * self.strides[slowest]
        return self.offset + reach(self.shape, self.strides)

    def paddings(self) -> Dims:
        """The paddings recovered from strides and allocation, one per axis.

        Raises ShapeError where no paddings give these strides (a permuted or stepped view).
        """
        found = recovered_paddings(self.order, self.shape, self.strides, self.alloc_length())
        if found is None:
            raise ShapeError(
                f"no paddings give strides {list(self.strides)} for shape {list(self.shape)}",
                who="shape descriptor",
            )
        return found

    def cell_of(self, index: Sequence[int]) -> int:
        """The cell of the element at ``index``; raises ShapeError outside the shape."""
        if len(index) != self.rank or any(
            not 0 <= i < size for i, size in zip(index, self.shape, strict=True)
        ):
            raise ShapeError(
                f"index must lie inside {list(self.shape)}, got {list(index)}",
                who="shape descriptor",
            )
        return self.offset + sum(i * s for i, s in zip(index, self.strides, strict=True))

    # Views: descriptors over the same storage, which cost nothing

    def _viewed(self, shape: Sequence[int], strides: Sequence[int], offset: int) -> ShapeDescriptor:
        """Same storage, other axes; the order becomes the one whose stride rule they keep."""
        other = "f" if self.order == "c" else "c"
        turned = (
            not loose_check(self.order, shape, strides)[0] and loose_check(other, shape, strides)[0]
        )
        return ShapeDescriptor.strided(
            self.dtype,
            shape,
            strides,
            other if turned else self.order,
            offset=offset,
            allocation=self.alloc_length(),
        )

    def transpose(self, axes: Sequence[int] | None = None) -> ShapeDescriptor:
        """Axes in another sequence (default: reversed), as `numpy.transpose`."""
        turned = turned_axes(self.rank, axes)
        shape = [self.shape[axis] for axis in turned]
        return self._viewed(shape, [self.strides[axis] for axis in turned], self.offset)

    def reshape(self, shape: Sequence[int]) -> ShapeDescriptor:
        """The same elements in row-major sequence under another shape; one size may be -1.

        Raises ShapeError where the element counts differ or elements would have to move (see
        `can_reshape`).
        """
        wanted = filled_in(self.numel, shape)
        if self.numel == 0:
            return self._viewed(wanted, padded_strides("c", wanted, [0] * len(wanted)), self.offset)
        strides = reshaped_strides(self.shape, self.strides, wanted)
        if strides is None:
            raise ShapeError(
                f"{list(self.shape)} with strides {list(self.strides)} cannot be shown as "
                f"{list(wanted)} without moving elements",
                who="reshape",
                hint="copy it to contiguous storage first",
            )
        return self._viewed(wanted, strides, self.offset)

    def can_reshape(self, shape: Sequence[int]) -> bool:
        """Whether `reshape` to ``shape`` is possible without moving elements."""
        try:
            self.reshape(shape)
        except ShapeError:
            return False
        return True

    def slice(
        self, begin: Sequence[int], size: Sequence[int], step: Sequence[int] | None = None
    ) -> ShapeDescriptor:
        """``size[i]`` elements of each axis from ``begin[i]`` on, taking every ``step[i]``-th.

        Raises ShapeError where that leaves the shape or a step is below 1.
        """
        steps = [1] * self.rank if step is None else list(step)
        skipped = sliced_offset(self.shape, self.strides, begin, size, steps)
        strides = [pace * stride for pace, stride in zip(steps, self.strides, strict=True)]
        return self._viewed(size, strides, self.offset + skipped)

    def broadcast_to(self, shape: Sequence[int]) -> ShapeDescriptor:
        """Axes of size 1 and missing leading axes repeated by stride 0, as NumPy broadcasts."""
        return self._viewed(shape, broadcast_strides(self.shape, self.strides, shape), self.offset)

    def view(self, buffer: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        """This tensor as a NumPy array over its flat storage, without copying.

        Raises ShapeError if the buffer is not flat, of another dtype, or too short. The array is
        read-only where the buffer is or where elements share a cell (broadcast).
        """
        if buffer.ndim != 1 or not buffer.flags.c_contiguous or buffer.dtype != self.dtype.np:
            raise ShapeError(
                f"storage must be a flat {self.dtype} buffer, got {buffer.dtype} "
                f"{list(buffer.shape)}",
                who="tensor",
            )
        if not self.in_bounds(buffer.size) or (self.numel and not buffer.size):
            raise ShapeError(
                f"elements must lie inside their storage of {buffer.size} cells, got {self}",
                who="tensor",
            )
        shared = any(s == 0 and n > 1 for s, n in zip(self.strides, self.shape, strict=True))
        start = buffer[self.offset :] if self.numel else buffer[:0]
        return np.lib.stride_tricks.as_strided(
            start, self.shape, self.byte_strides, writeable=buffer.flags.writeable and not shared
        )
