"""The plan by which data larger than the device budget is cut into shards and shuffled."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import DataError, ParameterError
from studio.engine.core.philox import permutation, stream_of
from studio.engine.train.data.samples import Samples
from studio.engine.train.data.source_files import size_text

Indices: TypeAlias = npt.NDArray[np.int32]

SHARD_STREAM = stream_of("data/shards")
"""The Philox stream of the order of shards within an epoch."""

_BUFFERS = 2
_STORED_BYTES = 1 << 26
_STORED_SHARE = 8


@dataclass(frozen=True, slots=True)
class ShardVisit:
    """One shard at its place in an epoch.

    Args:
        epoch: number of the epoch, from 0.
        position: place within the epoch, from 0.
        number: which shard, from 0.
        start: index of its first sample in the data set.
        count: its samples.
        first_step: index within the epoch of its first batch.
    """

    epoch: int
    position: int
    number: int
    start: int
    count: int
    first_step: int


@dataclass(frozen=True, slots=True)
class ShardPlan:
    """Contiguous shards of ``shard_samples`` samples; only the last may be shorter.

    ``shard_samples`` is a multiple of the batch size (or the whole set), so no batch straddles two
    shards and an epoch has as many batches as without shards.

    Args:
        n: samples in all.
        batch_size: samples per batch.
        shard_samples: samples of a full shard.
    """

    n: int
    batch_size: int
    shard_samples: int

    @property
    def shard_count(self) -> int:
        """How many shards there are; 1 means that the data set stays resident."""
        return -(-self.n // self.shard_samples)

    @property
    def is_resident(self) -> bool:
        """Whether everything fits the budget at once, with nothing to stream."""
        return self.shard_count == 1

    def visits(self, seed: int, epoch: int, shuffle: bool) -> tuple[ShardVisit, ...]:
        """The shards of an epoch in the order they are visited.

        Shuffling permutes the full shards; a shorter last one stays last, so that the partial
        batch is the last of the epoch as it is without shards.
        """
        full = self.n // self.shard_samples
        order = permutation(seed, SHARD_STREAM, epoch, full) if shuffle else np.arange(full)
        numbers = [int(number) for number in order]
        if full < self.shard_count:
            numbers.append(full)
        steps = -(-self.shard_samples // self.batch_size)
        return tuple(
            ShardVisit(
                epoch,
                position,
                number,
                start=number * self.shard_samples,
                count=min(self.shard_samples, self.n - number * self.shard_samples),
                first_step=position * steps,
            )
            for position, number in enumerate(numbers)
        )

    def order_within(self, visit: ShardVisit, seed: int, shuffle: bool) -> Indices:
        """The order of the samples of a shard: int32[count], counted from its start.

        Keyed by (seed, epoch, shard number), so it does not depend on what was read before.
        """
        if not shuffle:
            return np.arange(visit.count, dtype=np.int32)
        stream = stream_of(f"data/shards/{visit.number}")
        return permutation(seed, stream, visit.epoch, visit.count)


def plan_shards(n: int, sample_bytes: int, budget: int, batch_size: int) -> ShardPlan:
    """Cut ``n`` samples so that two shards, one in use and one arriving, fit the budget.

    Args:
        n: samples in all.
        sample_bytes: bytes of a sample with its label, as stored.
        budget: bytes of the device that data may take.
        batch_size: samples per batch.

    Returns:
        One shard where all samples fit the budget; else the largest shards of whole batches.

    Raises:
        DataError: not even two batches fit the budget.
    """
    if min(n, sample_bytes, batch_size) < 1:
        raise ParameterError(
            f"shards need samples, bytes and a batch size of at least 1: got {n}, {sample_bytes}, "
            f"{batch_size}",
            who="shards",
        )
    if n * sample_bytes <= budget:
        return ShardPlan(n, batch_size, n)
    shard_samples = budget // (_BUFFERS * sample_bytes) // batch_size * batch_size
    if shard_samples < 1:
        raise DataError(
            f"the data budget must hold two batches: {batch_size} samples need "
            f"{size_text(_BUFFERS * batch_size * sample_bytes)}, got {size_text(budget)}",
            who="shards",
            hint="raise the budget or make the batch smaller",
        )
    return ShardPlan(n, batch_size, min(shard_samples, n))


def shards_of(samples: Samples, budget: int, batch_size: int) -> ShardPlan:
    """`plan_shards` for some samples.

    Of those that stay in their files a little is on its way at a time: two shards are on the
    device and two in memory, and on a CPU these are the same memory.

    Args:
        samples: what there is.
        budget: bytes of the device that data may take.
        batch_size: samples per batch.
    """
    if samples.stored_budget:
        two_batches = _BUFFERS * batch_size * samples.row_bytes
        share = min(_STORED_BYTES, samples.stored_budget // _STORED_SHARE)
        budget = min(budget, max(two_batches, share))
    return plan_shards(len(samples), samples.row_bytes, budget, batch_size)
