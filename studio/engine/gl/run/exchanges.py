"""Brings tensors of a step together with those of other workers, by way of the host."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import BackendError
from studio.engine.gl.device.fences import Fence
from studio.engine.gl.device.readback import read_now
from studio.engine.isa.ops.exchange import AllReduce
from studio.engine.runtime.exchange import HostBucket, bucket_of, required

if TYPE_CHECKING:
    from studio.engine.gl.device.buffers import PoolBuffer, Slice
    from studio.engine.gl.record.device_work import DeviceWork
    from studio.engine.gl.run.storages import Storages
    from studio.engine.isa.program import Program, Storage
    from studio.engine.runtime.entries import Entry

Action = Callable[[], object]


class Bucket:
    """The tensors of one ALLREDUCE line; every method runs on the engine thread.

    Where the driver can, they travel by memory that the host and the device both see: the device
    copies into it, the sum is made there, and the device copies out of it. Nothing is waited for
    but the fence behind the first copy, and the sum.

    Args:
        work: the device.
        storages: where the tensors lie.
        line: names them.
    """

    def __init__(self, work: DeviceWork, storages: Storages, line: AllReduce) -> None:
        self.refs = line.xs
        self._work = work
        self._exchange = required(work.exchange, storages.program.name)
        descriptors = [storages.descriptor(ref) for ref in self.refs]
        if any(each.padded for each in descriptors):
            raise BackendError("workers exchange no padded tensors", who=storages.program.name)
        sizes = [each.numel for each in descriptors]
        rows = storages.descriptor(line.rows).shape if line.rows.present else ()
        nbytes = 4 * HostBucket.length_of(sizes)
        self._buffer = work.pool.acquire(nbytes, "what workers exchange", kind="exchange")
        mapped = self._buffer.memory
        if mapped is not None:
            mapped[:] = 0
        memory = None if mapped is None else mapped.view(np.float32)
        self._is_mapped = mapped is not None
        self._sent = bucket_of(self._exchange, sizes, rows, memory)
        places = [storages.where(ref) for ref in self.refs]
        self._down = list(_ranges(places, sizes, self._buffer))
        self._up = [(part, place) for place, part in self._down]
        self._fence: Fence | None = None

    @property
    def copies(self) -> int:
        """Ranges the device copies each way; one where the tensors lie one behind the other."""
        return len(self._down)

    @property
    def is_here(self) -> bool:
        """Whether `send` would not wait."""
        return self._fence is None or self._fence.done

    def collect(self) -> None:
        """Have the device bring the tensors to the host; does not wait."""
        with self._exchange.timed("copies"):
            self._work.pool.copy_all(self._down)
            self._fence = Fence(self._work.gl)

    def send(self) -> None:
        """Wait for them, and begin the sum."""
        fence, self._fence = self._fence, None
        if fence is None:
            return
        with self._exchange.timed("device"):
            if not fence.wait(self._work.engine.stopping):
                fence.release()
                raise BackendError("the exchange was given up: the engine is closing", who="gl")
        if not self._is_mapped:
            with self._exchange.timed("copies"):
                read_now(self._work.pool, self._buffer.slice(), None, self._bytes)
        self._sent.begin()

    def take(self) -> None:
        """Wait for the means and have the device put them where the tensors are."""
        self.send()
        if self._sent.is_under_way:
            with self._exchange.timed("sums"):
                self._sent.finish()
            with self._exchange.timed("copies"):
                if not self._is_mapped:
                    self._work.pool.upload(self._buffer.slice(), self._bytes)
                self._work.pool.copy_all(self._up)

    def release(self) -> None:
        """Give the buffer back."""
        if self._fence is not None:
            self._fence.release()
        self._sent.abandon()
        self._work.pool.release(self._buffer)

    @property
    def _bytes(self) -> npt.NDArray[np.uint8]:
        return self._sent.values.view(np.uint8)


def _ranges(
    places: Sequence[Slice], sizes: Sequence[int], buffer: PoolBuffer
) -> Iterator[tuple[Slice, Slice]]:
    """What is copied where: neighbours in one go, with the unused bytes between them."""
    begins = [4 * begin for begin in HostBucket.begins_of(sizes)]
    first = 0
    for number, place in enumerate(places):
        end = begins[number] + 4 * sizes[number]
        if number + 1 < len(places):
            other = places[number + 1]
            step = begins[number + 1] - begins[number]
            if other.buffer is place.buffer and other.offset - place.offset == step:
                continue
        nbytes = end - begins[first]
        begin = places[first]
        yield begin.buffer.slice(begin.offset, nbytes), buffer.slice(begins[first], nbytes)
        first = number + 1


class Exchanges:
    """What a step does between its entries because it is one of several workers'.

    While the device computes what follows, buckets that have arrived are sent. All workers begin
    and end sums in the same order: what depends on time is only how early one is begun.

    Args:
        work: the device.
        storages: where tensors lie.
        found: the entries of the step.
    """

    def __init__(self, work: DeviceWork, storages: Storages, found: Sequence[Entry]) -> None:
        self._unsent: deque[Bucket] = deque()
        self._buckets: list[Bucket] = []
        self.before: dict[int, Action] = {}
        """What is done before the entry of a number is issued."""
        self.behind: dict[int, Action] = {}
        """What is done behind it."""
        self.whole: dict[int, Action] = {}
        """What is done behind it in a step that waits for each exchange where it begins."""
        program = storages.program
        open_buckets: dict[Bucket, frozenset[Storage]] = {}
        lines = [entry.parts[0] for entry in found]
        last = max((n for n, line in enumerate(lines) if isinstance(line, AllReduce)), default=0)
        for number, (entry, line) in enumerate(zip(found, lines, strict=True)):
            touched = _touched(program, entry)
            waited = [bucket for bucket, held in open_buckets.items() if held & touched]
            if waited and number > last:
                waited = list(open_buckets)
            if waited:
                self.before[number] = self._taking(waited)
            for bucket in waited:
                del open_buckets[bucket]
            if isinstance(line, AllReduce):
                bucket = Bucket(work, storages, line)
                self._buckets.append(bucket)
                open_buckets[bucket] = frozenset(map(program.storage, line.xs))
                self.behind[number] = self._collecting(bucket)
                self.whole[number] = _exchanging(bucket)
        if open_buckets:
            end = len(found) - 1
            begun, taken = self.behind.get(end), self._taking(list(open_buckets))
            self.behind[end] = taken if begun is None else lambda: (begun(), taken())

    def __bool__(self) -> bool:
        return bool(self._buckets)

    def release(self) -> None:
        """Give all buffers back."""
        for bucket in self._buckets:
            bucket.release()
        self._buckets.clear()

    def _collecting(self, bucket: Bucket) -> Action:
        def collect() -> None:
            bucket.collect()
            while self._unsent and self._unsent[0].is_here:
                self._unsent.popleft().send()
            self._unsent.append(bucket)

        return collect

    def _taking(self, buckets: Sequence[Bucket]) -> Action:
        def take() -> None:
            # The last is still being computed: what the others still need is done meanwhile.
            while len(self._unsent) > 1:
                self._unsent.popleft().send()
            last = self._unsent.popleft() if self._unsent else None
            for bucket in buckets:
                if bucket is not last:
                    bucket.take()
            if last is not None:
                last.send()
                if last in buckets:
                    last.take()

        return take


def _exchanging(bucket: Bucket) -> Action:
    def exchange() -> None:
        bucket.collect()
        bucket.take()

    return exchange


def _touched(program: Program, entry: Entry) -> frozenset[Storage]:
    return frozenset(program.storage(ref) for ref in (*entry.reads(), *entry.writes()))
