"""Gives every transient storage a place in one arena, shared by those never alive at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, groupby, pairwise
from math import prod
from types import MappingProxyType

from studio.engine.compiler.issue_levels import issue_levels
from studio.engine.compiler.lifetimes import (
    Life,
    Span,
    group_spans,
    inner_gradients,
    lifetimes,
    whole_run,
)
from studio.engine.compiler.taken_bytes import TakenBytes
from studio.engine.compiler.target import Target
from studio.engine.core.descriptor import ShapeDescriptor
from studio.engine.core.errors import BackendError
from studio.engine.core.tensor import Tensor
from studio.engine.isa.line import format_line
from studio.engine.isa.ops.exchange import AllReduce
from studio.engine.isa.program import Program, Storage

WORD = 4
NEIGHBOURS = 1 << 16
"""Bytes between two ranges that are cleared in one go with them."""


@dataclass(frozen=True)
class Slot:
    """The place of one storage.

    Attributes:
        offset: first byte in the arena.
        nbytes: length in bytes, whole words, halo included.
        first: running index of the first instruction that needs it.
        last: running index of the last one.
    """

    offset: int
    nbytes: int
    first: int
    last: int

    @property
    def end(self) -> int:
        """The byte behind the storage."""
        return self.offset + self.nbytes

    @property
    def span(self) -> Span:
        """Where it is needed."""
        return Span(self.first, self.last)


@dataclass(frozen=True)
class MemoryPlan:
    """Where the transient storages of a program lie.

    Attributes:
        program: what was planned.
        slots: place of every transient storage, in order of first need.
        total_bytes: length of the arena.
        buffers: lengths of the buffers that make the arena up, one behind the other; one, unless
            a single buffer may not be as long.
        peak_bytes: most bytes needed at once; no arena can be smaller.
        peak_index: running index of the (first) instruction where that is.
        sum_bytes: bytes without any sharing.
    """

    program: Program
    slots: Mapping[Storage, Slot]
    total_bytes: int
    buffers: tuple[int, ...]
    peak_bytes: int
    peak_index: int
    sum_bytes: int

    def shares(self, storage: Storage) -> bool:
        """Whether another storage is given some of the same bytes at another time."""
        mine = self.slots[storage]
        return any(
            mine.offset < slot.end and slot.offset < mine.end
            for other, slot in self.slots.items()
            if other != storage
        )

    def kept_at_end(self, storage: Storage) -> bool:
        """Whether its bytes are still its own after the last instruction of a run."""
        mine = self.slots.get(storage)
        return mine is not None and not any(
            slot.first > mine.last and mine.offset < slot.end and slot.offset < mine.end
            for slot in self.slots.values()
        )

    def place(self, slot: Slot) -> tuple[int, int]:
        """Which of the buffers a slot lies in, and its first byte there."""
        begins = list(accumulate(self.buffers[:-1], initial=0))
        number = bisect_right(begins, slot.offset) - 1
        return number, slot.offset - begins[number]

    def to_clear(self) -> list[tuple[int, int, int]]:
        """Ranges that have to be zero before the first run: number of the buffer, begin and end.

        They are those of storages that live to the end of a run. Halos, what is read before it is
        written and fed tensors live through all of it; an output may be fetched before any run.
        Bytes of other storages are given on within a run, so that nothing can rely on them.
        """
        end = max(len(self.program) - 1, 0)
        found: list[tuple[int, int, int]] = []
        for slot in sorted(self.slots.values(), key=lambda slot: slot.offset):
            if slot.last < end:
                continue
            number, begin = self.place(slot)
            behind = begin + slot.nbytes
            if found and found[-1][0] == number and begin - found[-1][2] < NEIGHBOURS:
                begin = found.pop()[1]
            found.append((number, begin, behind))
        return found

    def table(self) -> str:
        """The plan for reading: a line per storage, then the sums and where the peak is."""
        head = ("storage", "tensor", "bytes", "offset", "lines")
        rows = [head, *(self._row(storage, slot) for storage, slot in self.slots.items())]
        widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
        lines = [
            f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]:>{widths[2]}}  "
            f"{row[3]:>{widths[3]}}  {row[4]}".rstrip()
            for row in rows
        ]
        many = f" in {len(self.buffers)} buffers" if len(self.buffers) > 1 else ""
        lines.append(f"arena {self.total_bytes} bytes{many}; unshared {self.sum_bytes} bytes")
        instructions = list(self.program)
        if instructions:
            lines.append(
                f"peak {self.peak_bytes} bytes at line {self.peak_index}: "
                f"{format_line(instructions[self.peak_index])}"
            )
        return "\n".join(lines) + "\n"

    def _row(self, storage: Storage, slot: Slot) -> tuple[str, str, str, str, str]:
        tensor = self.program.tensors[storage.root]
        name = f"{tensor.name} (parts, at most)" if tensor.partial else tensor.name
        lines = f"{slot.first}..{slot.last}"
        return (str(storage), name, str(slot.nbytes), f"{slot.offset:#x}", lines)


def plan_memory(
    program: Program, batch: int, rows: int, target: Target, *, keep_all: bool = False
) -> MemoryPlan:
    """Place the transient storages of a program specialised to a batch length.

    Two storages may share bytes if one is over before the other begins: line after line, and also
    level by level where kernels may run side by side (see ``issue_levels``), so that sharing makes
    no kernel wait. Data of tensors with a halo shares with data of the same layout only. What
    workers exchange together lies side by side.

    Storages are placed one after another, each into the smallest gap that is free during its whole
    life: largest first (greedy by size, Pisarchyk and Lee 2020), and where that is well above the
    least possible also in two other orders, of which the best is taken. An arena longer than the
    largest storage may be is made up of several buffers, and no storage lies in two of them.

    Args:
        program: what runs; fused groups count as one instruction.
        batch: rows the ``BATCH`` symbol stands for.
        rows: rows the ``ROWS`` symbol stands for.
        target: says alignment, the largest storage, and whether kernels run in order.
        keep_all: give every storage bytes of its own for the whole run, so that all of them can be
            looked at afterwards (check mode, debugging).

    Raises BackendError naming the tensor where one is above the device's limit.
    """
    registers = target.fuses_gradients and not keep_all
    without = inner_gradients(program) if registers else ()
    levels = group_spans(program)
    if not target.in_order:
        levels = issue_levels(program, batch, rows, target, without)
    lives = lifetimes(program, without, levels)
    whole = whole_run(levels)
    if keep_all:
        lives = dict.fromkeys(lives, whole)
    sizes = _sizes(program, lives, batch, rows, target)
    for storage, nbytes in sizes.items():
        if nbytes > target.max_storage_bytes:
            raise BackendError(
                f"a tensor may take at most {target.max_storage_bytes} bytes on this device, "
                f"it needs {nbytes}",
                who=program.tensors[storage.root].name,
                hint="use smaller batches or a smaller layer",
            )
    alignment = target.offset_alignment
    buckets = _buckets(program, sizes, alignment, target.max_storage_bytes)
    bucketed = {storage for room in buckets for storage in room}
    alone = {storage: life for storage, life in lives.items() if storage not in bucketed}
    rooms = [
        *(_bucket_room(bucket, lives, sizes) for bucket in buckets),
        *_rooms(program, alone, whole, sizes, batch, rows),
    ]
    part = _round_up(target.max_storage_bytes, alignment)
    offsets, buffers = _joined(rooms, _placed(rooms, alignment, part), alignment, part)
    slots = {
        storage: Slot(offset + begin, sizes[storage], *span)
        for room, offset in zip(rooms, offsets, strict=True)
        for storage, span, begin in room.occupants
    }
    peak, index = _peak([(slot.span, slot.nbytes) for slot in slots.values()])
    return MemoryPlan(
        program,
        MappingProxyType({s: slots[s] for s in sorted(slots, key=lambda s: (slots[s].first, s))}),
        sum(buffers),
        buffers,
        peak,
        index,
        sum(sizes.values()),
    )


def storage_bytes(program: Program, storage: Storage, batch: int, rows: int, target: Target) -> int:
    """Bytes one storage takes on the target: whole words, at least one, halo included."""
    return _sizes(program, [storage], batch, rows, target)[storage]


def _sizes(
    program: Program, storages: Iterable[Storage], batch: int, rows: int, target: Target
) -> dict[Storage, int]:
    """Bytes of several storages."""
    found: dict[Storage, int] = {}
    summed: dict[int, int] | None = None
    for storage in storages:
        tensor = program.tensors[storage.root]
        if tensor.partial:
            summed = summed or _summed_rows(program, batch, rows)
            found[storage] = _partial_bytes(tensor, summed.get(tensor.id, 1), batch, rows, target)
            continue
        descriptor = tensor.descriptor(batch, rows)
        dtype = descriptor.dtype
        itemsize = dtype.device_itemsize if target.whole_words else dtype.itemsize
        found[storage] = _round_up(max(descriptor.alloc_length() * itemsize, 1), WORD)
    return found


def _summed_rows(program: Program, batch: int, rows: int) -> dict[int, int]:
    """By id of a partial tensor how many rows are summed up in it."""
    of = program.bound(batch, rows)
    found: dict[int, int] = {}
    for ins in program:
        for ref in ins.effects().writes:
            if program.tensors[ref.id].partial:
                summed = prod(of(ins.operands[0]).shape[:-1])
                found[ref.id] = max(found.get(ref.id, 1), summed)
    return found


def _partial_bytes(tensor: Tensor, summed: int, batch: int, rows: int, target: Target) -> int:
    """Bytes a partial tensor takes at most, however many parts the kernel that writes it makes."""
    columns = tensor.shape[-1]
    parts = -(-summed // target.partial_rows)
    sums = max(min(parts * columns, target.partial_sums), columns)
    return tensor.descriptor(batch, rows).nbytes * sums // max(columns, 1)


@dataclass(frozen=True)
class _Room:
    """Bytes that one storage has, or several in turn, or several that lie side by side.

    Attributes:
        nbytes: how many.
        life: when they are needed.
        occupants: the storages, from which instruction to which each has them, and its first byte.
    """

    nbytes: int
    life: Life
    occupants: tuple[tuple[Storage, Span, int], ...]


def _buckets(
    program: Program, sizes: Mapping[Storage, int], alignment: int, most: int
) -> list[dict[Storage, int]]:
    """Storages that workers exchange together, with the first byte of each among them.

    They lie side by side, so that one copy moves them all.
    """
    found: list[dict[Storage, int]] = []
    seen: set[Storage] = set()
    for ins in program:
        if not isinstance(ins, AllReduce):
            continue
        bucket: dict[Storage, int] = {}
        end = 0
        for storage in map(program.storage, ins.xs):
            if storage in sizes and storage not in seen and not _has_halo(program, storage):
                bucket[storage] = _round_up(end, alignment)
                end = bucket[storage] + sizes[storage]
                seen.add(storage)
        if end <= most:
            found.append(bucket)
    return [bucket for bucket in found if len(bucket) > 1]


def _has_halo(program: Program, storage: Storage) -> bool:
    return not storage.grad and bool(program.tensors[storage.root].pad)


def _bucket_room(
    bucket: Mapping[Storage, int], lives: Mapping[Storage, Life], sizes: Mapping[Storage, int]
) -> _Room:
    last = max(bucket, key=bucket.__getitem__)
    return _Room(
        bucket[last] + sizes[last],
        reduce(Life.joined, (lives[storage] for storage in bucket)),
        tuple((storage, lives[storage].lines, begin) for storage, begin in bucket.items()),
    )


def _rooms(
    program: Program,
    lives: Mapping[Storage, Life],
    whole: Life,
    sizes: Mapping[Storage, int],
    batch: int,
    rows: int,
) -> list[_Room]:
    """Rooms for all storages; data with a halo is in a room for its layout during the whole run.

    The halo has to be zero, and what stays inside another one of the same layout leaves it so.
    That of a gradient means nothing.
    """
    found: list[_Room] = []
    alike: dict[ShapeDescriptor, list[list[Storage]]] = {}
    for storage in sorted(lives, key=lambda s: (lives[s].lines, s)):
        tensor = program.tensors[storage.root]
        if not _has_halo(program, storage):
            own = ((storage, lives[storage].lines, 0),)
            found.append(_Room(sizes[storage], lives[storage], own))
            continue
        rooms = alike.setdefault(tensor.descriptor(batch, rows), [])
        free = (room for room in rooms if lives[room[-1]].precedes(lives[storage]))
        taken = max(free, key=lambda room: lives[room[-1]].lines.last, default=None)
        if taken is None:
            rooms.append([storage])
        else:
            taken.append(storage)
    for room in (room for rooms in alike.values() for room in rooms):
        # Each has it until the next one comes, so that it is never free.
        begins = [0, *(lives[s].lines.first for s in room[1:]), whole.lines.last + 1]
        spans = [Span(first, behind - 1) for first, behind in pairwise(begins)]
        occupants = tuple((each, span, 0) for each, span in zip(room, spans, strict=True))
        found.append(_Room(sizes[room[0]], whole, occupants))
    return found


ORDERS: tuple[Callable[[Span, int], tuple[int, int]], ...] = (
    lambda span, nbytes: (-nbytes, span.first),
    lambda span, nbytes: (-nbytes * (span.last - span.first + 1), span.first),
    lambda span, nbytes: (span.first - span.last, -nbytes),
)
"""What to place next: the largest, what has most bytes times lines, what is needed longest."""
NEAR = 1000
"""Another order is not tried for less than this part of an arena."""


def _joined(
    rooms: Sequence[_Room], offsets: Sequence[int], alignment: int, part: int
) -> tuple[list[int], tuple[int, ...]]:
    """Offsets in parts ``part`` bytes apart, moved together so that each is only as long as needed.

    Returns the offsets and the length of every part.
    """
    found = list(offsets)
    begins: list[int] = []
    end = 0
    by_offset = sorted(range(len(rooms)), key=offsets.__getitem__)
    for number, inside in groupby(by_offset, key=lambda place: offsets[place] // part):
        begins.append(_round_up(end, alignment))
        for place in inside:
            found[place] = begins[-1] + offsets[place] - number * part
            end = max(end, found[place] + rooms[place].nbytes)
    return found, tuple(after - before for before, after in pairwise([*begins, end]))


def _placed(rooms: Sequence[_Room], alignment: int, part: int) -> list[int]:
    """The best of a few orders; one that needs hardly more than is possible ends the search."""
    least = max(
        _peak([(one.life[axis], one.nbytes) for one in rooms])[0]
        for axis in range(len(Life._fields))
    )
    best: list[int] = []
    total = -1
    for order in ORDERS:
        chosen = sorted(
            range(len(rooms)), key=lambda n: (order(rooms[n].life.lines, rooms[n].nbytes), n)
        )
        offsets = _placed_in_order(chosen, rooms, alignment, part, total)
        if offsets:
            best, total = offsets, max(o + r.nbytes for o, r in zip(offsets, rooms, strict=True))
        if total <= least + least // NEAR:
            break
    return best


def _placed_in_order(
    order: Iterable[int], rooms: Sequence[_Room], alignment: int, part: int, limit: int
) -> list[int]:
    """Where rooms come to lie one after another; nothing once that takes ``limit`` bytes."""
    offsets = [0] * len(rooms)
    taken = TakenBytes(alignment, part)
    for number in order:
        room = rooms[number]
        offsets[number] = taken.place(room.life, room.nbytes)
        if 0 <= limit <= offsets[number] + room.nbytes:
            return []
    return offsets


def _peak(needs: Sequence[tuple[Span, int]]) -> tuple[int, int]:
    """The most bytes needed at once, and the first index where that is."""
    change = [0] * (max((span.last for span, _ in needs), default=0) + 2)
    for span, nbytes in needs:
        change[span.first] += nbytes
        change[span.last + 1] -= nbytes
    live = list(accumulate(change))
    peak = max(live)
    return peak, live.index(peak)


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
