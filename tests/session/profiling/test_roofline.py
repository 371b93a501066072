"""The roofline against worked examples."""

from __future__ import annotations

import pytest

from studio.engine.profiler.events import KernelEvent, Profile
from studio.engine.profiler.totals import Peaks
from studio.session.profiling.kernel_rows import KernelTimes
from studio.session.profiling.roofline import (
    Range,
    RooflinePoint,
    axes,
    inside,
    points,
    ridge,
    roof,
)

PEAKS = Peaks(gflops=200.0, gbytes=10.0)


def rows(*kernels: tuple[str, float, int, int]) -> tuple:
    events = tuple(
        KernelEvent(0, "forward", n, name, name, (name,), 0.0, spent, flops, traffic)
        for n, (name, spent, flops, traffic) in enumerate(kernels)
    )
    times = KernelTimes(Profile("device", "wall clock", 1, 1.0, events))
    times.add(Profile("device", "wall clock", 1, 1.0, events))
    return times.rows(peaks=PEAKS)


def test_a_roof_is_memory_up_to_the_ridge_and_arithmetic_beyond() -> None:
    assert ridge(PEAKS) == 20.0
    assert roof(PEAKS, 2.0) == 20.0
    assert roof(PEAKS, 20.0) == 200.0
    assert roof(PEAKS, 2000.0) == 200.0


def test_a_point_says_where_a_kernel_stands_and_what_it_could_gain() -> None:
    found = {p.id.split("/")[1]: p for p in points(
        rows(("CONV", 100.0, 4_000_000, 10_000), ("ADD", 100.0, 250_000, 500_000)), PEAKS
    )}  # fmt: skip
    conv = found["CONV"]
    assert (conv.intensity, conv.gflops, conv.roof) == (400.0, pytest.approx(40.0), 200.0)
    assert conv.gain_ms == pytest.approx(0.08)  # 20 µs at the roof
    add = found["ADD"]
    assert (add.intensity, add.roof) == (0.5, 5.0)
    assert add.gflops == pytest.approx(2.5)
    assert add.gain_ms == pytest.approx(0.05)
    assert conv.share == add.share == 0.5


def test_kernels_that_only_move_bytes_have_no_point() -> None:
    found = points(rows(("FILL", 1.0, 0, 4096), ("ADVANCE", 1.0, 0, 0)), PEAKS)
    assert found == ()


def test_axes_are_whole_decades_with_room_around_points() -> None:
    found = (RooflinePoint("a", 0.5, 3.0, 0.1), RooflinePoint("b", 101.0, 40.0, 0.1))
    assert axes(found, None) == (Range(-1, 3), Range(0, 2))
    assert axes(found, PEAKS) == (Range(-1, 3), Range(0, 3))
    close = (RooflinePoint("a", 1.02, 98.0, 0.1),)
    assert axes(close, None) == (Range(-1, 1), Range(1, 3))
    assert axes((), None) == (Range(-1, 2), Range(-1, 2))


def test_a_rectangle_catches_the_points_inside_whichever_way_it_was_drawn() -> None:
    found = (RooflinePoint("a", 0.5, 3.0, 0.1), RooflinePoint("b", 8.0, 40.0, 0.1))
    assert inside(found, (0.1, 1.0), (1.0, 10.0)) == {"a"}
    assert inside(found, (10.0, 0.1), (100.0, 1.0)) == {"a", "b"}
    assert inside(found, (20.0, 30.0), (1.0, 100.0)) == frozenset()
