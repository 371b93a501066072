"""Curves as a run's folder keeps them: epochs, steps, and marks between the steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from studio.engine.train.marks import read_marks
from studio.engine.train.runs import RunFolder
from studio.engine.train.step_log import EpochSize, Records, StepsContent, read_steps
from studio.session.plots.curves import RunCurves, Segment
from studio.session.plots.series import EvenSteps, ListedSteps, Series

_CLOCK_POINTS = 8192
_WAIT = 8.0


def load_curves(run: RunFolder) -> RunCurves:
    """The curves of a recorded run.

    Raises:
        FormatError: one of its files is damaged.
    """
    made = RunCurves(run.name)
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
