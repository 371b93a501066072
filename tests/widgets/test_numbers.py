"""Numbers as people read them: digits, prefixes, units, and what is not a number."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.widgets import numbers

THIN = numbers.THIN


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (0.1, "0.1"), (0.034567, "0.03457"), (1234567, "1234567"),
        (-2.5, "\u22122.5"), (1.25e-5, "1.25e-5"), (3e12, "3e12"), (0.99996, "1"),
        (None, "\u2013"), (math.nan, "NaN"), (math.inf, "∞"), (-math.inf, "\u2212∞"),
    ],
)  # fmt: skip
def test_number_keeps_four_digits(value: float | None, text: str) -> None:
    assert numbers.number(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (61706, "", f"61.7{THIN}k"), (999, "", "999"), (999.6, "", f"1{THIN}k"),
        (0.00042, "s", f"420{THIN}µs"), (2.05e12, "B/s", f"2.05{THIN}TB/s"),
        (0.25, "", "0.25"), (0, "s", f"0{THIN}s"), (-1500, "", f"\u22121.5{THIN}k"),
    ],
)  # fmt: skip
def test_quantity_takes_a_prefix(value: float, unit: str, text: str) -> None:
    assert numbers.quantity(value, unit) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0_B"), (1023, "1023_B"), (1024, "1_KiB"), (50331648, "48_MiB"),
        (1048575, "1_MiB"), (1610612736, "1.5_GiB"), (None, "\u2013"),
    ],
)  # fmt: skip
def test_memory_is_binary_and_says_so(value: int | None, text: str) -> None:
    assert numbers.memory(value) == text.replace("_", THIN)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0_s"), (4.2e-4, "0.42_ms"), (3.1e-5, "31_µs"), (3.14159, "3.14_s"),
        (59.96, "1_min"), (125, "2_min 5_s"), (4320, "1_h 12_min"), (7200, "2_h"),
        (-0.5, "\u2212500_ms"),
    ],
)  # fmt: skip
def test_duration_takes_the_unit_people_use(seconds: float, text: str) -> None:
    assert numbers.duration(seconds) == text.replace("_", THIN)


def test_counts_and_shares() -> None:
    assert numbers.count(61706) == f"61{THIN}706"
    assert numbers.count(-1234567) == f"\u22121{THIN}234{THIN}567"
    assert numbers.share(0.3124) == f"31.2{THIN}%"
    assert numbers.share(1e-9) == f"<{THIN}0.01{THIN}%"
    assert numbers.exact(0.1) == "0.1"


def test_a_count_says_of_what() -> None:
    assert [numbers.counted(n, "sample") for n in (0, 1, 2)] == [
        "0 samples",
        "1 sample",
        "2 samples",
    ]
    assert numbers.counted(1, "epoch is", "epochs are") == "1 epoch is"
    assert numbers.counted(1437, "epoch is", "epochs are") == f"1{THIN}437 epochs are"


@given(st.floats(1e-300, 1e300) | st.floats(-1e300, -1e-300))
def test_number_is_right_to_four_digits(value: float) -> None:
    shown = numbers.number(value).replace("\u2212", "-")
    digits = shown.partition("e")[0].lstrip("-").replace(".", "").strip("0")
    assert len(digits) <= (7 if "e" not in shown else 4)
    assert float(abs(Decimal(shown) - Decimal(value)) / abs(Decimal(value))) <= 5.1e-4


@given(st.floats(1, 9.9e17))
def test_quantity_is_right_to_three_digits(value: float) -> None:
    text, _, tail = numbers.quantity(value).partition(THIN)
    power = ("", "k", "M", "G", "T", "P").index(tail) * 3
    assert abs(float(text) * 10**power - value) / value <= 5.1e-3
    assert float(text) < 1000
