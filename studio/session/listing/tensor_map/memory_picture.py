"""The arena over the course of a program: a box per lifetime, and the bytes needed at each line."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from studio.engine.compiler.plan_memory import MemoryPlan
from studio.engine.core.tensor import Ref
from studio.engine.isa.program import Storage
from studio.session.listing.rows import ProgramRows
from studio.session.listing.tensor_map.rows import TensorRole, role_of


class Box(NamedTuple):
    """The life of one storage in the arena.

    Attributes:
        ref: its register.
        key: name of the tensor, ``.grad`` appended for its gradient.
        role: what it is for.
        first: running index of the first instruction that needs it.
        last: running index of the last one.
        offset: first byte.
        nbytes: length in bytes.
    """

    ref: Ref
    key: str
    role: TensorRole
    first: int
    last: int
    offset: int
    nbytes: int

    @property
    def end(self) -> int:
        """The byte behind it."""
        return self.offset + self.nbytes


class MemoryPicture:
    """What the tensor map draws; every number is the memory plan's.

    Args:
        rows: the program.
        plan: where its transient storages lie.
    """

    def __init__(self, rows: ProgramRows, plan: MemoryPlan) -> None:
        self.length = len(rows)
        self.height = plan.total_bytes
        self.peak_bytes = plan.peak_bytes
        self.peak_row = plan.peak_index
        self.boxes = tuple(
            Box(
                Ref(storage.root, storage.grad),
                rows.origins.key_of_ref(Ref(storage.root, storage.grad)),
                role_of(rows.program.tensors[storage.root], storage.grad),
                slot.first,
                slot.last,
                slot.offset,
                slot.nbytes,
            )
            for storage, slot in plan.slots.items()
        )
        self.by_storage = {
            Storage(box.ref.id, box.ref.grad): place for place, box in enumerate(self.boxes)
        }
        self.live_bytes = _live_bytes(self.boxes, self.length)
        self._storage = rows.program.storage

    def box_of(self, ref: Ref) -> Box | None:
        """The box of a register, or of the one it is a view of; None outside the arena."""
        place = self.by_storage.get(self._storage(ref))
        return None if place is None else self.boxes[place]

    def box_at(self, row: float, byte: float) -> Box | None:
        """The box at a place of the picture; ``row`` counts from the left edge of its cell."""
        for box in self.boxes:
            if box.first <= row < box.last + 1 and box.offset <= byte < box.end:
                return box
        return None

    def neighbour(self, box: Box, rows: int, places: int) -> Box:
        """The next box in a direction, for the keyboard; the same one at the edge.

        Args:
            box: where the caret is.
            rows: 1 for the box that comes next in the program, -1 for the one before.
            places: 1 for the box above in the arena, -1 for the one below.
        """
        if rows:
            order = sorted(self.boxes, key=lambda b: (b.first, b.offset))
        else:
            order = [b for b in self.boxes if b.first <= box.last and box.first <= b.last]
            order.sort(key=lambda b: (b.offset, b.first))
        place = order.index(box) + (rows or places)
        return order[min(max(place, 0), len(order) - 1)]


def _live_bytes(boxes: Sequence[Box], length: int) -> tuple[int, ...]:
    change = [0] * (length + 1)
    for box in boxes:
        change[box.first] += box.nbytes
        change[box.last + 1] -= box.nbytes
    return tuple(accumulate(change[:length]))
