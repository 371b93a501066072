"""Shards read ahead by a background thread into two staging buffers, in the plan's order."""

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from types import TracebackType
from typing import Protocol, Self, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from studio.engine.core.dtypes import NumpyDType
from studio.engine.core.errors import DataError, StudioError
from studio.engine.train.data.normalization import Array
from studio.engine.train.data.shards.plan import Indices, ShardPlan, ShardVisit

Buffers: TypeAlias = tuple[Array, ...]


class SampleSource(Protocol):
    """Anything that gives a run of samples: an array, a ``numpy.memmap``, an own reader."""

    @property
    def shape(self) -> tuple[int, ...]:
        """[n, …]."""
        ...

    @property
    def dtype(self) -> NumpyDType:
        """Element type of the samples."""
        ...

    def __getitem__(self, key: slice | npt.NDArray[np.integer], /) -> Array:
        """The samples of a slice or at indices, in that order."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Shard:
    """A shard in memory, valid until the next one is asked for.

    Args:
        visit: which shard, when.
        order: int32[count], the order of its samples counted from its start; batch b takes
            ``order[b * batch_size : (b + 1) * batch_size]``, or so many as are wanted of it.
        arrays: one [count, …] array per source.
        numbers: int32[count], which samples of the sources the arrays hold.
    """

    visit: ShardVisit
    order: npt.NDArray[np.int32]
    arrays: Buffers
    numbers: Indices


class ShardStream:
    """Iterates over the shards of epochs while a thread fills the buffer that is not in use.

    Use it as a context; leaving it ends the thread, wherever it stands. The thread also reads
    across the end of an epoch. Reading is sequential within a shard, so files on slow disks serve.

    Args:
        sources: arrays with the same number of samples, for instance x and y.
        plan: how they are cut.
        seed: 64-bit run seed.
        shuffle: whether shards and samples are permuted.
        epochs: numbers of the epochs to stream.
        first_position: shards of the first epoch to leave out, where a run resumes within it.
        order_of: gives the order of all samples in an epoch. A shard is then a run of that order,
            gathered from anywhere in the sources, and an epoch has the batches that it has with
            all samples at hand. Without it a shard is a run of the sources, and only samples of
            one shard are mixed.
        part_of: gives first row and number of those rows of a batch that are wanted, with
            ``order_of`` alone. No others are read: a shard then has these only, batch by batch.

    Raises:
        DataError: the sources differ in length or do not fit the plan.
    """

    def __init__(
        self,
        sources: Sequence[SampleSource],
        plan: ShardPlan,
        *,
        seed: int,
        shuffle: bool = True,
        epochs: Iterable[int],
        first_position: int = 0,
        order_of: Callable[[int], Indices] | None = None,
        part_of: Callable[[int], tuple[int, int]] | None = None,
    ) -> None:
        lengths = {source.shape[0] for source in sources}
        if lengths != {plan.n}:
            raise DataError(
                f"every source must have the {plan.n} samples of the plan: got {sorted(lengths)}",
                who="shards",
            )
        self._sources = tuple(sources)
        self._plan = plan
        self._seed = seed
        self._shuffle = shuffle
        self._order_of = order_of
        self._part_of = part_of
        self._order: tuple[int, Indices] | None = None
        self._visits = itertools.islice(
            (
                visit
                for epoch in epochs
                for visit in plan.visits(seed, epoch, shuffle and order_of is None)
            ),
            first_position,
            None,
        )
        self._free: SimpleQueue[Buffers | None] = SimpleQueue()
        self._ready: SimpleQueue[tuple[Shard, Buffers] | BaseException | None] = SimpleQueue()
        self._in_use: Buffers | None = None
        self._stop = threading.Event()
        self._finished = False
        self._starting = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="shard reader", daemon=True)
        most = len(self._wanted(plan.shard_samples))
        for _ in range(2):
            self._free.put(
                tuple(
                    np.empty((most, *source.shape[1:]), source.dtype.newbyteorder("="))
                    for source in self._sources
                )
            )

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _start(self) -> None:
        # Under the lock, so that a close from elsewhere waits for a thread just being started.
        with self._starting:
            if self._thread.ident is None and not self._finished:
                self._thread.start()

    def close(self) -> None:
        """End the thread and wait for it; iterating afterwards gives nothing more."""
        with self._starting:
            self._finished = True
        self._stop.set()
        self._free.put(None)
        if self._thread.ident is not None:
            self._thread.join()

    def __iter__(self) -> Iterator[Shard]:
        return self

    def __next__(self) -> Shard:
        """The next shard; the arrays of the one before are handed back and overwritten.

        Raises:
            StudioError: what the source raised while the shard was read; anything else it raised
                is wrapped in a DataError.
        """
        self._start()
        if self._finished:
            raise StopIteration
        if self._in_use is not None:
            self._free.put(self._in_use)
            self._in_use = None
        item = self._ready.get()
        if item is None:
            self._finished = True
            raise StopIteration
        if isinstance(item, BaseException):
            self._finished = True
            if isinstance(item, StudioError):
                raise item
            raise DataError(f"reading a shard failed: {item}", who="shards") from item
        shard, self._in_use = item
        return shard

    def _run(self) -> None:
        try:
            for visit in self._visits:
                buffers = self._free.get()
                if buffers is None or self._stop.is_set():
                    break
                self._ready.put((self._fill(visit, buffers), buffers))
            self._ready.put(None)
        except BaseException as error:
            # Whatever went wrong belongs to the thread that waits for this shard.
            self._ready.put(error)

    def _fill(self, visit: ShardVisit, buffers: Buffers) -> Shard:
        numbers = self._numbers(visit)
        run = slice(visit.start, visit.start + visit.count)
        part = run if self._order_of is None else numbers
        arrays = tuple(buffer[: len(numbers)] for buffer in buffers)
        for array, source in zip(arrays, self._sources, strict=True):
            samples = source[part]
            if samples.shape != array.shape:
                raise DataError(
                    f"samples {numbers.min()} to {numbers.max()} must have shape "
                    f"{list(array.shape)}: the source gave {list(samples.shape)}",
                    who="shards",
                )
            np.copyto(array, samples, casting="same_kind")
            _check_finite(array, numbers)
        if self._order_of is None:
            order = self._plan.order_within(visit, self._seed, self._shuffle)
        else:
            order = np.arange(len(numbers), dtype=np.int32)
        return Shard(visit, order, arrays, numbers)

    def _numbers(self, visit: ShardVisit) -> Indices:
        """Which samples a shard has."""
        if self._order_of is None:
            return np.arange(visit.start, visit.start + visit.count, dtype=np.int32)
        if self._order is None or self._order[0] != visit.epoch:
            self._order = visit.epoch, self._order_of(visit.epoch)
        return self._order[1][visit.start : visit.start + visit.count][self._wanted(visit.count)]

    def _wanted(self, count: int) -> npt.NDArray[np.intp]:
        """Which rows of a shard of so many are read."""
        if self._part_of is None:
            return np.arange(count)
        size = self._plan.batch_size
        found = []
        for begin in range(0, count, size):
            first, own = self._part_of(min(size, count - begin))
            # A step runs with one row at least.
            found.append(begin + first + np.arange(max(1, own)))
        return np.concatenate(found)


def _check_finite(array: Array, numbers: Indices) -> None:
    """DataError naming the first sample with a NaN or an infinity, as the loaders refuse them."""
    if array.dtype.kind != "f":
        return
    values = cast("npt.NDArray[np.float64]", array)
    finite = np.isfinite(values).reshape(len(values), -1).all(axis=1)
    if not finite.all():
        raise DataError(
            f"sample {numbers[int(np.argmin(finite))]} holds a value that is not finite",
            who="shards",
        )
