"""What an element-wise instruction computes, read from the text in its class and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ParameterError, quoted
from studio.engine.core.options import OptionKind
from studio.engine.formula.constants import with_values
from studio.engine.formula.functions import HAS
from studio.engine.formula.integers import fitted
from studio.engine.formula.kinds import Kind, check_statements, kind_of
from studio.engine.formula.parse import parse_formula, parse_rule
from studio.engine.formula.tree import (
    Assign,
    Call,
    Expression,
    Formula,
    Name,
    Rule,
    Statement,
    When,
    parts,
)
from studio.engine.isa.fields import Access, Attr, Operand

GRADIENT = "dy"
"""What slopes call the gradient of the result."""

RATE, COUNT = "lr", "t"
"""What rules call this step's learning rate and the number of updates begun."""

_KINDS = {
    OptionKind.NUMBER: Kind.FLOAT,
    OptionKind.INTEGER: Kind.INT,
    OptionKind.FLAG: Kind.BOOL,
    OptionKind.CHOICE: Kind.TEXT,
}


@dataclass(frozen=True)
class Activation:
    """The name under which layers use an instruction of one operand as an activation.

    Attributes:
        doc: one sentence.
        attributes: of the instruction under that name; the others are at their defaults.
        order: where it stands in lists; names of the same order stand alphabetically.
        aliases: other names for it.
    """

    doc: str
    attributes: Mapping[str, float] = field(default_factory=dict)
    order: float = 100.0
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Meaning:
    """What an instruction computes for each element.

    Attributes:
        target: the operand it writes, or changes in place; empty for a rule.
        value: the new element of ``target``; ``None`` for a rule.
        slopes: by operand, what is added to the operand's gradient.
        saves: the operands whose data the slopes read, in operand order.
        rule: how operands change in place, for an update.
    """

    target: str = ""
    value: Formula | None = None
    slopes: Mapping[str, Formula] = field(default_factory=dict)
    saves: tuple[str, ...] = ()
    rule: Rule | None = None


def read_meaning(
    who: str,
    fields: Sequence[Operand | Attr[Any]],
    formula: str,
    slopes: Mapping[str, str],
    rule: str,
) -> Meaning | None:
    """The meaning a class states; ``None`` if it states none.

    Args:
        who: its mnemonic, for errors.
        fields: its operands and attributes.
        formula: the text of the value.
        slopes: the text of each slope, by operand.
        rule: the text of the statements of an update.

    Raises:
        ParameterError: a text cannot be read, uses unknown names, or mixes kinds.
    """
    if bool(formula) + bool(rule) > 1 or (slopes and not formula):
        raise ParameterError("state a formula, perhaps with slopes, or a rule", who=who)
    operands = [f for f in fields if isinstance(f, Operand)]
    kinds = {a.name: _KINDS[a.kind] for a in fields if isinstance(a, Attr) and a.kind in _KINDS}
    if rule:
        return Meaning(rule=_read_rule(who, operands, kinds, rule))
    if not formula:
        return None
    targets = [f.name for f in operands if f.access is not Access.READ]
    if len(targets) != 1 or any(f.variadic for f in operands):
        raise ParameterError("a formula needs single operands and one result", who=who)
    given = {f.name: Kind.ANY for f in operands if f.access is not Access.WRITE}
    value = parse_formula(formula, who)
    _check(value, {**kinds, **given}, who)
    found = {name: parse_formula(text, f"{who} {name}") for name, text in slopes.items()}
    wanted = {f.name for f in operands if f.access is Access.READ and f.differentiable}
    if found and found.keys() != wanted:
        raise ParameterError(
            f"expected slopes of {', '.join(sorted(wanted))}, got {', '.join(found)}", who=who
        )
    seen = {**kinds, **dict.fromkeys((f.name for f in operands), Kind.ANY), GRADIENT: Kind.FLOAT}
    for name, slope in found.items():
        _check(slope, seen, f"{who} {name}")
    named = frozenset[str]().union(*(slope.names for slope in found.values()))
    saves = tuple(f.name for f in operands if f.name in named)
    return Meaning(targets[0], value, found, saves)


def check_dtypes(
    meaning: Meaning, values: Mapping[str, Any], dtypes: Mapping[str, DType], who: str
) -> None:
    """Refuse operands of kinds that the value does not take, or takes apart.

    Such are whole operands where it needs floats or has numbers with a fraction, and anything but
    truth values where it asks for these.

    Args:
        meaning: what the instruction computes.
        values: attributes by name.
        dtypes: of the operands by name.
        who: its mnemonic, for errors.

    Raises:
        ParameterError: no implicit conversion makes a float of a whole number.
    """
    kinds = {name: kind_of_dtype(dtype) for name, dtype in dtypes.items()}
    if meaning.value is None:
        return
    scalars = {n: v for n, v in values.items() if isinstance(v, float | int | str)}
    try:
        fitted(with_values(meaning.value, scalars), kinds, who)
    except ParameterError as error:
        whole = Kind.INT in kinds.values()
        hint = "CAST whole numbers to float32 first" if whole else "CAST the operands to one type"
        raise ParameterError(error.message, who=who, hint=hint) from error


def kind_of_dtype(dtype: DType) -> Kind:
    """What elements of a dtype are to a formula."""
    if dtype is DType.bool:
        return Kind.BOOL
    return Kind.INT if dtype in (DType.int32, DType.uint8, DType.int8) else Kind.FLOAT


def check_activations(
    who: str, fields: Sequence[Operand | Attr[Any]], functions: Mapping[str, Activation]
) -> None:
    """Refuse names for an instruction that is no function of ``x``, or with unknown attributes.

    Raises:
        ParameterError: it is none, has no such attribute, or a name is no identifier.
    """
    for name in functions:
        if not name.isidentifier():
            raise ParameterError(f"an activation needs a name, got {quoted(name)}", who=who)
    if functions and [f.name for f in fields if isinstance(f, Operand)] != ["x", "y"]:
        raise ParameterError("an activation has the operands x and y", who=who)
    known = {f.name: f for f in fields if isinstance(f, Attr)}
    for function in functions.values():
        for name, value in function.attributes.items():
            if name not in known:
                raise ParameterError(f"no such attribute: {quoted(name)}", who=who)
            known[name].check(value, who)


def _check(formula: Formula, kinds: Mapping[str, Kind], who: str) -> None:
    for line in formula.lines:
        _check_new(line.name, kinds, who)
    kind_of(formula, kinds, who)


def _read_rule(who: str, operands: Sequence[Operand], kinds: Mapping[str, Kind], text: str) -> Rule:
    rule = parse_rule(text, who)
    given = {f.name: Kind.FLOAT for f in operands if not f.variadic}
    # What a rule may change: operands declared so, and optional slots.
    changed = {f.name for f in operands if f.access is Access.UPDATE or f.optional}
    fixed = {**kinds, **dict.fromkeys(given.keys() - changed, Kind.FLOAT)}
    fixed |= {RATE: Kind.FLOAT, COUNT: Kind.FLOAT}
    for name in _assigned(rule.statements):
        _check_new(name, fixed, who)
    _check_conditions(rule.statements, frozenset(kinds), who)
    check_statements(rule.statements, {**kinds, **given, **fixed}, who)
    return rule


def _check_new(name: str, taken: Mapping[str, Kind], who: str) -> None:
    if name in taken:
        raise ParameterError(f"{quoted(name)} cannot be assigned", who=who)
    if name.startswith("_"):
        raise ParameterError(
            f"{quoted(name)} cannot be assigned: a name begins with a letter", who=who
        )


def _assigned(statements: Sequence[Statement]) -> list[str]:
    found: list[str] = []
    for step in statements:
        if isinstance(step, Assign):
            found.append(step.name)
        else:
            found += [*_assigned(step.then), *_assigned(step.otherwise)]
    return found


def _check_conditions(
    statements: Sequence[Statement], attributes: frozenset[str], who: str
) -> None:
    for step in statements:
        if not isinstance(step, When):
            continue
        if not _asks(step.condition) <= attributes:
            raise ParameterError("an 'if' line is decided by attributes alone", who=who)
        _check_conditions(step.then, attributes, who)
        _check_conditions(step.otherwise, attributes, who)


def _asks(node: Expression) -> set[str]:
    """The names whose values an expression depends on."""
    if isinstance(node, Name):
        return {node.name}
    if isinstance(node, Call) and node.function == HAS:
        return set()
    return set().union(*(_asks(part) for part in parts(node)))
