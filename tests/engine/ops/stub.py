"""What editors and type checkers are told of ``studio.engine.ops``, from the table."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping

from studio.engine import ops
from studio.engine.core.options import AnyOption, OptionKind
from studio.engine.operations.parameters import read_axes, read_pairs, read_text
from studio.engine.operations.table import OPERATIONS, Operation

HINTS: Mapping[OptionKind, str] = {
    OptionKind.INTEGER: "int",
    OptionKind.NUMBER: "float",
    OptionKind.FLAG: "bool",
    OptionKind.PAIR: "int | Sequence[int]",
    OptionKind.INTEGERS: "int | Sequence[int]",
    OptionKind.NUMBERS: "Sequence[float]",
}
READ: Mapping[Callable[..., object], str] = {
    read_axes: "int | Sequence[int] | None",
    read_pairs: "Sequence[Sequence[int]]",
    read_text: "str",
}
HEAD = """\
# Written by pytest --update-golden tests/engine/operations/test_manual.py
from collections.abc import Sequence
from typing import Literal

"""


def hint_of(option: AnyOption) -> str:
    """The type of an option's value."""
    if option.read is not None:
        found = READ[option.read]
    elif option.kind is OptionKind.CHOICE:
        found = f"Literal[{', '.join(repr(choice) for choice in option.choices)}]"
    else:
        found = HINTS[option.kind]
    return f"{found} | None" if option.optional else found


def returned(operation: Operation) -> str:
    """The type of its result."""
    if operation.results == 1:
        return "Tensor"
    inner = (
        "Tensor, ..." if operation.results is None else ", ".join(["Tensor"] * operation.results)
    )
    return f"tuple[{inner}]"


def declared(operation: Operation) -> str:
    """A function of the table with the signature that Python shows, and its documentation."""
    function = getattr(ops, operation.name)
    hints = {option.name: hint_of(option) for option in operation.options}
    shown, by_name = [], False
    for parameter in inspect.signature(function).parameters.values():
        many = parameter.kind is parameter.VAR_POSITIONAL
        if parameter.kind is parameter.KEYWORD_ONLY and not by_name:
            by_name = True
            shown += [] if any(each.startswith("*") for each in shown) else ["*"]
        hint = hints.get(parameter.name, "Given")
        default = ""
        if parameter.default is not parameter.empty:
            default = f" = {parameter.default!r}"
            hint += " | None" if parameter.default is None and "None" not in hint else ""
        shown.append(f"{'*' * many}{parameter.name}: {hint}{default}")
    lines = function.__doc__.replace("\\", "\\\\").splitlines()
    told = "\n".join(f"    {line}".rstrip() for line in lines)
    ending = '\n    """' if len(lines) > 1 else '"""'
    return (
        f"def {operation.name}({', '.join(shown)}) -> {returned(operation)}:\n"
        f'    """{told.lstrip()}{ending}\n'
    )


def stub() -> str:
    """The text of the stub."""
    names = [name for name in dir(ops) if name not in OPERATIONS]
    places = sorted((getattr(ops, name).__module__, name) for name in names)
    lines = [f"from {module} import {name} as {name}" for module, name in places]
    given = "from studio.engine.ops.calls import Given"
    functions = "\n".join(declared(operation) for operation in OPERATIONS.values())
    return HEAD + "\n".join(sorted([*lines, given])) + "\n\n" + functions
