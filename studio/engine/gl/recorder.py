"""Records a step as a flat list of pre-bound dispatches and issues it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from studio.engine.core.tensor import Ref
from studio.engine.gl import constants as const
from studio.engine.gl.accessors import Use
from studio.engine.gl.bindings import BoundSlices
from studio.engine.gl.planned import (
    ArenaBinding,
    Binding,
    Planned,
    ScratchBinding,
    StorageBinding,
    TableBinding,
)

if TYPE_CHECKING:
    from studio.engine.gl.buffer_pool import BufferPool
    from studio.engine.gl.buffers import PoolBuffer, Slice
    from studio.engine.gl.device import DeviceInfo
    from studio.engine.gl.entry_points import EntryPoints
    from studio.engine.gl.source import KernelSource

Span = tuple[int, int, int]
"""A buffer's name and a byte range in it."""


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One entry of the host list, everything resolved to what the driver takes.

    Attributes:
        program: the driver's program.
        storages: storage ranges, bound together.
        numbers: the range of the launch block.
        groups: work groups.
        barrier: whether memory written before has to be visible first.
    """

    program: int
    storages: BoundSlices
    numbers: BoundSlices
    groups: tuple[int, int, int]
    barrier: bool


class Hazards:
    """Says which dispatches must wait for the ones before: overlapping ranges, one side writing."""

    def __init__(self) -> None:
        self._read: list[Span] = []
        self._written: list[Span] = []

    def needs_barrier(self, reads: Sequence[Span], writes: Sequence[Span]) -> bool:
        """Whether a dispatch has to come behind a barrier; remembers its ranges."""
        waits = (
            _overlap(reads, self._written)
            or _overlap(writes, self._written)
            or _overlap(writes, self._read)
        )
        if waits:
            self._read.clear()
            self._written.clear()
        self._read += reads
        self._written += writes
        return waits


def _overlap(first: Iterable[Span], second: Sequence[Span]) -> bool:
    return any(a[0] == b[0] and a[1] < b[2] and b[1] < a[2] for a in first for b in second)


class Recording:
    """A list of dispatches and the buffers made for it alone.

    Args:
        pool: lends tables, numbers and scratch storage; on its thread.
        info: the device's alignments.
        compiled: the driver's program of a source.
        slice_of: where a storage lies.
        batch: rows of the batch symbol.
        rows: rows of the resident data set.
    """

    def __init__(
        self,
        pool: BufferPool,
        info: DeviceInfo,
        compiled: Callable[[KernelSource], int],
        slice_of: Callable[[Ref], Slice],
        batch: int,
        rows: int,
    ) -> None:
        self._pool = pool
        self._info = info
        self._compiled = compiled
        self._slice_of = slice_of
        self._symbols = (batch, rows)
        self._buffers: list[PoolBuffer] = []
        self._scratch: PoolBuffer | None = None
        self._tables: dict[bytes, Slice] = {}
        self._hazards = Hazards()
        self.dispatches: list[Dispatch] = []

    @property
    def nbytes(self) -> int:
        """Bytes of the buffers made for this recording."""
        return sum(buffer.capacity for buffer in self._buffers)

    def record(self, planned: Sequence[Planned]) -> None:
        """Resolve dispatches and append them; called once per recording."""
        self._scratch = self._make_scratch(planned)
        numbers = self._make_numbers(planned)
        self._tables = self._make_tables(planned)
        for one in planned:
            slices = [self._resolve(b) for b in one.bindings]
            reads, writes = self._spans(one.bindings)
            self.dispatches.append(
                Dispatch(
                    self._compiled(one.source),
                    BoundSlices(self._pool.gl, slices, alignment=self._info.slice_alignment),
                    BoundSlices(
                        self._pool.gl,
                        [numbers[one.launch]],
                        target=const.UNIFORM_BUFFER,
                        alignment=self._info.slice_alignment,
                    ),
                    one.groups,
                    self._hazards.needs_barrier(reads, writes) or not self.dispatches,
                )
            )

    def table(self, words: bytes) -> Slice:
        """The range a table of these words was given."""
        return self._tables[words]

    def release(self) -> None:
        """Give the recording's own buffers back."""
        for buffer in self._buffers:
            self._pool.release(buffer)
        self._buffers.clear()
        self.dispatches.clear()

    def _make_scratch(self, planned: Sequence[Planned]) -> PoolBuffer | None:
        floats = max(
            (b.floats for p in planned for b in p.bindings if isinstance(b, ScratchBinding)),
            default=0,
        )
        return self._lend(floats * 4, "scratch of reductions") if floats else None

    def _make_numbers(self, planned: Sequence[Planned]) -> dict[tuple[int, int], Slice]:
        """The launch blocks, one per distinct pair of numbers, in one immutable buffer."""
        pairs = list(dict.fromkeys(p.launch for p in planned))
        step = self._info.slice_alignment
        data = b"".join(
            struct.pack("<4i", *self._symbols, *pair).ljust(step, b"\0") for pair in pairs
        )
        if not data:
            return {}
        buffer = self._lend(len(data), "numbers of dispatches")
        self._pool.upload(buffer.slice(), data)
        return {pair: buffer.slice(k * step, 16) for k, pair in enumerate(pairs)}

    def _make_tables(self, planned: Sequence[Planned]) -> dict[bytes, Slice]:
        tables = dict.fromkeys(
            b.words for p in planned for b in p.bindings if isinstance(b, TableBinding)
        )
        found: dict[bytes, Slice] = {}
        for words in tables:
            buffer = self._lend(len(words), "table of segments")
            self._pool.upload(buffer.slice(), words)
            found[words] = buffer.slice()
        return found

    def _lend(self, nbytes: int, purpose: str) -> PoolBuffer:
        buffer = self._pool.acquire(nbytes, purpose)
        self._buffers.append(buffer)
        return buffer

    def _resolve(self, binding: Binding) -> Slice:
        if isinstance(binding, StorageBinding):
            return rounded_up(self._slice_of(binding.ref))
        if isinstance(binding, TableBinding):
            return self._tables[binding.words]
        if isinstance(binding, ArenaBinding):
            parts = [self._slice_of(ref) for ref in binding.refs]
            begin = min(part.offset for part in parts)
            end = max(part.offset + part.nbytes for part in parts)
            return rounded_up(parts[0].buffer.slice(begin, end - begin))
        if self._scratch is None:
            raise RuntimeError("a dispatch asks for scratch storage that was not made")
        return self._scratch.slice()

    def _spans(self, bindings: Sequence[Binding]) -> tuple[list[Span], list[Span]]:
        reads: list[Span] = []
        writes: list[Span] = []
        for binding in bindings:
            if isinstance(binding, StorageBinding):
                span = _span(self._slice_of(binding.ref))
                if binding.use is not Use.WRITE:
                    reads.append(span)
                if binding.use is not Use.READ:
                    writes.append(span)
            elif isinstance(binding, ArenaBinding):
                spans = [_span(self._slice_of(r)) for r in binding.refs]
                reads += spans
                writes += spans if binding.use is not Use.READ else []
            elif isinstance(binding, ScratchBinding) and self._scratch is not None:
                # Writers and readers of scratch alternate; both count as writing.
                writes.append(_span(self._scratch.slice()))
        return reads, writes


def rounded_up(part: Slice) -> Slice:
    """The range up to the next 16 bytes, which belong to the same storage's room."""
    return part.buffer.slice(part.offset, -(-part.nbytes // 16) * 16)


def _span(part: Slice) -> Span:
    return (part.buffer.name, part.offset, part.offset + part.nbytes)


def issue(gl: EntryPoints, dispatches: Iterable[Dispatch]) -> None:
    """Send dispatches to the driver; nothing is asked back and the interpreter lock is let go."""
    use_program, dispatch, barrier = gl.use_program, gl.dispatch_compute, gl.memory_barrier
    bits = const.SHADER_STORAGE_BARRIER_BIT
    current = -1
    for one in dispatches:
        if one.barrier:
            barrier(bits)
        if one.program != current:
            current = one.program
            use_program(current)
        one.storages.bind()
        one.numbers.bind()
        dispatch(*one.groups)
