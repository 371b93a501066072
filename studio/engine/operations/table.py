"""The table of operations: what each is called, what it takes and which lines it writes."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final, TypeVar, get_args, get_type_hints

from studio.engine.core.discovery import import_modules
from studio.engine.core.errors import ParameterError, ShapeError, StudioError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.core.options import AnyOption
from studio.engine.core.tensor import ABSENT, Ref
from studio.engine.isa.instruction import Instruction
from studio.engine.operations.lines import Lines
from studio.engine.operations.parameters import (
    Operand,
    Parameters,
    read_function,
    read_instruction,
)
from studio.engine.operations.types import OPERANDS_FOR, Takes

LIBRARIES: Final = ("numpy", "keras", "onnx", "tfjs")
"""Libraries whose names for operations are known: NumPy, Keras' ``ops``, ONNX, TensorFlow.js."""

Write = Callable[..., "Ref | tuple[Ref, ...]"]
F = TypeVar("F", bound=Write)


class Operation:
    """One operation: a name for lines of a program.

    Attributes:
        name: of the operation.
        family: what it belongs to, the name of its module.
        aliases: its names in other libraries, one of ``LIBRARIES`` each.
        doc: what it does; the first line is one sentence.
        symbol: a sign or short word for a small card.
        instruction: the class whose one line it is, None for an operation of several lines.
    """

    def __init__(
        self,
        function: Write,
        name: str,
        family: str,
        doc: str,
        symbol: str,
        aliases: Mapping[str, tuple[str, ...]],
        read: Callable[[], Parameters],
        instruction: type[Instruction] | None = None,
    ) -> None:
        self.name = name
        self.family = family
        self.doc = doc
        self.symbol = symbol
        self.aliases = aliases
        self.instruction = instruction
        self._function = function
        self._read = read

    @cached_property
    def parameters(self) -> Parameters:
        """Operands and options; read at the first use."""
        return self._read()

    @property
    def operands(self) -> tuple[Operand, ...]:
        """What it takes, in the order of a call."""
        return self.parameters.operands

    @property
    def options(self) -> tuple[AnyOption, ...]:
        """What may be said by name; an option without default must be."""
        return self.parameters.options

    @cached_property
    def results(self) -> int | None:
        """How many results it has; None where that depends on operands and options."""
        found = get_type_hints(self._function)["return"]
        if found is Ref:
            return 1
        return None if Ellipsis in get_args(found) else len(get_args(found))

    @property
    def tip(self) -> str:
        """The first sentence of its documentation."""
        return " ".join(self.doc.partition("\n\n")[0].split())

    @property
    def fewest(self) -> int:
        """How many operands it takes at least."""
        return sum(not operand.optional for operand in self.operands)

    @property
    def most(self) -> int | None:
        """How many operands it takes at most, None for any number."""
        return None if any(o.many for o in self.operands) else len(self.operands)

    def checked(self, given: Mapping[str, object]) -> dict[str, Any]:
        """All options in their stored form; ParameterError for a missing, unknown or wrong one."""
        known = {option.name: option for option in self.options}
        for name in given:
            if name not in known:
                hint = f"known options: {', '.join(known) or 'none'}"
                raise ParameterError(
                    f"unknown option {quoted(name)}", who=self.name,
                    hint=did_you_mean(name, tuple(known), hint),
                )  # fmt: skip
        values: dict[str, Any] = {}
        for option in self.options:
            if option.name in given:
                values[option.name] = option.check(given[option.name], self.name)
            elif option.required:
                raise ParameterError(f"{option.name} must be given: {option.doc}", who=self.name)
            else:
                values[option.name] = option.default
        return values

    def write(self, lines: Lines, *refs: Ref, **options: object) -> tuple[Ref, ...]:
        """Write its lines and return the results.

        Args:
            lines: receives them.
            refs: operands; an absent one stands for an optional operand that is left out.
            options: by name.

        Raises:
            ParameterError: an option or the number of operands is wrong.
            ShapeError: operands do not fit; the error names the operation and their types.
        """
        values = self.checked(options)
        given = sum(ref.present for ref in refs)
        if given < self.fewest or (self.most is not None and len(refs) > self.most):
            raise ParameterError(
                f"expected {self._count_text()}, got {given}", who=self.name, hint=self.tip
            )
        try:
            found = self._function(lines, *refs, **values)
        except StudioError as error:
            raise self._named(error, lines, refs) from error
        return (found,) if isinstance(found, Ref) else tuple(found)

    def _count_text(self) -> str:
        low, high = self.fewest, self.most
        if high is None:
            text = f"at least {low}"
        else:
            text = str(low) if low == high else f"{low} to {high}"
        return f"{text} operand{'' if text.endswith(' 1') or text == '1' else 's'}"

    def _named(self, error: StudioError, lines: Lines, refs: tuple[Ref, ...]) -> StudioError:
        """The error with the operation in front and the types of its operands behind."""
        if not isinstance(error, ShapeError | ParameterError):
            return error
        types = " and ".join(str(lines.type_of(ref)) for ref in refs if ref.present)
        behind = f"; operands: {types}" if types else ""
        return type(error)(
            f"{error.message}{behind}", who=self.name, hint=error.hint, origin=error.origin
        )

    def __repr__(self) -> str:
        return f"<operation {self.name}>"


class Operations(Mapping[str, Operation]):
    """Operations by name, sorted; the families are imported at the first use."""

    def __init__(self) -> None:
        self._found: dict[str, Operation] = {}
        self._loaded = False

    def add(self, made: Operation) -> None:
        """Add an operation; TypeError where its name is taken."""
        if made.name in self._found:
            raise TypeError(f"there are two operations {made.name!r}")
        self._found[made.name] = made

    def _all(self) -> dict[str, Operation]:
        if not self._loaded:
            import_modules("studio.engine.operations")
            # Replaced whole, so that a second thread never walks through a half-sorted one.
            self._found = dict(sorted(self._found.items()))
            self._loaded = True
        return self._found

    def __getitem__(self, name: str) -> Operation:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    @cached_property
    def by_alias(self) -> Mapping[tuple[str, str], Operation]:
        """Operations by library and name there."""
        found: dict[tuple[str, str], Operation] = {}
        for made in self.values():
            for library, names in made.aliases.items():
                for name in names:
                    if (library, name) in found:
                        other = found[library, name].name
                        raise TypeError(f"{library} {name!r} names {other!r} and {made.name!r}")
                    found[library, name] = made
        return found

    @cached_property
    def by_word(self) -> Mapping[str, tuple[Operation, ...]]:
        """Operations by any of their names, in small letters."""
        words: dict[str, dict[str, Operation]] = defaultdict(dict)
        for made in self.values():
            every = (made.name, *(n for names in made.aliases.values() for n in names))
            for word in every:
                words[word.lower()][made.name] = made
        return {word: tuple(found.values()) for word, found in words.items()}


OPERATIONS = Operations()
"""Every operation by its name."""


def find(name: str, library: str = "") -> Operation:
    """The operation of a name, or of a name in another library.

    Args:
        name: its own name, or an alias.
        library: one of ``LIBRARIES``; without it own names go first, then aliases that mean the
            same in all libraries that have them.

    Raises:
        ParameterError: there is none, or libraries mean different operations by that name.
    """
    if library:
        found = OPERATIONS.by_alias.get((library, name))
        candidates: tuple[Operation, ...] = () if found is None else (found,)
    elif name in OPERATIONS:
        candidates = (OPERATIONS[name],)
    else:
        candidates = OPERATIONS.by_word.get(str(name).lower(), ())
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        raise ParameterError(
            f"{quoted(name)} may be {' or '.join(each.name for each in candidates)}",
            who="operation",
            hint="say which",
        )
    raise ParameterError(
        f"there is no operation {quoted(name)}", who="operation",
        hint=did_you_mean(name, _all_names(), "docs/operations.md lists them all"),
    )  # fmt: skip


def _all_names() -> tuple[str, ...]:
    """Own names, and behind them those of other libraries."""
    others = (n for made in OPERATIONS.values() for names in made.aliases.values() for n in names)
    return tuple(dict.fromkeys((*OPERATIONS, *others)))


def operation(*, symbol: str = "", name: str = "", **aliases: str) -> Callable[[F], F]:
    """Add a function that writes lines to the table.

    Args:
        symbol: a sign or short word for a small card.
        name: of the operation, where it is not that of the function.
        aliases: its names in other libraries by ``LIBRARIES``, several with spaces between.
    """

    def add(function: F) -> F:
        own = name or function.__name__.rstrip("_")
        OPERATIONS.add(
            Operation(
                function, own, function.__module__.rpartition(".")[2],
                inspect.cleandoc(function.__doc__ or ""), symbol, _named_aliases(own, aliases),
                lambda: read_function(function),
            )
        )  # fmt: skip
        return function

    return add


def plain(
    cls: type[Instruction],
    *,
    family: str,
    takes: Takes = "floats",
    symbol: str = "",
    name: str = "",
    operands: str = "",
    defaults: Mapping[str, object] | None = None,
    **aliases: str,
) -> Callable[..., Ref]:
    """Add an operation that is one instruction of one result; text and options are its class's.

    Args:
        cls: the instruction.
        family: ``__name__`` of the module.
        takes: which element types operands are brought to.
        symbol: a sign or short word for a small card.
        name: of the operation, where it is not the mnemonic in small letters.
        operands: their order in a call where it is not the printed one, with spaces between.
        defaults: options that begin with another value than the attributes of the class.
        aliases: as of `operation`.

    Returns:
        The function that writes it.
    """
    own = name or cls.mnemonic.lower()
    order = tuple(operands.split())
    parameters = read_instruction(cls, order, defaults or {})
    prepare = OPERANDS_FOR[takes]
    names, many = [o.name for o in parameters.operands], any(o.many for o in parameters.operands)

    def write(lines: Lines, *refs: Ref, **options: Any) -> Ref:
        present = iter(prepare(lines, *(ref for ref in refs if ref.present)))
        found = [next(present) if ref.present else ABSENT for ref in refs]
        given: dict[str, Any] = (
            {names[0]: tuple(found)} if many else dict(zip(names, found, strict=False))
        )
        return lines.emit(cls, **given, **{**(defaults or {}), **options})[0]

    write.__name__ = own
    OPERATIONS.add(
        Operation(
            write, own, family.rpartition(".")[2], inspect.cleandoc(cls.__doc__ or ""), symbol,
            _named_aliases(own, aliases), lambda: parameters, cls,
        )
    )  # fmt: skip
    return write


def _named_aliases(who: str, given: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    unknown = set(given) - set(LIBRARIES)
    if unknown:
        raise TypeError(f"{who}: no library {min(unknown)!r}")
    return {library: tuple(names.split()) for library, names in given.items() if names}
