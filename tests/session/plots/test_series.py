"""Series, their extremes, axes and thinning, against plain NumPy over all points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.engine.train.runs.step_log import EpochSize
from studio.session.plots.axes import AXES, Axis, Clock, Horizontal
from studio.session.plots.columns import AT_ONCE, Column, Extremes
from studio.session.plots.series import (
    EvenSteps,
    Line,
    ListedSteps,
    Series,
    Smoothed,
    range_between,
    thin,
)

STEP = Horizontal("step", None, Clock())


def even(values: np.ndarray, first: int = 0, most: int = 1 << 21) -> Series:
    made = Series(EvenSteps(first), most=most)
    made.extend(values)
    return made


def drawn(series: Series, view: tuple[float, float], pixels: int) -> Line:
    return thin(series.curve, series.steps, STEP, view, pixels)


# -- extremes -----------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=60)
@given(st.integers(0, 2**31), st.lists(st.integers(1, 700), min_size=1, max_size=6))
def test_extremes_of_any_stretch_are_those_of_numpy(seed: int, parts: list[int]) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=sum(parts)).astype(np.float32)
    values[rng.random(len(values)) < 0.02] = np.nan
    column = Column()
    low, high = Extremes(column), Extremes(column, highest=True)
    for part in np.split(values, np.cumsum(parts)[:-1]):
        column.extend(part)
        low.of(np.array([0]), np.array([len(column)]))
    begin = rng.integers(0, len(values) + 1, 50)
    end = np.minimum(begin + rng.integers(0, len(values) + 1, 50), len(values))
    stretches = [values[b:e][np.isfinite(values[b:e])] for b, e in zip(begin, end, strict=True)]
    np.testing.assert_array_equal(
        low.of(begin, end), [s.min() if len(s) else np.nan for s in stretches]
    )
    np.testing.assert_array_equal(
        high.of(begin, end), [s.max() if len(s) else np.nan for s in stretches]
    )


@pytest.mark.parametrize("count", [1, 700, AT_ONCE, AT_ONCE + 1])
def test_stretches_in_a_row_have_the_extremes_of_numpy(
    count: int, rng: np.random.Generator
) -> None:
    values = rng.normal(size=count).astype(np.float32)
    values[rng.random(count) < 0.3] = rng.choice([np.nan, np.inf, -np.inf])
    column = Column()
    column.extend(values)
    cuts = np.unique(np.concatenate([[0, count], rng.integers(0, count + 1, 90)]))
    finite = [part[np.isfinite(part)] for part in np.split(values, cuts[1:-1])]
    for highest in (False, True):
        found = Extremes(column, highest=highest).of(cuts[:-1], cuts[1:])
        best = np.max if highest else np.min
        np.testing.assert_array_equal(found, [best(p) if len(p) else np.nan for p in finite])


def test_a_series_that_grows_step_by_step_is_summed_up_only_when_looked_at() -> None:
    series = even(np.empty(0))
    for value in range(3000):
        series.extend(np.array([float(value)]))
    assert series.nbytes == series.curve._values.nbytes
    assert series.curve.lowest(np.array([5, 7]), np.array([2900, 2000])).tolist() == [5.0, 7.0]
    assert series.nbytes > series.curve._values.nbytes
    # Many at once come from a file, read in the background: they are summed up there.
    read = even(np.arange(5000.0))
    assert read.nbytes > read.curve._values.nbytes


def test_infinity_is_no_extreme() -> None:
    series = even(np.array([1.0, np.inf, -np.inf, 2.0]))
    assert range_between(series.curve, series.steps, STEP, (0.0, 9.0)) == (1.0, 2.0)


# -- thinning -----------------------------------------------------------------------------------


def columns_of(line: Line, view: tuple[float, float], pixels: int) -> list[tuple[float, float]]:
    """Lowest and highest drawn in each pixel column."""
    place = np.floor((line.x - view[0]) / (view[1] - view[0]) * pixels).astype(int)
    inside = [line.y[(place == p) & np.isfinite(line.y)] for p in range(pixels)]
    return [(y.min(), y.max()) if len(y) else (np.nan, np.nan) for y in inside]


@pytest.mark.parametrize("zoom", [1, 3, 40, 1500, 20_000, 400_000])
@pytest.mark.parametrize("spike", [0, 1, 499_999, 777_777, 999_999])
def test_a_spike_among_a_million_points_is_seen_at_every_zoom(zoom: int, spike: int) -> None:
    values = np.full(1_000_000, 0.5, np.float32)
    values[spike] = 9.0
    series = even(values)
    width = 1_000_000 / zoom
    begin = min(max(0.0, spike + 1 - width / 3), 1_000_000 - width)
    line = drawn(series, (begin, begin + width), 800)
    assert line.y.max() == 9.0
    assert len(line.x) <= 4 * 800 + 2
    assert np.all(np.diff(line.x) >= 0)


@pytest.mark.parametrize("view", [(0.0, 100_000.0), (20_000.0, 21_000.0), (99_990.0, 100_050.0)])
def test_every_pixel_shows_the_extremes_of_its_points(
    view: tuple[float, float], rng: np.random.Generator
) -> None:
    values = np.cumsum(rng.normal(size=100_000)).astype(np.float32)
    pixels = 137
    line = drawn(even(values), view, pixels)
    steps = np.arange(1.0, len(values) + 1)
    place = np.floor((steps - view[0]) / (view[1] - view[0]) * pixels).astype(int)
    found = columns_of(line, view, pixels)
    for pixel in range(pixels):
        inside = values[place == pixel]
        if len(inside):
            assert found[pixel] == (inside.min(), inside.max())


def test_first_and_last_point_are_drawn(rng: np.random.Generator) -> None:
    values = rng.normal(size=50_000).astype(np.float32)
    line = drawn(even(values), (0.0, 50_000.0), 100)
    assert (line.x[0], line.y[0]) == (1.0, values[0])
    assert (line.x[-1], line.y[-1]) == (50_000.0, values[-1])


def test_few_points_are_drawn_as_they_are() -> None:
    line = drawn(even(np.arange(10.0)), (3.0, 6.0), 100)
    # One beyond either end, so that the line reaches the edges.
    assert line.x.tolist() == [2, 3, 4, 5, 6, 7]
    assert line.y.tolist() == [1, 2, 3, 4, 5, 6]


def test_a_view_beside_the_points_shows_none_inside() -> None:
    series = even(np.arange(1000.0))
    line = drawn(series, (5000.0, 6000.0), 50)
    assert all(x < 5000 for x in line.x)
    assert len(drawn(series, (1.0, 1.0), 50).x) == 0


@pytest.mark.parametrize("zoom", [1, 7, 1000])
def test_smoothed_values_are_those_of_all_points_at_any_zoom(
    zoom: int, rng: np.random.Generator
) -> None:
    values = rng.normal(1.0, 0.5, 200_000).astype(np.float32)
    average, expected = 0.0, np.empty(len(values))
    for index, value in enumerate(values.astype(np.float64).tolist()):
        average = 0.9 * average + 0.1 * value
        expected[index] = average / (1.0 - 0.9 ** (index + 1))
    series = even(values)
    smoothed = Smoothed(series, 0.9)
    line = thin(smoothed.curve, series.steps, STEP, (50_000.0, 50_000.0 + 150_000 / zoom), 300)
    # Lowest and highest of a pixel are drawn at its middle; each is the value of some step there.
    for x, y in zip(line.x.tolist(), line.y.tolist(), strict=True):
        reach = 150_000 / zoom / 300 + 1
        near = expected[max(0, int(x - reach) - 1) : int(x + reach)]
        assert np.abs(near - y).min() < 1e-6


def test_a_constant_series_is_drawn_and_smoothed_flat() -> None:
    series = even(np.full(300_000, 0.1, np.float32))
    for curve in (series.curve, Smoothed(series, 0.6).curve):
        line = thin(curve, series.steps, STEP, (0.0, 300_000.0), 640)
        assert line.y.max() - line.y.min() == 0.0


def test_smoothing_follows_a_series_that_grows(rng: np.random.Generator) -> None:
    values = rng.normal(size=9000).astype(np.float32)
    series = even(values[:1000])
    smoothed = Smoothed(series, 0.97)
    for begin in range(1000, 9000, 777):
        series.extend(values[begin : begin + 777])
        smoothed.update()
    np.testing.assert_allclose(
        smoothed.curve.values, Smoothed(even(values), 0.97).curve.values, rtol=1e-9, atol=1e-12
    )


def test_the_range_inside_a_view_leaves_out_what_is_beside_it() -> None:
    series = even(np.array([9.0, 1.0, 2.0, 3.0, -9.0]))
    assert range_between(series.curve, series.steps, STEP, (2.0, 4.0)) == (1.0, 3.0)
    assert range_between(series.curve, series.steps, STEP, (20.0, 40.0)) is None


# -- bad numbers, joining -----------------------------------------------------------------------


def test_bad_numbers_are_counted_with_their_steps() -> None:
    series = even(np.array([1.0, np.nan, 2.0, np.inf]), first=10)
    assert series.bad.steps == (12.0, 14.0)
    assert series.bad.total == 2
    listed = Series(ListedSteps(), np.float64)
    listed.append(np.nan, 30.0)
    assert listed.bad.steps == (30.0,)


@settings(max_examples=40)
@given(st.integers(0, 2**31), st.lists(st.integers(1, 300), min_size=1, max_size=30))
def test_a_long_series_is_joined_without_losing_an_extreme(seed: int, parts: list[int]) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=sum(parts)).astype(np.float32)
    series = Series(EvenSteps(0), most=64)
    for part in np.split(values, np.cumsum(parts)[:-1]):
        series.extend(part)
    stride = series.stride
    assert len(series) < 64
    whole = len(series) * stride
    assert len(values) - whole < stride
    groups = values[:whole].reshape(-1, stride).astype(np.float64)
    np.testing.assert_allclose(series.values, groups.mean(axis=1), rtol=1e-4, atol=1e-6)
    each = np.arange(len(series))
    np.testing.assert_array_equal(series.curve.lowest(each, each + 1), groups.min(axis=1))
    np.testing.assert_array_equal(series.steps.at(each), (each + 1) * stride)


def test_a_joined_series_is_smoothed_like_a_whole_one() -> None:
    values = np.sin(np.arange(40_000) / 3000).astype(np.float32)
    whole, joined = even(values), even(values, most=8192)
    smoothed = Smoothed(joined, 0.999)
    steps = joined.steps.at(np.arange(len(joined))).astype(int)
    expected = Smoothed(whole, 0.999).curve.values[steps - 1]
    assert joined.stride == 8
    np.testing.assert_allclose(smoothed.curve.values, expected, atol=2e-3)


def test_a_smoothed_curve_starts_anew_when_its_series_was_joined() -> None:
    series = even(np.ones(60, np.float32), most=64)
    smoothed = Smoothed(series, 0.5)
    series.extend(np.ones(100, np.float32))
    smoothed.update()
    assert len(smoothed.curve) == len(series) == 40


def test_the_value_under_a_cursor_is_that_of_the_last_point_before_it() -> None:
    series = even(np.array([5.0, 6.0, 7.0]), first=100)
    assert series.value_at(100.5) is None
    assert series.value_at(101.0) == (101.0, 5.0)
    assert series.value_at(102.9) == (102.0, 6.0)
    assert series.value_at(1e9) == (103.0, 7.0)


def test_points_go_to_the_kind_of_series_they_are_for() -> None:
    with pytest.raises(TypeError, match="extend"):
        Series(EvenSteps(0)).append(1.0, 5.0)
    with pytest.raises(TypeError, match="append"):
        Series(ListedSteps()).extend(np.ones(2))


# -- axes ---------------------------------------------------------------------------------------


def clock() -> Clock:
    made = Clock()
    for step, wall, relative in (
        (0, 1000.0, 0.0),
        (10, 1001.0, 1.0),
        (10, 1060.0, 1.0),
        (40, 1063.0, 4.0),
    ):
        made.add(step, wall, relative)
    return made


@pytest.mark.parametrize("axis", AXES)
def test_places_on_every_axis_ascend_and_lead_back_to_their_steps(axis: Axis) -> None:
    horizontal = Horizontal(axis, EpochSize(7, 32, 7 * 32 - 5), clock())
    steps = np.arange(1.0, 40.0)
    places = horizontal.of_steps(steps)
    assert np.all(np.diff(places) > 0)
    np.testing.assert_allclose(horizontal.to_steps(places), steps, rtol=1e-9)


def test_items_count_the_short_last_batch() -> None:
    size = EpochSize(4, 10, 33)
    assert size.items_at(np.arange(0.0, 9.0)).tolist() == [0, 10, 20, 30, 33, 43, 53, 63, 66]


def test_time_between_two_parts_counts_on_the_clock_alone() -> None:
    made = clock()
    assert made.at(np.array([5.0, 25.0]), "relative").tolist() == [0.5, 2.5]
    assert made.at(np.array([5.0, 25.0]), "wall").tolist() == [1000.5, 1061.5]
    assert made.steps_at(np.array([999.0, 1030.0, 2000.0]), "wall").tolist() == [
        -np.inf,
        10.0,
        np.inf,
    ]
    assert made.relative_at(1061.5) == 2.5
    assert made.relative_at(5.0) is None


def test_an_axis_is_unknown_where_nothing_was_recorded_for_it() -> None:
    known = {axis: Horizontal(axis, None, Clock()).is_known for axis in AXES}
    assert known == {"step": False, "epoch": True, "items": False, "relative": False, "wall": False}
    assert not Horizontal("items", EpochSize(10, 32), Clock()).is_known


def test_thinning_by_time_keeps_the_order(rng: np.random.Generator) -> None:
    made = Clock()
    made.add(0, 100.0, 0.0)
    made.add(5000, 101.0, 1.0)
    made.add(20_000, 109.0, 9.0)
    series = even(rng.normal(size=20_000).astype(np.float32))
    line = thin(series.curve, series.steps, Horizontal("relative", None, made), (0.0, 9.0), 200)
    assert np.all(np.diff(line.x) >= 0)
    assert line.y.min() == series.values.min()
    beyond = thin(series.curve, series.steps, Horizontal("relative", None, made), (-5.0, 90.0), 50)
    assert beyond.y.max() == series.values.max()
