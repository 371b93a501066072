"""The numbers of single steps, as they come from a training and as a run's folder keeps them.

``steps.bin`` is only ever appended to. A line of JSON says what is recorded; records of fixed size
follow, little-endian: the steps done (u4), seconds since the run began and those of them it trained
(f4 each), and for each metric its value (f4). Where a training has more than `MOST_RECORDS` steps,
every record stands for ``stride`` of them and holds mean, lowest and highest of each metric. A last
record that was torn is left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import DataError, FormatError, quoted
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import parse_json

RATE = "learning_rate"
"""The name of the last column."""
NAME = "steps.bin"
FORMAT = "glassbox-steps"
VERSION = 1
MOST_RECORDS = 1 << 21
MOST_METRICS = 64

_LIMITS = Limits(json_bytes=1 << 16)
_MOST_BYTES = 2048 * MIB
_LARGEST = (1 << 32) - 1
_BEHIND = 1e-6

Floats: TypeAlias = npt.NDArray[np.float64]
Values: TypeAlias = npt.NDArray[np.floating]
Records: TypeAlias = npt.NDArray[np.void]


@dataclass(frozen=True)
class EpochSize:
    """What an epoch consists of.

    Attributes:
        steps: steps of an epoch.
        batch: items of a step; the last of an epoch may have fewer.
        items: items of an epoch; 0 where that was not recorded.
    """

    steps: int
    batch: int
    items: int = 0

    def items_at(self, steps: Floats) -> Floats:
        """Items seen after so many steps."""
        epochs = np.floor(steps / self.steps)
        rest = np.minimum((steps - epochs * self.steps) * self.batch, self.items)
        return np.asarray(epochs * self.items + rest)

    def steps_of(self, items: Floats) -> Floats:
        """Steps after which so many items have been seen."""
        epochs = np.floor(items / self.items)
        rest = np.minimum((items - epochs * self.items) / self.batch, self.steps)
        return np.asarray(epochs * self.steps + rest)


@dataclass(frozen=True, eq=False)
class StepChunk:
    """Steps that follow one another, with their numbers.

    Attributes:
        first: steps done before the first of them.
        values: [steps, metrics] in the order of the run's metrics, the learning rate last.
        wall: when the first of them began and when the numbers of the last were there, seconds
            since the system's epoch.
        relative: the same in seconds of training since the run began.
    """

    first: int
    values: Values
    wall: tuple[float, float]
    relative: tuple[float, float]


@dataclass(frozen=True)
class StepsHeader:
    """What a file of steps holds.

    Attributes:
        metrics: names of what is recorded of each step.
        size: what an epoch consists of.
        began: when the run began, seconds since the system's epoch.
        stride: steps of each record.
    """

    metrics: tuple[str, ...]
    size: EpochSize
    began: float
    stride: int = 1

    @property
    def dtype(self) -> np.dtype[np.void]:
        """The form of a record."""
        columns = 1 if self.stride == 1 else 3
        values = ("values", "<f4", (columns, len(self.metrics)))
        return np.dtype([("step", "<u4"), ("wall", "<f4"), ("relative", "<f4"), values])

    def line(self) -> bytes:
        """The first line of the file."""
        fields = {
            "format": FORMAT,
            "version": VERSION,
            "metrics": list(self.metrics),
            "epoch_steps": self.size.steps,
            "batch": self.size.batch,
            "epoch_items": self.size.items,
            "began": self.began,
            "stride": self.stride,
        }
        return json.dumps(fields).encode() + b"\n"


@dataclass(frozen=True, eq=False)
class StepsContent:
    """What was read.

    Attributes:
        header: what it is.
        records: one for each ``stride`` steps; ``values`` are [records, 1 or 3, metrics].
    """

    header: StepsHeader
    records: Records


class StepLog:
    """Appends to the file of a run; on one thread.

    Every method raises DataError where the file cannot be written.

    Args:
        folder: of the run.
        header: what will be recorded.
        most: records at which neighbours are joined; an even number.

    Raises:
        FormatError: a file is there that holds something else.
    """

    def __init__(self, folder: Path, header: StepsHeader, most: int = MOST_RECORDS) -> None:
        self.path = folder / NAME
        self._most = most
        with _writing(self.path):
            if self.path.is_file():
                found = _read(self.path)
                if found.header.metrics != header.metrics or found.header.size != header.size:
                    raise FormatError("it holds the steps of another training", who=str(self.path))
                self.header, records = found.header, found.records
                self._cut(len(records))
            else:
                self.header, records = header, np.zeros(0, header.dtype)
                write_atomic(self.path, header.line())
            self._take_over(records)
            self._file = self.path.open("ab")

    def add(self, chunks: Sequence[StepChunk]) -> None:
        """Append steps that follow one another, and hand them to the system."""
        chunks = [chunk for chunk in chunks if len(chunk.values)]
        if not chunks:
            return
        first = chunks[0].first
        values = np.concatenate([chunk.values for chunk in chunks])
        single = np.zeros(len(values), replace(self.header, stride=1).dtype)
        steps = np.arange(first + 1, first + len(values) + 1)
        single["step"] = np.minimum(steps, _LARGEST)
        # Each chunk begins behind the step the one before it ended with.
        knots = [k for c in chunks for k in (c.first + _BEHIND, c.first + len(c.values))]
        wall = np.interp(steps, knots, [t for chunk in chunks for t in chunk.wall])
        single["wall"] = wall - self.header.began
        single["relative"] = np.interp(steps, knots, [t for c in chunks for t in c.relative])
        single["values"][:, 0] = values
        self._watch_for_break(first)
        with _writing(self.path):
            while len(single):
                # Neighbours are joined in pairs, so that is done where the segment has an even
                # number.
                room = max(self._most - self._count, self._in_segment % 2)
                if room <= 0:
                    self._halve()
                    continue
                taken = room * self.header.stride - len(self._waiting)
                self._write(single[:taken])
                single = single[taken:]
            self._file.flush()

    def close(self) -> None:
        """Close the file; an incomplete group of steps is not written."""
        with suppress(OSError):
            self._file.close()

    def _take_over(self, records: Records) -> None:
        """Set the counters to what the file holds."""
        steps = records["step"].astype(np.int64)
        breaks = np.flatnonzero(np.diff(steps) != self.header.stride)
        self._count = len(records)
        self._in_segment = len(records) - (int(breaks[-1]) + 1 if len(breaks) else 0)
        self._last = int(steps[-1]) if len(steps) else -1
        self._waiting = np.zeros(0, replace(self.header, stride=1).dtype)

    def _watch_for_break(self, first: int) -> None:
        """Begin a new segment where the next step does not follow on the last."""
        if first != self._last:
            # What waits for its group was never to be completed.
            self._waiting = self._waiting[:0]
            self._in_segment = 0

    def _write(self, single: Records) -> None:
        stride = self.header.stride
        records = single
        if stride > 1:
            together = np.concatenate([self._waiting, single])
            whole = len(together) // stride * stride
            self._waiting = together[whole:]
            records = _joined(together[:whole], stride, self.header.dtype)
        self._file.write(records.tobytes())
        self._count += len(records)
        self._in_segment += len(records)
        self._last = int(single["step"][-1])

    def _halve(self) -> None:
        self._file.close()
        found = _read(self.path)
        self.header = replace(found.header, stride=2 * found.header.stride)
        records = _paired(found.records, found.header.stride, self.header.dtype)
        write_atomic(self.path, self.header.line() + records.tobytes())
        self._take_over(records)
        self._file = self.path.open("ab")

    def _cut(self, count: int) -> None:
        """Truncate an incomplete last record."""
        size = len(self.header.line()) + count * self.header.dtype.itemsize
        if self.path.stat().st_size > size:
            with self.path.open("r+b") as file:
                file.truncate(size)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror}", who=str(path)) from error


def read_steps(folder: Path) -> StepsContent | None:
    """The steps of a run; None where none were recorded. FormatError for a damaged file."""
    path = folder / NAME
    return _read(path) if path.is_file() else None


def _read(path: Path) -> StepsContent:
    who = str(path)
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise FormatError("the file is too large", who=who)
        with path.open("rb") as file:
            line = file.readline(_LIMITS.json_bytes)
            header = _header(line, who)
            if header.line() != line:
                raise FormatError("the first line is not as Glassbox writes it", who=who)
            data = file.read()
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", who=who) from error
    count = len(data) // header.dtype.itemsize
    records = np.frombuffer(data, header.dtype, count)
    if not np.isfinite([records["wall"], records["relative"]]).all():
        raise FormatError("a time in it is NaN or infinite", who=who)
    return StepsContent(header, records)


def _header(line: bytes, who: str) -> StepsHeader:
    fields = parse_json(line, who, _LIMITS)
    if not isinstance(fields, Mapping) or fields.get("format") != FORMAT:
        raise FormatError("not a file of steps of Glassbox", who=who)
    if fields.get("version") != VERSION:
        raise FormatError(f"version {quoted(fields.get('version'))} is not known here", who=who)
    metrics = fields.get("metrics")
    names = tuple(n for n in metrics if isinstance(n, str)) if isinstance(metrics, list) else ()
    numbers = [fields.get(n) for n in ("epoch_steps", "batch", "epoch_items", "stride")]
    began = fields.get("began")
    if (
        not isinstance(metrics, list)
        or not 0 < len(metrics) <= MOST_METRICS
        or len(names) != len(metrics)
        or not all(0 < len(name) <= 200 for name in names)
        or not isinstance(began, float)
        or not math.isfinite(began)
    ):
        raise FormatError("the first line is damaged", who=who)
    whole = [n for n in numbers if isinstance(n, int) and not isinstance(n, bool) and n > 0]
    if len(whole) != len(numbers):
        raise FormatError("the first line is damaged", who=who)
    steps, batch, items, stride = whole
    return StepsHeader(names, EpochSize(steps, batch, items), began, stride)


def _joined(single: Records, stride: int, dtype: np.dtype[np.void]) -> Records:
    made = np.zeros(len(single) // stride, dtype)
    made["step"] = single["step"][stride - 1 :: stride]
    made["wall"] = single["wall"][stride - 1 :: stride]
    made["relative"] = single["relative"][stride - 1 :: stride]
    values = single["values"][:, 0].reshape(len(made), stride, single["values"].shape[-1])
    made["values"] = np.stack(_three(values, values, values), axis=1)
    return made


def _paired(records: Records, stride: int, dtype: np.dtype[np.void]) -> Records:
    """Neighbours joined where the second follows on the first; others lose the one left over."""
    steps = records["step"].astype(np.int64)
    follows = np.diff(steps) == stride
    # Within each segment, the even places begin a pair.
    begins = np.concatenate([[True], ~follows])
    place = np.arange(len(steps)) - np.maximum.accumulate(
        np.where(begins, np.arange(len(steps)), 0)
    )
    first = np.flatnonzero((place[:-1] % 2 == 0) & follows)
    made = np.zeros(len(first), dtype)
    made["step"] = steps[first + 1]
    made["wall"] = records["wall"][first + 1]
    made["relative"] = records["relative"][first + 1]
    values = records["values"]
    low, high = (0, 0) if stride == 1 else (1, 2)
    pairs = [np.stack([values[first, k], values[first + 1, k]], axis=1) for k in (0, low, high)]
    made["values"] = np.stack(_three(*pairs), axis=1)
    return made


def _three(mean: Values, low: Values, high: Values) -> tuple[Values, Values, Values]:
    """Mean, lowest and highest over the middle axis of [groups, members, metrics]."""
    finite = np.isfinite(mean)
    counts = finite.sum(axis=1)
    sums = np.where(finite, mean, 0.0).sum(axis=1, dtype=np.float64)
    means = np.full(sums.shape, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    lows = np.where(np.isfinite(low), low, np.inf).min(axis=1)
    highs = np.where(np.isfinite(high), high, -np.inf).max(axis=1)
    return (
        means,
        np.where(np.isfinite(lows), lows, np.nan),
        np.where(np.isfinite(highs), highs, np.nan),
    )
