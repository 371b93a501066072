"""Formulas as a reader writes them: ``x / (1 + abs(x))**2`` is ``x / (1 + |x|)²``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from studio.engine.formula.tree import (
    Arithmetic,
    Call,
    Comparison,
    Expression,
    Formula,
    Logic,
    Name,
    Negative,
    Not,
    Number,
    Select,
    Text,
)

_CHOICE, _OR, _AND, _NOT, _COMPARED, _SUM, _PRODUCT, _POWER, _ATOM = range(9)
"""How closely a text holds together."""

_SIGNS = {"<=": "≤", ">=": "≥", "!=": "≠"}
_CONSTANTS = {math.pi: "π", math.e: "e", math.inf: "∞"}
_BRACKETS = {"abs": ("|", "|"), "floor": ("⌊", "⌋"), "ceil": ("⌈", "⌉")}


class _Written(NamedTuple):
    text: str
    holds: int

    def within(self, least: int) -> str:
        """The text, in parentheses where its operator binds less tightly than needed."""
        return self.text if self.holds >= least else f"({self.text})"


def mathematics(formula: Formula, result: str, names: Mapping[str, str] | None = None) -> list[str]:
    """One line for each name a formula gives, and one for its result.

    Args:
        formula: as parsed.
        result: what the value is called.
        names: what stands for a name; itself where there is none.
    """
    writer = _Writer(names or {})
    lines = [f"{line.name} = {writer.written(line.value).text}" for line in formula.lines]
    return [*lines, f"{result} = {writer.written(formula.value).text}"]


class _Writer:
    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def written(self, node: Expression) -> _Written:
        """The text of an expression."""
        match node:
            case Number(value):
                return _Written(_number(value), _ATOM)
            case Text(value):
                return _Written(value, _ATOM)
            case Name(name):
                return _Written(self._names.get(name, name), _ATOM)
            case Negative(a):
                return _Written(f"-{self.written(a).within(_POWER)}", _PRODUCT)
            case Not(a):
                return _Written(f"not {self.written(a).within(_COMPARED)}", _NOT)
            case Arithmetic(sign, a, b):
                return self._arithmetic(sign, self.written(a), self.written(b))
            case Comparison(sign, a, b):
                one, other = (self.written(each).within(_SUM) for each in (a, b))
                return _Written(f"{one} {_SIGNS.get(sign, sign)} {other}", _COMPARED)
            case Logic(word, a, b):
                holds = _OR if word == "or" else _AND
                one, other = (self.written(each).within(holds) for each in (a, b))
                return _Written(f"{one} {word} {other}", holds)
            case Select(condition, a, b):
                then = self.written(a).within(_OR)
                otherwise, asked = self.written(b).text, self.written(condition).text
                return _Written(f"{then} for {asked}, else {otherwise}", _CHOICE)
            case Call(name, arguments):
                return self._call(name, [self.written(each) for each in arguments])

    def _arithmetic(self, sign: str, a: _Written, b: _Written) -> _Written:
        if sign in "+-":
            text = f"{a.within(_SUM)} {sign} {b.within(_SUM if sign == '+' else _PRODUCT)}"
            return _Written(text, _SUM)
        if sign == "/":
            return _Written(f"{a.within(_PRODUCT)} / {b.within(_POWER)}", _PRODUCT)
        # A quotient inside a product, and a sign behind one, would be misread.
        bare = " / " not in b.text and not b.text.startswith("-")
        return _Written(f"{a.within(_PRODUCT)}·{b.within(_PRODUCT if bare else _POWER)}", _PRODUCT)

    def _call(self, name: str, arguments: list[_Written]) -> _Written:
        first = arguments[0]
        if name in _BRACKETS:
            left, right = _BRACKETS[name]
            return _Written(f"{left}{first.text}{right}", _ATOM)
        match name:
            case "square":
                return _Written(f"{first.within(_ATOM)}²", _POWER)
            case "pow":
                return _Written(f"{first.within(_ATOM)}^{arguments[1].within(_ATOM)}", _POWER)
            case "exp":
                return _Written(f"e^{first.within(_ATOM)}", _POWER)
            case "expm1":
                return _Written(f"e^{first.within(_ATOM)} - 1", _SUM)
            case "log":
                return _Written(f"ln {first.within(_ATOM)}", _POWER)
            case "log1p":
                return _Written(f"ln(1 + {first.within(_SUM)})", _ATOM)
            case "sqrt":
                return _Written(f"√{first.within(_ATOM)}", _POWER)
            case "rsqrt":
                return _Written(f"1 / √{first.within(_ATOM)}", _PRODUCT)
            case "floor_div":
                return _Written(f"⌊{self._arithmetic('/', first, arguments[1]).text}⌋", _ATOM)
            case "one_minus_pow":
                power = f"{first.within(_ATOM)}^{arguments[1].within(_ATOM)}"
                return _Written(f"1 - {power}", _SUM)
            case "normal_cdf":
                return _Written(f"Φ({first.text})", _ATOM)
        return _Written(f"{name}({', '.join(each.text for each in arguments)})", _ATOM)


def _number(value: float) -> str:
    if isinstance(value, float) and value in _CONSTANTS:
        return _CONSTANTS[value]
    return str(value).lower() if isinstance(value, bool) else repr(value)
