"""Records a step as a flat list of pre-bound dispatches and issues it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

from studio.engine.core.tensor import Ref
from studio.engine.gl.device import constants as const
from studio.engine.gl.plan.hazards import Span
from studio.engine.gl.plan.issue_order import IssueOrder, order_dispatches
from studio.engine.gl.plan.scratch import ROOM, ScratchPlan
from studio.engine.gl.record.bindings import BoundSlices
from studio.engine.gl.shader.planned import (
    ArenaBinding,
    Binding,
    PlannedDispatch,
    StorageBinding,
    TableBinding,
    TicketsBinding,
)

if TYPE_CHECKING:
    from studio.engine.gl.device.buffer_pool import BufferPool
    from studio.engine.gl.device.buffers import PoolBuffer, Slice
    from studio.engine.gl.device.device import DeviceInfo
    from studio.engine.gl.device.entry_points import EntryPoints
    from studio.engine.gl.shader.source import KernelSource


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


class Recording:
    """A list of dispatches and the buffers made for it alone.

    Args:
        pool: lends tables, numbers and scratch storage; on its thread.
        info: the device's alignments.
        compiled: the driver's program of a source.
        slice_of: where a storage lies.
        batch: rows of the batch symbol.
        rows: rows of the resident data set.
        in_order: issue dispatches as the program has them.
        spare: see ``order_dispatches``.
    """

    def __init__(
        self,
        pool: BufferPool,
        info: DeviceInfo,
        compiled: Callable[[KernelSource], int],
        slice_of: Callable[[Ref], Slice],
        batch: int,
        rows: int,
        *,
        in_order: bool = False,
        spare: int = ROOM,
    ) -> None:
        self._pool = pool
        self._info = info
        self._compiled = compiled
        # Ranges do not move while a recording lives.
        self._slice_of = lru_cache(maxsize=None)(slice_of)
        self._symbols = (batch, rows)
        self._in_order = in_order
        self._spare = spare
        self._buffers: list[PoolBuffer] = []
        self._tables: dict[bytes, Slice] = {}
        self.dispatches: list[Dispatch] = []
        self.ordered: list[Dispatch] = []
        self.order: IssueOrder | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the buffers made for this recording."""
        return sum(buffer.capacity for buffer in self._buffers)

    @property
    def seamless(self) -> bool:
        """Whether the next step may begin without a barrier before its first dispatch."""
        return self.order is not None and self.order.seamless

    def record(self, planned: Sequence[PlannedDispatch]) -> None:
        """Resolve dispatches and append them; called once per recording.

        ``dispatches`` is in program order, for profiles and live tensors. ``ordered`` is in order
        of issue, level by level with few barriers. ``order`` holds the levels and barriers.
        """
        alignment = self._info.slice_alignment
        order = order_dispatches(
            planned, self._span_of, alignment, in_order=self._in_order, spare=self._spare
        )
        self.order = order
        scratch = self._make_scratch(order.scratch)
        numbers = self._make_numbers(planned)
        self._tables = self._make_tables(planned)
        tickets = self._make_tickets(planned)
        for one, own, counters, waits in zip(planned, scratch, tickets, order.waits, strict=True):
            slices = [self._resolve(b, own, counters) for b in one.bindings]
            dispatch = Dispatch(
                self._compiled(one.source),
                BoundSlices(self._pool.gl, slices, alignment=alignment),
                numbers[one.launch],
                one.groups,
                waits,
            )
            self.dispatches.append(dispatch)
        self.ordered = [
            replace(self.dispatches[number], barrier=order.barriers[number])
            for number in order.numbers
        ]

    def table(self, words: bytes) -> Slice:
        """Where the table of these words is."""
        return self._tables[words]

    def release(self) -> None:
        """Give the recording's own buffers back."""
        for buffer in self._buffers:
            self._pool.release(buffer)
        self._buffers.clear()
        self.dispatches.clear()
        self.ordered.clear()

    def _make_scratch(self, plan: ScratchPlan) -> list[Slice | None]:
        """Scratch storage of each dispatch; None if it uses none."""
        if not plan.nbytes:
            return [None] * len(plan.ranges)
        buffer = self._lend(plan.nbytes, "scratch of reductions")
        return [None if own is None else buffer.slice(*own) for own in plan.ranges]

    def _make_tickets(self, planned: Sequence[PlannedDispatch]) -> list[Slice | None]:
        """Counters of each dispatch, zeroed; None if it uses none."""
        step = self._info.slice_alignment
        counts = [
            next((b.count for b in p.bindings if isinstance(b, TicketsBinding)), 0) for p in planned
        ]
        sizes = [-(-count * 4 // step) * step for count in counts]
        if not any(sizes):
            return [None] * len(planned)
        buffer = self._pool.acquire(sum(sizes), "counters of work groups", zero=True)
        self._buffers.append(buffer)
        begins = accumulate(sizes, initial=0)
        return [
            buffer.slice(begin, size) if size else None
            for begin, size in zip(begins, sizes, strict=False)
        ]

    def _make_numbers(
        self, planned: Sequence[PlannedDispatch]
    ) -> dict[tuple[int, int], BoundSlices]:
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
        return {
            pair: BoundSlices(
                self._pool.gl,
                [buffer.slice(k * step, 16)],
                target=const.UNIFORM_BUFFER,
                alignment=step,
            )
            for k, pair in enumerate(pairs)
        }

    def _make_tables(self, planned: Sequence[PlannedDispatch]) -> dict[bytes, Slice]:
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

    def _resolve(self, binding: Binding, scratch: Slice | None, counters: Slice | None) -> Slice:
        if isinstance(binding, StorageBinding):
            return rounded_up(self._slice_of(binding.ref))
        if isinstance(binding, TableBinding):
            return self._tables[binding.words]
        if isinstance(binding, ArenaBinding):
            parts = [self._slice_of(ref) for ref in binding.refs]
            begin = min(part.offset for part in parts)
            end = max(part.offset + part.nbytes for part in parts)
            return rounded_up(parts[0].buffer.slice(begin, end - begin))
        found = counters if isinstance(binding, TicketsBinding) else scratch
        if found is None:
            raise RuntimeError("a dispatch asks for scratch storage that was not made")
        return found

    def _span_of(self, ref: Ref) -> Span:
        part = self._slice_of(ref)
        return (part.buffer.name, part.offset, part.offset + part.nbytes)


def rounded_up(part: Slice) -> Slice:
    """The range extended to a multiple of 16 bytes; storages are allocated that long."""
    return part.buffer.slice(part.offset, -(-part.nbytes // 16) * 16)


def issue(gl: EntryPoints, dispatches: Iterable[Dispatch]) -> None:
    """Send dispatches to the driver; nothing is asked back and the interpreter lock is let go."""
    use_program, dispatch, barrier = gl.use_program, gl.dispatch_compute, gl.memory_barrier
    bits = const.SHADER_STORAGE_BARRIER_BIT
    current = -1
    numbers: BoundSlices | None = None
    for one in dispatches:
        if one.barrier:
            barrier(bits)
        if one.program != current:
            current = one.program
            use_program(current)
        one.storages.bind()
        if one.numbers is not numbers:
            numbers = one.numbers
            numbers.bind()
        dispatch(*one.groups)
