"""Formulas of instructions made ready for arrays of certain dtypes: NumPy calls or a loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from studio.engine.core.options import OptionKind
from studio.engine.cpu.elementwise.graph import Graph, build_graph
from studio.engine.cpu.elementwise.loops import Loop, can_loop, compiled_loop, print_loop
from studio.engine.cpu.elementwise.steps import Plan, plan_steps
from studio.engine.formula.constants import Values, assignments, expressions, with_values
from studio.engine.formula.integers import fitted
from studio.engine.formula.kinds import Kind
from studio.engine.formula.tree import (
    Arithmetic,
    Assign,
    Call,
    Expression,
    Name,
    Number,
    Statement,
    Text,
    When,
    names_in,
    parts,
)
from studio.engine.isa.instruction import Instruction, by_mnemonic
from studio.engine.isa.meaning import COUNT, GRADIENT, RATE, Meaning

SLOPE = "_slope"
"""What the gradient of an operand is called where its slope is stored or added.

No line of a formula has a name that begins so.
"""

_SCALARS = (OptionKind.NUMBER, OptionKind.INTEGER, OptionKind.FLAG, OptionKind.CHOICE)
_CHEAP = frozenset({"abs", "max", "min", "clip", "square", "float"})


@dataclass(frozen=True)
class Space:
    """What a formula meets: dtypes and places of its operands.

    Attributes:
        kinds: of operands and targets, by name.
        uniform: operands of a single element.
        narrow: operands stored in fewer bytes than they are computed with.
        direct: targets that store what is computed.
        overlaps: pairs of a target and an operand that may share memory.
    """

    kinds: tuple[tuple[str, Kind], ...]
    uniform: frozenset[str]
    narrow: frozenset[str]
    direct: frozenset[str]
    overlaps: frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Form:
    """How one formula runs.

    Attributes:
        targets: what it stores, by name.
        plan: as NumPy calls.
        graph: for a loop; ``None`` where NumPy is as fast or must do it.
        fast: whether the loop may be rounded otherwise than NumPy's calls.
    """

    targets: tuple[str, ...]
    plan: Plan
    graph: Graph | None
    fast: bool


def loop_of(form: Form, name: str, same: Mapping[str, str]) -> tuple[Loop, Callable[..., object]]:
    """The loop of a form that has a graph, and the function it is."""
    if form.graph is None:
        raise TypeError("the formula runs as NumPy calls")
    loop = print_loop(name, form.graph, same)
    return loop, compiled_loop(name, loop, fast=form.fast)


def value_form(ins: Instruction, space: Space) -> Form:
    """How the result of an instruction, or a rule, runs."""
    present = frozenset(spec.name for spec, ref in ins.named_operands() if ref.present)
    return _form(ins.mnemonic, "", _given(ins), present, space, adds=False)


def slope_form(
    cls: type[Instruction], grad_ins: Instruction, name: str, space: Space, *, adds: bool
) -> Form:
    """How the gradient of an operand runs; its target is `SLOPE`.

    Args:
        cls: the forward instruction's class.
        grad_ins: the gradient instruction.
        name: the operand.
        space: what it meets.
        adds: whether the slope is added to what is there.
    """
    present = frozenset(spec.name for spec, ref in grad_ins.named_operands() if ref.present)
    return _form(cls.mnemonic, name, _given(grad_ins), present, space, adds=adds)


def _given(ins: Instruction) -> tuple[tuple[str, Number | Text], ...]:
    values = {a.name: ins.value(a.name) for a in ins.attr_fields if a.kind in _SCALARS}
    return tuple(expressions(values).items())


@lru_cache(maxsize=4096)
def _form(
    mnemonic: str,
    name: str,
    given: tuple[tuple[str, Number | Text], ...],
    present: frozenset[str],
    space: Space,
    *,
    adds: bool,
) -> Form:
    cls = by_mnemonic(mnemonic)
    if cls is None or cls.meaning is None:
        raise TypeError(f"{mnemonic} states no formula")
    meaning = cls.meaning
    values = {name: stated.value for name, stated in given}
    kinds = dict(space.kinds)
    lines, targets = _lines(cls, meaning, name, values, present, adds, kinds)
    uniform = space.uniform | {RATE, COUNT}
    kinds |= {RATE: Kind.FLOAT, COUNT: Kind.FLOAT}
    graph = build_graph(
        lines, targets, kinds, uniform=uniform, narrow=space.narrow, who=cls.mnemonic
    )
    overlaps = {
        target: frozenset(operand for one, operand in space.overlaps if one == target)
        for target in targets
    }
    stored = {target: kinds[target] if target in space.direct else None for target in targets}
    plan = plan_steps(graph, stored, overlaps)
    looped = None
    if can_loop(graph) and space.direct.issuperset(targets) and _gains(plan, meaning):
        looped = _open_graph(cls, meaning, name, values, present, space, adds)
    return Form(targets, plan, looped, meaning.rule is not None)


def _gains(plan: Plan, meaning: Meaning) -> bool:
    """Whether one pass is faster: several calls, or one that NumPy is slow at.

    An update of two calls stays with NumPy, and so do the numbers of plain gradient descent.
    """
    if meaning.rule is not None:
        return len(plan.steps) > 2
    return len(plan.steps) > 1 or plan.steps[0].function in ("maximum", "minimum")


def _lines(
    cls: type[Instruction],
    meaning: Meaning,
    name: str,
    values: Values,
    present: frozenset[str],
    adds: bool,
    kinds: Mapping[str, Kind],
) -> tuple[tuple[Assign, ...], tuple[str, ...]]:
    """The assignments of a formula, and the names that are stored."""
    if meaning.rule is not None:
        lines = assignments(meaning.rule, values, present)
        return lines, tuple(dict.fromkeys(a.name for a in lines if a.name in present))
    formula = meaning.slopes[name] if name else meaning.value
    if formula is None:
        raise TypeError("neither a formula nor a rule")
    found = with_values(formula, values, present)
    if not name:
        found = fitted(found, kinds, cls.mnemonic)
    target = SLOPE if name else meaning.target
    value = Arithmetic("+", Name(SLOPE), found.value) if adds else found.value
    return (*found.lines, Assign(target, value)), (target,)


def _open_graph(
    cls: type[Instruction],
    meaning: Meaning,
    name: str,
    values: Values,
    present: frozenset[str],
    space: Space,
    adds: bool,
) -> Graph | None:
    """The graph whose numbers are attributes: one loop serves all their values."""
    decided = frozenset(_asked(meaning.rule.statements)) if meaning.rule else frozenset[str]()
    numbers = {
        a.name: Kind.FLOAT
        for a in cls.attr_fields
        if a.kind is OptionKind.NUMBER
        and a.name not in decided
        and values[a.name] == values[a.name]
    }
    fixed = {n: value for n, value in values.items() if n not in numbers}
    kinds = {**dict(space.kinds), **numbers, RATE: Kind.FLOAT, COUNT: Kind.FLOAT}
    lines, targets = _lines(cls, meaning, name, fixed, present, adds, kinds)
    graph = build_graph(
        lines, targets, kinds,
        uniform=space.uniform | numbers.keys() | {RATE, COUNT}, narrow=space.narrow,
        who=cls.mnemonic,
    )  # fmt: skip
    return graph if can_loop(graph) else None


def _asked(statements: Sequence[Statement]) -> Iterator[str]:
    """The names by which the ``if`` lines of a rule are decided."""
    for step in statements:
        if isinstance(step, When):
            yield from names_in(step.condition)
            yield from _asked((*step.then, *step.otherwise))


def is_gradient_itself(cls: type[Instruction], name: str) -> bool:
    """Whether the gradient of an operand is that of the result, element by element."""
    slope = None if cls.meaning is None else cls.meaning.slopes.get(name)
    return slope is not None and not slope.lines and slope.value == Name(GRADIENT)


@cache
def is_light(mnemonic: str) -> bool:
    """Whether reading and writing memory is all that takes time: a few simple operations."""
    cls = by_mnemonic(mnemonic)
    meaning = None if cls is None else cls.meaning
    if meaning is None or meaning.value is None or meaning.value.lines:
        return False
    nodes = _nodes(meaning.value.value)
    operations = [node for node in nodes if not isinstance(node, Name | Number)]
    calls = {node.function for node in operations if isinstance(node, Call)}
    return len(operations) <= 3 and calls <= _CHEAP


def _nodes(tree: Expression) -> Iterator[Expression]:
    yield tree
    for part in parts(tree):
        yield from _nodes(part)
