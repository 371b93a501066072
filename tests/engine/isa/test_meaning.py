"""Formulas, slopes and rules stated in instruction classes: what is derived, what is refused."""

from __future__ import annotations

import pytest

from studio.engine.core.errors import ParameterError
from studio.engine.formula.kinds import Kind, kind_of
from studio.engine.formula.parse import parse_formula
from studio.engine.isa.fields import choice, flag, number, reads, side_input, updates, writes
from studio.engine.isa.instruction import GradInstruction, all_instructions
from studio.engine.isa.meaning import Activation, check_activations, read_meaning
from studio.engine.isa.ops.arithmetic import Pow
from studio.engine.isa.ops.function import Sign


def fields(**given):
    for name, field in given.items():
        field.__set_name__(object, name)
    return list(given.values())


def unary(**more):
    return fields(x=reads("In."), y=writes("Out."), alpha=number("Number.", 1.0), **more)


def test_the_gradient_reads_what_the_slopes_name():
    assert Pow.grad_class is not None
    assert Pow.grad_class.saves == ("a", "b", "y")
    assert Sign.grad_class is None


@pytest.mark.parametrize("cls", all_instructions(), ids=lambda c: c.mnemonic)
def test_element_wise_instructions_state_what_they_compute(cls):
    if issubclass(cls, GradInstruction):
        assert cls.meaning is None
        assert cls.elementwise == cls.forward.elementwise
    elif cls.elementwise and cls.category != "update":
        assert cls.meaning is not None
        assert (cls.grad_class is not None) == bool(cls.meaning.slopes)


def test_a_rule_changes_operands_and_optional_slots():
    found = read_meaning(
        "RULE",
        fields(
            w=updates("Parameter."), g=reads("Gradient.", differentiable=False),
            m=side_input("Slot."), far=flag("Flag."), form=choice("Form.", "a", "b"),
        ),
        "", {},
        """
        step = lr * g / (1 - pow(0.9, t))
        if has(m) and form == 'a':
            m = m + step
            step = m
        if not far:
            w = w - step
        """,
    )  # fmt: skip
    assert found is not None
    assert found.rule is not None
    assert found.rule.names == {"lr", "t", "g", "m", "form", "far", "w"}


@pytest.mark.parametrize(
    ("formula", "slopes", "rule", "said"),
    [
        ("beta * x", {}, "", "no such name: 'beta'"),
        ("y", {}, "", "no such name: 'y'"),
        ("dy", {}, "", "no such name: 'dy'"),
        ("x +", {}, "", "expected a formula"),
        ("x", {"alpha": "dy"}, "", "expected slopes of x"),
        ("x", {"x": "dy * z"}, "", "no such name: 'z'"),
        ("alpha = x\nalpha", {}, "", "cannot be assigned"),
        ("_y = x\n_y", {}, "", "a name begins with a letter"),
        ("x if alpha else 0", {}, "", "expected a truth value, got a float"),
        ("(x > 0) + 1", {}, "", "expected a number, got a truth value"),
        ("x * (1.0 if x > 0 else int(x))", {}, "", "a float and a whole number meet"),
        ("sqrt(int(x))", {}, "", "expected a float"),
        ("x == 'a'", {}, "", "a word"),
        ("", {"x": "dy"}, "", "state a formula"),
        ("x", {}, "x = 1", "state a formula"),
        ("", {}, "x = lr", "'x' cannot be assigned"),
        ("", {}, "if x > 0:\n    z = 1", "decided by attributes"),
        ("", {}, "\x1b[31m = 1", "expected a formula, got '\\x1b[31m = 1'"),
    ],
)
def test_what_a_class_cannot_state(formula, slopes, rule, said):
    with pytest.raises(ParameterError) as refused:
        read_meaning("NEW", unary(), formula, slopes, rule)
    assert said in str(refused.value)
    assert str(refused.value).startswith("[NEW")
    assert str(refused.value).replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("text", "x", "kind"),
    [
        ("x + 1", Kind.INT, Kind.INT), ("x + 1", Kind.FLOAT, Kind.FLOAT),
        ("x > 0", Kind.INT, Kind.BOOL), ("float(x) * 2", Kind.INT, Kind.FLOAT),
        ("x if x == x else -x", Kind.INT, Kind.INT), ("isnan(x)", Kind.FLOAT, Kind.BOOL),
        ("clip(x, 0, 3)", Kind.INT, Kind.INT), ("x", Kind.BOOL, Kind.BOOL),
        ("int(x)", Kind.FLOAT, Kind.INT), ("sqrt(x)", Kind.ANY, Kind.FLOAT),
    ],
)  # fmt: skip
def test_kinds_of_values(text, x, kind):
    assert kind_of(parse_formula(text), {"x": x}) is kind


@pytest.mark.parametrize("text", ["x + 0.5", "x / 2", "exp(x)", "-(x > 0)", "x > 0.5", "x or x"])
def test_whole_numbers_become_floats_only_by_saying_so(text):
    with pytest.raises(ParameterError):
        kind_of(parse_formula(text), {"x": Kind.INT})


def test_an_activation_is_a_function_of_x_with_known_attributes():
    check_activations("NEW", unary(), {"new": Activation("New.", {"alpha": 2.0})})
    with pytest.raises(ParameterError, match="no such attribute: 'beta'"):
        check_activations("NEW", unary(), {"new": Activation("New.", {"beta": 2.0})})
    with pytest.raises(ParameterError, match="alpha"):
        check_activations("NEW", unary(), {"new": Activation("New.", {"alpha": "much"})})
    with pytest.raises(ParameterError, match="operands x and y"):
        check_activations("NEW", unary(z=reads("More.")), {"new": Activation("New.")})
