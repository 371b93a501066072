"""Arrays that HDF5 keeps in chunks: read from the file and unpacked without the HDF5 library.

What unpacks them here never gives more than a chunk's bytes, and fails for fewer, where the library
takes what memory held before.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from studio.engine.core.errors import FormatError
from studio.engine.formats.byte_source import Array, ByteSource

FILTERS = ("shuffle", "deflate", "fletcher32")
"""What may have packed a chunk, in the order in which it was done."""
_SUM_BYTES = 4
_WORDS = 1 << 16
_MODULUS = 65535


@dataclass(frozen=True)
class Chunks:
    """Where the chunks of an array are.

    Attributes:
        shape: of a chunk; those at the far ends of the array reach beyond it.
        filters: what packed them, out of `FILTERS` and in their order.
        pieces: offset, bytes and mask of each, in the order of the grid; a mask has the bit of
            each filter that was left out.
    """

    shape: tuple[int, ...]
    filters: tuple[str, ...]
    pieces: Sequence[tuple[int, int, int]]

    def grid(self, shape: tuple[int, ...]) -> list[int]:
        """How many chunks an array of that shape has along each axis."""
        return [-(-n // c) for n, c in zip(shape, self.shape, strict=True)]


@dataclass(frozen=True)
class ChunkReader:
    """Reads arrays in chunks from one file.

    Args:
        source: the file.
        base: where offsets count from.
    """

    source: ByteSource
    base: int

    def read(
        self, chunks: Chunks, shape: tuple[int, ...], dtype: np.dtype[np.generic], label: str
    ) -> Array:
        """An array in native byte order.

        Args:
            chunks: where its chunks are.
            shape: of the array.
            dtype: as stored, with its byte order.
            label: the array, for errors.

        Raises:
            FormatError: a chunk does not unpack to its bytes, its checksum is wrong, or it is cut
                off.
        """
        target = np.empty(shape, dtype.newbyteorder("="))
        places = product(*(range(count) for count in chunks.grid(shape)))
        for piece, place in zip(chunks.pieces, places, strict=True):
            part = self._chunk(piece, chunks, dtype, label)
            here = tuple(
                slice(at * step, min(n, (at + 1) * step))
                for at, step, n in zip(place, chunks.shape, shape, strict=True)
            )
            target[here] = part[tuple(slice(0, each.stop - each.start) for each in here)]
        return target

    def _chunk(
        self, piece: tuple[int, int, int], chunks: Chunks, dtype: np.dtype[np.generic], label: str
    ) -> Array:
        offset, packed, mask = piece
        left = [name for index, name in enumerate(chunks.filters) if not mask >> index & 1]
        self.source.seek(self.base + offset)
        try:
            data = _unpacked(self.source.read(packed), left, prod(chunks.shape), dtype)
        except ValueError as error:
            raise FormatError(f"{label} is damaged: {error}", who=self.source.who) from None
        return np.frombuffer(data, dtype).reshape(chunks.shape)


def _unpacked(data: bytes, filters: list[str], count: int, dtype: np.dtype[np.generic]) -> bytes:
    """The bytes of a chunk of ``count`` elements; ValueError with the fault of a damaged one."""
    size = count * dtype.itemsize
    for name in reversed(filters):
        data = _undone(name, data, size, dtype.itemsize)
    if len(data) != size:
        raise ValueError(f"a chunk has {len(data)} bytes, expected {size}")
    if dtype.kind == "b" and np.frombuffer(data, np.uint8).max() > 1:
        raise ValueError("it holds a bool that is neither 0 nor 1")
    return data


def _undone(name: str, data: bytes, size: int, itemsize: int) -> bytes:
    """What a filter was given to make ``data``, never much more than ``size`` bytes.

    Raises ValueError with the fault of a damaged chunk.
    """
    if name == "deflate":
        stream = zlib.decompressobj()
        try:
            # A byte more than there should be, to see that there is more.
            unpacked = stream.decompress(data, size + _SUM_BYTES + 1)
        except zlib.error:
            raise ValueError("a chunk cannot be unpacked") from None
        if not stream.eof or stream.unused_data:
            raise ValueError("a chunk is packed to more or fewer bytes than it has")
        return unpacked
    if name == "shuffle":
        if len(data) % itemsize:
            raise ValueError("a chunk ends within a number")
        # Byte by byte of all numbers, as equal bytes are packed well.
        return np.frombuffer(data, np.uint8).reshape(itemsize, -1).T.tobytes()
    body, stated = data[:-_SUM_BYTES], data[-_SUM_BYTES:]
    if fletcher32(body) != int.from_bytes(stated, "little"):
        raise ValueError("the checksum of a chunk is wrong")
    return body


def fletcher32(data: bytes) -> int:
    """The checksum of HDF5: Fletcher's of 32 bits, over words with their high byte first.

    J. G. Fletcher, An Arithmetic Checksum for Serial Transmissions, IEEE Transactions on
    Communications 30 (1982). Its sums are those of ones' complement, where 0 is written as 65535
    unless there is nothing but zeros.
    """
    words = np.frombuffer(data + bytes(len(data) % 2), ">u2")
    first = second = 0
    for start in range(0, len(words), _WORDS):
        block = words[start : start + _WORDS].astype(np.int64)
        count = len(block)
        second += count * first + int(np.dot(np.arange(count, 0, -1), block))
        first += int(block.sum())
        first, second = (n and (n % _MODULUS or _MODULUS) for n in (first, second))
    return second << 16 | first
