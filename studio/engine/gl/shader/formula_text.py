"""Prints formulas as GLSL over one element.

Functions come from ``lib/numerics.glsl``: GLSL's own min, max, clamp, tanh, pow and sign lose NaN.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from studio.engine.core.errors import BackendError
from studio.engine.formula.functions import FUNCTIONS
from studio.engine.formula.integers import LIMITS, whole_number
from studio.engine.formula.tree import (
    Arithmetic,
    Assign,
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
from studio.engine.gl.shader.attributes import ZERO
from studio.engine.gl.shader.glsl_text import float_literal, int_literal

Kind: TypeAlias = Literal["float", "int", "bool"]
"""The GLSL type of a value."""

_SELECT, _OR, _AND, _EQUAL, _ORDER, _SUM, _PRODUCT, _SIGN, _ATOM = range(9)
_RANKS = {
    "or": _OR, "and": _AND, "==": _EQUAL, "!=": _EQUAL, "<": _ORDER, "<=": _ORDER, ">": _ORDER,
    ">=": _ORDER, "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT,
}  # fmt: skip
_WORDS = {"or": "||", "and": "&&"}
_NAMES = {
    "sign": "sign_of",
    "round": "roundEven",
    "expm1": "exp_minus_1",
    "log": "logarithm",
    "log1p": "logarithm_1_plus",
    "sqrt": "root",
    "rsqrt": "inverse_root",
    "square": "squared",
    "sin": "sine",
    "cos": "cosine",
    "tan": "tangent",
    "asin": "arc_sine",
    "acos": "arc_cosine",
    "atan": "arc_tangent",
    "atan2": "angle_of",
    "sinh": "sine_h",
    "cosh": "cosine_h",
    "tanh": "tangent_h",
    "asinh": "area_sine_h",
    "acosh": "area_cosine_h",
    "atanh": "area_tangent_h",
    "erf": "error_function",
    "normal_cdf": "normal_share",
    "pow": "power",
    "one_minus_pow": "one_minus_power",
    "max": "larger",
    "min": "smaller",
    "floor_div": "floored_quotient",
    "mod": "floored_rest",
    "isnan": "is_nan",
}
"""GLSL functions whose name is not that of the language."""


@dataclass(frozen=True)
class Value:
    """GLSL text of a value.

    Attributes:
        text: an expression.
        kind: its type.
        rank: how tightly its outermost operator binds.
    """

    text: str
    kind: Kind
    rank: int = _ATOM

    def within(self, rank: int) -> str:
        """The text as an operand of an operator of that rank."""
        return self.text if self.rank >= rank else f"({self.text})"

    @property
    def term(self) -> str:
        """The text as what is added to something."""
        return self.within(_PRODUCT)

    def to(self, kind: Kind) -> Value:
        """The value turned into another type; numbers are true where they are not 0."""
        if kind == self.kind:
            return self
        if kind == "bool":
            zero = "0.0" if self.kind == "float" else "0"
            return Value(f"{self.within(_ORDER)} != {zero}", "bool", _EQUAL)
        return Value(f"{kind}({self.text})", kind)


def formula_text(
    formula: Formula, names: Mapping[str, Value], prefix: str
) -> tuple[list[str], Value]:
    """The statements of a formula's lines, and its result.

    Args:
        formula: with attributes put in.
        names: what its operands are in the kernel.
        prefix: begin of the variables its lines declare.
    """
    lines, value = _printed(formula, tuple(names.items()), prefix)
    return list(lines), value


@lru_cache(maxsize=1 << 12)
def _printed(
    formula: Formula, names: tuple[tuple[str, Value], ...], prefix: str
) -> tuple[tuple[str, ...], Value]:
    """As `formula_text`; a network has the same few formulas in many kernels."""
    known = dict(names)
    lines = tuple(declared(line, known, prefix) for line in formula.lines)
    return lines, expression_text(formula.value, known)


def declared(line: Assign, known: dict[str, Value], prefix: str) -> str:
    """A statement that declares what a line names, which ``known`` has from then on."""
    value = expression_text(line.value, known)
    known[line.name] = Value(f"{prefix}{line.name}", value.kind)
    return f"{value.kind} {prefix}{line.name} = {value.text};"


def expression_text(node: Expression, names: Mapping[str, Value]) -> Value:
    """An expression whose names are those values.

    Raises:
        TypeError: a word of a choice is left; attributes were not put in.
    """

    def of(inner: Expression) -> Value:
        return expression_text(inner, names)

    match node:
        case Name(name):
            return names[name]
        case Number(value):
            return _number(value)
        case Negative(a):
            inner = of(a)
            inner = inner.to("int") if inner.kind == "bool" else inner
            return Value(f"-{inner.within(_ATOM)}", inner.kind, _SIGN)
        case Not(a):
            return Value(f"!{of(a).to('bool').within(_SIGN)}", "bool", _SIGN)
        case Arithmetic(sign, a, b):
            return _arithmetic(sign, (a, b), (of(a), of(b)))
        case Comparison(sign, a, b):
            first, second = _alike((a, b), (of(a), of(b)))
            return _joined(sign, first, second, "bool")
        case Logic(word, a, b):
            return _joined(word, of(a).to("bool"), of(b).to("bool"), "bool")
        case Select(condition, a, b):
            first, second = _alike((a, b), (of(a), of(b)))
            chosen = f"{of(condition).to('bool').within(_OR)} ? {first.text} : {second.text}"
            return Value(f"({chosen})", first.kind)
        case Call(name, arguments):
            return _call(name, arguments, [of(argument) for argument in arguments])
        case Text(word):
            raise TypeError(f"a word is only compared with an attribute: {word!r}")


def _number(value: float) -> Value:
    if isinstance(value, bool):
        return Value("true" if value else "false", "bool")
    if isinstance(value, int):
        return Value(int_literal(value), "int")
    return Value(float_literal(value), "float")


def _alike(
    nodes: Sequence[Expression], values: Sequence[Value], *, limits: bool = False
) -> list[Value]:
    """Values of one type: whole where all are; a number takes the type of what it stands with.

    Raises:
        BackendError: a float and a whole operand meet.
        ParameterError: a number with a fraction and a whole operand meet.
    """
    kinds = {v.kind for n, v in zip(nodes, values, strict=True) if not isinstance(n, Number)}
    numbers = [n.value for n in nodes if isinstance(n, Number)]
    kind: Kind = "float"
    if kinds <= {"int", "bool"} and (kinds or all(isinstance(n, int) for n in numbers)):
        kind = "int"
        nodes = [whole_number(node, limits=limits) for node in nodes]
    elif "int" in kinds:
        raise _mixed()
    return [
        _number((float if kind == "float" else int)(node.value))
        if isinstance(node, Number)
        else value.to(kind)
        for node, value in zip(nodes, values, strict=True)
    ]


def _mixed() -> BackendError:
    return BackendError("a float and a whole number meet in a formula", hint="CAST one")


def _floats(nodes: Sequence[Expression], values: Sequence[Value]) -> list[Value]:
    """Values as floats, where none is a whole operand."""
    for node, value in zip(nodes, values, strict=True):
        if value.kind == "int" and not isinstance(node, Number):
            raise _mixed()
    return [value.to("float") for value in values]


def _arithmetic(sign: str, nodes: Sequence[Expression], values: Sequence[Value]) -> Value:
    first, second = _floats(nodes, values) if sign == "/" else _alike(nodes, values)
    pair = [first, second]
    for place, node in enumerate(nodes):
        if pair[place].kind == "float" and isinstance(node, Number):
            pair[place] = _number(float(node.value))
            if node.value == 0:
                # A compiler that saw the 0 would make NaN times 0 to 0.
                minus = math.copysign(1.0, node.value) < 0
                pair[place] = Value(f"(-{ZERO})" if minus else ZERO, "float")
    return _joined(sign, pair[0], pair[1], pair[0].kind)


def _joined(sign: str, a: Value, b: Value, kind: Kind) -> Value:
    rank = _RANKS[sign]
    text = f"{a.within(rank)} {_WORDS.get(sign, sign)} {b.within(rank + 1)}"
    return Value(text, kind, rank)


def _call(name: str, nodes: Sequence[Expression], values: Sequence[Value]) -> Value:
    if name in ("float", "int"):
        return values[0].to("float" if name == "float" else "int")
    function = FUNCTIONS.get(name)
    if function is not None and function.whole:
        given = _alike(nodes, values, limits=name in LIMITS)
    else:
        given = _floats(nodes, values)
    kind = given[0].kind
    if name == "isfinite":
        return Value(f"!is_bad({given[0].text})", "bool", _SIGN)
    if name == "square" and isinstance(nodes[0], Name):
        return Value(f"{given[0].text} * {given[0].text}", kind, _PRODUCT)
    if name in ("max", "min", "clip"):
        return Value(_limited(name, nodes, [value.text for value in given], kind), kind)
    listed = ", ".join(value.text for value in given)
    return Value(f"{_NAMES.get(name, name)}({listed})", "bool" if name == "isnan" else kind)


def _limited(name: str, nodes: Sequence[Expression], given: Sequence[str], kind: Kind) -> str:
    """A limit to numbers is cheaper than one to what may be NaN."""
    known = kind == "float" and all(
        isinstance(n, Number) and not math.isnan(n.value) for n in nodes[1:]
    )
    if name == "clip":
        x, low, high = given
        return f"within({x}, {low}, {high})" if known else f"smaller(larger({x}, {low}), {high})"
    if known:
        return f"{'at_least' if name == 'max' else 'at_most'}({', '.join(given)})"
    return f"{_NAMES[name]}({', '.join(given)})"
