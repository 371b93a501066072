"""Field helpers an instruction class is declared with: operands, scalars and tail attributes."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast, overload

from studio.engine.core.errors import ParameterError, quoted
from studio.engine.core.options import Option, OptionKind
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
    ``partial`` allows a partial tensor. A ``kept`` result is read by the gradient instruction and
    has no gradient of its own.
    """

    access: Access
    doc: str
    optional: bool = False
    differentiable: bool = True
    variadic: bool = False
    tail: bool = False
    since: int = 1
    partial: bool = False
    kept: bool = False
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


def writes(
    doc: str, *, optional: bool = False, partial: bool = False, kept: bool = False
) -> Operand:
    """An operand whose data is overwritten entirely.

    A ``kept`` one is kept for the gradient instruction, which reads its data: statistics, indices.
    It is a tensor like any other, but no gradient flows through it.
    """
    return Operand(Access.WRITE, doc, optional, differentiable=False, partial=partial, kept=kept)


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


def updates_many(doc: str) -> OperandList:
    """Any number (at least one) of operands that are changed in place."""
    return OperandList(Access.UPDATE, doc, differentiable=False, variadic=True)


def reads_many(doc: str, *, differentiable: bool = True) -> OperandList:
    """Any number (at least one) of operands whose data is read."""
    return OperandList(Access.READ, doc, differentiable=differentiable, variadic=True)


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


@dataclass(eq=False)
class Attr(Option[T]):
    """An option of an instruction; numbers are stored as float32 and may be NaN or infinite.

    It is a positional scalar of the printed line, or a ``key=value`` of the tail where ``tail``
    is set. Flags are printed, and may be given, as 0 and 1. ``since`` is the version of the file
    forms that has it; one newer than its class is in the tail.
    """

    finite: ClassVar[bool] = False
    flag_words: ClassVar[str] = "0 or 1"

    tail: bool = False
    since: int = 1

    @overload  # type: ignore[override]
    def __get__(self, instance: None, owner: type) -> Attr[T]: ...
    @overload
    def __get__(self, instance: Instruction, owner: type) -> T: ...
    def __get__(self, instance: Instruction | None, owner: type) -> Attr[T] | T:
        if instance is None:
            return self
        return cast("T", instance.value(self.name))

    def is_default(self, value: object) -> bool:
        """Whether a value is the default to the bit, so that a printed line may leave it out."""
        default: Any = self.default
        if self.kind is OptionKind.NUMBER and value == default == 0:
            return math.copysign(1, default) == math.copysign(1, cast("float", value))
        return bool(value == default)

    def check(self, value: object, who: str) -> T:
        """The value in its stored form; ParameterError when kind or range is wrong."""
        if self.kind is OptionKind.FLAG and value in (0, 1):
            return cast("T", bool(value))
        found: Any = super().check(value, who)
        return cast("T", float32_round(found) if self.kind is OptionKind.NUMBER else found)


def integer(
    doc: str,
    default: int = 0,
    *,
    low: float = -(2**31),
    high: float = 2**32 - 1,
    tail: bool = False,
    since: int = 1,
) -> Attr[int]:
    """A whole-number attribute."""
    return Attr(OptionKind.INTEGER, doc, default, low, high, tail=tail, since=since)


def number(
    doc: str, default: float = 0.0, *, low: float = -math.inf, high: float = math.inf,
    tail: bool = False,
) -> Attr[float]:  # fmt: skip
    """A float32 attribute."""
    return Attr(OptionKind.NUMBER, doc, float32_round(default), low, high, tail=tail)


def flag(doc: str) -> Attr[bool]:
    """A tail attribute that is off unless set to 1."""
    return Attr(OptionKind.FLAG, doc, False, tail=True)


def choice(doc: str, *choices: str, tail: bool = True, since: int = 1) -> Attr[str]:
    """One word out of a few; the first is the default."""
    return Attr(OptionKind.CHOICE, doc, choices[0], choices=choices, tail=tail, since=since)


def integers(
    doc: str, default: tuple[int, ...] = (), *, tail: bool = True, since: int = 1
) -> Attr[tuple[int, ...]]:
    """A short list of whole numbers such as axes or asymmetric pads."""
    return Attr(OptionKind.INTEGERS, doc, default, -(2**31), 2**32 - 1, tail=tail, since=since)


def names(doc: str, choices: tuple[str, ...]) -> Attr[tuple[str, ...]]:
    """A set of operand names, kept in operand order."""
    return Attr(OptionKind.NAMES, doc, (), choices=choices, tail=True)
