"""Formulas printed as GLSL: precedence, types, zeros, and what keeps NaN."""

from __future__ import annotations

import re

import pytest

from studio.engine.formula.constants import with_values
from studio.engine.formula.functions import FUNCTIONS
from studio.engine.formula.parse import parse_formula
from studio.engine.gl.shader.formula_text import Value, formula_text
from studio.engine.gl.shader.source import FUNCTION_FILES, functions_of

FLOATS = {name: Value(name, "float") for name in ("x", "y", "dy", "a", "b")}
MIXED = {**FLOATS, "i": Value("i", "int"), "j": Value("j", "int")}


def text(formula: str, **values: float | str | bool) -> str:
    lines, value = formula_text(with_values(parse_formula(formula), values), MIXED, "v0_")
    return "\n".join([*lines, value.text])


@pytest.mark.parametrize(
    ("formula", "wanted"),
    [
        ("a + b * x", "a + b * x"),
        ("(a + b) * x", "(a + b) * x"),
        ("a - (b - x)", "a - (b - x)"),
        ("a - b - x", "a - b - x"),
        ("a / (b * x)", "a / (b * x)"),
        ("a * (b / x)", "a * (b / x)"),
        ("-x * y", "-x * y"),
        ("-(x + y)", "-(x + y)"),
        ("a - -b", "a - -b"),
        ("x if x > 0 and not y <= 1 else 0", "(x > 0.0 && !(y <= 1.0) ? x : 0.0)"),
        ("1 if (a > b or x > y) and a == x else y", "((a > b || x > y) && a == x ? 1.0 : y)"),
        ("x**2", "x * x"),
        ("a / x**2", "a / (x * x)"),
        ("(1 + abs(x))**2", "squared(1.0 + abs(x))"),
        ("1 / (1 / 3 + x)", "1.0 / (0.33333334 + x)"),
    ],
)
def test_operators_keep_their_order(formula: str, wanted: str) -> None:
    assert text(formula) == wanted


def test_zeros_of_either_sign_and_whole_numbers_are_kept_apart() -> None:
    for _ in range(2):
        assert text("x + beta", beta=0.0) == "x + RUNTIME_ZERO"
        assert text("x + beta", beta=-0.0) == "x + (-RUNTIME_ZERO)"
        assert text("beta * (i + j)", beta=1) == "1 * (i + j)"
        assert text("beta * (i + j)", beta=1.0) == "1 * (i + j)"


def test_lines_become_variables() -> None:
    found = text("s = sigmoid(beta * x)\nt = i > 2\ndy * s if t else 0", beta=2.0)
    assert found.splitlines() == [
        "float v0_s = sigmoid(2.0 * x);",
        "bool v0_t = i > 2;",
        "(v0_t ? dy * v0_s : 0.0)",
    ]


@pytest.mark.parametrize(
    ("formula", "wanted"),
    [
        ("alpha * x", "RUNTIME_ZERO * x"),
        ("-alpha * x", "(-RUNTIME_ZERO) * x"),
        ("x if x > alpha else alpha", "(x > 0.0 ? x : 0.0)"),
    ],
)
def test_a_factor_of_zero_is_hidden_from_the_compiler(formula: str, wanted: str) -> None:
    assert text(formula, alpha=0.0) == wanted


@pytest.mark.parametrize(
    ("formula", "wanted"),
    [
        ("i * j + 1", "i * j + 1"),
        ("alpha * i", "1 * i"),
        ("abs(i - 3)", "abs(i - 3)"),
        ("max(i, j)", "larger(i, j)"),
        ("max(i, 0)", "larger(i, 0)"),
        ("clip(i, 0, 7)", "smaller(larger(i, 0), 7)"),
        ("float(i) / float(j)", "float(i) / float(j)"),
        ("a if i else b", "(i != 0 ? a : b)"),
        ("i if x > 0 else j", "(x > 0.0 ? i : j)"),
        ("int(x) + i", "int(x) + i"),
        ("i**2", "i * i"),
    ],
)
def test_whole_numbers_stay_whole(formula: str, wanted: str) -> None:
    assert text(formula, alpha=1.0) == wanted


@pytest.mark.parametrize(
    ("formula", "wanted"),
    [
        ("max(x, 0)", "at_least(x, 0.0)"),
        ("min(x, 6)", "at_most(x, 6.0)"),
        ("clip(x, -1, 1)", "within(x, (-1.0), 1.0)"),
        ("max(a, b)", "larger(a, b)"),
        ("clip(x, a, 1)", "smaller(larger(x, a), 1.0)"),
        ("max(x, nan)", "larger(x, uintBitsToFloat(0x7fc00000u))"),
    ],
)
def test_limits_to_numbers_are_the_cheaper_ones(formula: str, wanted: str) -> None:
    assert text(formula) == wanted


GLSL_OWN = {"abs", "floor", "ceil", "roundEven", "exp", "float", "int"}
"""Built-in functions that keep NaN."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_one_of_the_library_or_keeps_nan(name: str) -> None:
    found = text(f"{name}({', '.join('xab'[: FUNCTIONS[name].arity])})")
    defined = set[str]().union(*map(functions_of, ("numerics.glsl", *FUNCTION_FILES)))
    called = set(re.findall(r"(\w+)\(", found))
    assert called <= defined | GLSL_OWN, found


def test_a_word_that_is_left_is_refused() -> None:
    with pytest.raises(TypeError, match="a word is only compared"):
        text("1 if x == 'hat' else 0")
