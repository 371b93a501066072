"""Values of an operator's settings and constants: read from what is typed or given, and checked."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from studio.engine.core.errors import ParameterError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.core.options import AnyOption, Option, OptionKind, Plain
from studio.engine.core.tensor import MAX_RANK
from studio.engine.operations import Operation, find
from studio.engine.operations.parameters import Operand

LARGEST_CONSTANT = 4096
"""Most numbers that a constant of an operator may have; projects and listings hold them as text."""

LARGEST_WHOLE = 1 << 24
"""Largest whole number of a constant: the numbers of constants are kept as float32."""

LONGEST_TEXT = 100_000
"""Most characters of an operation with its values as text."""

SETTINGS, CONSTANTS = "settings.", "constants."
"""What names of options in a form begin with."""


def read_operation(value: object, who: str) -> str:
    """The name of an operation by any of its names; ParameterError where there is none."""
    if not isinstance(value, str):
        raise ParameterError(f"expected the name of an operation, got {quoted(value)}", who=who)
    return find(value).name


def read_mapping(value: object, who: str) -> dict[str, Any]:
    """Values by name, also as text: ``axis=-1, keepdims=True``, or a JSON object."""
    if isinstance(value, str):
        text = value.strip()
        value = _object(text) if text.startswith("{") else parsed_call(f"f({text})", who)[1]
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ParameterError(f"expected values by name, got {quoted(value)}", who=who)
    return dict(value)


def _object(text: str) -> object:
    """What a text of JSON says; the text itself where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


NOTHING: dict[str, Any] = {}


def plain_value(value: Any) -> Plain:
    """Tuples as lists, however deep."""
    if isinstance(value, Mapping):
        return {str(key): plain_value(each) for key, each in value.items()}
    found: Plain = [plain_value(each) for each in value] if isinstance(value, tuple) else value
    return found


def constant_option(operand: Operand) -> AnyOption:
    """A number or nested lists of numbers in place of an input."""
    doc = f"A number, or lists of numbers, in place of {operand.name}; without it, an input."
    return Option[Any](
        OptionKind.SPEC, doc, None, optional=True, read=constant_of, write=plain_value,
        editor="text", label=operand.name, group="Constants", name=f"{CONSTANTS}{operand.name}",
    )  # fmt: skip


def read_text(text: str) -> object:
    """A number, a list or a word that was typed; None for nothing."""
    try:
        return ast.literal_eval(text.strip()) if len(text) <= LONGEST_TEXT else text
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text.strip() or None


def unknown_value(made: Operation, key: str, known: Sequence[str], who: str) -> ParameterError:
    """The error for a value of a name that the operation does not have."""
    hint = f"known for {made.name}: {', '.join(sorted(known)) or 'none'}"
    return ParameterError(
        f"{made.name} has no option or operand {quoted(key)}", who=who,
        hint=did_you_mean(key, known, hint),
    )  # fmt: skip


def checked_settings(made: Operation, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options that differ from their defaults, checked."""
    values = made.checked(given)
    return {o.name: values[o.name] for o in made.options
            if o.required or values[o.name] != o.default}  # fmt: skip


def checked_constants(made: Operation, given: Mapping[str, Any], who: str) -> dict[str, Any]:
    """Constants as numbers, or as tuples of tuples of numbers, in the order of operands."""
    known = {o.name: o for o in made.operands}
    for name in given:
        if name not in known:
            raise unknown_value(made, name, tuple(known), who)
        if known[name].many:
            raise ParameterError(
                f"{made.name} takes any number of inputs, none of them a constant", who=who,
                hint="add or join the constant with an operator of its own",
            )  # fmt: skip
    if given and len(given) == len(known):
        raise ParameterError(
            f"{made.name}: every operand is a constant, so that no input is left", who=who,
            hint="leave at least one operand to an input",
        )  # fmt: skip
    return {name: constant_of(given[name], f"{who}.{name}") for name in known if name in given}


def constant_of(given: object, who: str) -> Any:
    """A number, or tuples of tuples of numbers, from any array of numbers.

    Raises:
        ParameterError: it is none, is empty or too large, or a number cannot be kept exactly.
    """
    try:
        array = np.asarray(given)
    except ValueError:
        raise ParameterError("its rows must be of one length", who=who) from None
    if array.dtype.kind not in "fiub":
        raise ParameterError(f"expected a number or numbers, got {quoted(given)}", who=who)
    if not 1 <= array.size <= LARGEST_CONSTANT or array.ndim > MAX_RANK:
        raise ParameterError(
            f"expected 1 to {LARGEST_CONSTANT} numbers in at most {MAX_RANK} dimensions, got "
            f"{array.size} in {array.ndim}",
            who=who,
            hint="larger ones belong to the data, or to a layer with weights",
        )
    if array.dtype.kind == "f":
        with np.errstate(over="ignore"):
            array = array.astype(np.float32)
        if not np.isfinite(array).all():
            raise ParameterError("expected finite numbers that fit float32", who=who)
        return _tuples([float(str(v)) for v in array.reshape(-1)], array.shape)
    if array.dtype.kind != "b" and (array > LARGEST_WHOLE).any() | (array < -LARGEST_WHOLE).any():
        raise ParameterError(
            f"whole numbers of constants are from -{LARGEST_WHOLE} to {LARGEST_WHOLE}", who=who,
            hint="write it as a fraction, such as 3e9",
        )  # fmt: skip
    return _tuples(array.reshape(-1).tolist(), array.shape)


def _tuples(flat: Sequence[Any], shape: Sequence[int]) -> Any:
    """Numbers in row-major order as nested tuples."""
    if not shape:
        return flat[0]
    step = math.prod(shape[1:])
    return tuple(_tuples(flat[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0]))


def parsed_call(given: object, who: str) -> tuple[object, dict[str, Any]]:
    """``mean(axis=-1)`` as name and values; other texts are names."""
    if not isinstance(given, str) or "(" not in given:
        return given, {}
    if len(given) > LONGEST_TEXT:
        raise ParameterError(f"expected at most {LONGEST_TEXT} characters", who=who)
    wrong = ParameterError(
        f"expected an operation with values by name, such as mean(axis=-1), got {quoted(given)}",
        who=who,
    )
    try:
        call = ast.parse(given.strip(), mode="eval").body
        keywords = call.keywords if isinstance(call, ast.Call) else []
        values = {str(key.arg): ast.literal_eval(key.value) for key in keywords}
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise wrong from None
    if not isinstance(call, ast.Call) or call.args or len(values) < len(keywords):
        raise wrong
    return ast.unparse(call.func), values


def takes(option: AnyOption, value: object) -> bool:
    """Whether a value of another operation's option is one of this."""
    try:
        option.check(value, "")
    except ParameterError:
        return False
    return True


def first_value(option: AnyOption) -> Plain:
    """A first value; of one in a form of its own, an empty list."""
    return [] if option.read is not None and option.start is None else option.first_value
