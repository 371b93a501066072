"""What the workers of one training exchange: their place among the others, sums, agreements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import prod
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import BackendError
from studio.engine.core.tensor import Shape

Floats: TypeAlias = npt.NDArray[np.float32]
Doubles: TypeAlias = npt.NDArray[np.float64]

FLAGS = 3
"""Numbers behind what a bucket carries: who wants to stop, who saw a loss that is no number, who
wants a checkpoint."""


class Transfer(Protocol):
    """A sum over the workers that is under way."""

    def wait(self) -> None:
        """Return when the sum is there.

        Raises:
            StudioError: another worker is gone or silent, or has failed.
        """
        ...


class Exchange(ABC):
    """One worker among those of a training; all of them call the same methods in the same order.

    Args:
        rank: number of this worker, from 0.
        size: how many there are.

    Attributes:
        rank: number of this worker.
        size: how many there are.
        first_row: row of the batch at which this worker's part begins.
        share: its part of the rows of the batch.
        wants_stop: set to have all workers stop behind the step that all of them run next.
        saw_bad: set where this worker has seen a loss that is no number.
        wants_save: set to have all workers halt behind the same step for a checkpoint.
        stop_agreed: whether any worker wanted to stop, as of the last step.
        bad_agreed: whether any worker has seen a bad loss, as of the last step.
        save_agreed: whether any worker wants a checkpoint, as of the last step.
        place_on_host: number of this worker among those of its host, from 0.
        is_over: set once each worker goes its own way.
    """

    def __init__(self, rank: int, size: int) -> None:
        self.rank = rank
        self.size = size
        self.first_row = 0
        self.share = 1.0 / size
        self.wants_stop = self.saw_bad = self.wants_save = False
        self.stop_agreed = self.bad_agreed = self.save_agreed = False
        self.place_on_host = rank
        self.is_over = False

    def part_of(self, rows: int) -> tuple[int, int]:
        """Where this worker's part of ``rows`` rows begins, and how many it has."""
        first = rows * self.rank // self.size
        return first, rows * (self.rank + 1) // self.size - first

    def place(self, rows: int) -> tuple[int, int]:
        """Say how many rows the next steps have among all workers; gives what `part_of` does."""
        first, own = self.part_of(rows)
        self.first_row, self.share = first, own / rows
        return first, own

    def forget_agreements(self) -> None:
        """Begin an epoch: what ended the one before holds no longer."""
        self.saw_bad = self.bad_agreed = False
        self.forget_save()

    def forget_save(self) -> None:
        """Go on behind a checkpoint, while nothing is exchanged."""
        self.wants_save = self.save_agreed = False

    @abstractmethod
    def begin_sum(self, values: Floats) -> Transfer:
        """Begin to replace the values by their sums over all workers, equal to the bit."""

    @abstractmethod
    def total(self, values: Doubles) -> Doubles:
        """The sums over all workers, added in their order; for what is not part of a step."""

    @abstractmethod
    def from_first(self, data: bytes) -> bytes:
        """What the first worker gives; what others give is not looked at."""

    @abstractmethod
    def all_words(self, word: str) -> list[str]:
        """The short ASCII word that each worker gives, by rank."""


def required(exchange: Exchange | None, who: str) -> Exchange:
    """What brings the workers together; BackendError where there is only one."""
    if exchange is None:
        raise BackendError(
            "its ALLREDUCE lines bring several workers together, and there is one",
            who=who,
            hint="train it with glassbox train --workers N",
        )
    return exchange


class HostBucket:
    """Memory in which the tensors of one ALLREDUCE line travel, and the sum under way.

    Args:
        exchange: of this worker.
        sizes: elements of each tensor.

    Attributes:
        values: room for all tensors, one behind the other.
        parts: where each tensor goes before `begin`, times the share, and comes from.
    """

    def __init__(self, exchange: Exchange, sizes: list[int]) -> None:
        self._exchange = exchange
        self._sent: Floats = np.zeros(sum(sizes) + FLAGS, np.float32)
        self.values = self._sent[:-FLAGS]
        ends = np.cumsum(sizes)
        self.parts = [self._sent[end - size : end] for end, size in zip(ends, sizes, strict=True)]
        self._transfer: Transfer | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether `finish` has something to wait for."""
        return self._transfer is not None

    def begin(self) -> None:
        """Send what lies in the parts, which are times the share."""
        exchange = self._exchange
        self._sent[-FLAGS:] = (exchange.wants_stop, exchange.saw_bad, exchange.wants_save)
        self._transfer = exchange.begin_sum(self._sent)

    def finish(self) -> None:
        """Wait for the sums; raises as `Transfer.wait` does."""
        transfer, self._transfer = self._transfer, None
        if transfer is not None:
            transfer.wait()
            # All workers see the same numbers behind the same step.
            stop, bad, save = (bool(number > 0) for number in self._sent[-FLAGS:])
            self._exchange.stop_agreed |= stop
            self._exchange.bad_agreed |= bad
            self._exchange.save_agreed |= save


class StatisticsBucket(HostBucket):
    """The column statistics of one worker's rows, to be those of the rows of all workers.

    The squares of differences from the mean of all rows follow when that is known, since those of
    the rows themselves would lose the variance beside a large mean.

    Args:
        exchange: of this worker.
        columns: how many there are.
        rows: of this worker.
    """

    def __init__(self, exchange: Exchange, columns: int, rows: int) -> None:
        super().__init__(exchange, [2 * columns])
        self._rows = np.float32(rows)
        self._own_mean: Floats = np.zeros(columns, np.float32)

    def begin(self) -> None:
        """Send mean and variance, times the share."""
        mean, squares = self.values.reshape(2, -1)
        np.copyto(self._own_mean, mean)
        np.divide(squares, self._rows, out=squares)
        super().begin()

    def finish(self) -> None:
        """Wait for the mean, then for what the means of the workers are away from it."""
        super().finish()
        mean, variance = self.values.reshape(2, -1)
        share = np.float32(self._exchange.share)
        apart = self._own_mean - share * mean
        between: Floats = np.zeros_like(apart)
        if share > 0:
            np.divide(apart * apart, share, out=between)
        self._exchange.begin_sum(between).wait()
        np.add(variance, between, out=variance)
        np.multiply(variance, self._rows, out=variance)


def bucket_of(exchange: Exchange, sizes: list[int], rows: Shape = ()) -> HostBucket:
    """What carries the tensors of an ALLREDUCE line.

    Args:
        exchange: of this worker.
        sizes: elements of each tensor.
        rows: shape of what the one tensor is the column statistics of; empty for other tensors.
    """
    if rows:
        return StatisticsBucket(exchange, rows[-1], prod(rows[:-1]))
    return HostBucket(exchange, sizes)
