"""One declared option of a layer, an optimiser or another plain-data setting."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Literal,
    Self,
    TypeAlias,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
    overload,
)

from studio.engine.core.errors import ParameterError, quoted

if TYPE_CHECKING:
    from studio.engine.core.configured import Configured
    from studio.engine.core.kinds import Kinds

T = TypeVar("T")

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"
"""What JSON can hold."""

MAX_INTEGER = 2**31 - 1


class OptionKind(Enum):
    """What sort of value an option takes; an inspector picks its editor by this."""

    INTEGER = "integer"
    NUMBER = "number"
    FLAG = "flag"
    CHOICE = "choice"
    PAIR = "pair"
    INTEGERS = "integers"
    NUMBERS = "numbers"
    NAMES = "names"
    SPEC = "spec"


Editor: TypeAlias = Literal[
    "integer", "number", "flag", "choice", "pair", "integers", "numbers", "kinds", "list",
    "border", "weights", "text",
]  # fmt: skip
"""What a form edits an option with."""

Steps: TypeAlias = Literal["linear", "powers", "decades"]
"""How a number is changed in a form: by equal steps, by powers of two, or by powers of ten."""


class Words(TypedDict, total=False):
    """Further arguments of every option, for forms and help."""

    label: str
    aliases: tuple[str, ...]
    effect: str
    start: Plain
    steps: Steps
    step: float
    editor: Editor
    kinds: Kinds
    group: str
    on_card: bool


class _Required:
    def __repr__(self) -> str:
        return "required"


REQUIRED = _Required()
"""Marks an option without a default."""


@dataclass(eq=False)
class Option(Generic[T]):
    """One declared option; on an instance of the declaring class it reads as its value.

    Attributes:
        kind: sort of value.
        doc: one sentence for the inspector.
        default: value when not given, or ``REQUIRED``.
        low: smallest number allowed.
        high: largest number allowed.
        choices: words allowed, for choices and where a spec has a closed list.
        optional: whether ``None`` is allowed.
        read: checks a value and returns its stored form.
        write: turns a stored value into plain data.
        label: its name for people, in sentence case; made from the name unless given.
        aliases: what users may type for its name.
        effect: what changing it does, one sentence.
        start: value that something new begins with where one must be given.
        steps: how a form changes the number.
        step: size of one equal step; a form chooses one by the range unless given.
        editor: what a form edits it with; follows from the kind unless given.
        kinds: the kinds its values may be of, where each has options of its own.
        group: heading it stands under in a form.
        on_card: whether a layer shows it on the canvas; where it was changed unless given.
        verbatim: whether choices are names that a form shows as they are written.
        unknown: whether items of a list of whole numbers may be ``None``: not known yet.
    """

    finite: ClassVar[bool] = True
    """Whether numbers may not be NaN or infinite."""

    flag_words: ClassVar[str] = "true or false"
    """What an error says is expected of a flag."""

    kind: OptionKind
    doc: str
    default: T | _Required
    low: float = -math.inf
    high: float = math.inf
    choices: Sequence[str] = ()
    optional: bool = False
    read: Callable[[object, str], T] | None = None
    write: Callable[[T], Plain] | None = None
    label: str = ""
    aliases: tuple[str, ...] = ()
    effect: str = ""
    start: Plain = None
    steps: Steps = "linear"
    step: float = 0.0
    editor: Editor | None = None
    kinds: Kinds | None = None
    group: str = ""
    on_card: bool | None = None
    verbatim: bool = False
    unknown: bool = False
    name: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.named(name)

    def named(self, name: str) -> Self:
        """Give the option its name, for one that is no attribute of a class; returns it."""
        self.name = name
        if not self.label:
            words = name.replace("_", " ")
            self.label = words[:1].upper() + words[1:]
        return self

    @overload
    def __get__(self, instance: None, owner: type) -> Option[T]: ...
    @overload
    def __get__(self, instance: Configured, owner: type) -> T: ...
    def __get__(self, instance: Configured | None, owner: type) -> Option[T] | T:
        if instance is None:
            return self
        return cast("T", instance.option_values[self.name])

    @property
    def required(self) -> bool:
        """Whether a value must be given."""
        return isinstance(self.default, _Required)

    @property
    def is_fixed(self) -> bool:
        """Whether only one value is possible."""
        return self.low == self.high or len(self.choices) == 1

    @property
    def form_editor(self) -> Editor:
        """What a form edits it with."""
        if self.editor is not None:
            return self.editor
        if self.kinds is not None:
            return "kinds"
        if self.kind is OptionKind.SPEC:
            return "choice" if self.choices else "text"
        return cast("Editor", self.kind.value)

    @property
    def plain_default(self) -> Plain:
        """The default as JSON data; None also where a value must be given."""
        return None if isinstance(self.default, _Required) else self.plain(self.default)

    @property
    def first_value(self) -> Plain:
        """The value of a new object: ``start``, the default, or the smallest allowed."""
        if self.start is not None or not self.required:
            return self.plain_default if self.start is None else self.start
        if self.kind is OptionKind.FLAG:
            return False
        if self.choices:
            return self.choices[0]
        least = max(self.low, 1)
        number = float(least) if self.kind in _FRACTIONS else int(least)
        return number if self.kind in _SINGLE else [number]

    def is_default(self, value: object) -> bool:
        """Whether plain data is the default; never where a value must be given."""
        return not self.required and value == self.plain_default

    def check(self, value: object, who: str) -> T:
        """The value in stored form; ParameterError naming ``who`` when kind or range is wrong."""
        if value is None and self.optional:
            return cast("T", None)
        found = _READERS[self.kind](self, value, who)
        return cast("T", found)

    def plain(self, value: T) -> Plain:
        """A stored value as JSON data."""
        if value is None or self.write is None:
            return _plain(value)
        return self.write(value)


AnyOption: TypeAlias = Option[Any]
"""An option of whatever kind of value."""

_SINGLE = (OptionKind.INTEGER, OptionKind.NUMBER, OptionKind.PAIR)
_FRACTIONS = (OptionKind.NUMBER, OptionKind.NUMBERS)


def _plain(value: object) -> Plain:
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return cast("Plain", value)


def _wrong(option: AnyOption, value: object, who: str, wanted: str) -> ParameterError:
    return ParameterError(f"{option.name}: expected {wanted}, got {quoted(value)}", who=who)


def _beyond(
    option: AnyOption, value: object, who: str, noun: str, more: str = ""
) -> ParameterError:
    """The error for a wrong number; the range is formatted only when it is needed."""
    return _wrong(option, value, who, f"{noun}{_range_text(option)}{more}")


def _range_text(option: AnyOption) -> str:
    if option.low == option.high:
        return f" equal to {_digits(option.low)}"
    if math.isinf(option.high):
        return "" if math.isinf(option.low) else f" of at least {_digits(option.low)}"
    return f" from {_digits(option.low)} to {_digits(option.high)}"


def _digits(bound: float) -> str:
    return str(int(bound)) if bound == int(bound) else f"{bound:g}"


def _integer(option: AnyOption, value: object, who: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _beyond(option, value, who, "a whole number")
    if not option.low <= value <= option.high:
        raise _beyond(option, value, who, "a whole number")
    return value


def _number(option: AnyOption, value: object, who: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _beyond(option, value, who, "a number")
    try:
        found = float(value)
    except OverflowError:
        raise _beyond(option, value, who, "a number") from None
    if option.finite and not math.isfinite(found):
        raise _beyond(option, value, who, "a number")
    if not (option.low <= found <= option.high or math.isnan(found)):
        raise _beyond(option, value, who, "a number")
    return found


def _flag(option: AnyOption, value: object, who: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(option, value, who, option.flag_words)
    return value


def _choice(option: AnyOption, value: object, who: str) -> str:
    if not isinstance(value, str) or value not in option.choices:
        raise _wrong(option, value, who, f"one of {', '.join(option.choices)}")
    return value


def _items(
    option: AnyOption, value: object, who: str, noun: str, more: str = ""
) -> Sequence[object]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise _beyond(option, value, who, noun, more)
    return value


def _pair(option: AnyOption, value: object, who: str) -> tuple[int, int]:
    if isinstance(value, int) and not isinstance(value, bool):
        value = (value, value)
    found = _items(option, value, who, "a whole number", ", or two of them")
    if len(found) != 2:
        raise _beyond(option, value, who, "a whole number", ", or two of them")
    first, second = (_integer(option, v, who) for v in found)
    return first, second


def _integers(option: AnyOption, value: object, who: str) -> tuple[int | None, ...]:
    found = _items(option, value, who, "a list of whole numbers")
    return tuple(None if v is None and option.unknown else _integer(option, v, who) for v in found)


def _numbers(option: AnyOption, value: object, who: str) -> tuple[float, ...]:
    found = _items(option, value, who, "a list of numbers")
    return tuple(_number(option, v, who) for v in found)


def _names(option: AnyOption, value: object, who: str) -> tuple[str, ...]:
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    if not is_list or not all(name in option.choices for name in cast("Sequence[object]", value)):
        raise _wrong(option, value, who, f"names out of {', '.join(option.choices)}")
    return tuple(name for name in option.choices if name in cast("Sequence[object]", value))


def _spec(option: AnyOption, value: object, who: str) -> object:
    if option.read is None:
        raise TypeError(f"option {option.name!r} of kind SPEC declares no reader")
    try:
        return option.read(value, who)
    except ParameterError as error:
        if not error.who:
            error.who = who
        raise


_READERS: dict[OptionKind, Callable[[AnyOption, object, str], object]] = {
    OptionKind.INTEGER: _integer,
    OptionKind.NUMBER: _number,
    OptionKind.FLAG: _flag,
    OptionKind.CHOICE: _choice,
    OptionKind.PAIR: _pair,
    OptionKind.INTEGERS: _integers,
    OptionKind.NUMBERS: _numbers,
    OptionKind.NAMES: _names,
    OptionKind.SPEC: _spec,
}


def named(**options: AnyOption) -> tuple[AnyOption, ...]:
    """Options by name, where they are no attributes of a class."""
    return tuple(option.named(name) for name, option in options.items())


def integer(
    doc: str, default: int | _Required = REQUIRED, *, low: float = -MAX_INTEGER,
    high: float = MAX_INTEGER, **words: Unpack[Words],
) -> Option[int]:  # fmt: skip
    """A whole-number option."""
    return Option(OptionKind.INTEGER, doc, default, low, high, **words)


def optional_integer(
    doc: str, *, low: float = -MAX_INTEGER, high: float = MAX_INTEGER, **words: Unpack[Words]
) -> Option[int | None]:
    """A whole number or ``None``, which is the default."""
    return Option(OptionKind.INTEGER, doc, None, low, high, optional=True, **words)


def number(
    doc: str, default: float | _Required = REQUIRED, *, low: float = -math.inf,
    high: float = math.inf, **words: Unpack[Words],
) -> Option[float]:  # fmt: skip
    """A finite number option."""
    return Option(OptionKind.NUMBER, doc, default, low, high, **words)


def optional_number(
    doc: str, *, low: float = -math.inf, high: float = math.inf, **words: Unpack[Words]
) -> Option[float | None]:
    """A finite number or ``None``, which is the default."""
    return Option(OptionKind.NUMBER, doc, None, low, high, optional=True, **words)


def flag(doc: str, default: bool = False, **words: Unpack[Words]) -> Option[bool]:
    """A yes-or-no option."""
    return Option(OptionKind.FLAG, doc, default, **words)


def choice(doc: str, *choices: str, **words: Unpack[Words]) -> Option[str]:
    """One word out of a few; the first is the default."""
    return Option(OptionKind.CHOICE, doc, choices[0], choices=choices, **words)


def pair(
    doc: str, default: tuple[int, int] | _Required = REQUIRED, *, low: float = 1,
    **words: Unpack[Words],
) -> Option[tuple[int, int]]:  # fmt: skip
    """Two whole numbers, rows then columns; one number stands for both."""
    return Option(OptionKind.PAIR, doc, default, low, 2**15, **words)


def optional_pair(
    doc: str, *, low: float = 1, **words: Unpack[Words]
) -> Option[tuple[int, int] | None]:
    """Two whole numbers or ``None``, which is the default."""
    return Option(OptionKind.PAIR, doc, None, low, 2**15, optional=True, **words)


def integers(
    doc: str, default: tuple[int, ...] | _Required = REQUIRED, *, low: float = -MAX_INTEGER,
    **words: Unpack[Words],
) -> Option[tuple[int, ...]]:  # fmt: skip
    """A list of whole numbers."""
    return Option(OptionKind.INTEGERS, doc, default, low, MAX_INTEGER, **words)


def open_integers(
    doc: str, default: tuple[int | None, ...] | _Required = REQUIRED, *,
    low: float = -MAX_INTEGER, **words: Unpack[Words],
) -> Option[tuple[int | None, ...]]:  # fmt: skip
    """A list of whole numbers, ``None`` in place of those that are not known yet."""
    return Option(OptionKind.INTEGERS, doc, default, low, MAX_INTEGER, unknown=True, **words)


def numbers(
    doc: str, default: tuple[float, ...] | _Required = REQUIRED, *, low: float = -math.inf,
    **words: Unpack[Words],
) -> Option[tuple[float, ...]]:  # fmt: skip
    """A list of finite numbers."""
    return Option(OptionKind.NUMBERS, doc, default, low, **words)


def spec(
    doc: str,
    default: T | _Required,
    read: Callable[[object, str], T],
    write: Callable[[T], Plain],
    *,
    low: float = -math.inf,
    optional: bool = False,
    choices: Sequence[str] = (),
    **words: Unpack[Words],
) -> Option[T]:
    """An option with a reader and writer of its own, such as an initialiser in text form."""
    return Option(
        OptionKind.SPEC, doc, default, low, optional=optional, choices=choices, read=read,
        write=write,         **words,
    )  # fmt: skip
