"""The curves of one run: filled while it trains, read from its folder, written as a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias, get_args

import numpy as np

from studio.engine.core.signal import Signal
from studio.engine.train.runs.marks import Mark, read_marks
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.step_log import (
    RATE,
    EpochSize,
    Records,
    StepChunk,
    StepsContent,
    read_steps,
)
from studio.session.plots.axes import Axis, Clock, Horizontal
from studio.session.plots.series import EvenSteps, ListedSteps, Series

VALIDATION = "val_"

_CLOCK_POINTS = 8192
_WAIT = 8.0
HEADER = ("run", "segment", "curve", "step", "epoch", "seconds", "value")
Part: TypeAlias = Literal["training", "validation"]


class Segment:
    """A stretch of a run in which each step follows on the one before.

    Attributes:
        first: steps done before it.
        clock: when its steps were done.
        steps: numbers of single steps by metric.
        epochs: numbers of whole epochs by name; those of validation begin with ``val_``.
    """

    def __init__(self, first: int) -> None:
        self.first = first
        self.clock = Clock()
        self.steps: dict[str, Series] = {}
        self.epochs: dict[str, Series] = {}

    @property
    def last_step(self) -> float:
        """Steps done at its end."""
        found = (*self.steps.values(), *self.epochs.values())
        return max((series.last_step for series in found), default=float(self.first))

    def series(self, metric: str, part: Part) -> Series | None:
        """What is drawn of a metric: single steps where they were recorded, else epochs."""
        if part == "validation":
            return self.epochs.get(VALIDATION + metric)
        return self.steps.get(metric) or self.epochs.get(metric)


class RunCurves:
    """The curves of one run, growing while it trains.

    Args:
        name: of the run, as its folder is called.
        outputs: of its network, where there are several.
    """

    def __init__(self, name: str, outputs: tuple[str, ...] = ()) -> None:
        self.changed: Signal[[]] = Signal()
        self.name = name
        self.outputs = outputs
        self.size: EpochSize | None = None
        self.metrics: tuple[str, ...] = ()
        self.segments: list[Segment] = []
        self.marks: list[Mark] = []

    # -- growing --------------------------------------------------------------------------------

    @property
    def elapsed(self) -> float:
        """Seconds of training recorded so far."""
        return max((segment.clock.last_relative for segment in self.segments), default=0.0)

    def begin_part(self, size: EpochSize, metrics: tuple[str, ...], step: int, wall: float) -> None:
        """The training begins, or goes on from a checkpoint.

        Args:
            size: what an epoch consists of.
            metrics: names of what each step gives, the learning rate last.
            step: steps done before.
        """
        if self.size is None:
            self._count_steps(size.steps)
        elapsed = self.elapsed
        self.size, self.metrics = size, metrics
        last = self.segments[-1] if self.segments else None
        if last is None or step != last.last_step:
            # What follows does not continue the line: it starts again from an earlier place.
            self.segments.append(Segment(step))
        self.segments[-1].clock.add(step, wall, elapsed)
        self.marks.append(Mark("restart" if last else "start", step, wall))
        self.changed.emit()

    def add(self, chunk: StepChunk) -> None:
        """Take the numbers of further steps."""
        segment = self.segments[-1]
        done = chunk.first + len(chunk.values)
        for step, wall, relative in zip(
            (chunk.first, done), chunk.wall, chunk.relative, strict=True
        ):
            segment.clock.add(step, wall, relative)
        for column, name in enumerate(self.metrics):
            if name not in segment.steps:
                segment.steps[name] = Series(EvenSteps(chunk.first))
            segment.steps[name].extend(chunk.values[:, column])
        self.changed.emit()

    def add_epoch(self, step: int, numbers: Mapping[str, float]) -> None:
        """Take the numbers of an epoch that ended after so many steps."""
        segment = self.segments[-1]
        for name, value in numbers.items():
            if name not in segment.epochs:
                segment.epochs[name] = Series(ListedSteps(), np.float64)
            segment.epochs[name].append(value, step)
        self.changed.emit()

    def mark(self, mark: Mark) -> None:
        """Remember that something happened."""
        self.marks.append(mark)
        self.changed.emit()

    # -- looking --------------------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to draw yet."""
        return not any(segment.steps or segment.epochs for segment in self.segments)

    @property
    def plots(self) -> tuple[str, ...]:
        """What plots there are: the loss, each metric, the learning rate."""
        found = dict.fromkeys(self.metrics)
        for segment in self.segments:
            found.update(dict.fromkeys(n.removeprefix(VALIDATION) for n in segment.epochs))
        named = [name for name in found if name not in ("loss", RATE)]
        return tuple(name for name in ("loss", *named, RATE) if name in found)

    def parts(self, metric: str) -> tuple[Part, ...]:
        """Of what there are curves of a metric."""
        return tuple(part for part in get_args(Part) if any(self.series(metric, part)))

    def series(self, metric: str, part: Part) -> tuple[tuple[Segment, Series], ...]:
        """The curve of a metric, segment by segment; empty where there is none."""
        found = ((segment, segment.series(metric, part)) for segment in self.segments)
        return tuple((segment, series) for segment, series in found if series is not None)

    def latest(self, metric: str, part: Part) -> float | None:
        """The last number of a curve."""
        found = self.series(metric, part)
        return found[-1][1].latest if found else None

    @property
    def last_epoch(self) -> dict[str, float]:
        """The numbers of the last epoch that is over; those of validation begin with ``val_``."""
        found: dict[str, float] = {}
        for segment in self.segments:
            latest = {name: series.latest for name, series in segment.epochs.items()}
            found.update((name, value) for name, value in latest.items() if value is not None)
        return found

    def extremes(self) -> Iterator[tuple[int, dict[str, float]]]:
        """The lowest and the highest number of each metric, with the epoch, from 1, of the first.

        A resumed training has them for each of its parts.
        """
        per_epoch = 0 if self.size is None else self.size.steps
        for segment in self.segments if per_epoch else ():
            for name, series in segment.epochs.items():
                values = series.values
                (finite,) = np.nonzero(np.isfinite(values))
                if len(finite):
                    for place in (values[finite].argmin(), values[finite].argmax()):
                        step = series.steps.at(finite[place : place + 1])[0]
                        yield round(float(step) / per_epoch), {name: float(values[finite[place]])}

    def best(self, metric: str, part: Part, *, highest: bool) -> float | None:
        """The best number of a curve."""
        values = [
            float((np.max if highest else np.min)(finite))
            for _, series in self.series(metric, part)
            if len(finite := series.values[np.isfinite(series.values)])
        ]
        return (max if highest else min)(values, default=None)

    def horizontal(self, segment: Segment, axis: Axis) -> Horizontal:
        """An axis for the points of a segment."""
        return Horizontal(axis, self.size, segment.clock)

    def has_axis(self, axis: Axis) -> bool:
        """Whether what was recorded says where points stand on an axis."""
        return all(self.horizontal(segment, axis).is_known for segment in self.segments)

    def rate_marks(self, axis: Axis) -> tuple[tuple[float, float], ...]:
        """Where on an axis the learning rate was set by hand, and to what."""
        marks = [mark for mark in self.marks if mark.kind == "learning_rate"]
        placed = [(self._place_of(mark, axis), mark.value) for mark in marks]
        return tuple((place, value) for place, value in placed if place is not None)

    def _place_of(self, mark: Mark, axis: Axis) -> float | None:
        if axis == "wall":
            return mark.wall
        if axis == "relative":
            found = (segment.clock.relative_at(mark.wall) for segment in self.segments)
            return next((place for place in found if place is not None), None)
        horizontal = Horizontal(axis, self.size, Clock())
        return float(horizontal.of_steps(np.array([float(mark.step)]))[0])

    def _count_steps(self, epoch_steps: int) -> None:
        """Count steps where only epochs were known so far."""
        for segment in self.segments:
            segment.first *= epoch_steps
            for series in segment.epochs.values():
                if isinstance(series.steps, ListedSteps):
                    series.steps.scale(epoch_steps)

    @property
    def nbytes(self) -> int:
        """Bytes all its series take."""
        return sum(
            series.nbytes
            for segment in self.segments
            for series in (*segment.steps.values(), *segment.epochs.values())
        )


def load_curves(run: RunFolder, outputs: tuple[str, ...] = ()) -> RunCurves:
    """The curves of a recorded run.

    Args:
        run: where it lies.
        outputs: of its network, where there are several.

    Raises:
        FormatError: one of its files is damaged.
    """
    made = RunCurves(run.name, outputs)
    content = read_steps(run.path)
    if content is not None:
        _add_steps(made, content)
    else:
        made.size = _size_of(run)
    made.marks.extend(read_marks(run.path))
    _add_epochs(made, run)
    return made


def _add_steps(made: RunCurves, content: StepsContent) -> None:
    header = content.header
    made.size, made.metrics = header.size, header.metrics
    for records in _stretches(content.records, header.stride):
        first = int(records["step"][0]) - header.stride
        segment = Segment(first)
        made.segments.append(segment)
        _set_clock(segment, records, header.began)
        for column, name in enumerate(header.metrics):
            steps = EvenSteps(first, header.stride)
            values = records["values"][:, :, column]
            if header.stride == 1:
                segment.steps[name] = Series(steps)
                segment.steps[name].extend(values[:, 0])
            else:
                segment.steps[name] = Series.of_groups(steps, *values.T)


def _stretches(records: Records, stride: int) -> Iterator[Records]:
    """Records that follow one another; another begins where a training went back."""
    breaks = np.flatnonzero(np.diff(records["step"].astype(np.int64)) != stride) + 1
    for part in np.split(records, breaks):
        if len(part):
            yield part


def _set_clock(segment: Segment, records: Records, began: float) -> None:
    """The times of a segment: at some thousand of its steps, and on both sides of every wait."""
    wall = records["wall"].astype(np.float64) + began
    relative = records["relative"].astype(np.float64)
    some = np.linspace(0, len(records) - 1, min(len(records), _CLOCK_POINTS)).astype(np.int64)
    pauses = np.diff(wall)
    usual = float(np.median(pauses)) if len(pauses) else 0.0
    waits = np.flatnonzero(pauses > max(_WAIT * usual, 1e-9))
    waits = waits[np.argsort(pauses[waits])[-_CLOCK_POINTS:]]
    for index in np.unique(np.concatenate([some, waits, waits + 1])).tolist():
        segment.clock.add(float(records["step"][index]), wall[index], relative[index])


def _size_of(run: RunFolder) -> EpochSize | None:
    """What an epoch of a run consisted of, by its summary; None where that does not say."""
    summary = run.summary()
    steps, epochs = summary.get("steps"), summary.get("epochs")
    if not isinstance(steps, int) or not isinstance(epochs, int) or epochs < 1 or steps % epochs:
        return None
    return EpochSize(steps // epochs, run.project().training.batch_size) if steps else None


def _add_epochs(made: RunCurves, run: RunFolder) -> None:
    for record in run.metrics():
        step = (record["epoch"] + 1.0) * (1 if made.size is None else made.size.steps)
        segment = _segment_of(made, step)
        for name, value in record.items():
            if name == "epoch":
                continue
            if name not in segment.epochs:
                segment.epochs[name] = Series(ListedSteps(), np.float64)
            segment.epochs[name].append(value, step)


def _segment_of(made: RunCurves, step: float) -> Segment:
    """The segment an epoch's end belongs to: the last in which that step was done."""
    if not made.segments:
        made.segments.append(Segment(0))
    for segment in reversed(made.segments):
        if segment.first < step <= segment.last_step:
            return segment
    return made.segments[-1]


def csv_text(runs: list[tuple[str, RunCurves]], metrics: tuple[str, ...]) -> str:
    """The points of some runs' curves, one a line.

    Args:
        runs: what each is called, and its curves.
        metrics: which curves; those of validation come with them.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    for title, curves in runs:
        for number, segment in enumerate(curves.segments, 1):
            for name, series in _chosen(segment, metrics):
                writer.writerows(_rows(title, number, name, curves, segment, series))
    return text.getvalue()


def _chosen(segment: Segment, metrics: tuple[str, ...]) -> Iterator[tuple[str, Series]]:
    for metric in metrics:
        if metric in segment.steps:
            yield metric, segment.steps[metric]
        for name in (metric, VALIDATION + metric):
            if name in segment.epochs:
                yield f"{name} (epoch)", segment.epochs[name]


def _rows(
    title: str, number: int, name: str, curves: RunCurves, segment: Segment, series: Series
) -> Iterator[tuple[object, ...]]:
    steps = series.steps.at(np.arange(len(series)))
    epochs = curves.horizontal(segment, "epoch").of_steps(steps)
    clock = curves.horizontal(segment, "relative")
    seconds = clock.of_steps(steps).tolist() if clock.is_known else [""] * len(steps)
    counts = [int(s) for s in steps] if curves.size is not None else [""] * len(steps)
    for row in zip(counts, epochs.tolist(), seconds, series.values.tolist(), strict=True):
        yield (title, number, name, *row)
