"""The sensible values a number field walks through."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.widgets.fields.stepping import Stepping

CHANNELS = Stepping("powers", 1, 4096, integer=True)
RATE = Stepping("decades", 0, 10)


def walk(stepping: Stepping, value: float, notch: int, count: int) -> list[float]:
    found = []
    for _ in range(count):
        value = stepping.stepped(value, notch)
        found.append(value)
    return found


def test_channels_go_through_powers_of_two() -> None:
    assert walk(CHANNELS, 10, 1, 4) == [16, 32, 64, 128]
    assert walk(CHANNELS, 10, -1, 5) == [8, 4, 2, 1, 1]
    assert CHANNELS.stepped(10, 1, "fine") == 11
    assert CHANNELS.stepped(16, 1, "coarse") == 128


def test_rates_go_through_one_and_three() -> None:
    assert walk(RATE, 1e-3, 1, 4) == [3e-3, 1e-2, 3e-2, 0.1]
    assert walk(RATE, 1e-3, -1, 4) == [3e-4, 1e-4, 3e-5, 1e-5]
    assert RATE.stepped(2e-3, 1) == 3e-3
    assert RATE.stepped(2e-3, -1) == 1e-3
    assert RATE.stepped(0, 1) == 1e-6


def test_linear_steps_leave_no_dust() -> None:
    rate = Stepping("linear", 0, 1, step=0.05)
    assert walk(rate, 0, 1, 3) == [0.05, 0.1, 0.15]
    assert rate.stepped(0.1, 1, "fine") == 0.105
    assert rate.stepped(0.1, 1, "coarse") == 0.6
    assert rate.stepped(0.9, 9) == 1


def test_whole_numbers_stay_whole() -> None:
    kernel = Stepping("linear", 1, 11, integer=True)
    assert kernel.stepped(3, 1) == 4
    assert kernel.stepped(3, 1, "fine") == 4
    assert kernel.stepped(3, -9) == 1
    assert isinstance(kernel.stepped(3, 1), int)
    assert kernel.fitted(2.4) == 2


@pytest.mark.parametrize("start", [1e-3, 1e30])
def test_a_rate_dragged_across_a_wide_screen_stays_a_number(start: float) -> None:
    assert Stepping("decades", 0.0, 3e38).dragged(start, 7680, "coarse") == 3e38
    assert Stepping("decades", 0.0).dragged(start, 7680, "coarse") < math.inf
    assert Stepping("decades", 0.0).dragged(start, -7680, "coarse") == 0.0


def test_dragging_counts_from_where_it_began() -> None:
    kernel = Stepping("linear", 1, 64, integer=True)
    assert [kernel.dragged(8, points) for points in (0, 3, 4, 40, -40, 4000)] == [
        8, 8, 9, 18, 1, 64,
    ]  # fmt: skip
    assert [CHANNELS.dragged(16, points) for points in (0, 23, 24, 49, -24)] == [
        16, 16, 32, 64, 8,
    ]  # fmt: skip
    assert RATE.dragged(1e-3, 120) == 1e-2
    assert RATE.dragged(1e-3, 120, "fine") == pytest.approx(1.26e-3)
    assert RATE.dragged(0, 120) > 0


@given(
    st.sampled_from(["linear", "powers", "decades"]),
    st.floats(1e-6, 1e6),
    st.integers(-20, 20),
    st.sampled_from(["fine", "normal", "coarse"]),
    st.booleans(),
)
def test_steps_stay_in_range_and_go_the_right_way(
    scale: str, value: float, notches: int, pace: str, integer: bool
) -> None:
    stepping = Stepping(scale, 0, 1e6, integer=integer)
    start = stepping.fitted(value)
    found = stepping.stepped(start, notches, pace)
    assert 0 <= found <= 1e6
    assert math.isfinite(found)
    assert not integer or float(found).is_integer()
    if notches > 0:
        assert found >= start
    if notches < 0:
        assert found <= start
