"""Samples of several lengths on the device: a part for each length, batches of one length each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from studio.engine.core.errors import DataError
from studio.engine.core.philox import permutation, stream_of
from studio.engine.layers.lengths import Lengths
from studio.engine.train.data.batches import epoch_order
from studio.engine.train.data.samples import Batch, MixedSamples, Samples
from studio.engine.train.network.data_feeder import DataFeeder, StepRange
from studio.engine.train.network.network import Network

_BATCH_STREAM = stream_of("data/batches")
"""The Philox stream of the order of batches within an epoch."""


class MixedFeeder(DataFeeder):
    """Brings samples of several lengths to the device; each step has samples of one length.

    An epoch visits every sample once. Shuffled, each part is divided into other batches every time,
    and batches of all lengths are mixed; batches that are settled are only mixed.

    Args:
        network: receives the samples.
        mode: ``train`` or ``evaluate``.
        samples: what there is.
        batch_size: most rows of a step, unless the batches are settled.
        seed: seed of order, dropout and augmentation.
        budget: bytes of the device that samples may take.

    Raises:
        DataError: the samples do not fit the program, or the budget does not hold them.
    """

    def __init__(
        self,
        network: Network,
        mode: str,
        samples: MixedSamples,
        batch_size: int,
        seed: int,
        budget: int,
    ) -> None:
        parts = samples.parts
        needed = sum(part.row_bytes * len(part) for part in parts)
        if needed > budget:
            raise DataError(
                f"samples of several lengths must fit the data budget of {budget >> 20} MiB: they "
                f"have {needed >> 20} MiB",
                who=network.task.name,
                hint="give fewer samples at a time, or samples of one length",
            )
        self._settled = samples.batches
        size = max((batch.rows for batch in samples.batches), default=batch_size)
        self._parts = [
            DataFeeder(network, mode, part, min(size, len(part)), seed, budget) for part in parts
        ]
        self._offsets = [0, *accumulate(len(part) for part in parts)]
        super().__init__(network, mode, parts[0], min(size, len(parts[0])), seed, budget)
        self.samples = samples
        self.batch_size = max(batch.rows for batch in self._batches())

    @property
    def step_forms(self) -> set[tuple[int, Lengths]]:
        """Rows and lengths of the steps of an epoch, of those lengths whose data is there now."""
        held = self.network.session.has
        ready = [index for index, part in enumerate(self._parts) if held(part.order_name)]
        return {
            (batch.rows, self._parts[batch.part].lengths)
            for batch in self._batches()
            if batch.part in ready
        }

    @property
    def steps(self) -> int:
        """Steps of an epoch."""
        return len(self._batches())

    def rows_of(self, step: int) -> int:
        """Rows of the step with that index within the epoch, as it is without shuffling."""
        return self._batches()[step].rows

    def step_ranges(self, epoch: int, shuffle: bool, first_step: int = 0) -> Iterator[StepRange]:
        """The steps of an epoch from ``first_step`` on, each range ready when it is given."""
        batches = self._batches()
        if shuffle:
            mixed = permutation(self.seed, _BATCH_STREAM, epoch, len(batches))
            batches = [batches[index] for index in mixed]
        shuffled = shuffle and not self._settled
        ordered: set[int] = set()
        for step, batch in enumerate(batches):
            if step < first_step:
                continue
            part = self._parts[batch.part]
            if part.require_place() or batch.part not in ordered:
                order = epoch_order(self.seed, epoch, len(part.samples), shuffled)
                self.network.session.write(part.order_name, order)
                ordered.add(batch.part)
            yield StepRange(
                batch.first, step, batch.rows, 1, self._offsets[batch.part], part.lengths
            )

    def _batches(self) -> list[Batch]:
        """The batches of an epoch, not shuffled."""
        if self._settled:
            return list(self._settled)
        return [
            Batch(index, first, min(part.batch_size, len(part.samples) - first))
            for index, part in enumerate(self._parts)
            for first in range(0, len(part.samples), part.batch_size)
        ]


def feeder_for(
    network: Network, mode: str, samples: Samples, batch_size: int, seed: int, budget: int
) -> DataFeeder:
    """What brings samples of one length or several to the device; raises as the feeders do."""
    if isinstance(samples, MixedSamples):
        if network.exchange is not None:
            raise DataError(
                "samples of several lengths train on one worker only",
                who=network.task.name,
                hint="give samples of one length, or leave out --workers",
            )
        return MixedFeeder(network, mode, samples, batch_size, seed, budget)
    return DataFeeder(network, mode, samples, batch_size, seed, budget)
