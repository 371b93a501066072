"""Which persistent tensors share a buffer of a session, and where each begins in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from studio.engine.core.descriptor import ShapeDescriptor
from studio.engine.core.tensor import Role, Tensor
from studio.engine.gl.device.device import SLICE_ALIGNMENT

BufferGroup: TypeAlias = list[tuple[Tensor, ShapeDescriptor, int]]
"""Tensors that share a buffer, each with its first byte there."""

_ALONE_BYTES = 16 << 20
"""Tensors from this size on get a buffer of their own."""
_CHUNK_BYTES = 64 << 20
"""The most a buffer shared by several tensors holds."""


def persistent_buffers(
    wanted: Iterable[tuple[Tensor, ShapeDescriptor]],
) -> Iterator[tuple[BufferGroup, int]]:
    """The buffers for tensors that are allocated together, and the bytes of each.

    The data set and large tensors have a buffer each; all others are packed, in order. States come
    first: workers exchange them together, and neighbours are one copy.
    """
    group: BufferGroup = []
    filled = 0
    for tensor, descriptor in sorted(wanted, key=lambda each: each[0].role is not Role.STATE):
        nbytes = max(descriptor.device_nbytes, 4)
        if nbytes >= _ALONE_BYTES or tensor.role is Role.DATA:
            yield [(tensor, descriptor, 0)], nbytes
            continue
        if filled + nbytes > _CHUNK_BYTES:
            yield group, filled
            group, filled = [], 0
        group.append((tensor, descriptor, filled))
        filled = -(-(filled + nbytes) // SLICE_ALIGNMENT) * SLICE_ALIGNMENT
    if group:
        yield group, filled
