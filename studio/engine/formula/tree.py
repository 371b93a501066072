"""What a formula is once it has been read: a tree of expressions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias


@dataclass(frozen=True, eq=False)
class Number:
    """A number, or a truth value; an ``int`` takes the kind of what it is combined with.

    Numbers are equal where they have the same kind and bits: a formula with 0.0 is not that with
    -0.0. All NaNs are one.
    """

    value: float | int | bool

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Number):
            return NotImplemented
        return _exact(self.value) == _exact(other.value)

    def __hash__(self) -> int:
        return hash(self.value) if self.value == self.value else 0


def _exact(value: float) -> tuple[object, ...]:
    """What tells a number from those that Python takes for equal."""
    if isinstance(value, bool | int):
        return type(value), value
    return (float,) if math.isnan(value) else (float, value, math.copysign(1.0, value))


@dataclass(frozen=True)
class Text:
    """The word of a choice, only to be compared with an attribute."""

    value: str


@dataclass(frozen=True)
class Name:
    """An operand, an attribute, or what a line before has named."""

    name: str


@dataclass(frozen=True)
class Negative:
    """``-a``."""

    a: Expression


@dataclass(frozen=True)
class Arithmetic:
    """``a operator b``; the operator is one of ``+ - * /``."""

    operator: str
    a: Expression
    b: Expression


@dataclass(frozen=True)
class Comparison:
    """``a operator b``; the operator is one of ``< <= > >= == !=``."""

    operator: str
    a: Expression
    b: Expression


@dataclass(frozen=True)
class Logic:
    """``a and b``, ``a or b``."""

    operator: str
    a: Expression
    b: Expression


@dataclass(frozen=True)
class Not:
    """``not a``."""

    a: Expression


@dataclass(frozen=True)
class Select:
    """``a if condition else b``."""

    condition: Expression
    a: Expression
    b: Expression


@dataclass(frozen=True)
class Call:
    """A function of `functions.FUNCTIONS`."""

    function: str
    arguments: tuple[Expression, ...]


Expression: TypeAlias = (
    Number | Text | Name | Negative | Arithmetic | Comparison | Logic | Not | Select | Call
)


@dataclass(frozen=True)
class Assign:
    """``name = value``; in a rule the name may be an operand, which changes in place."""

    name: str
    value: Expression


@dataclass(frozen=True)
class When:
    """``if condition: …``, decided by attributes alone before anything runs."""

    condition: Expression
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


Statement: TypeAlias = Assign | When


@dataclass(frozen=True)
class Formula:
    """An expression with the lines before it.

    Attributes:
        text: as it was written.
        lines: what is named before the result, in order.
        value: the result.
    """

    text: str
    lines: tuple[Assign, ...]
    value: Expression

    def __hash__(self) -> int:
        # Of the text alone: hashing a tree takes as long as printing it.
        return hash(self.text)

    @cached_property
    def names(self) -> frozenset[str]:
        """The names it reads that none of its own lines defines."""
        return free_names((*self.lines, Assign("", self.value)))


@dataclass(frozen=True)
class Rule:
    """Statements that change operands in place.

    Attributes:
        text: as it was written.
        statements: in order.
    """

    text: str
    statements: tuple[Statement, ...]

    @property
    def names(self) -> frozenset[str]:
        """The names it reads before it assigns them."""
        return free_names(self.statements)


def parts(node: Expression) -> tuple[Expression, ...]:
    """The expressions directly inside one, in the order they are computed."""
    match node:
        case Number() | Text() | Name():
            return ()
        case Negative(a) | Not(a):
            return (a,)
        case Arithmetic(_, a, b) | Comparison(_, a, b) | Logic(_, a, b):
            return (a, b)
        case Select(condition, a, b):
            return (condition, a, b)
        case Call(_, arguments):
            return arguments


def names_in(node: Expression) -> Iterator[str]:
    """Every name inside an expression, as often as it stands there."""
    if isinstance(node, Name):
        yield node.name
    for part in parts(node):
        yield from names_in(part)


def free_names(statements: tuple[Statement, ...]) -> frozenset[str]:
    """The names read by statements before one of them assigns them."""
    return frozenset(_free(statements, set()))


def _free(statements: tuple[Statement, ...], known: set[str]) -> set[str]:
    found: set[str] = set()
    for step in statements:
        if isinstance(step, Assign):
            found |= set(names_in(step.value)) - known
            known.add(step.name)
            continue
        found |= set(names_in(step.condition)) - known
        branches = [set(known), set(known)]
        found |= _free(step.then, branches[0]) | _free(step.otherwise, branches[1])
        known |= branches[0] & branches[1]
    return found


def rebuilt(node: Expression, inner: Sequence[Expression]) -> Expression:
    """The expression with other parts in the places of `parts`."""
    match node:
        case Number() | Text() | Name():
            return node
        case Negative():
            return Negative(*inner)
        case Not():
            return Not(*inner)
        case Arithmetic(operator) | Comparison(operator) | Logic(operator):
            return type(node)(operator, *inner)
        case Select():
            return Select(*inner)
        case Call(function):
            return Call(function, tuple(inner))


def substituted(node: Expression, values: Mapping[str, Expression]) -> Expression:
    """The expression with some names replaced."""
    if isinstance(node, Name):
        return values.get(node.name, node)
    return rebuilt(node, [substituted(each, values) for each in parts(node)])
