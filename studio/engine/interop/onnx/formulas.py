"""Nodes of an element-wise instruction, made of the formula in its class.

Every function of the language has an operator, or is written here in functions that have one. So
an instruction that a plugin brings needs no entry of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import FormatError
from studio.engine.core.tensor import Ref
from studio.engine.formats.onnx_wire import ELEMENT_TYPES
from studio.engine.formula.constants import with_values
from studio.engine.formula.integers import fitted
from studio.engine.formula.kinds import Kind, kind_of_expression
from studio.engine.formula.parse import parse_formula
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
    parts,
)
from studio.engine.interop.onnx.graph_writer import GraphWriter
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.meaning import kind_of_dtype

_WIDENED = {DType.uint8: "int32", DType.int8: "int32", DType.float16: "float32"}
"""Storage types, and the type they are computed in: runtimes have no arithmetic for most."""
_ARITHMETIC = {"+": "Add", "-": "Sub", "*": "Mul", "/": "Div"}
_COMPARISONS = {
    "<": "Less", "<=": "LessOrEqual", ">": "Greater", ">=": "GreaterOrEqual", "==": "Equal",
}  # fmt: skip
_OPERATORS: Mapping[str, str] = {
    "abs": "Abs", "sign": "Sign", "floor": "Floor", "ceil": "Ceil", "round": "Round", "exp": "Exp",
    "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tan": "Tan", "tanh": "Tanh",
    "sigmoid": "Sigmoid", "softplus": "Softplus", "pow": "Pow", "max": "Max", "min": "Min",
    "isnan": "IsNaN", "asin": "Asin", "acos": "Acos", "atan": "Atan", "sinh": "Sinh",
    "cosh": "Cosh", "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh", "erf": "Erf",
}  # fmt: skip
"""Functions that are one operator."""

_BITS = {
    "bit_and": "BitwiseAnd", "bit_or": "BitwiseOr", "bit_xor": "BitwiseXor",
    "bit_not": "BitwiseNot",
}  # fmt: skip
"""Functions that are one operator from operator set `SINCE_BITS` on."""
SINCE_BITS = 18

_WRITTEN_OUT: Mapping[str, tuple[tuple[str, ...], str]] = {
    "rsqrt": (("a",), "1.0 / sqrt(a)"),
    "square": (("a",), "a * a"),
    # e^a - 1 and ln(1 + a) lose their digits near 0; what stands here for that does not.
    "expm1": (
        ("a",), "t = tanh(0.5 * a)\n2.0 * t / (1.0 - t) if abs(a) < 1.0 else exp(a) - 1.0"
    ),
    "log1p": (("a",), "u = 1.0 + a\na if u == 1.0 else log(u) * a / (u - 1.0)"),
    # The angle of the half plane, by a quotient of at most 1; of zeros the sign counts.
    "atan2": (
        ("a", "b"),
        """
        h = abs(a)
        w = abs(b)
        far = max(h, w)
        q = 0.0 if far == 0.0 else 1.0 if min(h, w) == inf else min(h, w) / far
        t = 0.5 * pi - atan(q) if h > w else atan(q)
        left = b < 0.0 or 1.0 / b < 0.0
        u = nan if isnan(a) or isnan(b) else pi - t if left else t
        -u if a < 0.0 or 1.0 / a < 0.0 else u
        """,
    ),
    "one_minus_pow": (("a", "b"), "1.0 - pow(a, b)"),
    "floor_div": (("a", "b"), "floor(a / b) if abs(b) > 0.0 else nan"),
    "mod": (("a", "b"), "a - b * floor(a / b)"),
    "isfinite": (("a",), "abs(a) < inf"),
    # Runtimes shift unsigned numbers alone.
    "shift_left": (
        ("a", "b"),
        """
        p = int(pow(2.0, float(clip(b, 0, 30))))
        0 if b < 0 or b > 31 else a * p * 2 if b == 31 else a * p
        """,
    ),
    "shift_right": (
        ("a", "b"),
        """
        p = int(pow(2.0, float(clip(b, 0, 30))))
        floor_div(a, p) if b >= 0 and b <= 30 else -1 if a < 0 else 0
        """,
    ),
    "clip": (("a", "b", "c"), "min(max(a, b), c)"),
}  # fmt: skip
"""Functions that are several: their parameters, and what they are."""


def formula_of(line: Instruction) -> Formula | None:
    """What an instruction computes for each element; None where it is not element-wise."""
    if line.meaning is None or line.meaning.value is None:
        return None
    scalars = {n: v for n, v in line.attrs.items() if isinstance(v, float | int | str)}
    return with_values(line.meaning.value, scalars)


def least_opset(line: Instruction) -> int:
    """The first operator set that has what a line's formula calls; 0 without a formula."""
    formula = formula_of(line)
    if formula is None:
        return 0
    calls = {call for each in (*(a.value for a in formula.lines), formula.value)
             for call in _calls(each)}  # fmt: skip
    return SINCE_BITS if calls & _BITS.keys() else 0


def _calls(node: Expression) -> Iterator[str]:
    if isinstance(node, Call):
        yield node.function
    for part in parts(node):
        yield from _calls(part)


def write_formula(writer: GraphWriter, line: Instruction) -> None:
    """The nodes of an element-wise line.

    Values of a storage type are widened when they are computed with, and results narrowed again.
    """
    formula = formula_of(line)
    if formula is None or line.meaning is None:
        raise FormatError("it has no formula", who=line.mnemonic)
    y = line.ref(line.meaning.target)
    reads = {s.name: r for s, r in line.named_operands() if r.present and r != y}
    first = takes_first(writer, list(reads.values()), writer.rank(y))
    dtypes = {name: writer.tensor(ref).dtype for name, ref in reads.items()}
    kinds = {name: kind_of_dtype(dtype) for name, dtype in dtypes.items()}
    values = {name: writer.beside(ref, writer.rank(y), first) for name, ref in reads.items()}
    nodes = _Nodes(writer, fitted(formula, kinds, line.mnemonic), kinds, values)
    nodes.narrow = {n: _WIDENED[dtype] for n, dtype in dtypes.items() if dtype in _WIDENED}
    step = nodes.last()
    narrow = writer.tensor(y).dtype
    if narrow in _WIDENED:
        made = writer.node(step.op, step.inputs, step.attributes)
        step = _Step("Cast", [made], {"to": ELEMENT_TYPES[narrow.name]})
    writer.result(y, step.op, step.inputs, step.attributes, first=first)


def takes_first(writer: GraphWriter, operands: Sequence[Ref], rank: int) -> bool:
    """Whether a result has its channels behind the batch.

    It has where a computed operand is there in that layout only, and the others can be.
    """
    computed = [ref for ref in operands if not writer.is_fixed(ref)]
    return (
        rank > 2
        and any(writer.is_first(ref) for ref in computed)
        and all(writer.rank(ref) == rank for ref in computed)
    )


class _Step(NamedTuple):
    """A node that is not made yet."""

    op: str
    inputs: Sequence[str]
    attributes: Mapping[str, int] = MappingProxyType({})


class _Nodes:
    """Walks over one formula.

    Args:
        writer: takes the nodes.
        formula: with its attributes put in.
        kinds: of the names it reads.
        values: the values of these.

    Attributes:
        narrow: names of values of a storage type, each with the type it is computed in.
    """

    def __init__(
        self,
        writer: GraphWriter,
        formula: Formula,
        kinds: Mapping[str, Kind],
        values: Mapping[str, str],
    ) -> None:
        self._writer = writer
        self._formula = formula
        self._kinds = dict(kinds)
        self._values = dict(values)
        self.narrow: dict[str, str] = {}

    def last(self) -> _Step:
        """The node that makes the value of the formula."""
        for line in self._formula.lines:
            kind = self._kind(line.value)
            self._values[line.name] = self._value(line.value, kind)
            self._kinds[line.name] = kind
        value = _simpler(self._formula.value)
        kind = self._kind(value)
        if isinstance(value, Name | Number):
            return _Step("Identity", [self._value(value, kind)])
        return self._step(value, kind)

    def _kind(self, node: Expression) -> Kind:
        found = kind_of_expression(node, self._kinds, "formula")
        return Kind.FLOAT if found is Kind.NUMBER else found

    def _value(self, node: Expression, kind: Kind) -> str:
        """The value of an expression; a number takes the kind of what it stands beside."""
        node = _simpler(node)
        if isinstance(node, Name):
            if node.name in self.narrow:
                wide = self._writer.cast(self._values[node.name], self.narrow.pop(node.name))
                self._values[node.name] = wide
            return self._values[node.name]
        if isinstance(node, Number):
            if isinstance(node.value, bool):
                return self._writer.scalar(node.value, "bool")
            return self._writer.scalar(node.value, "int32" if kind is Kind.INT else "float32")
        return self._made(self._step(node, kind))

    def _made(self, step: _Step) -> str:
        return self._writer.node(step.op, step.inputs, step.attributes)

    def _step(self, node: Expression, kind: Kind) -> _Step:
        match node:
            case Negative(a):
                return _Step("Neg", [self._value(a, kind)])
            case Not(a):
                return _Step("Not", [self._value(a, Kind.BOOL)])
            case Arithmetic(sign, a, b):
                return _Step(_ARITHMETIC[sign], [self._value(a, kind), self._value(b, kind)])
            case Comparison("!=", a, b):
                return _Step("Not", [self._value(Comparison("==", a, b), Kind.BOOL)])
            case Comparison(sign, a, b):
                alike = self._alike(a, b)
                return _Step(_COMPARISONS[sign], [self._value(a, alike), self._value(b, alike)])
            case Logic(word, a, b):
                values = [self._value(a, Kind.BOOL), self._value(b, Kind.BOOL)]
                return _Step("And" if word == "and" else "Or", values)
            case Select(condition, a, b) if kind is Kind.BOOL:
                # Runtimes have no Where of truth values.
                both = Logic("and", condition, a)
                return self._step(Logic("or", both, Logic("and", Not(condition), b)), kind)
            case Select(condition, a, b):
                asked = self._value(condition, Kind.BOOL)
                return _Step("Where", [asked, self._value(a, kind), self._value(b, kind)])
            case Call(function, arguments):
                return self._call(function, arguments, kind)
        raise FormatError(f"a {type(node).__name__.lower()} has no value", who="formula")

    def _alike(self, a: Expression, b: Expression) -> Kind:
        """The kind of two values that are compared."""
        found = [self._kind(each) for each in (a, b) if not isinstance(each, Number)]
        return found[0] if found else Kind.FLOAT

    def _call(self, function: str, arguments: Sequence[Expression], kind: Kind) -> _Step:
        if function in ("float", "int"):
            return self._cast(arguments[0], function)
        wanted = Kind.FLOAT if function in ("isnan", "isfinite") else kind
        values = [self._value(each, wanted) for each in arguments]
        if function == "normal_cdf":
            return self._normal_cdf(values[0])
        if function == "clip" and all(isinstance(each, Number) for each in arguments[1:]):
            return _Step("Clip", values)
        if kind is Kind.INT and function in ("floor_div", "mod"):
            return self._whole_quotient(function, *values)
        if function in _OPERATORS:
            return _Step(_OPERATORS[function], values)
        if function in _BITS:
            return _Step(_BITS[function], values)
        parameters, _ = _WRITTEN_OUT[function]
        kinds = dict.fromkeys(parameters, wanted)
        given = dict(zip(parameters, values, strict=True))
        return _Nodes(self._writer, _written_out(function), kinds, given).last()

    def _normal_cdf(self, x: str) -> _Step:
        """½·(1 + erf(x/√2)), whose erf is none of the language."""
        node, scalar = self._writer.node, self._writer.scalar
        error = node("Erf", [node("Mul", [x, scalar(math.sqrt(0.5))])])
        return _Step("Mul", [scalar(0.5), node("Add", [scalar(1.0), error])])

    def _whole_quotient(self, function: str, a: str, b: str) -> _Step:
        """By divisors that are neither 0 nor -1, at which runtimes stop the process."""
        node, scalar = self._writer.node, self._writer.scalar
        less = node("Equal", [b, scalar(-1, "int32")])
        unsafe = node("Or", [less, node("Equal", [b, scalar(0, "int32")])])
        divisor = node("Where", [unsafe, scalar(1, "int32"), b])
        rest = node("Mod", [a, divisor])
        if function == "mod":
            return _Step("Where", [unsafe, scalar(0, "int32"), rest])
        # Runtimes round quotients towards 0: too large where their rest is not that of the floor.
        found = node("Div", [a, divisor])
        towards_zero = node("Sub", [a, node("Mul", [found, divisor])])
        over = node("Not", [node("Equal", [towards_zero, rest])])
        floor = node("Sub", [found, self._writer.cast(over, "int32")])
        other = node("Where", [less, node("Neg", [a]), scalar(0, "int32")])
        return _Step("Where", [unsafe, other, floor])

    def _cast(self, argument: Expression, function: str) -> _Step:
        dtype, wanted = ("float32", Kind.FLOAT) if function == "float" else ("int32", Kind.INT)
        to = {"to": ELEMENT_TYPES[dtype]}
        if isinstance(argument, Name) and argument.name in self.narrow:
            return _Step("Cast", [self._values[argument.name]], to)
        kind = self._kind(argument)
        value = self._value(argument, kind)
        return _Step("Identity", [value]) if kind is wanted else _Step("Cast", [value], to)


def _simpler(node: Expression) -> Expression:
    """Without factors of 1, and with a difference where a negative multiple is added."""
    match node:
        case Arithmetic("*", Number(value), other) if value == 1:
            return _simpler(other)
        case Arithmetic("*", other, Number(value)) if value == 1:
            return _simpler(other)
        case Arithmetic("+", a, Arithmetic("*", Number(value), other)) if value == -1:
            return Arithmetic("-", a, other)
        case _:
            return node


@cache
def _written_out(function: str) -> Formula:
    return parse_formula(_WRITTEN_OUT[function][1], function)
