"""Formulas over whole numbers: what is computed stays whole, and nothing becomes a float unsaid."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

from studio.engine.core.errors import ParameterError
from studio.engine.formula.functions import FUNCTIONS
from studio.engine.formula.kinds import Kind, kind_of, kind_of_expression
from studio.engine.formula.tree import (
    Arithmetic,
    Assign,
    Call,
    Comparison,
    Expression,
    Formula,
    Number,
    Select,
    parts,
    rebuilt,
)

LOWEST, HIGHEST = -(1 << 31), (1 << 31) - 1
LIMITS = frozenset({"max", "min", "clip"})
"""Functions that a number beyond the range of int32 limits as the end of the range does."""


def fitted(formula: Formula, kinds: Mapping[str, Kind], who: str = "formula") -> Formula:
    """The formula with the numbers that stand beside whole operands as whole numbers.

    A limit beyond the range of int32 is the end of that range.

    Args:
        formula: with attributes put in.
        kinds: of its operands.
        who: what an error names.

    Raises:
        ParameterError: a number with a fraction, or a function of floats, meets a whole operand;
            or kinds do not fit otherwise.
    """
    # Truth values alone are 0 and 1 wherever numbers are asked for.
    if {kinds[name] for name in formula.names if name in kinds} == {Kind.BOOL}:
        return formula
    return _fitted(formula, tuple(kinds.items()), who)


@lru_cache(maxsize=1 << 9)
def _fitted(formula: Formula, given: tuple[tuple[str, Kind], ...], who: str) -> Formula:
    known = dict(given)
    lines = []
    for line in formula.lines:
        value = _fit(line.value, known, who)
        known[line.name] = kind_of_expression(value, known, who)
        lines.append(Assign(line.name, value))
    found = Formula(formula.text, tuple(lines), _fit(formula.value, known, who))
    kind_of(found, dict(given), who)
    return found


def _fit(node: Expression, kinds: Mapping[str, Kind], who: str) -> Expression:
    inner = [_fit(part, kinds, who) for part in parts(node)]
    alike = range(len(inner))
    match node:
        case Arithmetic() | Comparison():
            pass
        case Select():
            alike = range(1, 3)
        case Call(name) if name in FUNCTIONS and FUNCTIONS[name].whole:
            pass
        case _:
            alike = range(0)
    if any(kind_of_expression(inner[k], kinds, who) is Kind.INT for k in alike):
        limits = isinstance(node, Call) and node.function in LIMITS
        for k in alike:
            inner[k] = whole_number(inner[k], limits=limits, who=who)
    return rebuilt(node, inner)


def whole_number(node: Expression, *, limits: bool = False, who: str = "formula") -> Expression:
    """A number as a whole one; other expressions as they are.

    Args:
        node: what stands beside a whole operand.
        limits: whether it is an argument of one of `LIMITS`.
        who: what an error names.

    Raises:
        ParameterError: the number has a fraction or is beyond the range.
    """
    if not isinstance(node, Number) or not isinstance(node.value, float):
        return node
    value = node.value
    if limits and not math.isnan(value):
        value = min(max(value, LOWEST), HIGHEST)
    if not (math.isfinite(value) and value == int(value) and LOWEST <= value <= HIGHEST):
        raise ParameterError(
            f"{node.value:g} meets whole numbers", who=who,
            hint="CAST the operand to float32, or take a whole number",
        )  # fmt: skip
    return Number(int(value))
