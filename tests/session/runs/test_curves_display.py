"""What the plots show of real trainings: entries, ranges, zooms, scales, readings, exports."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.engine.train.runs.step_log import NAME, RATE
from studio.session.core.held_out import SHARED_PART
from studio.session.plots.axes import AXES
from studio.session.plots.curves import HEADER, csv_text
from studio.session.plots.scale import (
    ValueScale,
    linear_ticks,
    place_text,
    place_ticks,
    short_count,
)
from studio.session.plots.smoothing import smooth
from studio.session.runs.curves_display import CurveKey, CurvesDisplay, LineStyle
from studio.session.runs.runs import RunList
from tests.session.training.bench import TrainingBench


class PlotBench(TrainingBench):
    def __init__(self, folder: Path, **options: object) -> None:
        super().__init__(folder, **options)  # type: ignore[arg-type]
        self.runs = RunList(self.model, self.scheduler, self.tasks, self.errors.append)
        self.display = CurvesDisplay(self.model, self.runs)
        self.runs.follow()

    def trained(self) -> None:
        count = len(self.runs.runs)
        self.train()
        self.until(lambda: len(self.runs.runs) == count + 1 and not self.runs.is_loading)

    def close(self) -> None:
        self.runs.close()
        super().close()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[PlotBench]:
    made = PlotBench(tmp_path, epochs=4)
    yield made
    made.close()


def test_there_is_nothing_to_draw_before_a_run(bench: PlotBench) -> None:
    assert bench.display.is_empty
    assert bench.display.plots == ()
    assert bench.display.entries() == ()


def test_one_run_is_drawn_with_a_colour_for_each_part(bench: PlotBench) -> None:
    bench.trained()
    display = bench.display
    assert display.plots == ("loss", "accuracy", RATE)
    training, validation = display.entries("loss")
    assert (training.label, validation.label) == ("Training", "Validation")
    assert training.style == LineStyle(0, 0, False)
    assert validation.style == LineStyle(1, 1, True)
    assert [entry.label for entry in display.entries(RATE)] == ["Training"]


def test_a_curve_says_that_validation_and_test_are_the_same_samples(tmp_path: Path) -> None:
    notes = {}
    for validation in ("held-out", "tail"):
        (tmp_path / validation).mkdir()
        bench = PlotBench(tmp_path / validation, epochs=1, validation=validation)
        bench.trained()
        notes[validation] = [entry.note for entry in bench.display.entries("loss")]
        bench.close()
    assert notes == {"held-out": ["", SHARED_PART], "tail": ["", ""]}


def test_several_runs_differ_in_colour_and_dash_and_keep_them(bench: PlotBench) -> None:
    for _ in range(3):
        bench.trained()
    newest, middle, oldest = (run.name for run in bench.runs.runs)
    bench.runs.overlay.choose(oldest)
    bench.until(lambda: len(bench.display.runs) == 2)
    before = {e.key: e.style for e in bench.display.entries("loss")}
    bench.runs.overlay.choose(middle)
    bench.until(lambda: len(bench.display.runs) == 3)
    after = {e.key: e.style for e in bench.display.entries("loss")}
    assert before.items() <= after.items()
    assert len(set(after.values())) == 6
    assert [name for name, _ in bench.display.runs] == [newest, oldest, middle]
    for name in (newest, middle, oldest):
        assert (
            after[CurveKey(name, "training")].series == after[CurveKey(name, "validation")].series
        )


def test_the_last_run_is_drawn_when_a_project_is_opened_again(bench: PlotBench) -> None:
    bench.trained()
    bench.model.reset()
    bench.until(lambda: bench.model.run is None and bool(bench.display.runs))
    assert not bench.display.is_empty


def test_equal_rates_recorded_in_single_and_in_double_are_one_height(bench: PlotBench) -> None:
    for _ in range(2):
        bench.trained()
    older = bench.runs.runs[1]
    # As of a run that was recorded by epochs only.
    (older.folder.path / NAME).unlink()
    bench.model.reset()
    bench.runs.follow()
    bench.until(lambda: len(bench.runs.runs) == 2)
    bench.runs.draw(older.name)
    bench.until(lambda: len(bench.display.runs) == 2)
    content = bench.display.content(RATE, 300)
    heights = {float(drawn.strokes[0].line.y[0]) for drawn in content.drawn}
    assert len(heights) == 2, "the numbers differ by their rounding"
    low, high = content.y
    assert high - low > 0.05 * max(heights)


def test_a_smoothed_line_has_its_raw_one_faintly_behind_it(bench: PlotBench) -> None:
    bench.trained()
    content = bench.display.content("loss", 500)
    training = content.drawn[0]
    assert [stroke.ghost for stroke in training.strokes] == [True, False]
    curves = bench.model.curves
    assert curves is not None
    raw = curves.segments[0].steps["loss"].values
    np.testing.assert_array_equal(training.strokes[0].line.y, raw.astype(float))
    np.testing.assert_allclose(training.strokes[1].line.y, smooth(raw, 0.6), rtol=1e-9)
    assert training.latest is not None
    assert training.latest[0] == pytest.approx(smooth(raw, 0.6)[-1])
    validation = content.drawn[1]
    assert validation.latest is not None
    assert validation.latest[0] == curves.segments[0].epochs["val_loss"].values[-1]
    bench.display.smooth(0.0)
    assert [s.ghost for s in bench.display.content("loss", 500).drawn[0].strokes] == [False]


@pytest.mark.slow
@pytest.mark.parametrize("epochs", [49, 50])
def test_few_values_of_validation_are_joined_as_they_are(tmp_path: Path, epochs: int) -> None:
    bench = PlotBench(tmp_path, epochs=epochs)
    try:
        bench.trained()
        curves = bench.model.curves
        assert curves is not None
        raw = curves.segments[0].epochs["val_loss"].values
        assert len(raw) == epochs
        line = bench.display.content("loss", 500).drawn[1].strokes[-1].line
        few = epochs < 50
        np.testing.assert_allclose(line.y, raw if few else smooth(raw, 0.6), rtol=1e-9)
    finally:
        bench.close()


def test_the_learning_rate_is_never_smoothed(bench: PlotBench) -> None:
    bench.trained()
    (rate,) = bench.display.content(RATE, 300).drawn
    assert len(rate.strokes) == 1
    assert np.ptp(rate.strokes[0].line.y) == 0.0


@pytest.mark.parametrize("axis", AXES)
def test_every_axis_shows_the_whole_run(bench: PlotBench, axis: str) -> None:
    bench.trained()
    display = bench.display
    display.choose_axis(axis)  # type: ignore[arg-type]
    low, high = display.extent
    line = display.content("loss", 400).drawn[0].strokes[0].line
    assert line.x[0] >= low
    assert line.x[-1] == pytest.approx(high)
    assert len(line.x) == 20
    assert low < high


def test_an_axis_not_every_run_knows_is_not_drawn(bench: PlotBench) -> None:
    bench.trained()
    bench.display.choose_axis("wall")
    curves = bench.model.curves
    assert curves is not None
    curves.size = None
    assert "items" not in bench.display.axes
    bench.display.choose_axis("items")
    assert bench.display.shown_axis != "items"


def test_zooming_shows_a_part_until_everything_is_followed_again(bench: PlotBench) -> None:
    bench.trained()
    display = bench.display
    assert display.follows
    display.zoom((5.0, 9.0), "loss", (0.1, 0.2))
    assert not display.follows
    content = display.content("loss", 300)
    assert content.y == (0.1, 0.2)
    assert content.drawn[0].strokes[0].line.x.tolist() == [4, 5, 6, 7, 8, 9, 10]
    assert display.content("accuracy", 300).y != (0.1, 0.2)
    display.zoom((5.0, 5.0))
    assert display.view == (5.0, 9.0)
    display.follow()
    assert display.follows


def test_the_vertical_range_holds_what_is_in_view(bench: PlotBench) -> None:
    bench.trained()
    curves = bench.model.curves
    assert curves is not None
    raw = curves.segments[0].steps["loss"].values
    bench.display.hide(CurveKey(bench.runs.active, "validation"), True)
    bench.display.zoom((3.0, 12.0))
    low, high = bench.display.content("loss", 300).y
    part = raw[2:12]
    assert low < part.min() <= part.max() < high
    assert high - low == pytest.approx(1.12 * float(part.max() - part.min()), rel=1e-4)


def test_outliers_can_be_left_out_of_the_range(bench: PlotBench) -> None:
    bench.trained()
    curves = bench.model.curves
    assert curves is not None
    series = curves.segments[0].steps["loss"]
    series.extend(np.full(400, 0.5, np.float32))
    series.extend(np.array([1000.0], np.float32))
    assert bench.display.content("loss", 300).y[1] > 900
    bench.display.leave_out_outliers(True)
    assert bench.display.content("loss", 300).y[1] < 10


def test_curves_are_hidden_and_shown_alone(bench: PlotBench) -> None:
    bench.trained()
    display = bench.display
    training, validation = (entry.key for entry in display.entries("loss"))
    display.toggle(training)
    assert [d.entry.key for d in display.content("loss", 100).drawn] == [validation]
    display.toggle(training)
    display.solo(training)
    assert [d.entry.key for d in display.content("loss", 100).drawn] == [training]
    display.solo(training)
    assert len(display.content("loss", 100).drawn) == 2


def test_the_reading_is_what_stands_under_the_pointer(bench: PlotBench) -> None:
    bench.trained()
    curves = bench.model.curves
    assert curves is not None
    raw = curves.segments[0].steps["loss"].values
    training, validation = bench.display.readings("loss", 7.4)
    assert training.raw == raw[6]
    assert training.value == pytest.approx(smooth(raw, 0.6)[6])
    assert validation.raw == curves.segments[0].epochs["val_loss"].values[0]
    assert bench.display.readings("loss", 0.2) == ()
    assert bench.display.readings("loss", 500.0) == ()


def test_bad_numbers_are_told_with_their_places(bench: PlotBench) -> None:
    bench.trained()
    curves = bench.model.curves
    assert curves is not None
    curves.segments[0].steps["loss"].extend(np.array([np.nan, 1.0, np.inf], np.float32))
    bad = bench.display.content("loss", 100).bad
    assert bad.total == 2
    assert bad.places == (21.0, 23.0)


def test_values_at_or_below_zero_get_a_zone_on_a_logarithmic_axis(bench: PlotBench) -> None:
    bench.trained()
    display = bench.display
    display.set_log("loss", True)
    assert display.content("loss", 300).scale.kind == "log"
    curves = bench.model.curves
    assert curves is not None
    curves.segments[0].steps["loss"].extend(np.array([0.0, -0.5], np.float32))
    content = display.content("loss", 300)
    assert content.scale.kind == "symmetric"
    assert np.isfinite(content.drawn[0].strokes[0].line.y).all()


def test_smoothing_moves_in_notches_of_the_slider(bench: PlotBench) -> None:
    display = bench.display
    heard: list[float] = []

    def hear() -> None:
        heard.append(display.weight)

    display.changed.connect(hear)
    display.smooth_by(1)
    display.smooth_by(-1)
    assert heard[0] > 0.6
    assert heard[1] == pytest.approx(0.6, abs=1e-5)
    display.smooth_by(-100)
    assert display.weight == 0.0
    display.smooth_by(100)
    assert display.weight == pytest.approx(0.999)


def test_every_point_is_exported(bench: PlotBench) -> None:
    bench.trained()
    curves = bench.model.curves
    assert curves is not None
    rows = list(csv.DictReader(io.StringIO(csv_text([("my run", curves)], ("loss",)))))
    assert tuple(rows[0]) == HEADER
    steps = [row for row in rows if row["curve"] == "loss"]
    assert [int(row["step"]) for row in steps] == list(range(1, 21))
    raw = curves.segments[0].steps["loss"].values
    assert [float(row["value"]) for row in steps] == [float(v) for v in raw]
    validation = [row for row in rows if row["curve"] == "val_loss (epoch)"]
    assert [float(row["epoch"]) for row in validation] == [1.0, 2.0, 3.0, 4.0]
    assert float(steps[-1]["seconds"]) <= curves.elapsed + 1e-6


# -- scales and ticks ---------------------------------------------------------------------------


@given(
    st.sampled_from(["linear", "log", "symmetric"]),
    st.floats(1e-9, 1e9),
    st.lists(st.floats(-1e8, 1e8), min_size=2, max_size=30),
)
def test_a_scale_leads_back_and_keeps_the_order(
    kind: str, zone: float, values: list[float]
) -> None:
    scale = ValueScale(kind, zone)  # type: ignore[arg-type]
    given_values = np.array(sorted(values))
    if kind == "log":
        given_values = np.abs(given_values[np.abs(given_values) > 1e-12])
        given_values.sort()
    places = scale.to(given_values)
    assert np.all(np.diff(places) >= 0)
    for value, place in zip(given_values.tolist(), places.tolist(), strict=True):
        assert scale.back(place) == pytest.approx(value, rel=1e-6, abs=1e-12)


def test_the_zone_reaches_to_the_smallest_magnitude() -> None:
    scale = ValueScale.logarithmic(-2.0, 0.03)
    assert scale.kind == "symmetric"
    assert scale.zone == pytest.approx(0.01)
    assert scale.to(np.array([0.0, 0.01, 0.1, -0.1])).tolist() == pytest.approx([0, 1, 2, -2])
    assert ValueScale.logarithmic(0.5, 0.5).kind == "log"
    assert ValueScale.logarithmic(0.0, None).zone == 1.0


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(1, 20))
def test_ticks_stand_inside_at_even_round_places(low: float, span: float, most: int) -> None:
    high = low + span
    if not high > low:
        return
    ticks = linear_ticks(low, high, most)
    assert len(ticks) <= most + 1
    gaps = np.diff([t.place for t in ticks])
    assert np.allclose(gaps, gaps[0], rtol=1e-3) if len(gaps) else True
    slack = 1e-6 * max(abs(low), abs(high), span)
    assert all(low - slack <= t.place <= high + slack for t in ticks)


def test_ticks_say_their_value() -> None:
    assert [t.text for t in linear_ticks(0.0, 1.0, 5)] == ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
    assert next(t.text for t in linear_ticks(-0.01, 0.01, 4)) == "\u22120.010"
    major, minor = ValueScale("log").ticks(-2.0, 2.0, 6)
    assert [t.text for t in major] == ["0.01", "0.1", "1", "10", "100"]
    assert len(minor) == 32
    symmetric, _ = ValueScale("symmetric", 0.1).ticks(-2.0, 2.0, 6)
    assert [t.text for t in symmetric] == ["\u22121", "\u22120.1", "0", "0.1", "1"]
    fine, _ = ValueScale("log").ticks(math.log10(0.5), math.log10(0.9), 5)
    assert [t.text for t in fine] == ["0.5", "0.6", "0.7", "0.8", "0.9"]


@pytest.mark.parametrize(("low", "high"), [(0.07, 1.08), (0.21, 0.96), (1.38, 2.4), (2.1, 47.0)])
def test_a_low_plot_has_two_numbers_where_there_is_room(low: float, high: float) -> None:
    scale = ValueScale("linear")
    assert len(scale.ticks(low, high, 2)[0]) < 2
    ticks, _ = scale.telling_ticks(low, high, 2, 4)
    assert 2 <= len(ticks) <= 4
    assert all(low <= tick.place <= high for tick in ticks)
    assert scale.telling_ticks(low, high, 2, 2) == scale.ticks(low, high, 2)


def test_horizontal_ticks_fit_what_they_count() -> None:
    assert [t.text for t in place_ticks("step", 0, 25_000, 5)] == [
        "0",
        "5000",
        "10k",
        "15k",
        "20k",
        "25k",
    ]
    assert [t.text for t in place_ticks("step", 0, 3, 10)] == ["0", "1", "2", "3"]
    assert [t.text for t in place_ticks("relative", 0, 300, 5)] == [
        "0:00",
        "1:00",
        "2:00",
        "3:00",
        "4:00",
        "5:00",
    ]
    assert [t.text for t in place_ticks("relative", 0, 2, 4)] == [
        "0.0\u202fs",
        "0.5\u202fs",
        "1.0\u202fs",
        "1.5\u202fs",
        "2.0\u202fs",
    ]
    clock = place_ticks("wall", 1_700_000_000, 1_700_003_600, 6)
    assert len(clock) >= 4
    assert all(":" in t.text for t in clock)
    assert len({t.text for t in clock}) == len(clock)


def test_places_and_counts_are_read_at_a_glance() -> None:
    assert place_text("step", 12345.4) == "12\u202f345"
    assert place_text("epoch", 3.14159) == "3.14"
    assert place_text("relative", 12.34) == "12.3\u202fs"
    assert place_text("relative", 3725.0) == "1:02:05"
    assert short_count(1_500_000) == "1.5M"
    assert short_count(9_999) == "9999"


def test_a_pinned_plot_stands_before_the_others(bench: PlotBench) -> None:
    bench.trained()
    bench.display.pin(RATE, True)
    assert bench.display.plots == (RATE, "loss", "accuracy")
    bench.display.pin(RATE, False)
    assert bench.display.plots == ("loss", "accuracy", RATE)
