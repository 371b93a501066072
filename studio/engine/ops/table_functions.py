"""One function for each operation of the table, with its signature and its documentation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from studio.engine.core.errors import ParameterError
from studio.engine.operations.parameters import shown_default
from studio.engine.operations.table import OPERATIONS, Operation
from studio.engine.ops.calls import call
from studio.engine.ops.handle import Tensor

Function = Callable[..., Any]

_RESULTS: Mapping[int | None, Any] = {
    1: Tensor,
    2: tuple[Tensor, Tensor],
    None: tuple[Tensor, ...],
}


class Functions(Mapping[str, Function]):
    """Functions by the name of their operation, made at the first use."""

    def __init__(self) -> None:
        self._made: dict[str, Function] = {}

    def __getitem__(self, name: str) -> Function:
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = function_of(OPERATIONS[name])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(OPERATIONS)

    def __len__(self) -> int:
        return len(OPERATIONS)


FUNCTIONS = Functions()


def function_of(operation: Operation) -> Function:
    """What users call: operands first, then options in their order or by name."""
    names = tuple(option.name for option in operation.options)
    many = any(operand.many for operand in operation.operands)
    most = len(operation.operands)
    counted = operation.results is not None

    def function(*given: Any, **options: Any) -> Any:
        operands, rest = (given, ()) if many else (given[:most], given[most:])
        if many and len(given) == 1 and isinstance(given[0], list | tuple):
            operands = tuple(given[0])
        elif options:
            operands += _by_name(operation, len(operands), options)
        if len(rest) > len(names):
            raise ParameterError(
                f"expected at most {most + len(names)} values, got {len(given)}",
                who=operation.name,
            )
        for name, value in zip(names, rest, strict=False):
            if name in options:
                raise ParameterError(f"{name} is given twice", who=operation.name)
            options[name] = value
        made = call(operation, operands, options)
        # As many as there are is a tuple, even where that is one.
        return made if isinstance(made, tuple) or counted else (made,)

    function.__name__ = function.__qualname__ = operation.name
    function.__doc__ = _doc(operation)
    function.__module__ = "studio.engine.ops"
    function.__signature__ = signature_of(operation)  # type: ignore[attr-defined]
    return function


def _by_name(operation: Operation, count: int, options: dict[str, Any]) -> tuple[Any, ...]:
    """Operands given by name, taken out of the options."""
    found: list[Any] = []
    for operand in operation.operands[count:]:
        if operand.name in options:
            found.append(options.pop(operand.name))
        elif operand.optional:
            found.append(None)
        else:
            break
    return tuple(found)


def signature_of(operation: Operation) -> inspect.Signature:
    """The signature that editors and help show."""
    one, rest, named = (
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.VAR_POSITIONAL,
        inspect.Parameter.KEYWORD_ONLY,
    )
    parameters: list[inspect.Parameter] = []
    for operand in operation.operands:
        default: Any = None if operand.optional else inspect.Parameter.empty
        kind = rest if operand.many else one
        parameters.append(inspect.Parameter(operand.name, kind, default=default))
    by_name = any(operand.many for operand in operation.operands)
    for option in operation.options:
        default = inspect.Parameter.empty if option.required else shown_default(option)
        # Behind one that may be left out, one that must be given is given by name.
        by_name |= option.required and parameters[-1:] != [] and _has_default(parameters[-1])
        parameters.append(
            inspect.Parameter(option.name, named if by_name else one, default=default)
        )
    return inspect.Signature(parameters, return_annotation=_RESULTS[operation.results])


def _has_default(parameter: inspect.Parameter) -> bool:
    """Whether it may be left out."""
    return parameter.default is not inspect.Parameter.empty


def _doc(operation: Operation) -> str:
    """Its documentation, with operands and options where it does not list them itself."""
    doc = operation.doc
    if "Args:" in doc:
        return doc
    told = [(o.name, o.doc) for o in operation.operands] + [
        (o.name, o.doc) for o in operation.options
    ]
    lines = [f"    {name}: {text}" for name, text in told if text]
    return "\n".join([doc, "", "Args:", *lines]) if lines else doc
