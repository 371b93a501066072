"""Brings tensors of a step together with those of other workers, by way of the host."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from studio.engine.core.errors import BackendError
from studio.engine.gl.device.readback import PendingRead
from studio.engine.isa.ops.exchange import AllReduce
from studio.engine.runtime.exchange import bucket_of, required

if TYPE_CHECKING:
    from studio.engine.core.tensor import Ref
    from studio.engine.gl.device.buffers import Slice
    from studio.engine.gl.record.device_work import DeviceWork
    from studio.engine.gl.run.storages import Storages
    from studio.engine.isa.program import Program, Storage
    from studio.engine.runtime.entries import Entry

Action = Callable[[], object]


class Bucket:
    """The tensors of one ALLREDUCE line; every method runs on the engine thread.

    Args:
        work: the device.
        storages: where the tensors lie.
        line: names them.
    """

    def __init__(self, work: DeviceWork, storages: Storages, line: AllReduce) -> None:
        self.refs = line.xs
        self._work = work
        self._storages = storages
        self._exchange = required(work.exchange, storages.program.name)
        descriptors = [storages.descriptor(ref) for ref in self.refs]
        if any(each.padded for each in descriptors):
            raise BackendError("workers exchange no padded tensors", who=storages.program.name)
        sizes = [each.numel for each in descriptors]
        rows = storages.descriptor(line.rows).shape if line.rows.present else ()
        self._sent = bucket_of(self._exchange, sizes, rows)
        nbytes = 4 * sum(sizes)
        self._buffer = work.pool.acquire(nbytes, "what workers exchange")
        self._whole = self._buffer.slice(0, nbytes)
        begins = accumulate((4 * size for size in sizes), initial=0)
        self._parts = [
            self._buffer.slice(begin, 4 * size) for begin, size in zip(begins, sizes, strict=False)
        ]
        self._pending: PendingRead | None = None

    def collect(self) -> None:
        """Have the device put the tensors together and bring them to the host."""
        for ref, part in zip(self.refs, self._parts, strict=True):
            self._work.pool.copy(self._place(ref, part), part)
        self._pending = PendingRead(self._work.pool, self._whole)

    def send(self) -> None:
        """Wait for them, and send this worker's share."""
        pending, self._pending = self._pending, None
        if pending is not None:
            values = self._sent.values
            pending.result(self._work.engine.stopping, values.view(np.uint8))
            np.multiply(values, np.float32(self._exchange.share), out=values)
            self._sent.begin()

    def take(self) -> None:
        """Wait for the means and put them where the tensors are."""
        self.send()
        if self._sent.is_under_way:
            self._sent.finish()
            self._work.pool.upload(self._whole, self._sent.values)
            for ref, part in zip(self.refs, self._parts, strict=True):
                self._work.pool.copy(part, self._place(ref, part))

    def release(self) -> None:
        """Give the buffer back."""
        if self._pending is not None:
            self._pending.cancel()
        self._work.pool.release(self._buffer)

    def _place(self, ref: Ref, part: Slice) -> Slice:
        where = self._storages.where(ref)
        return where.buffer.slice(where.offset, part.nbytes)


class Exchanges:
    """What a step does between its entries because it is one of several workers'.

    While the device computes what follows, the bucket before is sent.

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
        for number, entry in enumerate(found):
            touched = _touched(program, entry)
            waited = [bucket for bucket, held in open_buckets.items() if held & touched]
            if waited:
                self.before[number] = self._taking(waited)
            for bucket in waited:
                del open_buckets[bucket]
            line = entry.parts[0]
            if isinstance(line, AllReduce):
                bucket = Bucket(work, storages, line)
                self._buckets.append(bucket)
                open_buckets[bucket] = frozenset(map(program.storage, line.xs))
                self.behind[number] = self._collecting(bucket)
                self.whole[number] = _exchanging(bucket)
        if open_buckets:
            last = len(found) - 1
            begun, taken = self.behind.get(last), self._taking(list(open_buckets))
            self.behind[last] = taken if begun is None else lambda: (begun(), taken())

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
            self._send_all()
            self._unsent.append(bucket)

        return collect

    def _taking(self, buckets: Sequence[Bucket]) -> Action:
        def take() -> None:
            self._send_all()
            for bucket in buckets:
                bucket.take()

        return take

    def _send_all(self) -> None:
        """Send what was collected, in that order: it is the same on all workers."""
        while self._unsent:
            self._unsent.popleft().send()


def _exchanging(bucket: Bucket) -> Action:
    def exchange() -> None:
        bucket.collect()
        bucket.take()

    return exchange


def _touched(program: Program, entry: Entry) -> frozenset[Storage]:
    return frozenset(program.storage(ref) for ref in (*entry.reads(), *entry.writes()))
