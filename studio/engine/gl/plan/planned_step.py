"""The dispatches of a program, planned without a device: for listings, and for tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from studio.engine.compiler.lifetimes import inner_gradients, transient
from studio.engine.compiler.plan_memory import MemoryPlan, plan_memory
from studio.engine.gl.device.device import SLICE_ALIGNMENT
from studio.engine.gl.plan.issue_order import IssueOrder, order_dispatches
from studio.engine.gl.plan.persistent_buffers import persistent_buffers
from studio.engine.gl.plan.planner import Planner
from studio.engine.gl.plan.scratch import spare_room
from studio.engine.gl.shader.planned import TableBinding, TicketsBinding
from studio.engine.runtime.entries import Entry, entries
from studio.engine.runtime.kernel_calls import ONCE, HostEntry, KernelCall, StepCalls
from studio.engine.runtime.requirements import asked_in_turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from studio.engine.compiler.target import Target
    from studio.engine.core.tensor import Ref, Tensor
    from studio.engine.gl.kernels.specs import DeviceCaps
    from studio.engine.gl.plan.hazards import Span
    from studio.engine.gl.shader.planned import PlannedDispatch
    from studio.engine.isa.program import Program


class SymbolicStorages:
    """Where storages would lie on a device; buffers have names and are never allocated.

    Persistent tensors share buffers as in a training's session; transient ones lie in the planned
    arena.

    Args:
        program: whose storages.
        target: the kind of device.
        batch: rows of the batch symbol.
        rows: rows of the resident data set.
    """

    def __init__(self, program: Program, target: Target, batch: int, rows: int) -> None:
        self.program = program
        self.plan: MemoryPlan = plan_memory(program, batch, rows, target)
        self.inner = inner_gradients(program)
        self._held: dict[str, Span] = {}
        for tensors in asked_in_turn(program):
            self._hold(tensors, rows)

    def place(self, ref: Ref) -> tuple[int | str, int]:
        """The buffer an operand lies in, and its offset there."""
        name, begin, _ = self.span(ref)
        return name, begin

    def span(self, ref: Ref) -> Span:
        """The buffer an operand's storage lies in, its first byte and the one behind it."""
        storage = self.program.storage(ref)
        root = self.program.tensors[storage.root]
        if not transient(self.program, storage) and root.role.persistent:
            return self._held[root.name]
        slot = self.plan.slots[storage]
        number, offset = self.plan.place(slot)
        return (f"arena {number}", offset, offset + slot.nbytes)

    def _hold(self, tensors: Sequence[Tensor], rows: int) -> None:
        for group, _ in persistent_buffers((t, t.descriptor(1, rows)) for t in tensors):
            name = group[0][0].name
            for tensor, descriptor, begin in group:
                end = begin + max(descriptor.device_nbytes, 4)
                self._held[tensor.name] = (name, begin, end)


@dataclass(frozen=True)
class PlannedStep:
    """The dispatches of one step.

    Attributes:
        entries: what the program runs as one, with the dispatches of each, in order.
        order: how the dispatches follow each other.
        memory: where the transient storages lie.
    """

    entries: tuple[tuple[Entry, tuple[PlannedDispatch, ...]], ...]
    order: IssueOrder
    memory: MemoryPlan

    @property
    def dispatches(self) -> tuple[PlannedDispatch, ...]:
        """All dispatches, as the program has them."""
        return tuple(one for _, planned in self.entries for one in planned)

    def stored(self, ref: Ref) -> bool:
        """Whether an operand has a storage, and does not live inside one kernel only."""
        program = self.memory.program
        storage = program.storage(ref)
        root = program.tensors[storage.root]
        return storage in self.memory.slots or (not ref.grad and root.role.persistent)

    @cached_property
    def calls(self) -> StepCalls:
        """The same as plain data."""
        return recorded_calls(self.entries, self.order)


def plan_step(
    program: Program,
    target: Target,
    batch: int,
    rows: int,
    caps: DeviceCaps,
) -> PlannedStep:
    """Plan a step as an executable on a device with these caps does.

    Args:
        program: what runs.
        target: the kind of device it was compiled for, and whether kernels run in order there.
        batch: rows of the batch symbol.
        rows: rows of the resident data set.
        caps: capabilities of the device.

    Raises:
        BackendError: an instruction has no kernel, or a tensor is too large.
    """
    storages = SymbolicStorages(program, target, batch, rows)
    planner = Planner(program, batch, rows, caps, storages.place, storages.inner)
    found = entries(program)
    plans = planner.plan_all(found)
    flat = [one for planned in plans for one in planned]
    order = order_dispatches(
        flat,
        storages.span,
        SLICE_ALIGNMENT,
        in_order=target.in_order,
        spare=spare_room(storages.plan.total_bytes),
    )
    together = tuple((e, tuple(planned)) for e, planned in zip(found, plans, strict=True))
    return PlannedStep(together, order, storages.plan)


def recorded_calls(
    planned: Sequence[tuple[Entry, Sequence[PlannedDispatch]]], order: IssueOrder
) -> StepCalls:
    """Dispatches as plain data, by the running index of the line their entry begins at."""
    turns = {number: turn for turn, number in enumerate(order.numbers)}
    runs: dict[int, tuple[KernelCall, ...]] = {}
    number = 0
    for entry, group in planned:
        calls = []
        for one in group:
            calls.append(_call(one, number, turns[number], order))
            number += 1
        runs[entry.index] = tuple(calls)
    flat = [one for _, group in planned for one in group]
    return StepCalls(runs, order.seamless, tuple(_prepared(flat)))


def _prepared(planned: Sequence[PlannedDispatch]) -> Iterator[HostEntry]:
    """What a recording uploads and clears for itself."""
    pairs = len({one.launch for one in planned})
    bindings = [binding for one in planned for binding in one.bindings]
    tables = {binding.words for binding in bindings if isinstance(binding, TableBinding)}
    counters = [binding.count * 4 for binding in bindings if isinstance(binding, TicketsBinding)]
    if pairs:
        yield HostEntry("upload", "launch numbers", pairs * SLICE_ALIGNMENT, ONCE)
    if tables:
        yield HostEntry("upload", "tables of segments", sum(map(len, tables)), ONCE)
    if counters:
        nbytes = sum(-(-count // SLICE_ALIGNMENT) * SLICE_ALIGNMENT for count in counters)
        yield HostEntry("clear", "counters of work groups", nbytes, ONCE)


def _call(one: PlannedDispatch, number: int, turn: int, order: IssueOrder) -> KernelCall:
    return KernelCall(
        one.source.name,
        one.variant,
        groups=one.groups,
        local=one.source.local,
        is_file=one.source.files[-1] == f"{one.source.name}.glsl",
        turn=turn,
        level=order.levels[number],
        barrier=order.barriers[number],
        source=one.source.text,
    )
