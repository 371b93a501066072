"""Entries that say what an input or output of a network takes of a data source, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from studio.engine.core.errors import DataError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.train.data.labels import Task, parse_task
from studio.engine.train.data.normalization import NormalizationKind, parse_kind

MAX_ARRAYS = 64
"""Inputs, and outputs, that a source may have entries for."""

_INPUT_FIELDS = ("normalization", "range")
_TARGET_FIELDS = ("task", "class_names")


@dataclass(frozen=True)
class NamedArray:
    """Which array of the archive an input or output of the network takes.

    Attributes:
        name: the input or output.
        array: name of the array.
        normalization: of an input; empty for the project's.
        value_range: of an input: lowest and highest raw value, None where they are not stated.
        task: of a target: whether it holds classes or numbers.
        class_names: of a target.
    """

    name: str
    array: str
    normalization: str = ""
    value_range: tuple[float, float] | None = None
    task: Task = "auto"
    class_names: tuple[str, ...] = field(default=())

    @property
    def kind_of_normalization(self) -> NormalizationKind | None:
        """How an input is normalised; None as the project says."""
        return parse_kind(self.normalization) if self.normalization else None


def named_array(name: str, given: object, is_input: bool, key: str = "array") -> NamedArray:
    """One entry of the options ``inputs`` or ``targets``; DataError or ParameterError naming it.

    Args:
        name: the input or output.
        given: the name of the array, or an object with ``array`` and options.
        is_input: whether it is an input.
        key: what the entry calls the array; ``folder`` for one of pictures.
    """
    who = entry_name(name, is_input)
    fields = {key: given} if isinstance(given, str) else given
    if not isinstance(fields, Mapping) or not isinstance(fields.get(key, name), str):
        raise DataError(
            f"expected the name of an {key}, or an object with {key}, got {quoted(given)}"
            if key == "array" else
            f"expected the name of a {key}, or an object with {key}, got {quoted(given)}", who=who,
        )  # fmt: skip
    return replace(entry_options(name, fields, is_input, key), array=str(fields.get(key, name)))


def entry_name(name: str, is_input: bool) -> str:
    """What errors call an entry."""
    return f"data: {'input' if is_input else 'target'} {quoted(name)}"


def entry_options(
    name: str, fields: Mapping[object, object], is_input: bool, key: str
) -> NamedArray:
    """The options of an entry, without what it takes; errors as `named_array`."""
    who = entry_name(name, is_input)
    known = (key, *(_INPUT_FIELDS if is_input else _TARGET_FIELDS))
    unknown = next((str(each) for each in fields if each not in known), None)
    if unknown is not None:
        hint = did_you_mean(unknown, known, f"known: {', '.join(known)}")
        raise DataError(f"unknown field {quoted(unknown)}", who=who, hint=hint)
    names = fields.get("class_names", ())
    if not isinstance(names, list | tuple) or not all(isinstance(each, str) for each in names):
        raise DataError(f"class_names: expected a list of texts, got {quoted(names)}", who=who)
    normalization = fields.get("normalization", "")
    return NamedArray(
        name,
        "",
        parse_kind(normalization) if normalization else "",
        _range(fields.get("range"), who),
        parse_task(fields.get("task", "auto")),
        tuple(names),
    )


def _range(value: object, who: str) -> tuple[float, float] | None:
    if value is None:
        return None
    numbers = [
        float(v)
        for v in (value if isinstance(value, list | tuple) else ())
        if isinstance(v, int | float) and not isinstance(v, bool) and abs(v) < 1e30
    ]
    if len(numbers) != 2 or numbers[0] >= numbers[1]:
        raise DataError(f"range: expected a lowest and a highest value, got {quoted(value)}",
                        who=who)  # fmt: skip
    return numbers[0], numbers[1]
