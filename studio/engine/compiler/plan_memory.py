"""Gives every transient storage a place in one arena, shared by those never alive at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate, groupby, pairwise
from types import MappingProxyType

from studio.engine.compiler.lifetimes import Span, inner_gradients, lifetimes
from studio.engine.compiler.taken_bytes import TakenBytes
from studio.engine.compiler.target import Target
from studio.engine.core.errors import BackendError
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.line import format_line
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
        name = self.program.tensors[storage.root].name
        lines = f"{slot.first}..{slot.last}"
        return (str(storage), name, str(slot.nbytes), f"{slot.offset:#x}", lines)


def plan_memory(
    program: Program, batch: int, rows: int, target: Target, *, keep_all: bool = False
) -> MemoryPlan:
    """Place the transient storages of a program specialised to a batch length.

    Storages are placed one after another, each into the smallest gap that is free during its whole
    life: largest first (greedy by size, Pisarchyk and Lee 2020), and where that is well above the
    least possible also in two other orders, of which the best is taken. An arena longer than the
    largest storage may be is made up of several buffers, and no storage lies in two of them.

    Args:
        program: what runs; fused groups count as one instruction.
        batch: rows the ``BATCH`` symbol stands for.
        rows: rows the ``ROWS`` symbol stands for.
        target: says alignment and the largest storage.
        keep_all: give every storage bytes of its own for the whole run, so that all of them can be
            looked at afterwards (check mode, debugging).

    Raises BackendError naming the tensor where one is above the device's limit.
    """
    registers = target.fuses_gradients and not keep_all
    without = inner_gradients(program) if registers else ()
    spans = lifetimes(program, without, lambda ins: _lingers(program, ins, batch, target))
    if keep_all:
        end = max(len(program) - 1, 0)
        spans = dict.fromkeys(spans, Span(0, end))
    sizes = {s: storage_bytes(program, s, batch, rows, target) for s in spans}
    for storage, nbytes in sizes.items():
        if nbytes > target.max_storage_bytes:
            raise BackendError(
                f"a tensor may take at most {target.max_storage_bytes} bytes on this device, "
                f"it needs {nbytes}",
                who=program.tensors[storage.root].name,
                hint="use smaller batches or a smaller layer",
            )
    peak, index = _peak([(spans[s], sizes[s]) for s in spans], len(program))
    alignment = target.offset_alignment
    part = _round_up(target.max_storage_bytes, alignment)
    slots, buffers = _joined(_placed(spans, sizes, alignment, part, peak), alignment, part)
    ordered = sorted(slots, key=lambda s: (slots[s].first, s))
    return MemoryPlan(
        program,
        MappingProxyType({s: slots[s] for s in ordered}),
        sum(buffers),
        buffers,
        peak,
        index,
        sum(sizes.values()),
    )


def storage_bytes(program: Program, storage: Storage, batch: int, rows: int, target: Target) -> int:
    """Bytes one storage takes on the target: whole words, at least one, halo included."""
    descriptor = program.tensors[storage.root].descriptor(batch, rows)
    dtype = descriptor.dtype
    itemsize = dtype.device_itemsize if target.whole_words else dtype.itemsize
    return _round_up(max(descriptor.alloc_length() * itemsize, 1), WORD)


def _lingers(program: Program, ins: Instruction, batch: int, target: Target) -> int:
    """Kernels behind an instruction until which what it reads must last."""
    if ins.mnemonic not in target.lingering:
        return int(ins.mnemonic in target.overtaken)
    if batch <= target.lingering_rows:
        return 1
    few = target.few_outputs > 0 and program.tensor(ins.ref("w")).shape[0] <= target.few_outputs
    return 2 * int(few)


ORDERS: tuple[Callable[[Span, int], tuple[int, int]], ...] = (
    lambda span, nbytes: (-nbytes, span.first),
    lambda span, nbytes: (-nbytes * (span.last - span.first + 1), span.first),
    lambda span, nbytes: (span.first - span.last, -nbytes),
)
"""Which storage to place next: the largest, the one of most bytes times lines, the longest."""
NEAR = 1000
"""Another order is not tried for less than this part of an arena."""


def _joined(
    slots: Mapping[Storage, Slot], alignment: int, part: int
) -> tuple[dict[Storage, Slot], tuple[int, ...]]:
    """Slots of parts ``part`` bytes apart, moved together so that each is as long as it has to be.

    Returns the slots and the length of every part.
    """
    found: dict[Storage, Slot] = {}
    begins: list[int] = []
    end = 0
    by_offset = sorted(slots.items(), key=lambda item: item[1].offset)
    for number, inside in groupby(by_offset, key=lambda item: item[1].offset // part):
        begins.append(_round_up(end, alignment))
        for storage, slot in inside:
            found[storage] = replace(slot, offset=begins[-1] + slot.offset - number * part)
            end = max(end, found[storage].end)
    return found, tuple(after - before for before, after in pairwise([*begins, end]))


def _placed(
    spans: Mapping[Storage, Span],
    sizes: Mapping[Storage, int],
    alignment: int,
    part: int,
    least: int,
) -> dict[Storage, Slot]:
    """The best of a few orders; one that needs hardly more than ``least`` bytes ends the search."""
    best: dict[Storage, Slot] = {}
    total = -1
    for order in ORDERS:
        chosen = sorted(spans, key=lambda s: (order(spans[s], sizes[s]), s))
        slots = _placed_in_order(chosen, spans, sizes, alignment, part, total)
        if slots is not None:
            best, total = slots, max((slot.end for slot in slots.values()), default=0)
        if total <= least + least // NEAR:
            break
    return best


def _placed_in_order(
    order: Iterable[Storage],
    spans: Mapping[Storage, Span],
    sizes: Mapping[Storage, int],
    alignment: int,
    part: int,
    limit: int,
) -> dict[Storage, Slot] | None:
    """Where storages come to lie one after another; None once that takes ``limit`` bytes."""
    slots: dict[Storage, Slot] = {}
    length = max((span.last for span in spans.values()), default=0) + 1
    taken = TakenBytes(length, alignment, part)
    for storage in order:
        span, nbytes = spans[storage], sizes[storage]
        slots[storage] = slot = Slot(taken.place(span, nbytes), nbytes, *span)
        if 0 <= limit <= slot.end:
            return None
    return slots


def _peak(needs: Iterable[tuple[Span, int]], length: int) -> tuple[int, int]:
    change = [0] * (length + 2)
    for span, nbytes in needs:
        change[span.first] += nbytes
        change[span.last + 1] -= nbytes
    live, peak, index = 0, 0, 0
    for i in range(length + 1):
        live += change[i]
        if live > peak:
            peak, index = live, i
    return peak, min(index, max(length - 1, 0))


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
