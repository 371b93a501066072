"""What a plot's horizontal axis counts: steps, epochs, items, or time."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np

from studio.engine.train.runs.step_log import EpochSize
from studio.session.plots.columns import Column, Floats

Axis: TypeAlias = Literal["step", "epoch", "items", "relative", "wall"]

AXES: tuple[Axis, ...] = get_args(Axis)

AXIS_TEXT: dict[Axis, str] = {
    "step": "Step",
    "epoch": "Epoch",
    "items": "Samples seen",
    "relative": "Training time",
    "wall": "Wall time",
}


class Clock:
    """When the steps of a segment were done: known at some of them, in between in proportion.

    Times are seconds; ``wall`` counts from the epoch of the system, ``relative`` leaves out the
    time between two parts of the training.
    """

    def __init__(self) -> None:
        self._steps = Column(np.float64)
        self._wall = Column(np.float64)
        self._relative = Column(np.float64)

    def __len__(self) -> int:
        return len(self._steps)

    def add(self, step: float, wall: float, relative: float) -> None:
        """So many steps were done at that time; not before what was added last."""
        if len(self._steps):
            # A step that is named twice was done at the first time; the next began at the second.
            step = max(step, float(np.nextafter(self._steps.values[-1], np.inf)))
            wall = max(wall, float(self._wall.values[-1]))
            relative = max(relative, float(self._relative.values[-1]))
        for column, value in ((self._steps, step), (self._wall, wall), (self._relative, relative)):
            column.extend(np.array([value]))

    @property
    def last_relative(self) -> float:
        """The latest time since the start."""
        return float(self._relative.values[-1]) if len(self) else 0.0

    def at(self, steps: Floats, axis: Literal["wall", "relative"]) -> Floats:
        """When steps were done."""
        return np.interp(steps, self._steps.values, self._times(axis).values)

    def steps_at(self, times: Floats, axis: Literal["wall", "relative"]) -> Floats:
        """Steps done at times; beyond either end, more than there are."""
        column = self._times(axis).values
        found = np.interp(times, column, self._steps.values)
        return np.where(times > column[-1], np.inf, np.where(times < column[0], -np.inf, found))

    def relative_at(self, wall: float) -> float | None:
        """The time since the start at a time of the clock; None where the segment was not on."""
        times = self._wall.values
        if not len(times) or not times[0] <= wall <= times[-1]:
            return None
        return float(np.interp(wall, times, self._relative.values))

    def _times(self, axis: Literal["wall", "relative"]) -> Column:
        return self._wall if axis == "wall" else self._relative


class Horizontal:
    """One axis for the points of one segment.

    Args:
        axis: what it counts.
        size: what an epoch consists of; without it, what stands for steps counts epochs.
        clock: when steps were done.
    """

    def __init__(self, axis: Axis, size: EpochSize | None, clock: Clock) -> None:
        self.axis = axis
        self._size = size
        self._clock = clock

    @property
    def is_known(self) -> bool:
        """Whether what was recorded says where points stand."""
        if self.axis in ("relative", "wall"):
            return len(self._clock) > 0
        if self.axis == "epoch":
            return True
        return self._size is not None and (self.axis == "step" or self._size.items > 0)

    def of_steps(self, steps: Floats) -> Floats:
        """Where steps stand on the axis; only where that is known."""
        if self.axis == "relative" or self.axis == "wall":
            return self._clock.at(steps, self.axis)
        if self._size is None or self.axis == "step":
            return steps
        return steps / self._size.steps if self.axis == "epoch" else self._size.items_at(steps)

    def to_steps(self, places: Floats) -> Floats:
        """Which steps stand at places of the axis."""
        if self.axis == "relative" or self.axis == "wall":
            return self._clock.steps_at(places, self.axis)
        if self._size is None or self.axis == "step":
            return places
        return places * self._size.steps if self.axis == "epoch" else self._size.steps_of(places)
