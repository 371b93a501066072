"""Field helpers an instruction class is declared with: operands, scalars and tail attributes."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from studio.engine.core.errors import ParameterError, quoted
from studio.engine.core.tensor import Ref

if TYPE_CHECKING:
    from studio.engine.isa.instruction import Instruction

T = TypeVar("T")


class Access(Enum):
    """How an instruction touches an operand."""

    READ = "reads"
    WRITE = "writes"
    UPDATE = "updates"


@dataclass
class Operand:
    """One operand of an instruction class; on an instance it reads as a ``Ref``.

    ``since`` is the version of the file forms that has it; one newer than its class is optional.
    ``partial`` allows a partial tensor.
    """

    access: Access
    doc: str
    optional: bool = False
    differentiable: bool = True
    variadic: bool = False
    tail: bool = False
    since: int = 1
    partial: bool = False
    name: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Operand: ...
    @overload
    def __get__(self, instance: Instruction, owner: type) -> Ref: ...
    def __get__(self, instance: Instruction | None, owner: type) -> Operand | Ref:
        if instance is None:
            return self
        return instance.ref(self.name)


class OperandList(Operand):
    """A run of operands of any number; on an instance it reads as a tuple of ``Ref``."""

    @overload  # type: ignore[override]
    def __get__(self, instance: None, owner: type) -> OperandList: ...
    @overload
    def __get__(self, instance: Instruction, owner: type) -> tuple[Ref, ...]: ...
    def __get__(self, instance: Instruction | None, owner: type) -> OperandList | tuple[Ref, ...]:
        if instance is None:
            return self
        return instance.refs(self.name)


def reads(doc: str, *, optional: bool = False, differentiable: bool = True) -> Operand:
    """An operand whose data is read. ``optional`` operands may be ``0x-``."""
    return Operand(Access.READ, doc, optional, differentiable)


def writes(doc: str, *, optional: bool = False, partial: bool = False) -> Operand:
    """An operand whose data is overwritten entirely."""
    return Operand(Access.WRITE, doc, optional, differentiable=False, partial=partial)


def side_input(doc: str, *, since: int = 1, partial: bool = False) -> Operand:
    """An operand printed in the tail as ``key=0x…`` and only when present; it gets no gradient."""
    return Operand(
        Access.READ,
        doc,
        optional=True,
        differentiable=False,
        tail=True,
        since=since,
        partial=partial,
    )


def side_result(doc: str, *, since: int = 1) -> Operand:
    """A result printed in the tail as ``key=0x…`` and only when present."""
    return Operand(Access.WRITE, doc, optional=True, differentiable=False, tail=True, since=since)


def updates(doc: str) -> Operand:
    """An operand changed in place (parameters, slots, running statistics, counters)."""
    return Operand(Access.UPDATE, doc, differentiable=False)


def reads_many(doc: str, *, differentiable: bool = True) -> OperandList:
    """Any number (at least one) of operands whose data is read."""
    return OperandList(Access.READ, doc, differentiable=differentiable, variadic=True)


class AttrKind(Enum):
    """Value kinds of attributes; the number is the tag of the binary form."""

    INT = 1
    FLOAT = 2
    FLAG = 3
    CHOICE = 4
    INTS = 5
    NAMES = 6


def float32_round(value: float) -> float:
    """The nearest float32, as a Python float; every float attribute is stored so."""
    if math.isnan(value):
        # One NaN only: the text form has no word for its sign or payload.
        return math.nan
    if math.isinf(value):
        return float(value)
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        raise ParameterError(f"a float attribute must fit float32: got {quoted(value)}") from None


@dataclass
class Attr(Generic[T]):
    """One attribute: a positional scalar, or a ``key=value`` of the tail when ``tail`` is set."""

    kind: AttrKind
    doc: str
    default: T
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    tail: bool = False
    name: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Attr[T]: ...
    @overload
    def __get__(self, instance: Instruction, owner: type) -> T: ...
    def __get__(self, instance: Instruction | None, owner: type) -> Attr[T] | T:
        if instance is None:
            return self
        return cast("T", instance.value(self.name))

    def is_default(self, value: Any) -> bool:
        """Whether a value is the default to the bit, so that a printed line may leave it out."""
        default: Any = self.default
        if self.kind is AttrKind.FLOAT and value == default == 0:
            return math.copysign(1, value) == math.copysign(1, default)
        return bool(value == default)

    def check(self, value: Any, who: str) -> T:
        """The value in its stored form; ``ParameterError`` when kind or range is wrong."""
        return cast("T", _CHECKS[self.kind](self, value, f"{who}.{self.name}"))


def _check_int(attr: Attr[Any], value: Any, who: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ParameterError(f"a whole number is expected: got {quoted(value)}", who=who)
    if not max(attr.low, -(2**31)) <= value <= min(attr.high, 2**32 - 1):
        raise ParameterError(f"expected {attr.low:g} to {attr.high:g}, got {value}", who=who)
    return value


def _check_float(attr: Attr[Any], value: Any, who: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(f"a number is expected: got {quoted(value)}", who=who)
    if not (attr.low <= value <= attr.high or math.isnan(value)):
        raise ParameterError(f"expected {attr.low:g} to {attr.high:g}, got {value}", who=who)
    return float32_round(float(value))


def _check_flag(_attr: Attr[Any], value: Any, who: str) -> bool:
    if value not in (0, 1, False, True):
        raise ParameterError(f"expected 0 or 1, got {quoted(value)}", who=who)
    return bool(value)


def _check_choice(attr: Attr[Any], value: Any, who: str) -> str:
    if value not in attr.choices:
        raise ParameterError(
            f"expected one of {', '.join(attr.choices)}, got {quoted(value)}", who=who
        )
    return str(value)


def _check_ints(attr: Attr[Any], value: Any, who: str) -> tuple[int, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ParameterError(f"a list of whole numbers is expected: got {quoted(value)}", who=who)
    return tuple(_check_int(attr, v, who) for v in value)


def _check_names(attr: Attr[Any], value: Any, who: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ParameterError(f"a list of operand names is expected: got {quoted(value)}", who=who)
    unknown = [v for v in value if v not in attr.choices]
    if unknown:
        raise ParameterError(
            f"expected names out of {', '.join(attr.choices)}, got {quoted(unknown[0])}", who=who
        )
    return tuple(n for n in attr.choices if n in value)


_CHECKS = {
    AttrKind.INT: _check_int,
    AttrKind.FLOAT: _check_float,
    AttrKind.FLAG: _check_flag,
    AttrKind.CHOICE: _check_choice,
    AttrKind.INTS: _check_ints,
    AttrKind.NAMES: _check_names,
}


def integer(
    doc: str,
    default: int = 0,
    *,
    low: float = -(2**31),
    high: float = 2**32 - 1,
    tail: bool = False,
) -> Attr[int]:
    """A whole-number attribute."""
    return Attr(AttrKind.INT, doc, default, low, high, tail=tail)


def number(
    doc: str, default: float = 0.0, *, low: float = -math.inf, high: float = math.inf,
    tail: bool = False,
) -> Attr[float]:  # fmt: skip
    """A float32 attribute."""
    return Attr(AttrKind.FLOAT, doc, float32_round(default), low, high, tail=tail)


def flag(doc: str) -> Attr[bool]:
    """A tail attribute that is off unless set to 1."""
    return Attr(AttrKind.FLAG, doc, False, tail=True)


def choice(doc: str, *choices: str, tail: bool = True) -> Attr[str]:
    """One word out of a few; the first is the default."""
    return Attr(AttrKind.CHOICE, doc, choices[0], choices=choices, tail=tail)


def integers(
    doc: str, default: tuple[int, ...] = (), *, tail: bool = True
) -> Attr[tuple[int, ...]]:
    """A short list of whole numbers such as axes or asymmetric pads."""
    return Attr(AttrKind.INTS, doc, default, tail=tail)


def names(doc: str, choices: tuple[str, ...]) -> Attr[tuple[str, ...]]:
    """A set of operand names, kept in operand order."""
    return Attr(AttrKind.NAMES, doc, (), choices=choices, tail=True)
