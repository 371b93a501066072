"""What the workers of one training exchange: their place among the others, sums, agreements."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from math import prod
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import BackendError
from studio.engine.core.tensor import Shape

Floats: TypeAlias = npt.NDArray[np.float32]
Doubles: TypeAlias = npt.NDArray[np.float64]

WANTS_STOP, SAW_BAD, WANTS_SAVE = FLAGS = (1, 2, 4)
"""What every sum carries beside its numbers, as bits."""

ALIGNMENT = 64
"""Elements between which the tensors of a bucket begin, as they do on a GPU."""


class Transfer(Protocol):
    """A sum over the workers that is under way."""

    def wait(self) -> None:
        """Return when the sum is there.

        Raises:
            StudioError: another worker is gone or silent, or has failed.
        """
        ...

    def abandon(self) -> None:
        """Leave both arrays alone from now on; nothing can be exchanged any more."""
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
        saw_bad: set once this worker has seen a loss that is NaN or infinite.
        wants_save: set to have all workers halt behind the same step for a checkpoint.
        stop_agreed: whether any worker wanted to stop, as of the last step.
        bad_agreed: whether any worker has seen a bad loss, as of the last step.
        save_agreed: whether any worker wants a checkpoint, as of the last step.
        place_on_host: number of this worker among those of its host, from 0.
        is_over: set once each worker goes its own way.
        seconds: how long the thread that runs steps was held up, by what: ``device`` computing and
            copying, ``sums``, issuing ``copies``.
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
        self.seconds: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Count how long something takes."""
        begun = time.perf_counter()
        yield
        self.seconds[what] += time.perf_counter() - begun

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

    @property
    def flags(self) -> int:
        """What this worker tells the others with the next sum."""
        return WANTS_STOP * self.wants_stop | SAW_BAD * self.saw_bad | WANTS_SAVE * self.wants_save

    def agree(self, flags: int) -> None:
        """Take up what any worker has told with a sum: all see the same behind the same step."""
        self.stop_agreed |= bool(flags & WANTS_STOP)
        self.bad_agreed |= bool(flags & SAW_BAD)
        self.save_agreed |= bool(flags & WANTS_SAVE)

    @abstractmethod
    def begin_sum(self, given: Floats, out: Floats, scale: float = 1.0) -> Transfer:
        """Begin to put the sums of ``scale * given`` over all workers into ``out``.

        All workers get the same bits, and hear the flags of all. Both arrays are left alone until
        the sum is there.

        Args:
            given: what this worker adds.
            out: of the same length; may be ``given``.
            scale: factor of what is given.
        """

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
        memory: room for `length_of` the sizes, memory of its own where None.

    Attributes:
        values: room for all tensors, one behind the other.
        parts: where each tensor goes before `begin`, and comes from.
    """

    def __init__(
        self, exchange: Exchange, sizes: Sequence[int], memory: Floats | None = None
    ) -> None:
        self._exchange = exchange
        self.values = np.zeros(self.length_of(sizes), np.float32) if memory is None else memory
        begins = self.begins_of(sizes)
        self.parts = [
            self.values[begin : begin + size] for begin, size in zip(begins, sizes, strict=True)
        ]
        self._transfer: Transfer | None = None

    @staticmethod
    def begins_of(sizes: Sequence[int]) -> list[int]:
        """Where each tensor begins; the same on all workers, however their memory is divided."""
        rooms = (-(-size // ALIGNMENT) * ALIGNMENT for size in sizes)
        return list(accumulate(rooms, initial=0))[:-1]

    @classmethod
    def length_of(cls, sizes: Sequence[int]) -> int:
        """Elements for all tensors."""
        return cls.begins_of(sizes)[-1] + sizes[-1]

    @property
    def is_under_way(self) -> bool:
        """Whether `finish` has something to wait for."""
        return self._transfer is not None

    def begin(self) -> None:
        """Send this worker's share of what lies in the parts."""
        exchange = self._exchange
        self._transfer = exchange.begin_sum(self.values, self.values, exchange.share)

    def finish(self) -> None:
        """Wait for the means; raises as `Transfer.wait` does."""
        transfer, self._transfer = self._transfer, None
        if transfer is not None:
            transfer.wait()

    def abandon(self) -> None:
        """Leave the memory alone: a step was broken off."""
        transfer, self._transfer = self._transfer, None
        if transfer is not None:
            transfer.abandon()


class StatisticsBucket(HostBucket):
    """The column statistics of one worker's rows, to be those of the rows of all workers.

    The squares of differences from the mean of all rows follow when that is known, since those of
    the rows themselves would lose the variance beside a large mean.

    Args:
        exchange: of this worker.
        columns: how many there are.
        rows: of this worker.
        memory: as of `HostBucket`.
    """

    def __init__(
        self, exchange: Exchange, columns: int, rows: int, memory: Floats | None = None
    ) -> None:
        super().__init__(exchange, [2 * columns], memory)
        self._rows = np.float32(rows)
        self._own_mean: Floats = np.zeros(columns, np.float32)

    def begin(self) -> None:
        """Send mean and variance."""
        mean, squares = self.values.reshape(2, -1)
        np.copyto(self._own_mean, mean)
        np.divide(squares, self._rows, out=squares)
        super().begin()

    def finish(self) -> None:
        """Wait for the mean, then for what the means of the workers are away from it."""
        super().finish()
        mean, variance = self.values.reshape(2, -1)
        apart = self._own_mean - mean
        between: Floats = apart * apart
        self._exchange.begin_sum(between, between, self._exchange.share).wait()
        np.add(variance, between, out=variance)
        np.multiply(variance, self._rows, out=variance)


def bucket_of(
    exchange: Exchange, sizes: Sequence[int], rows: Shape = (), memory: Floats | None = None
) -> HostBucket:
    """What carries the tensors of an ALLREDUCE line.

    Args:
        exchange: of this worker.
        sizes: elements of each tensor.
        rows: shape of what the one tensor is the column statistics of; empty for other tensors.
        memory: as of `HostBucket`.
    """
    if rows:
        return StatisticsBucket(exchange, rows[-1], prod(rows[:-1]), memory)
    return HostBucket(exchange, sizes, memory)
