"""Buffer ranges prepared once, then bound by one driver call if the driver has it."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from studio.engine.gl.device import constants as const

if TYPE_CHECKING:
    from collections.abc import Sequence

    from studio.engine.gl.device.buffers import Slice
    from studio.engine.gl.device.entry_points import EntryPoints


class BoundSlices:
    """Ranges for consecutive binding points of one target, ready to be bound again and again.

    The buffers' names are read once, here; bindings die with the buffers they name.

    Args:
        gl: entry points of the context.
        slices: what to bind; range i goes to binding point ``first + i``.
        first: the first binding point.
        target: ``SHADER_STORAGE_BUFFER`` or ``UNIFORM_BUFFER``.
        alignment: what offsets have to be multiples of, bytes.

    Raises:
        ValueError: an offset is not aligned or a range is empty, a fault of the program.
    """

    __slots__ = ("_arguments", "_bind_many", "_bind_one", "_each")

    def __init__(
        self,
        gl: EntryPoints,
        slices: Sequence[Slice],
        *,
        first: int = 0,
        target: int = const.SHADER_STORAGE_BUFFER,
        alignment: int = 256,
    ) -> None:
        for part in slices:
            if part.offset % alignment or part.nbytes <= 0:
                raise ValueError(
                    f"cannot bind {part.nbytes} bytes at {part.offset} of {part.buffer.purpose}: "
                    f"ranges begin at multiples of {alignment} and hold something"
                )
        count = len(slices)
        names = (ctypes.c_uint * count)(*(part.buffer.name for part in slices))
        offsets = (ctypes.c_ssize_t * count)(*(part.offset for part in slices))
        sizes = (ctypes.c_ssize_t * count)(*(part.nbytes for part in slices))
        self._bind_many = gl.bind_buffers_range
        self._bind_one = gl.bind_buffer_range
        self._arguments = (target, first, count, names, offsets, sizes)
        self._each = tuple(
            (target, first + index, part.buffer.name, part.offset, part.nbytes)
            for index, part in enumerate(slices)
        )

    @property
    def words(self) -> tuple[int, int, int, int, int, int]:
        """Arguments of the single driver call; the arrays live as long as this object."""
        target, first, count, names, offsets, sizes = self._arguments
        address = ctypes.addressof
        return target, first, count, address(names), address(offsets), address(sizes)

    def bind(self) -> None:
        """Bind all ranges in this context."""
        if self._bind_many is not None:
            self._bind_many(*self._arguments)
            return
        for arguments in self._each:
            self._bind_one(*arguments)
