"""What the host itself does around the steps of a program: uploads, read-backs and clears.

No step waits for the host: what changes from step to step is counted on the device, and what
comes back is read while later steps run. Only a program for inference is fed and fetched batch by
batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from studio.engine.compiler.plan_memory import storage_bytes
from studio.engine.core.errors import DataError
from studio.engine.core.tensor import ROWS, Role, Tensor
from studio.engine.isa.program import Program, Storage
from studio.engine.layers.initializers import starts_at_zero
from studio.engine.optim.counted_metrics import counts_of
from studio.engine.optim.emit_updates import RATES_NAME
from studio.engine.runtime.kernel_calls import ONCE, HostAction, HostEntry
from studio.engine.runtime.requirements import persistent_tensors
from studio.engine.train.data.shards.plan import shards_of

if TYPE_CHECKING:
    from studio.engine.compiler.plan_memory import MemoryPlan
    from studio.engine.compiler.target import Target
    from studio.engine.train.project.task import Task

REPORT_SECONDS = 0.1
"""How often the numbers of steps are read while a network trains."""
_MIB = 1 << 20
_WEIGHTS = (Role.PARAM, Role.STATE, Role.SLOT)
_STRETCH = "every run of batches of one length"


def host_entries(
    program: Program,
    plan: MemoryPlan,
    target: Target,
    batch: int,
    rows: int,
    *,
    streams: bool = False,
) -> tuple[HostEntry, ...]:
    """What the host does for a program, in the order it first does it.

    Args:
        program: what runs.
        plan: where its transient tensors lie.
        target: the kind of device.
        batch: rows of the batch symbol.
        rows: rows of the resident data set.
        streams: whether the data comes in shards, since it does not all fit the device.
    """
    return tuple(_Traffic(program, plan, target, batch, rows, streams).entries())


def resident_rows(task: Task, mode: str) -> tuple[int, bool]:
    """Rows of the data set a program finds on the device, and whether it comes in shards."""
    samples = task.training
    if mode == "evaluate":
        samples = task.validation or task.test or samples
    if mode == "infer" or samples is None:
        return 0, False
    budget = task.settings.data_budget * _MIB
    try:
        shards = shards_of(samples, budget, task.batch_rows)
    except DataError:
        return len(samples), False
    if shards.is_resident:
        return len(samples), False
    return 2 * shards.shard_samples, True


@dataclass(frozen=True)
class _Traffic:
    program: Program
    plan: MemoryPlan
    target: Target
    batch: int
    rows: int
    streams: bool

    def entries(self) -> Iterator[HostEntry]:
        """Everything, in order."""
        kept = persistent_tensors(self.program)
        yield from self._prepared(kept)
        yield from self._data([t for t in kept if t.role is Role.DATA])
        for tensor in kept:
            if tensor.role is Role.STEP and tensor.name == RATES_NAME:
                every = f"every {tensor.shape[0]} steps, and when the rate is set by hand"
                yield self._moved("upload", tensor, every)
            elif tensor.role is Role.STEP:
                yield self._moved("upload", tensor, f"before {_STRETCH}")
        counts = {tensor.name for tensor in counts_of(self.program)}
        for tensor in kept:
            if tensor.name in counts:
                yield self._moved("clear", tensor, f"every {self._stretch}")
        for number in self.program.inputs:
            yield self._moved("feed", self.program.tensors[number], "every batch")
        for tensor in kept:
            if tensor.role is Role.METRIC:
                # Counts are read with the ring.
                ring = next(t for t in kept if t.role is Role.METRIC and t.name not in counts)
                yield self._moved("read back", tensor, self._reading(ring))
        if self.program.inputs:
            for number in self.program.outputs:
                yield self._moved("fetch", self.program.tensors[number], "every batch")

    def _prepared(self, kept: Sequence[Tensor]) -> Iterator[HostEntry]:
        if self.target.whole_words:
            # On a CPU the system gives out memory of zeros.
            yield HostEntry("clear", f"{_counted(kept)} kept between runs", self._sum(kept), ONCE)
            ranges = self.plan.to_clear()
            cleared = sum(end - begin for _, begin, end in ranges)
            if cleared:
                many = f"{len(ranges)} ranges" if len(ranges) > 1 else "1 range"
                yield HostEntry("clear", f"{many} of the arena", cleared, ONCE)
        for role in _WEIGHTS:
            made = [t for t in kept if t.role is role and not self._begins_as_zeros(t)]
            if made:
                what = f"{_counted(made)} of role {role.value}"
                yield HostEntry("upload", what, self._sum(made), ONCE)
        # A CPU's backend writes them again for each length of batches it compiles for.
        when = ONCE if self.target.whole_words else "once for each length of batches"
        for tensor in kept:
            if tensor.role is Role.CONST and tensor.value is not None:
                yield self._moved("upload", tensor, when)

    def _begins_as_zeros(self, tensor: Tensor) -> bool:
        return self.program.mode == "train" and starts_at_zero(tensor)

    def _data(self, data: Sequence[Tensor]) -> Iterator[HostEntry]:
        for tensor in data:
            order = tensor.name.endswith(("/order", "/numbers"))
            if tensor.shape[:1] != (ROWS,):
                continue
            if self.streams:
                # The device has room for two shards: one is used while the other comes.
                entry = self._moved("upload", tensor, "every shard")
                yield entry._replace(nbytes=entry.nbytes // 2)
            else:
                when = f"every {self._stretch}" if order else ONCE
                yield self._moved("upload", tensor, when)

    @property
    def _stretch(self) -> str:
        return "epoch" if self.program.mode == "train" else "evaluation"

    def _reading(self, ring: Tensor) -> str:
        last = f"after {ring.shape[0]} steps at the latest"
        if self.program.mode != "train":
            return f"at the end, {last}"
        return f"every {REPORT_SECONDS:g} s, {last}, and at the end of an epoch"

    def _moved(self, action: HostAction, tensor: Tensor, when: str) -> HostEntry:
        return HostEntry(action, tensor.name, self._sum((tensor,)), when)

    def _sum(self, tensors: Sequence[Tensor]) -> int:
        """Bytes of tensors as the device keeps them."""
        sizes = (self.batch, self.rows, self.target)
        program = self.program
        return sum(
            storage_bytes(program, Storage(program.tensors.root(t.id), False), *sizes)
            for t in tensors
        )


def _counted(tensors: Sequence[Tensor]) -> str:
    return f"{len(tensors)} tensor{'' if len(tensors) == 1 else 's'}"
