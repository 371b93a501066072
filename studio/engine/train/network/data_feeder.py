"""Samples on the device: uploaded once, or streamed in shards, with the order of each epoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.compiler.lower_data import data_group
from studio.engine.compiler.passes.share_rows import FIRST_ROW
from studio.engine.core.errors import DataError, quoted
from studio.engine.core.tensor import ROWS, Role
from studio.engine.isa.ops.data import STEP_WORDS, StepWord
from studio.engine.layers.lengths import Lengths
from studio.engine.train.data.batches import batch_count, epoch_order
from studio.engine.train.data.samples import Samples, filled_weight
from studio.engine.train.data.shards.plan import ShardPlan, shards_of
from studio.engine.train.data.shards.stream import ShardStream
from studio.engine.train.data.stored_rows import SampleArray
from studio.engine.train.network.network import Network

Array: TypeAlias = npt.NDArray[np.generic]
Indices: TypeAlias = npt.NDArray[np.int32]

_MASK = 0xFFFFFFFF


@dataclass(frozen=True)
class StepRange:
    """Steps of one length that follow one another without the host moving anything.

    Attributes:
        cursor: place in the order of the first row.
        first_step: index within the epoch of the first step.
        batch: rows of each step.
        steps: how many there are.
        offset: what an index out of the order lacks to the number of its sample in the whole set.
        lengths: the network's unknown lengths in these steps; empty for those of the task.
        whole: rows of each step among all workers; 0 where there is one.
        idle: whether a row only fills in, because this worker has none in these steps.
    """

    cursor: int
    first_step: int
    batch: int
    steps: int
    offset: int = 0
    lengths: Lengths = ()
    whole: int = 0
    idle: bool = False

    @property
    def own(self) -> int:
        """Rows of each step that are this worker's."""
        return 0 if self.idle else self.batch

    @property
    def rows(self) -> int:
        """Rows of each step, those of other workers included."""
        return self.whole or self.batch


class DataFeeder:
    """Brings the samples of one mode to the device and says where each step begins.

    Args:
        network: receives the samples.
        mode: ``train`` or ``evaluate``.
        samples: what there is.
        batch_size: rows of a step; the last of an epoch may have fewer.
        seed: seed of order, dropout and augmentation.
        budget: bytes of the device that samples may take.

    Raises:
        DataError: the samples do not fit the program, or the budget does not hold two batches.
    """

    def __init__(
        self, network: Network, mode: str, samples: Samples, batch_size: int, seed: int, budget: int
    ) -> None:
        self.network = network
        self.mode = mode
        self.samples = samples
        self.batch_size = min(batch_size, len(samples))
        self.seed = seed
        shapes = [tuple(array.shape[1:]) for array in samples.inputs]
        self.lengths = network.task.lengths_of(shapes)
        network.use(self.lengths)
        self._spec = network.programs.task(self.lengths).spec
        self.plan: ShardPlan = shards_of(samples, budget, self.batch_size)
        self._group = "train" if mode == "train" else "eval"
        self._control = data_group(self._group, self._spec)
        self.order_name = f"{self._control}/order"
        self._arrays = self._named_arrays("data" if mode == "train" else "eval")
        self._place()

    def _place(self) -> None:
        """Make room on the device, and bring everything there that stays."""
        self._make_room()
        if self.plan.is_resident:
            for name, array in self._arrays.items():
                self.network.session.write(name, np.ascontiguousarray(array[:]))

    def require_place(self) -> bool:
        """Bring everything to the device again where other lengths have taken its place.

        Returns whether that was so; the order is then to be written, too.
        """
        self.network.recent_lengths.held = self.lengths
        self.network.use(self.lengths)
        if self.network.session.has(self.order_name):
            return False
        self._place()
        return True

    @property
    def step_forms(self) -> set[tuple[int, Lengths]]:
        """Rows and lengths of the steps of an epoch."""
        forms = {self.rows_of(step) for step in (0, self.steps - 1)}
        return {(max(1, self._part(rows)[1]), self.lengths) for rows in forms}

    @property
    def steps(self) -> int:
        """Steps of an epoch."""
        return batch_count(len(self.samples), self.batch_size)

    def rows_of(self, step: int) -> int:
        """Rows of the step with that index within the epoch."""
        left = len(self.samples) - step * self.batch_size
        return min(self.batch_size, left)

    def step_ranges(self, epoch: int, shuffle: bool, first_step: int = 0) -> Iterator[StepRange]:
        """The steps of an epoch from ``first_step`` on, each range ready when it is given.

        Writes order and, where data streams, the shard; the caller positions the step block.
        """
        self.require_place()
        if self.plan.is_resident:
            order = self._own_first(self._epoch_order(epoch, shuffle))
            self.network.session.write(self.order_name, order)
            self._write_numbers(order)
            yield from self._cut(0, 0, len(self.samples), first_step)
            return
        yield from self._stream(epoch, shuffle, first_step)

    def position(self, step_range: StepRange, *, step: int, epoch: int, record: int) -> None:
        """Write the step block for a range; it takes effect behind the steps queued before."""
        if self.network.exchange is not None:
            first, _ = self.network.exchange.place(step_range.rows)
            if self.network.session.has(FIRST_ROW):
                self.network.session.write(FIRST_ROW, np.array([first], np.int32))
        words = np.zeros(STEP_WORDS, np.int64)
        words[StepWord.STEP] = step
        words[StepWord.EPOCH] = epoch
        words[StepWord.CURSOR] = step_range.cursor
        words[StepWord.UPDATES] = step
        words[StepWord.RECORD] = record
        words[StepWord.SEED_LOW] = self.seed & _MASK
        words[StepWord.SEED_HIGH] = self.seed >> 32 & _MASK
        words[StepWord.OFFSET] = step_range.offset
        block = words.astype(np.uint32).view(np.int32)
        self.network.session.write(f"{self._group}/step", block)

    def _named_arrays(self, prefix: str) -> dict[str, SampleArray]:
        """Arrays by the name of their tensor in the program."""
        found: dict[str, SampleArray] = {}
        spec = self._spec
        prefix = data_group(prefix, spec)
        for part, arrays in (("x", self.samples.inputs), ("y", self.samples.targets)):
            several = len(spec.inputs if part == "x" else spec.targets) > 1
            for index, array in enumerate(arrays):
                if array is not None:
                    found[f"{prefix}/{part}/{index}" if several else f"{prefix}/{part}"] = array
        for index, shape in enumerate(spec.sample_weights):
            if shape is None:
                continue
            several = len(spec.sample_weights) > 1
            name = f"{prefix}/w/{index}" if several else f"{prefix}/w"
            found[name] = filled_weight(self.samples, index, shape)
        return found

    def _make_room(self) -> None:
        tensors = [
            t
            for t in self.network.program(self.mode, self.lengths).of_role(Role.DATA, Role.STEP)
            if t.shape[:1] == (ROWS,) or t.role is Role.STEP
        ]
        resident = {t.name: t for t in tensors if t.role is Role.DATA}
        for name, tensor in resident.items():
            array = self._arrays.get(name)
            if array is None and not name.endswith(("/order", "/numbers")):
                raise DataError(f"nothing was given for {quoted(name)}", who=self.network.task.name)
            if array is not None and (
                array.shape[1:] != tensor.shape[1:] or array.dtype != tensor.dtype.np
            ):
                raise DataError(
                    f"expected samples {list(tensor.shape[1:])} of {tensor.dtype.name}, got "
                    f"{list(array.shape[1:])} of {array.dtype}",
                    who=self.network.task.name,
                )
        self._arrays = {name: a for name, a in self._arrays.items() if name in resident}
        rows = len(self.samples) if self.plan.is_resident else 2 * self.plan.shard_samples
        self.network.forget(self.mode, self.lengths)
        self.network.session.ensure(tensors, rows)

    def _stream(self, epoch: int, shuffle: bool, first_step: int) -> Iterator[StepRange]:
        size = self.plan.shard_samples
        steps = -(-size // self.batch_size)
        session, order_of, part_of = self.network.session, None, None
        if self.samples.stored_budget:
            # The budget of memory alone decides where samples lie, and must not change results.
            order_of = partial(self._epoch_order, shuffle=shuffle)
            part_of = self._part
        with ShardStream(
            list(self._arrays.values()),
            self.plan,
            seed=self.seed,
            shuffle=shuffle,
            epochs=[epoch],
            first_position=first_step // steps,
            order_of=order_of,
            part_of=part_of,
        ) as stream:
            for shard in stream:
                base = (shard.visit.position % 2) * size
                for name, array in zip(self._arrays, shard.arrays, strict=True):
                    session.write(name, array, row=base)
                order, numbers = shard.order, shard.numbers
                if part_of is None:
                    order, numbers = self._own_first(order), self._own_first(numbers)
                session.write(self.order_name, order + np.int32(base), row=base)
                self._write_numbers(numbers, base)
                # Augmentation is keyed by the sample, not by where its shard lies on the device.
                visit = shard.visit
                offset = visit.start - base if order_of is None else 0
                yield from self._cut(base, visit.first_step, visit.count, first_step, offset)

    def _epoch_order(self, epoch: int, shuffle: bool) -> Indices:
        return epoch_order(self.seed, epoch, len(self.samples), shuffle)

    def _write_numbers(self, numbers: Indices, row: int = 0) -> None:
        """Say which sample each row of the order is, where the program asks for that."""
        name = f"{self._control}/numbers"
        if self.network.session.has(name):
            self.network.session.write(name, numbers, row=row)

    def _cut(
        self, base: int, first: int, rows: int, wanted: int, offset: int = 0
    ) -> Iterator[StepRange]:
        """The whole batches of some rows, then the partial one, from step ``wanted`` on."""
        whole, rest = divmod(rows, self.batch_size)
        skip = min(max(0, wanted - first), whole)
        each = self._part(self.batch_size)[1]
        if whole > skip:
            cursor = base + skip * each
            yield self._range(
                cursor, first + skip, self.batch_size, whole - skip, offset
            )  # fmt: skip
        if rest and first + whole >= wanted:
            yield self._range(base + whole * each, first + whole, rest, 1, offset)

    def _range(self, cursor: int, first: int, rows: int, steps: int, offset: int) -> StepRange:
        """Steps of so many rows among all workers, of which this one runs its part."""
        own = self._part(rows)[1]
        return StepRange(
            cursor, first, max(1, own), steps, offset, self.lengths, rows, idle=own == 0
        )

    def _part(self, rows: int) -> tuple[int, int]:
        """Where this worker's part of the rows of a step begins, and how many it has."""
        exchange = self.network.exchange
        return (0, rows) if exchange is None else exchange.part_of(rows)

    def _own_first(self, order: Indices) -> Indices:
        """An order in which this worker's rows of every batch come first, the others behind them.

        So its batches follow one another as those of a worker that is alone do.
        """
        if self.network.exchange is None:
            return order
        is_own = np.zeros(len(order), np.bool_)
        for begin in range(0, len(order), self.batch_size):
            first, own = self._part(min(self.batch_size, len(order) - begin))
            is_own[begin + first : begin + first + own] = True
        return np.concatenate([order[is_own], order[~is_own]])
