"""Loss and metrics of steps, read from the device's ring without a step ever waiting for it."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.isa.program import Program
from studio.engine.optim.counted_metrics import counted_labels, counts_of, totals
from studio.engine.runtime.backend import BackendSession
from studio.engine.runtime.exchange import Exchange

Array: TypeAlias = npt.NDArray[np.generic]
Numbers: TypeAlias = npt.NDArray[np.float32]
"""Numbers of steps that follow one another: [steps, columns], named by `MetricsReader.labels`."""

_MOST_READS = 4
_WRAP = 1 << 32


@dataclass(frozen=True)
class _Read:
    """A read-back under way.

    Attributes:
        first: number of its first record.
        rows: rows of the batch of each record.
        future: the ring's contents behind those steps.
        counts: the counts of the epoch behind them.
    """

    first: int
    rows: tuple[int, ...]
    future: Future[Array]
    counts: tuple[Future[Array], ...]

    @property
    def done(self) -> bool:
        """Whether all of it is there."""
        return all(future.done() for future in (self.future, *self.counts))


class EpochCounts:
    """The counts of one program in a session.

    Whole numbers are int32 on the device and wrap around; here they go on growing as long as fewer
    than 2^32 come between two readings.

    Args:
        session: holds them.
        program: counts.
    """

    def __init__(self, session: BackendSession, program: Program) -> None:
        self._session = session
        self._labels = counted_labels(program)
        self._tensors = {t.name: t for t in counts_of(program)}
        self._last: dict[str, npt.NDArray[np.int64]] = {}
        self._totals: dict[str, npt.NDArray[Any]] = {}
        self._whole: dict[str, npt.NDArray[Any]] = {}

    def begin(self, *, fresh: bool) -> None:
        """Forget what was read; with ``fresh`` zero the counts on the device, too."""
        self._last, self._totals, self._whole = {}, {}, {}
        if not self._tensors:
            return
        self._session.ensure(list(self._tensors.values()))
        if fresh:
            for name, tensor in self._tensors.items():
                self._session.write(name, np.zeros(tensor.shape, tensor.dtype.np))

    def ask(self) -> list[Future[Array]]:
        """Begin to read them, behind the steps queued so far."""
        return [self._session.read(name) for name in self._tensors]

    def take(self, arrays: Sequence[Array]) -> None:
        """What a reading has brought."""
        self._whole = {}
        for name, array in zip(self._tensors, arrays, strict=True):
            now = totals(array)
            if array.dtype != np.int32:
                self._totals[name] = now
                continue
            before = self._last.get(name, np.zeros_like(now))
            self._totals[name] = self._totals.get(name, 0) + (now - before) % _WRAP
            self._last[name] = now

    def held(self) -> dict[str, Array]:
        """The counts on the device, as they are stored behind the steps queued so far."""
        return {name: np.array(self._session.read(name).result()) for name in self._tensors}

    def hold(self, counts: Mapping[str, Array]) -> None:
        """Put counts back that `held` gave; those that come on are counted from there."""
        for name, values in counts.items():
            self._session.write(name, values)

    def gather(self, exchange: Exchange) -> None:
        """Bring the counts of all workers together on the first of them; the others begin anew.

        Every worker knows the totals until more is read.
        """
        whole: dict[str, npt.NDArray[Any]] = {}
        for name, tensor in self._tensors.items():
            stored = np.array(self._session.read(name).result())
            known = self._totals.get(name, totals(np.zeros_like(stored)))
            whole[name] = exchange.total(known.astype(np.float64)).astype(known.dtype)
            joined = exchange.total(stored.astype(np.float64))
            kept = np.zeros_like(stored)
            if exchange.rank == 0:
                # Whole numbers wrap around on the device.
                kept = (joined.astype(np.int64) if stored.dtype == np.int32 else joined).astype(
                    tensor.dtype.np
                )
            self._session.write(name, kept)
            self._last[name] = totals(kept)
            self._totals[name] = whole[name] if exchange.rank == 0 else np.zeros_like(whole[name])
        self._whole = whole

    def put_between(self, means: dict[str, float]) -> dict[str, float]:
        """The means of other metrics and the numbers of these, in the order of the settings."""
        known = self._whole or self._totals
        if not known:
            return means
        found = list(means.items())
        for one in self._labels:
            counts = {port: known[tensor.name] for port, tensor in one.tensors.items()}
            found.insert(one.place, (one.label, one.metric.value(counts)))
        return dict(found)


class MetricsReader:
    """Means of one epoch, each step weighted by its rows, in float64, and what it has counted.

    Args:
        session: holds the ring.
        program: records into it; says what its columns are.
        group: ``train`` or ``eval``.
        heard: called with the number of the first record and the numbers of steps, in order.
    """

    def __init__(
        self,
        session: BackendSession,
        program: Program,
        group: str,
        heard: Callable[[int, Numbers], object] | None = None,
    ) -> None:
        self.labels = metric_labels(program)
        self._weights = weight_columns(program, self.labels)
        self.columns = len(self.labels) + len(set(self._weights.values()))
        self._session = session
        self._name = f"{group}/ring"
        self._length = program.tensors.named(self._name).shape[0]
        self._heard = heard
        self._reads: deque[_Read] = deque()
        self._queued: list[int] = []
        self._counts = EpochCounts(session, program)
        self.rows = 0
        self._sums = np.zeros(self.columns)
        self.begin(0)

    @property
    def room(self) -> int:
        """Steps that may be queued before a read-back has to be asked for."""
        return self._length - len(self._queued)

    def held_counts(self) -> dict[str, Array]:
        """The counts of the epoch as they are on the device now."""
        return self._counts.held()

    def hold_counts(self, counts: Mapping[str, Array]) -> None:
        """Put counts back on the device: those of a row that only fills in do not count."""
        self._counts.hold(counts)

    def gather_counts(self, exchange: Exchange) -> None:
        """Bring the counts of all workers together, once all steps noted are read."""
        self._counts.gather(exchange)

    def gather(self, exchange: Exchange) -> None:
        """Bring together what each worker has found of its own rows."""
        whole = exchange.total(np.array([self.rows, *self._sums], np.float64))
        self.rows, self._sums = round(whole[0]), whole[1:]
        self._counts.gather(exchange)

    def begin(self, record: int, rows: int = 0, sums: Sequence[float] = ()) -> None:
        """Start at ``record`` with what an epoch had counted before."""
        self._reads.clear()
        self._queued = []
        self._asked = record
        self.rows = rows
        self._sums = np.zeros(self.columns)
        self._sums[: len(sums)] = sums
        self._counts.begin(fresh=not rows)

    @property
    def sums(self) -> tuple[float, ...]:
        """Sums over the rows counted so far."""
        return tuple(float(value) for value in self._sums)

    def note(self, rows: int, steps: int) -> None:
        """Remember steps that were queued."""
        self._queued.extend([rows] * steps)

    def ask(self) -> None:
        """Begin to read what the steps noted so far leave; returns at once."""
        if self._queued:
            future = self._session.read(self._name)
            counts = tuple(self._counts.ask())
            self._reads.append(_Read(self._asked, tuple(self._queued), future, counts))
            self._asked += len(self._queued)
            self._queued = []
        while len(self._reads) > _MOST_READS:
            self._take(self._reads.popleft())

    def collect(self) -> None:
        """Take the read-backs that are done."""
        while self._reads and self._reads[0].done:
            self._take(self._reads.popleft())

    def finish(self) -> None:
        """Wait for the numbers of all steps noted."""
        self.ask()
        while self._reads:
            self._take(self._reads.popleft())

    def means(self) -> dict[str, float]:
        """Means, and what follows from counts, of the rows so far; empty before the first."""
        if not self.rows:
            return {}
        found = {}
        for place, name in enumerate(self.labels):
            weight = self._sums[self._weights[place]] if place in self._weights else self.rows
            found[name] = float(self._sums[place] / weight) if weight else 0.0
        return self._counts.put_between(found)

    def _take(self, read: _Read) -> None:
        ring = np.asarray(read.future.result(), np.float32)
        values = ring[np.arange(read.first, read.first + len(read.rows)) % self._length]
        rows = np.array(read.rows, np.float64)
        terms = values * rows[:, np.newaxis]
        for place, weight in self._weights.items():
            terms[:, place] *= values[:, weight]
        # Accumulated, since a sum over an axis may add in another order: means keep their bits.
        self._sums = np.add.accumulate(np.vstack([self._sums, terms]), axis=0)[-1]
        self.rows += sum(read.rows)
        self._counts.take([np.asarray(future.result()) for future in read.counts])
        if self._heard is not None:
            self._heard(read.first, values[:, : len(self.labels)])


def metric_labels(program: Program) -> tuple[str, ...]:
    """Names of the ring's columns, ``loss`` first; behind them may be columns of weights."""
    return tuple(str(name) for name in json.loads(program.meta.get("metrics", "[]")))


def weight_columns(program: Program, labels: Sequence[str]) -> dict[int, int]:
    """For the column of each metric whose batches have weights the column of these."""
    given = json.loads(program.meta.get("metric_weights", "{}"))
    return {labels.index(label): len(labels) + place for label, place in given.items()}
