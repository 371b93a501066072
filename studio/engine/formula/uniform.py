"""Splits a rule into what is computed once and what is computed for every element."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

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
    Text,
    names_in,
    substituted,
)


@dataclass(frozen=True)
class Split:
    """A rule in two parts.

    Attributes:
        once: what is the same for all elements, each name assigned once.
        each: the statements for one element; a name that is no operand is assigned once.
    """

    once: tuple[Assign, ...]
    each: tuple[Assign, ...]


def split(steps: Iterable[Assign], operands: frozenset[str]) -> Split:
    """What is computed once, and what for every element.

    Args:
        steps: a rule's assignments in a straight line, attributes put in.
        operands: names that have an element each; every other name is the same for all.
    """
    splitter = _Splitter(operands)
    for step in steps:
        splitter.take(step)
    return Split(tuple(splitter.once), _read_later(splitter.each, operands))


def _read_later(steps: Sequence[Assign], operands: frozenset[str]) -> tuple[Assign, ...]:
    """The steps without names that no later one reads."""
    kept: list[Assign] = []
    read: set[str] = set()
    for step in reversed(steps):
        if step.name in operands or step.name in read:
            kept.append(step)
            read.update(names_in(step.value))
    return tuple(reversed(kept))


class _Splitter:
    def __init__(self, operands: frozenset[str]) -> None:
        self.operands = operands
        self.once: list[Assign] = []
        self.each: list[Assign] = []
        self._varying = set(operands)
        self._now: dict[str, Expression] = {}
        self._taken: set[str] = set()

    def take(self, step: Assign) -> None:
        value = substituted(step.value, self._now)
        if step.name in self.operands:
            self.each.append(Assign(step.name, self._hoisted(value)))
        elif isinstance(value, Number) or (
            isinstance(value, Name) and value.name not in self.operands
        ):
            self._now[step.name] = value
        elif self._varies(value):
            name = self._new(step.name)
            self.each.append(Assign(name, self._hoisted(value)))
            self._varying.add(name)
            self._now[step.name] = Name(name)
        else:
            self._now[step.name] = self._kept(step.name, value)

    def _kept(self, name: str, value: Expression) -> Name:
        """The name of something computed once; the same expression has one name."""
        for known in self.once:
            if known.value == value:
                return Name(known.name)
        self.once.append(Assign(self._new(name), value))
        return Name(self.once[-1].name)

    def _new(self, name: str) -> str:
        tries: Iterator[str] = (name if n < 0 else f"{name}_{n}" for n in range(-1, 1 << 20))
        free = next(t for t in tries if t not in self._taken and t not in self.operands)
        self._taken.add(free)
        return free

    def _varies(self, node: Expression) -> bool:
        return any(name in self._varying for name in names_in(node))

    def _hoisted(self, node: Expression) -> Expression:
        """The expression, its largest parts that do not vary replaced by names."""
        if isinstance(node, Number | Name | Text):
            return node
        if not self._varies(node):
            return self._kept("part", node)
        of = self._hoisted
        match node:
            case Negative(a):
                return Negative(of(a))
            case Not(a):
                return Not(of(a))
            case Arithmetic(sign, a, b):
                return Arithmetic(sign, of(a), of(b))
            case Comparison(sign, a, b):
                return Comparison(sign, of(a), of(b))
            case Logic(word, a, b):
                return Logic(word, of(a), of(b))
            case Select(condition, a, b):
                return Select(of(condition), of(a), of(b))
            case Call(name, arguments):
                return Call(name, tuple(of(argument) for argument in arguments))
