"""Reads formulas and rules: Python's parser reads, a closed list says what is allowed."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from textwrap import dedent

from studio.engine.core.errors import ParameterError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.formula.functions import CONSTANTS, FUNCTIONS, HAS
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
    Rule,
    Select,
    Statement,
    Text,
    When,
)

LONGEST = 10_000
"""Characters a formula may have."""

DEEPEST = 60
"""How deep expressions may nest."""

_ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_COMPARISONS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip


def parse_formula(text: str, who: str = "formula") -> Formula:
    """The formula a text states: lines that name something, then one expression.

    Raises:
        ParameterError: it is none, or uses what the language does not have.
    """
    *before, last = _statements(text, who)
    reader = _Reader(text, who)
    if not isinstance(last, ast.Expr):
        raise reader.wrong("the last line must be an expression", last)
    lines = [reader.statement(line) for line in before]
    if not all(isinstance(line, Assign) for line in lines):
        raise ParameterError("a formula has no 'if' lines; write 'a if c else b'", who=who)
    assigned = tuple(line for line in lines if isinstance(line, Assign))
    return Formula(text, assigned, reader.expression(last.value))


def parse_rule(text: str, who: str = "rule") -> Rule:
    """The rule a text states: lines that assign, some of them behind an ``if``.

    Raises:
        ParameterError: it is none, or uses what the language does not have.
    """
    reader = _Reader(text, who)
    return Rule(text, tuple(reader.statement(line) for line in _statements(text, who)))


def _statements(text: str, who: str) -> Sequence[ast.stmt]:
    if len(text) > LONGEST:
        raise ParameterError(f"a formula has at most {LONGEST:,} characters", who=who)
    try:
        found = ast.parse(dedent(text).strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        said = error.msg if isinstance(error, SyntaxError) else "it cannot be read"
        raise ParameterError(f"expected a formula, got {quoted(text)}: {said}", who=who) from None
    if not found:
        raise ParameterError("expected a formula, got nothing", who=who)
    return found


class _Reader:
    def __init__(self, text: str, who: str) -> None:
        self._text, self._who = text, who
        self._depth = 0

    def wrong(self, rule: str, node: ast.AST, hint: str = "") -> ParameterError:
        """What is wrong with a part of the text."""
        return ParameterError(f"{rule}: got {quoted(ast.unparse(node))}", who=self._who, hint=hint)

    def statement(self, node: ast.stmt) -> Statement:
        """A line that assigns, or an ``if`` with such lines."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if name in FUNCTIONS or name in CONSTANTS or name == HAS:
                    raise self.wrong("a name of the language cannot be assigned", node)
                return Assign(name, self.expression(value))
            case ast.If(test=test, body=body, orelse=otherwise):
                return When(
                    self.expression(test),
                    tuple(self.statement(each) for each in body),
                    tuple(self.statement(each) for each in otherwise),
                )
        raise self.wrong("a line is 'name = expression'", node)

    def expression(self, node: ast.expr) -> Expression:
        """The tree of an expression."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise ParameterError(f"a formula nests at most {DEEPEST} deep", who=self._who)
        try:
            return self._read(node)
        finally:
            self._depth -= 1

    def _read(self, node: ast.expr) -> Expression:
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                if not isinstance(value, bool) and abs(value) > 3.4028235e38:
                    raise self.wrong("a number must fit float32", node)
                return Number(value)
            case ast.Constant(value=str() as value):
                return Text(value)
            case ast.Name(id=name):
                return Number(CONSTANTS[name]) if name in CONSTANTS else Name(name)
            case ast.UnaryOp(op=ast.USub(), operand=a):
                return Negative(self.expression(a))
            case ast.UnaryOp(op=ast.Not(), operand=a):
                return Not(self.expression(a))
            case ast.BinOp(left=a, op=ast.Pow(), right=ast.Constant(value=2)):
                return Call("square", (self.expression(a),))
            case ast.BinOp(op=ast.Pow()):
                raise self.wrong("only squares are written with **", node, "use pow(a, b)")
            case ast.BinOp(left=a, op=operator, right=b) if type(operator) in _ARITHMETIC:
                sign = _ARITHMETIC[type(operator)]
                return Arithmetic(sign, self.expression(a), self.expression(b))
            case ast.Compare(left=a, ops=[operator], comparators=[b]) if (
                type(operator) in _COMPARISONS
            ):
                sign = _COMPARISONS[type(operator)]
                return Comparison(sign, self.expression(a), self.expression(b))
            case ast.BoolOp(op=operator, values=[first, *others]):
                word = "and" if isinstance(operator, ast.And) else "or"
                found = self.expression(first)
                for other in others:
                    found = Logic(word, found, self.expression(other))
                return found
            case ast.IfExp(test=condition, body=a, orelse=b):
                return Select(self.expression(condition), self.expression(a), self.expression(b))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._call(name, arguments, node)
        raise self.wrong("the language has no such form", node)

    def _call(self, name: str, arguments: Sequence[ast.expr], node: ast.Call) -> Expression:
        function = FUNCTIONS.get(name)
        if function is None and name != HAS:
            hint = did_you_mean(name, FUNCTIONS, f"there are {', '.join(FUNCTIONS)}")
            raise self.wrong("no such function", node, hint)
        arity = 1 if function is None else function.arity
        if len(arguments) != arity or any(isinstance(a, ast.Starred) for a in arguments):
            raise self.wrong(f"{name} takes {arity} argument{'s' * (arity > 1)}", node)
        return Call(name, tuple(self.expression(argument) for argument in arguments))
