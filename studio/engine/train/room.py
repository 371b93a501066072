"""Whether the machine has the memory a training needs, asked before any of it is taken."""

from __future__ import annotations

from collections.abc import Iterator

from studio.engine.compiler.plan_memory import MemoryPlan, plan_memory
from studio.engine.core.errors import MemoryShortageError
from studio.engine.core.tensor import Ref
from studio.engine.runtime.free_memory import free_memory, reserve_of, shortage_text
from studio.engine.runtime.peaks import is_gpu
from studio.engine.train.network import STATE_ROLES, Network

_NAMED = 2


def require_room(network: Network) -> None:
    """MemoryShortageError where weights, their state and a step need more than is free.

    Memory of a card is not asked for: its backend refuses what is beyond its budget.
    """
    task = network.task
    free = None if is_gpu(network.backend) else free_memory()
    if free is None:
        return
    kept = sum(
        tensor.numel(1) * tensor.dtype.itemsize
        for tensor in network.tensors("train", STATE_ROLES)
        if not network.session.has(tensor.name)
    )
    batch = task.batch_rows
    plan = _plan(network, batch)
    needed = kept + plan.total_bytes
    usable = free - reserve_of(free)
    if needed <= usable:
        return
    sizes = _halves(batch)
    fitting = next((n for n in sizes if kept + _plan(network, n).total_bytes <= usable), 0)
    largest = ", ".join(str(ref) for ref in _largest(plan))
    raise MemoryShortageError(
        f"training in batches of {batch} {shortage_text(needed, free)}; "
        f"the largest tensors of a step: {largest}",
        who=task.name,
        hint=f"a batch size of {fitting} fits" if fitting else "make its layers smaller",
        fitting=fitting,
    )


def _plan(network: Network, batch: int) -> MemoryPlan:
    samples = network.task.training
    rows = 0 if samples is None else len(samples)
    return plan_memory(network.program("train"), batch, rows, network.backend.target)


def _halves(batch: int) -> Iterator[int]:
    while batch > 1:
        batch //= 2
        yield batch


def _largest(plan: MemoryPlan) -> list[Ref]:
    found = sorted(plan.slots, key=lambda storage: -plan.slots[storage].nbytes)[:_NAMED]
    return [Ref(storage.root, storage.grad) for storage in found]
