"""JSON laid out for people and for line-based diffs: sorted keys, short lists on one line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

WIDTH = 96


def project_text(document: Mapping[str, object], first: Sequence[str] = ()) -> str:
    """The document as JSON ending in a newline; the keys in ``first`` lead, the rest is sorted.

    Objects take a line per key; a list that fits one line stays on it.
    """
    keys = [key for key in first if key in document]
    keys += sorted(key for key in document if key not in keys)
    return _object({key: document[key] for key in keys}, "", keep=True) + "\n"


def _value(value: object, indent: str) -> str:
    if isinstance(value, Mapping):
        return _object(value, indent)
    if isinstance(value, list | tuple):
        return _list(value, indent)
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _object(value: Mapping[str, object], indent: str, *, keep: bool = False) -> str:
    if not value:
        return "{}"
    inner = indent + "  "
    keys = list(value) if keep else sorted(value)
    lines = [
        f"{inner}{json.dumps(key, ensure_ascii=False)}: {_value(value[key], inner)}" for key in keys
    ]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def _list(value: Sequence[object], indent: str) -> str:
    if not any(isinstance(item, Mapping) for item in value):
        line = "[" + ", ".join(_value(item, "") for item in value) + "]"
        if len(indent) + len(line) <= WIDTH and "\n" not in line:
            return line
    inner = indent + "  "
    return "[\n" + ",\n".join(inner + _value(item, inner) for item in value) + f"\n{indent}]"
