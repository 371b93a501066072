"""Formulas as a reader writes them."""

from __future__ import annotations

import pytest

from studio.engine.formula.mathematics import mathematics
from studio.engine.formula.parse import parse_formula


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("x / (1 + abs(x))", "x / (1 + |x|)"),
        ("dy / (1 + abs(x))**2", "dy / (1 + |x|)²"),
        ("(-x)**2", "(-x)²"),
        ("-x**2", "-x²"),
        ("-(a * b)", "-(a·b)"),
        ("-(a + b) * c", "-(a + b)·c"),
        ("a - (b - c)", "a - (b - c)"),
        ("a - b + c", "a - b + c"),
        ("a + (b + c)", "a + b + c"),
        ("a / (b / c)", "a / (b / c)"),
        ("a / (b * c)", "a / (b·c)"),
        ("a / b * c", "a / b·c"),
        ("a * (b / c)", "a·(b / c)"),
        ("a * (b * c)", "a·b·c"),
        ("a * -b", "a·(-b)"),
        ("2 * (x if x > 0 else -x)", "2·(x for x > 0, else -x)"),
        ("1 if not (x <= 0 or x != y) and z else 0",
         "1 for not (x ≤ 0 or x ≠ y) and z, else 0"),
        ("alpha * expm1(x)", "alpha·(e^x - 1)"),
        ("exp(-x)", "e^(-x)"),
        ("sqrt(2 / pi) * rsqrt(x)", "√(2 / π)·(1 / √x)"),
        ("log(x) + log1p(a * b)", "ln x + ln(1 + a·b)"),
        ("floor(x) + ceil(x - 1)", "⌊x⌋ + ⌈x - 1⌉"),
        ("floor_div(a, b) * mod(a, 2)", "⌊a / b⌋·mod(a, 2)"),
        ("pow(a, b - 1) * normal_cdf(x)", "a^(b - 1)·Φ(x)"),
        ("clip(x, -inf, 1e-07)", "clip(x, -∞, 1e-07)"),
    ],
)  # fmt: skip
def test_a_formula_is_written_as_mathematics(text: str, written: str) -> None:
    assert mathematics(parse_formula(text), "y") == [f"y = {written}"]


def test_lines_stand_below_each_other_and_names_may_be_replaced() -> None:
    formula = parse_formula("s = sigmoid(x)\ndy * s * (1 - s)")
    assert mathematics(formula, "dx", {"x": "0x5", "dy": "0x6.grad"}) == [
        "s = sigmoid(0x5)", "dx = 0x6.grad·s·(1 - s)",
    ]  # fmt: skip
