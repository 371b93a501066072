"""Formulas as a graph of operations, in which equal parts are one node."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from studio.engine.core.errors import BackendError
from studio.engine.formula.functions import FUNCTIONS
from studio.engine.formula.kinds import Kind
from studio.engine.formula.tree import (
    Arithmetic,
    Assign,
    Call,
    Comparison,
    Expression,
    Logic,
    Name,
    Negative,
    Not,
    Number,
    Select,
    parts,
    substituted,
)
from studio.engine.formula.uniform import split

NORMAL_TAIL = (
    0.09441064, 0.0759871, 0.048391815, 0.023314627, 0.007554381,
    0.00094501325, -0.00045744472, -0.00019797265, 0.00005181871,
)  # fmt: skip
"""Coefficients c₀ … c₈ of `normal_cdf`, ours: a least-squares fit reweighted towards equal
relative errors, over 0 ≤ x ≤ 13.3, of e^(x²/2)·½·erfc(x/√2)/(1 + u)."""

ERROR_FUNCTION = (
    1.1283791, -0.37612626, 0.11283585, -0.02685381, 0.0051883277, -0.000801019254, 7.853858e-5,
)  # fmt: skip
"""Coefficients c₀ … c₆ of erf(x)/x in x² for |x| ≤ 1, ours: a fit towards equal relative errors,
at most 1.3e-9."""

_ARITHMETIC = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}
_COMPARISONS = {
    "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal",
    "==": "equal", "!=": "not_equal",
}  # fmt: skip
_PLAIN = {
    "abs": "absolute", "sign": "sign", "floor": "floor", "ceil": "ceil", "round": "rint",
    "exp": "exp", "expm1": "expm1", "log": "log", "log1p": "log1p", "sqrt": "sqrt",
    "square": "square", "sin": "sin", "cos": "cos", "tan": "tan", "tanh": "tanh", "pow": "power",
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "sinh": "sinh",
    "bit_and": "bitwise_and", "bit_or": "bitwise_or", "bit_xor": "bitwise_xor",
    "bit_not": "invert", "shift_left": "left_shift", "shift_right": "right_shift",
    "cosh": "cosh", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
    "max": "maximum", "min": "minimum", "mod": "remainder", "isnan": "isnan",
    "isfinite": "isfinite",
}  # fmt: skip
"""NumPy's names of functions that are one call."""


@dataclass(frozen=True)
class Operand:
    """An element of an operand, as it lies in memory."""

    name: str
    kind: Kind


@dataclass(frozen=True)
class Scalar:
    """A value that is the same for all elements: numbers, attributes, operands of one element."""

    expression: Expression
    kind: Kind


@dataclass(frozen=True)
class Operation:
    """A NumPy function of other nodes, or ``select``, ``load`` or ``cast``.

    ``select`` chooses, ``load`` widens a stored element to what is computed with, and ``cast``
    changes the kind.
    """

    function: str
    inputs: tuple[Node, ...]
    kind: Kind


Node: TypeAlias = Operand | Scalar | Operation


@dataclass(frozen=True)
class Graph:
    """The computation: one node per target, in order."""

    results: tuple[tuple[str, Node], ...]


def build_graph(
    assignments: Sequence[Assign],
    targets: Sequence[str],
    kinds: Mapping[str, Kind],
    *,
    uniform: frozenset[str] = frozenset(),
    narrow: frozenset[str] = frozenset(),
    who: str = "formula",
) -> Graph:
    """The graph of assignments in order.

    Args:
        assignments: a target may be read, before and after it is assigned.
        targets: the names that are stored; other names are only for what follows them.
        kinds: of operands and of attributes left as names.
        uniform: names that have one value for all elements.
        narrow: operands stored in fewer bytes than they are computed with.
        who: the instruction, for errors.
    """
    found = split(assignments, frozenset(kinds.keys() - uniform).union(targets))
    scalars: dict[str, Expression] = {name: Name(name) for name in uniform}
    for line in found.once:
        scalars[line.name] = substituted(line.value, scalars)
    reader = _Reader(kinds, scalars, narrow, who)
    for line in found.each:
        reader.known[line.name] = reader.node(line.value)
    return Graph(tuple((name, reader.known[name]) for name in targets))


class _Reader:
    def __init__(
        self,
        kinds: Mapping[str, Kind],
        scalars: Mapping[str, Expression],
        narrow: frozenset[str],
        who: str,
    ) -> None:
        self._kinds, self._scalars, self._narrow, self._who = kinds, scalars, narrow, who
        self.known: dict[str, Node] = {}

    def node(self, tree: Expression) -> Node:
        """The node of an expression in which `split` has named what is the same for all."""
        match tree:
            case Number():
                return Scalar(tree, self._scalar_kind(tree))
            # A line may have the name of something that only rules read.
            case Name(name) if name in self.known:
                return self.known[name]
            case Name(name) if name in self._scalars:
                whole = self._scalars[name]
                return Scalar(whole, self._scalar_kind(whole))
            case Name(name):
                return self._operand(name)
            case Negative(a):
                return self._same("negative", self.node(a))
            case Arithmetic(sign, a, b):
                return self._arithmetic(sign, self.node(a), self.node(b))
            case Comparison(sign, a, b):
                return self._compared(_COMPARISONS[sign], self.node(a), self.node(b))
            case Logic(word, a, b):
                return Operation(f"logical_{word}", (self.node(a), self.node(b)), Kind.BOOL)
            case Not(a):
                return Operation("logical_not", (self.node(a),), Kind.BOOL)
            case Select(condition, a, b):
                return self._select(self.node(condition), self.node(a), self.node(b))
            case Call("float" | "int" as name, (a,)):
                return self._cast(a, Kind.FLOAT if name == "float" else Kind.INT)
            case Call(name, arguments):
                return self._call(name, [self.node(argument) for argument in arguments])
        raise BackendError("a formula holds a word where a number is meant", who=self._who)

    def _operand(self, name: str) -> Node:
        stored = Operand(name, self._kinds[name])
        return Operation("load", (stored,), stored.kind) if name in self._narrow else stored

    def _scalar_kind(self, tree: Expression) -> Kind:
        if isinstance(tree, Number):
            if isinstance(tree.value, bool):
                return Kind.BOOL
            return Kind.NUMBER if isinstance(tree.value, int) else Kind.FLOAT
        if isinstance(tree, Comparison | Logic | Not):
            return Kind.BOOL
        if isinstance(tree, Name):
            return self._kinds[tree.name]
        if isinstance(tree, Call) and tree.function in ("float", "int"):
            return Kind.FLOAT if tree.function == "float" else Kind.INT
        inner = (tree.a, tree.b) if isinstance(tree, Select) else parts(tree)
        found = {self._scalar_kind(part) for part in inner} - {Kind.NUMBER}
        return found.pop() if len(found) == 1 else Kind.FLOAT

    def _cast(self, tree: Expression, kind: Kind) -> Node:
        inner = self.node(tree)
        if isinstance(inner, Operation) and inner.function == "load":
            inner = inner.inputs[0]
            # Widening to float is the cast.
            return Operation("load", (inner,), kind)
        return inner if inner.kind is kind else Operation("cast", (inner,), kind)

    def _arithmetic(self, sign: str, a: Node, b: Node) -> Node:
        if sign == "*" and _is(a, 1):
            return b
        if sign in "*/" and _is(b, 1):
            return a
        return self._same(_ARITHMETIC[sign], a, b)

    def _select(self, condition: Node, a: Node, b: Node) -> Node:
        if condition.kind is not Kind.BOOL:
            raise BackendError(f"expected a truth value, got {condition.kind.value}", who=self._who)
        return Operation("select", (condition, a, b), self._shared(a, b))

    def _same(self, function: str, *inputs: Node) -> Operation:
        return Operation(function, inputs, self._shared(*inputs))

    def _compared(self, function: str, a: Node, b: Node) -> Operation:
        self._shared(a, b)
        return Operation(function, (a, b), Kind.BOOL)

    def _shared(self, *inputs: Node) -> Kind:
        """The one kind inputs have; a whole number that is written takes that of the others."""
        kinds = {node.kind for node in inputs} - {Kind.NUMBER}
        if len(kinds) > 1:
            texts = " and ".join(sorted(kind.value for kind in kinds))
            raise BackendError(f"{texts} meet in its formula", who=self._who, hint="CAST one")
        return kinds.pop() if kinds else Kind.FLOAT

    def _call(self, name: str, inputs: Sequence[Node]) -> Node:
        if not FUNCTIONS[name].whole and any(n.kind is Kind.INT for n in inputs):
            raise BackendError(f"{name} takes floats, got whole numbers", who=self._who)
        if name in ("isnan", "isfinite"):
            return Operation(name, tuple(inputs), Kind.BOOL)
        if name in _PLAIN:
            return self._same(_PLAIN[name], *inputs)
        return _COMPOSED[name](self, *inputs)

    def op(self, function: str, *inputs: Node | float) -> Operation:
        """An operation of nodes and numbers."""
        return self._same(function, *(_node(given) for given in inputs))

    def clip(self, x: Node, low: Node, high: Node) -> Node:
        """Limits one after the other."""
        return self.op("minimum", self.op("maximum", x, low), high)

    def rsqrt(self, x: Node) -> Node:
        """The reciprocal of the root."""
        return self.op("divide", 1.0, self.op("sqrt", x))

    def _tail(self, x: Node) -> Node:
        """e^-|x|, which cannot overflow."""
        return self.op("exp", self.op("negative", self.op("absolute", x)))

    def sigmoid(self, x: Node) -> Node:
        """1/(1 + e^-x) by e^-|x|: the numerator is 1 from 0 up."""
        tail = self._tail(x)
        upper = Operation("greater_equal", (x, _node(0.0)), Kind.BOOL)
        numerator = Operation("maximum", (tail, upper), Kind.FLOAT)
        return self.op("divide", numerator, self.op("add", tail, 1.0))

    def softplus(self, x: Node) -> Node:
        """max(x, 0) + ln(1 + e^-|x|)."""
        return self.op("add", self.op("maximum", x, 0.0), self.op("log1p", self._tail(x)))

    def normal_cdf(self, x: Node) -> Node:
        """By the lower tail e^(-x²/2)·(1 + u)·(c₀ + c₁u + … + c₈u⁸) with u = 2/(1 + |x|/4) - 1.

        The form is that of Abramowitz and Stegun 7.1.26, the polynomial our own, `NORMAL_TAIL`.
        Its relative error is at most 5e-8. With float32's own: 6e-7 from x = -4 up, 3e-6 down to -9
        (the exponential of a rounded x²/2), 4e-7 absolute in erf.
        """
        scaled = self.op("add", self.op("multiply", self.op("absolute", x), 0.25), 1.0)
        u = self.op("subtract", self.op("divide", 2.0, scaled), 1.0)
        bell = self.op("exp", self.op("multiply", -0.5, self.op("square", x)))
        total = self.op("multiply", u, NORMAL_TAIL[-1])
        for coefficient in NORMAL_TAIL[-2:0:-1]:
            total = self.op("multiply", self.op("add", total, coefficient), u)
        total = self.op("add", total, NORMAL_TAIL[0])
        tail = self.op("multiply", self.op("multiply", total, self.op("add", u, 1.0)), bell)
        # |1 - tail| above 0, |0 - tail| elsewhere.
        upper = Operation("greater", (x, _node(0.0)), Kind.BOOL)
        return self.op("absolute", Operation("subtract", (upper, tail), Kind.FLOAT))

    def erf(self, x: Node) -> Node:
        """x·(c₀ + c₁x² + …) up to |x| = 1, above it 1 - 2Φ(-√2|x|) with the sign of x.

        Relative error at most 3e-7, in float32.
        """
        square = self.op("square", x)
        total = self.op("multiply", square, ERROR_FUNCTION[-1])
        for coefficient in ERROR_FUNCTION[-2:0:-1]:
            total = self.op("multiply", self.op("add", total, coefficient), square)
        near = self.op("multiply", self.op("add", total, ERROR_FUNCTION[0]), x)
        size = self.op("absolute", x)
        tail = self.normal_cdf(self.op("multiply", size, -math.sqrt(2.0)))
        far = self.op("subtract", 1.0, self.op("multiply", tail, 2.0))
        is_near = Operation("less", (size, _node(1.0)), Kind.BOOL)
        return Operation("select", (is_near, near, self.op("copysign", far, x)), Kind.FLOAT)

    def one_minus_pow(self, b: Node, n: Node) -> Node:
        """-(e^(n·ln b) - 1)."""
        return self.op("negative", self.op("expm1", self.op("multiply", n, self.op("log", b))))

    def floor_div(self, a: Node, b: Node) -> Node:
        """NumPy's, but of floats NaN for b = 0."""
        if self._shared(a, b) is Kind.INT:
            return self.op("floor_divide", a, b)
        zero = Operation("equal", (b, _node(0.0)), Kind.BOOL)
        return Operation(
            "select", (zero, _node(math.nan), self.op("floor_divide", a, b)), Kind.FLOAT
        )


_COMPOSED: Mapping[str, Callable[..., Node]] = {
    name: getattr(_Reader, name)
    for name in (
        "clip", "rsqrt", "sigmoid", "softplus", "normal_cdf", "erf", "one_minus_pow", "floor_div",
    )
}  # fmt: skip


def _node(given: Node | float) -> Node:
    return Scalar(Number(given), Kind.FLOAT) if isinstance(given, float) else given


def _is(node: Node, number: float) -> bool:
    return (
        isinstance(node, Scalar)
        and isinstance(node.expression, Number)
        and node.expression.value == number
        and not isinstance(node.expression.value, bool)
    )
