"""JSON from untrusted files: bounded, unambiguous, and plain data only."""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import TYPE_CHECKING, TypeAlias

from studio.engine.core.errors import FormatError, quoted
from studio.engine.formats.byte_source import FileOrBytes, open_source
from studio.engine.formats.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{},]', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


def load_json(source: FileOrBytes, limits: Limits = DEFAULT_LIMITS) -> JsonValue:
    """The value in a JSON file; raises FormatError as `parse_json` does, or if unreadable."""
    with open_source(source, limits, "JSON") as opened:
        if opened.size > limits.json_bytes:
            raise FormatError(
                f"JSON is too long: expected at most {limits.json_bytes} bytes, got {opened.size}",
                who=opened.who,
            )
        if opened.size == 0:
            raise FormatError("the file is empty", who=opened.who)
        return parse_json(opened.read(opened.size), opened.who, limits)


def parse_json(data: bytes, who: str, limits: Limits = DEFAULT_LIMITS) -> JsonValue:
    """The value of a JSON text in UTF-8.

    Raises FormatError, naming ``who`` and the place, for text that is too long or too deep, is not
    UTF-8, breaks the grammar, repeats a key, or holds NaN, an infinity, a number too large or half
    of a surrogate pair.
    """
    if len(data) > limits.json_bytes:
        raise FormatError(
            f"JSON is too long: expected at most {limits.json_bytes} bytes, got {len(data)}",
            who=who,
        )
    text = _decoded(data, who)
    _check_nesting(text, who, limits)
    try:
        value: JsonValue = json.loads(
            text,
            object_pairs_hook=lambda pairs: _object(pairs, who),
            parse_constant=lambda name: _refuse_constant(name, who),
            parse_float=lambda digits: _float(digits, who),
            parse_int=lambda digits: _int(digits, who, limits),
        )
    except json.JSONDecodeError as error:
        raise FormatError(
            f"broken JSON: {error.msg}",
            who=who,
            origin=f"line {error.lineno}, column {error.colno}",
        ) from error
    _check_strings(value, who)
    return value


def _decoded(data: bytes, who: str) -> str:
    if data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        raise FormatError(
            "JSON must be UTF-8 without a byte-order mark",
            who=who,
            hint="save the file again as plain UTF-8",
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(
            f"JSON must be UTF-8: {error.reason}",
            who=who,
            origin=f"byte {error.start}",
            hint="save the file again as plain UTF-8",
        ) from error


def _place(text: str, position: int) -> str:
    line = text.count("\n", 0, position) + 1
    return f"line {line}, column {position - text.rfind(chr(10), 0, position)}"


def _check_nesting(text: str, who: str, limits: Limits) -> None:
    """Bound depth and count before the parser, which recurses and allocates, sees the text."""
    depth, values = 0, 1
    for token in _TOKEN.finditer(text):
        mark = text[token.start()]
        if mark in "[{":
            depth += 1
            values += 1
        elif mark in "]}":
            depth -= 1
        elif mark == ",":
            values += 1
        if depth > limits.json_depth:
            raise FormatError(
                f"JSON is nested too deeply: expected at most {limits.json_depth} levels",
                who=who,
                origin=_place(text, token.start()),
            )
        if values > limits.json_values:
            raise FormatError(
                f"JSON holds too many values: expected at most {limits.json_values}", who=who
            )


def _object(pairs: Sequence[tuple[str, JsonValue]], who: str) -> dict[str, JsonValue]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise FormatError(
                    f"JSON must not repeat a key: {quoted(key)} occurs twice in one object", who=who
                )
            seen.add(key)
    return result


def _refuse_constant(name: str, who: str) -> NoReturn:
    raise FormatError(f"JSON has no number {name}", who=who, hint="use a finite number or null")


def _float(digits: str, who: str) -> float:
    value = float(digits)
    if not isfinite(value):
        raise FormatError(f"number too large: {quoted(digits)}", who=who)
    return value


def _int(digits: str, who: str, limits: Limits) -> int:
    if len(digits.lstrip("-")) > limits.int_digits:
        raise FormatError(
            f"integer too large: expected at most {limits.int_digits} digits, got {quoted(digits)}",
            who=who,
        )
    return int(digits)


def _check_strings(value: JsonValue, who: str) -> None:
    """Refuse half surrogate pairs: such strings cannot be written, shown or compared safely."""
    todo = [value]
    while todo:
        part = todo.pop()
        if isinstance(part, str):
            if _SURROGATE.search(part):
                raise FormatError(
                    f"JSON string holds half of a surrogate pair: {quoted(part)}", who=who
                )
        elif isinstance(part, list):
            todo.extend(part)
        elif isinstance(part, dict):
            todo.extend(part)
            todo.extend(part.values())
