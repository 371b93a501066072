"""All curves of one run: what each step and each epoch gave, in the parts it was trained in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

import numpy as np

from studio.engine.core.signal import Signal
from studio.engine.train.marks import Mark
from studio.engine.train.step_log import RATE, EpochSize, StepChunk
from studio.session.plots.series import EvenSteps, ListedSteps, Series
from studio.session.plots.series_axes import Axis, Clock, Horizontal

VALIDATION = "val_"

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
    """

    def __init__(self, name: str) -> None:
        self.changed: Signal[[]] = Signal()
        self.name = name
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
            wall: when.
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
