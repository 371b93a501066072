"""Reading formulas: what the language has, and what it refuses."""

from __future__ import annotations

import math
from itertools import combinations

import pytest

from studio.engine.core.errors import ParameterError
from studio.engine.formula.constants import assignments, with_values
from studio.engine.formula.functions import FUNCTIONS
from studio.engine.formula.parse import parse_formula, parse_rule
from studio.engine.formula.tree import Arithmetic, Assign, Call, Name, Number, Select


def test_a_formula_has_lines_and_a_result() -> None:
    found = parse_formula("s = sigmoid(beta * x)\ndy * s")
    assert found.names == {"beta", "x", "dy"}
    assert found.lines == (
        Assign("s", Call("sigmoid", (Arithmetic("*", Name("beta"), Name("x")),))),
    )
    assert found.value == Arithmetic("*", Name("dy"), Name("s"))


@pytest.mark.parametrize(
    "text",
    [
        "", "   ", "x +", "x[0]", "x.real", "lambda: x", "import os", "__import__('os')", "x ** 3",
        "x ** y", "x // 2", "x % 2", "[x]", "x if y", "f(x)", "max(x)", "max(*x)",
        "clip(x, low=1, high=2)",
        "1e40", "0 < x < 1", "x = 1", "exp = 2\nx", "for i in x: y", "(" * 300 + "x" + ")" * 300,
        "-" * 100 + "x", "x" * 20_000, "x = 1\0", "if a:\n    b = 1\nb", "'a'if", "x := 2", "x and",
        "+".join(["x"] * 3000),
    ],
)  # fmt: skip
def test_what_is_no_formula_is_refused(text: str) -> None:
    with pytest.raises(ParameterError) as refused:
        parse_formula(text)
    assert len(str(refused.value)) < 1000


def test_attributes_are_put_in_and_constants_computed() -> None:
    found = parse_formula("root = sqrt(2 / pi)\nunused = exp(x)\nx * root if kind == 'a' else x")
    value = with_values(found, {"kind": "a"})
    assert value.lines == ()
    assert value.value == Arithmetic("*", Name("x"), Number(math.sqrt(2 / math.pi)))
    assert with_values(found, {"kind": "b"}).value == Name("x")


def test_numbers_are_alike_to_the_bit_and_of_one_kind() -> None:
    unlike = [Number(v) for v in (0.0, -0.0, 0, False, 1.0, 1, True, 2.0, math.inf, math.nan)]
    for one, other in combinations(unlike, 2):
        assert one != other
    for number in unlike:
        again = Number(number.value) if number.value == number.value else Number(-math.nan)
        assert number == again
        assert hash(number) == hash(again)
    formula = parse_formula("x + beta")
    for number in unlike:
        found = with_values(formula, {"beta": number.value})
        assert found.value == Arithmetic("+", Name("x"), number)


def test_a_selection_by_an_operand_stays() -> None:
    found = with_values(parse_formula("x if x > 0 else alpha * x"), {"alpha": 0.5})
    assert isinstance(found.value, Select)
    assert found.names == {"x"}


def test_optional_operands_are_asked_for() -> None:
    rule = parse_rule("""
        s = v
        if has(vmax):
            vmax = max(vmax, v)
            s = vmax
        w = w - lr * s
    """)
    assert rule.names == {"v", "vmax", "w", "lr"}
    assert [a.name for a in assignments(rule, {})] == ["s", "w"]
    assert [a.name for a in assignments(rule, {}, frozenset({"vmax"}))] == [
        "s", "vmax", "s", "w",
    ]  # fmt: skip


def test_names_assigned_in_one_branch_only_are_read_before() -> None:
    rule = parse_rule("if a:\n    b = 1\nc = b")
    assert rule.names == {"a", "b"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_answers_for_any_number(name: str) -> None:
    function = FUNCTIONS[name]
    edges: list[float] = [
        0.0,
        -0.0,
        1.0,
        -1.5,
        2.5,
        1e30,
        -1e30,
        1e-40,
        math.inf,
        -math.inf,
        math.nan,
    ]
    if function.bits:
        edges = [0, 1, -1, 31, 32, -33, 2**31 - 1, -(2**31)]
    if name == "one_minus_pow":
        assert function.meaning(0.0, 3) == 1.0
        assert function.meaning(0.999, 2) == pytest.approx(1 - 0.999**2, rel=1e-12)
        return
    for x in edges if name != "int" else edges[:8]:
        for y in edges if function.arity > 1 else [0.0]:
            given = (x, y, 2.0)[: function.arity]
            found = function.meaning(*given)
            assert isinstance(found, float | int)
            assert not function.bits or -(2**31) <= found < 2**31
