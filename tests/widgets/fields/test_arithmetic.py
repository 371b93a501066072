"""What may be typed into a number field, and what may not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.engine.core.errors import ParameterError
from studio.widgets.fields.arithmetic import evaluate


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12), ("1e-3", 0.001), ("16*3", 48), ("(1+2)*3", 9), ("2**5", 32), ("2^5", 32),
        ("*2", 20), ("/4", 2.5), ("+=5", 15), ("-=5", 5), ("-5", -5), ("25%", 0.25),
        ("7//2", 3), ("7%4", 3), ("0,5", 0.5), ("\u22123", -3), ("61\u202f706", 61706),
        ("2\u00d73", 6), ("* (1 + 1)", 20),
    ],
)  # fmt: skip
def test_arithmetic_is_evaluated(text: str, value: float) -> None:
    assert evaluate(text, 10) == pytest.approx(value)


@pytest.mark.parametrize(
    "text",
    [
        "", "abc", "1+", "__import__('os')", "[1]", "1 if 1 else 2", "True", "'a'*9", "1j", "nan",
        "9**9**9", "1/0", "1e999", "(-8)**0.5", "lambda: 1", "a.b", "9" * 300, "1;2", "(" * 150,
    ],
)  # fmt: skip
def test_anything_else_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(ParameterError) as caught:
        evaluate(text, 10)
    assert "\n" not in str(caught.value)


@given(st.text(max_size=60))
@pytest.mark.slow
def test_no_text_gets_more_than_a_number_or_a_refusal(text: str) -> None:
    try:
        found = evaluate(text, 3.0)
    except ParameterError:
        return
    assert isinstance(found, int | float)


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.sampled_from("+-*"))
def test_binary_operators_are_those_of_python(a: float, b: float, sign: str) -> None:
    expected = {"+": a + b, "-": a - b, "*": a * b}[sign]
    assert evaluate(f"({a!r}){sign}({b!r})") == expected
