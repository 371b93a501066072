"""What the plots show: which runs and curves, over which axis, how smooth, and which part of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from studio.engine.core.signal import Signal
from studio.engine.train.runs.step_log import RATE
from studio.session.core.held_out import SHARED_PART
from studio.session.core.metric_names import by_output
from studio.session.core.run_notes import RunNotes, title_of, trial_of
from studio.session.plots.axes import AXES, Axis
from studio.session.plots.curves import Part, RunCurves, Segment
from studio.session.plots.scale import ValueScale
from studio.session.plots.series import (
    Curve,
    EvenSteps,
    Line,
    ListedSteps,
    Series,
    Smoothed,
    range_between,
    thin,
)
from studio.session.plots.smoothing import DEFAULT_WEIGHT, position_of, weight_at
from studio.session.plots.spread import Spread, spread_of
from studio.session.runs.runs import RunList
from studio.session.training.training import TrainingModel

_SLIDER_STEP = 0.05
_MARGIN = 0.06
_ROUNDING = 4.0 * float(np.finfo(np.float32).eps)
"""Part of a value by which equal numbers differ that were recorded in single and in double."""

_OUTLIERS = (2.0, 98.0)
_MOST_SMOOTHED = 256
_FEW_STEPS, _FEW_EPOCHS = 3, 50
_SOME = 400
_COUNTING = ("step", "epoch", "items")
"""Axes on which the same step of two trainings stands at the same place."""


View = tuple[float, float]


class CurveKey(NamedTuple):
    """One entry of the legend: a part of a run, or of a trial's seeds, in every plot."""

    run: str
    part: Part


class LineStyle(NamedTuple):
    """How a curve is drawn.

    Attributes:
        series: number of its colour.
        dash: number of its pattern, 0 for a whole line.
        dotted: whether its points are marked.
    """

    series: int
    dash: int
    dotted: bool


class Entry(NamedTuple):
    """A curve as the legend names it.

    Attributes:
        key: which curve.
        label: its name.
        style: how it is drawn.
        visible: whether it is.
        note: what to know of its numbers, a few words or nothing.
        seeds: how many trainings it is the mean of; 0 for a single one.
    """

    key: CurveKey
    label: str
    style: LineStyle
    visible: bool
    note: str = ""
    seeds: int = 0

    @property
    def legend(self) -> str:
        """Its name, and what is drawn of it where that is more than a line."""
        return f"{self.label}, mean and range of {self.seeds} seeds" if self.seeds else self.label


class Stroke(NamedTuple):
    """A line to draw.

    Attributes:
        line: its points, as they stand on the plot.
        ghost: it lies faintly behind the smoothed one.
        points: whether its points are single enough to be marked.
    """

    line: Line
    ghost: bool
    points: bool


class Drawn(NamedTuple):
    """A curve with everything to draw of it.

    Attributes:
        entry: name and style.
        strokes: its lines, faint ones first.
        latest: its last number, and the place of its end on the plot; None without any.
        recorded: the number behind the last one where that is an average; None where it is not.
        bands: lower and upper edges of areas behind the lines.
    """

    entry: Entry
    strokes: tuple[Stroke, ...]
    latest: tuple[float, float] | None
    recorded: float | None = None
    bands: tuple[tuple[Line, Line], ...] = ()


class Bad(NamedTuple):
    """Where numbers were none.

    Attributes:
        places: on the horizontal axis.
        total: how many there were.
    """

    places: tuple[float, ...]
    total: int


class Reading(NamedTuple):
    """What a curve is worth under the pointer.

    Attributes:
        entry: which curve.
        value: as it is drawn, smoothed.
        raw: as it was recorded.
        reach: the lowest and the highest of the trainings that it is the mean of.
    """

    entry: Entry
    value: float
    raw: float
    reach: tuple[float, float] | None = None


class Content(NamedTuple):
    """Everything one plot shows.

    Attributes:
        drawn: its curves.
        scale: of the values.
        y: the vertical range, as it stands on the plot.
        bad: numbers that were none.
        marks: places where the learning rate was set by hand, and to what.
    """

    drawn: tuple[Drawn, ...]
    scale: ValueScale
    y: View
    bad: Bad
    marks: tuple[tuple[float, float], ...]


class CurvesDisplay:
    """The state of the plots; used on the window's thread.

    Args:
        runs: gives those of other runs, and which of them are drawn.
    """

    def __init__(self, training: TrainingModel, runs: RunList) -> None:
        self.changed: Signal[[]] = Signal()
        self.cursor_moved: Signal[[]] = Signal()
        self.axis: Axis = "step"
        self.weight = DEFAULT_WEIGHT
        self.leaves_out_outliers = False
        self.joins_seeds = True
        self.view: View | None = None
        self.cursor: float | None = None
        self.hovered: CurveKey | None = None
        self.log: frozenset[str] = frozenset()
        self.pinned: frozenset[str] = frozenset()
        self.heights: dict[str, View] = {}
        self._training = training
        self._runs = runs
        self._hidden: set[CurveKey] = set()
        self._smoothed: dict[int, Smoothed] = {}
        self._spreads: dict[str, tuple[object, Spread | None]] = {}

    # -- what is drawn --------------------------------------------------------------------------

    @property
    def runs(self) -> tuple[tuple[str, RunCurves], ...]:
        """The runs drawn whose curves are read, in the order of the list's."""
        found = ((name, self._runs.curves(name)) for name in self._runs.drawn)
        return tuple((name, curves) for name, curves in found if curves is not None)

    @property
    def shown(self) -> tuple[tuple[str, RunCurves], ...]:
        """What has curves of its own: the runs, and the seeds of a trial as one."""
        if not self.joins_seeds:
            return self.runs
        found: dict[str, RunCurves] = {}
        spreads = self._seeds()
        joined = {run: trial for trial, each in spreads.items() for run in each.members}
        for name, curves in self.runs:
            trial = joined.get(name, "")
            found[trial or name] = spreads[trial].mean if trial else curves
        return tuple(found.items())

    @property
    def has_seeds(self) -> bool:
        """Whether several seeds of a trial are drawn, so that they can be joined."""
        return bool(self._seeds())

    def _seeds(self) -> dict[str, Spread]:
        """The trials of which several seeds are drawn, where these have points at the same steps.

        Over times there are none: no two trainings do a step at the same time.
        """
        trials: dict[str, list[tuple[str, RunCurves]]] = {}
        for name, curves in self.runs if self.shown_axis in _COUNTING else ():
            trial = trial_of(name)
            if trial and not curves.is_empty:
                trials.setdefault(trial, []).append((name, curves))
        found = {}
        for trial, members in trials.items():
            state = tuple((id(c), c.segments[-1].last_step) for _, c in members)
            if trial not in self._spreads or self._spreads[trial][0] != state:
                self._spreads[trial] = state, spread_of(trial, members)
            spread = self._spreads[trial][1]
            if spread is not None:
                found[trial] = spread
        return found

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to draw."""
        return all(curves.is_empty for _, curves in self.runs)

    @property
    def plots(self) -> tuple[str, ...]:
        """Metrics that have a plot: those pinned, then the loss; the learning rate last.

        Those of one output of several stand together.
        """
        found: dict[str, None] = {}
        for _, curves in self.runs:
            found.update(dict.fromkeys(curves.plots))
        named = by_output((n for n in found if n not in ("loss", RATE)), self.outputs)
        usual = [name for name in ("loss", *named, RATE) if name in found]
        return tuple(sorted(usual, key=lambda name: name not in self.pinned))

    @property
    def outputs(self) -> tuple[str, ...]:
        """Outputs of the runs whose networks have several."""
        return tuple(dict.fromkeys(output for _, curves in self.runs for output in curves.outputs))

    def entries(self, metric: str = "") -> tuple[Entry, ...]:
        """The legend: of one plot, or of all."""
        runs = self.shown
        return tuple(
            self._entry(name, part, alone=len(runs) == 1)
            for name, curves in runs
            for part in _parts(curves, metric)
        )

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Horizontal axes that every run drawn knows."""
        runs = self.runs
        return tuple(a for a in AXES if all(curves.has_axis(a) for _, curves in runs))

    @property
    def shown_axis(self) -> Axis:
        """The axis drawn: the one chosen, or else one that every run knows."""
        known = self.axes
        return self.axis if self.axis in known or not known else known[0]

    # -- choosing -------------------------------------------------------------------------------

    def choose_axis(self, axis: Axis) -> None:
        """Draw over another axis; everything is shown again."""
        if axis != self.axis:
            self.axis, self.view, self.cursor = axis, None, None
            self.changed.emit()

    def smooth(self, weight: float) -> None:
        """Smooth more or less."""
        if weight != self.weight:
            self.weight = weight
            self._smoothed.clear()
            self.changed.emit()

    def smooth_by(self, steps: int) -> None:
        """Move the smoothing's slider by some notches."""
        place = min(1.0, max(0.0, position_of(self.weight) + steps * _SLIDER_STEP))
        self.smooth(round(weight_at(place), 6))

    def set_log(self, metric: str, on: bool) -> None:
        """Draw the values of a plot by magnitude, or as they are."""
        self.log = self.log | {metric} if on else self.log - {metric}
        self.heights.pop(metric, None)
        self.changed.emit()

    def pin(self, metric: str, on: bool) -> None:
        """Show a plot before the others, or where it usually is."""
        self.pinned = self.pinned | {metric} if on else self.pinned - {metric}
        self.changed.emit()

    def leave_out_outliers(self, on: bool) -> None:
        """Fit vertical ranges to most points, or to all."""
        self.leaves_out_outliers = on
        self.heights.clear()
        self.changed.emit()

    def join_seeds(self, on: bool) -> None:
        """Draw the seeds of a trial as their mean with a band, or each by itself."""
        self.joins_seeds = on
        self.heights.clear()
        self.changed.emit()

    def zoom(self, view: View, metric: str = "", height: View | None = None) -> None:
        """Show a part of the axis in every plot, and in one of them a part of the values."""
        if view[1] > view[0]:
            self.view = view
            if metric and height is not None and height[1] > height[0]:
                self.heights[metric] = height
            self.changed.emit()

    def follow(self) -> None:
        """Show everything again and keep up with what is added."""
        self.view = None
        self.heights.clear()
        self.changed.emit()

    @property
    def follows(self) -> bool:
        """Whether everything is shown."""
        return self.view is None and not self.heights

    def hide(self, key: CurveKey, hidden: bool) -> None:
        """Draw a curve not any more, or again."""
        (self._hidden.add if hidden else self._hidden.discard)(key)
        self.changed.emit()

    def toggle(self, key: CurveKey) -> None:
        """Hide a curve that is drawn, draw one that is hidden."""
        self.hide(key, key not in self._hidden)

    def solo(self, key: CurveKey) -> None:
        """Draw only this curve, or, where that is so, all of them again."""
        others = {entry.key for entry in self.entries()} - {key}
        alone = key not in self._hidden and others <= self._hidden
        self._hidden = set() if alone else others
        self.changed.emit()

    def hover(self, key: CurveKey | None) -> None:
        """The pointer is over a curve's name."""
        if key != self.hovered:
            self.hovered = key
            self.changed.emit()

    def move_cursor(self, place: float | None) -> None:
        """The pointer is at a place of the axis, in whichever plot."""
        if place != self.cursor:
            self.cursor = place
            self.cursor_moved.emit()

    # -- drawing --------------------------------------------------------------------------------

    @property
    def extent(self) -> View:
        """The whole axis, from its beginning to the last point of any curve."""
        axis = self.shown_axis
        low, high = np.inf, -np.inf
        for _, curves in self.shown:
            for segment in curves.segments:
                ends = np.array([float(segment.first), segment.last_step])
                places = curves.horizontal(segment, axis).of_steps(ends)
                low, high = min(low, float(places[0])), max(high, float(places[1]))
        if not np.isfinite([low, high]).all():
            return (0.0, 1.0)
        return (low, high if high > low else low + 1.0)

    def content(self, metric: str, pixels: int) -> Content:
        """Everything to draw of a plot that is so many pixels wide."""
        view = self.view or self.extent
        visible = [entry for entry in self.entries(metric) if entry.visible]
        low, high, least = self._range(metric, visible, view)
        scale = ValueScale()
        if metric in self.log:
            scale = ValueScale.logarithmic(low, least)
        drawn = tuple(self._drawn(metric, entry, view, pixels, scale) for entry in visible)
        ends = scale.to(np.array([low, high]))
        height = self.heights.get(metric) or _padded(float(ends[0]), float(ends[1]))
        bad = self._bad(metric, visible)
        marks = tuple(m for _, c in self.runs for m in c.rate_marks(self.shown_axis))
        return Content(drawn, scale, height, bad, marks)

    def readings(self, metric: str, place: float) -> tuple[Reading, ...]:
        """What the visible curves of a plot are worth at a place of the axis."""
        axis, found = self.shown_axis, []
        for entry in self.entries(metric):
            if not entry.visible:
                continue
            reading = self._value_at(metric, entry, axis, place)
            if reading is not None:
                found.append(reading)
        return tuple(found)

    # -- inside ---------------------------------------------------------------------------------

    def _entry(self, name: str, part: Part, *, alone: bool) -> Entry:
        key = CurveKey(name, part)
        marked = part == "validation"
        visible, spread = key not in self._hidden, self._spreads.get(name, (None, None))[1]
        first = name if spread is None else spread.members[0]
        run, seeds = self._runs.run(first), 0 if spread is None else len(spread.members)
        note = SHARED_PART if marked and run is not None and run.is_validated_on_test else ""
        if seeds:
            said = f"mean, and band from lowest to highest, of {seeds} seeds, as far as all go"
            note = f"{said}; {note}" if note else said
        if alone:
            style = LineStyle(1 if marked else 0, 1 if marked else 0, marked)
            return Entry(key, part.capitalize(), style, visible, note, seeds)
        kept = self._runs.overlay.style(first)
        title = name if run is None else run.title
        title = title_of(name, RunNotes()) if seeds else title
        style = LineStyle(kept.series, kept.dash, marked)
        return Entry(key, f"{title} · {part}", style, visible, note, seeds)

    def _series(self, metric: str, entry: Entry) -> Iterator[tuple[RunCurves, Segment, Series]]:
        curves = dict(self.shown)[entry.key.run]
        for segment, series in curves.series(metric, entry.key.part):
            yield curves, segment, series

    def _bounds(self, entry: Entry, series: Series) -> tuple[Series, ...]:
        """The lowest and the highest of the trainings that a curve is the mean of."""
        spread = self._spreads[entry.key.run][1] if entry.seeds else None
        return () if spread is None else spread.bounds[series]

    def _weight_of(self, metric: str, series: Series) -> float:
        """Counters and rates are shown as they are; so is what has few points.

        Of one value an epoch the average trails epochs behind: the loss of validation would seem
        to stay above that of training.
        """
        few = _FEW_EPOCHS if isinstance(series.steps, ListedSteps) else _FEW_STEPS
        return 0.0 if metric == RATE or len(series) < few else self.weight

    def _smooth_curve(self, metric: str, series: Series) -> Curve:
        if not self._weight_of(metric, series):
            return series.curve
        if len(self._smoothed) > _MOST_SMOOTHED:
            self._smoothed.clear()
        found = self._smoothed.get(id(series))
        if found is None or found.series is not series:
            found = self._smoothed[id(series)] = Smoothed(series, self.weight)
        found.update()
        return found.curve

    def _drawn(
        self, metric: str, entry: Entry, view: View, pixels: int, scale: ValueScale
    ) -> Drawn:
        strokes: list[Stroke] = []
        bands: list[tuple[Line, Line]] = []
        latest: tuple[float, float] | None = None
        recorded: float | None = None
        axis = self.shown_axis
        for curves, segment, series in self._series(metric, entry):
            horizontal = curves.horizontal(segment, axis)
            smooth = self._smooth_curve(metric, series)
            marked = isinstance(series.steps, ListedSteps) and len(series) <= pixels / 4
            edges = [
                thin(self._smooth_curve(metric, edge), edge.steps, horizontal, view, pixels)
                for edge in self._bounds(entry, series)
            ]
            if edges:
                low, high = (Line(edge.x, scale.to(edge.y)) for edge in edges)
                bands.append((low, high))
            is_alone = smooth is series.curve or bool(edges)
            for curve in (smooth,) if is_alone else (series.curve, smooth):
                line = thin(curve, series.steps, horizontal, view, pixels)
                ghost = curve is not smooth
                drawn = Line(line.x, scale.to(line.y))
                strokes.append(Stroke(drawn, ghost, marked and (ghost or smooth is series.curve)))
            # A mean over an epoch is told as it is, of single steps the average.
            end = series.curve if isinstance(series.steps, ListedSteps) else smooth
            if len(end):
                value = float(end.values[-1])
                latest = (value, float(scale.to(np.array([value]))[0]))
                recorded = None if end is series.curve else float(series.curve.values[-1])
        strokes.sort(key=lambda stroke: not stroke.ghost)
        return Drawn(entry, tuple(strokes), latest, recorded, tuple(bands))

    def _range(
        self, metric: str, visible: Sequence[Entry], view: View
    ) -> tuple[float, float, float | None]:
        """Lowest and highest value in view, and the smallest magnitude above zero there."""
        lows, highs, leasts = [], [], []
        axis = self.shown_axis
        for entry in visible:
            every = (
                (curves, segment, each)
                for curves, segment, series in self._series(metric, entry)
                for each in (series, *self._bounds(entry, series))
            )
            for curves, segment, series in every:
                horizontal = curves.horizontal(segment, axis)
                bounds = range_between(series.curve, series.steps, horizontal, view)
                if bounds is None:
                    continue
                if metric in self.log or self.leaves_out_outliers:
                    some = thin(series.curve, series.steps, horizontal, view, _SOME).y
                    some = some[np.isfinite(some)]
                    sizes = np.abs(some[some != 0.0])
                    leasts += [float(sizes.min())] if len(sizes) else []
                if self.leaves_out_outliers:
                    smooth = self._smooth_curve(metric, series)
                    line = thin(smooth, series.steps, horizontal, view, _SOME).y
                    some = np.concatenate([some, line[np.isfinite(line)]])
                    low, high = np.percentile(some, _OUTLIERS).tolist()
                    bounds = (low, high)
                lows.append(bounds[0])
                highs.append(bounds[1])
        if not lows:
            return 0.0, 1.0, None
        return min(lows), max(highs), min(leasts, default=None)

    def _bad(self, metric: str, visible: Sequence[Entry]) -> Bad:
        places: list[float] = []
        total = 0
        for entry in visible:
            for curves, segment, series in self._series(metric, entry):
                if series.bad.total:
                    horizontal = curves.horizontal(segment, self.shown_axis)
                    places += horizontal.of_steps(np.array(series.bad.steps)).tolist()
                    total += series.bad.total
        return Bad(tuple(places), total)

    def _value_at(self, metric: str, entry: Entry, axis: Axis, place: float) -> Reading | None:
        best: Reading | None = None
        for curves, segment, series in self._series(metric, entry):
            horizontal = curves.horizontal(segment, axis)
            step = float(horizontal.to_steps(np.array([place]))[0])
            if not np.isfinite(step):
                step = series.last_step if step > 0 else -1.0
            if not len(series) or step > series.last_step + _reach(series):
                continue
            count = int(series.steps.before(np.array([np.nextafter(step, np.inf)]))[0])
            if count:
                index = min(count, len(series)) - 1
                smooth = self._smooth_curve(metric, series)
                raw = float(series.values[index])
                edges = [self._smooth_curve(metric, e).values[index]
                         for e in self._bounds(entry, series)]  # fmt: skip
                reach = (float(edges[0]), float(edges[1])) if edges else None
                best = Reading(entry, float(smooth.values[index]), raw, reach)
        return best


def _reach(series: Series) -> float:
    """How far beyond its last point a curve still says something: to the next point."""
    if isinstance(series.steps, EvenSteps):
        return float(series.steps.stride)
    return series.last_step / len(series) if len(series) else 0.0


def _parts(curves: RunCurves, metric: str) -> tuple[Part, ...]:
    if metric:
        return curves.parts(metric)
    found: dict[Part, None] = {}
    for name in curves.plots:
        found.update(dict.fromkeys(curves.parts(name)))
    return tuple(found)


def _padded(low: float, high: float) -> View:
    if not np.isfinite([low, high]).all():
        return (0.0, 1.0)
    if high - low <= _ROUNDING * max(abs(low), abs(high)):
        reach = abs(low) * 0.1 or 0.5
        return (low - reach, high + reach)
    margin = _MARGIN * (high - low)
    return (low - margin, high + margin)
