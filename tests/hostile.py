"""Documents with one value at a time replaced by one that no writer of them puts there."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from studio.engine.core.errors import StudioError

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 3, 2**31, -(2**31) - 1, 2**32 - 1, 2**53, 2**62, 10**18, -(10**18),
    0.5, -0.0, 1e-320, 1e39, 1e300, -1e300, "", "x", "0", "nan", "-inf", "1e400", "1_0", "\x1b[31m",
    "\u202e", "a\nb\0c", "y" * 5000, [], {}, [[]], [{}], [None], [1, 2], ["x"], {"x": 1},
    {"": None}, [[[[1]]]], [0] * 50, ["z" * 3000] * 3, {"type": "x", "config": []},
)  # fmt: skip
"""JSON values of every kind, among them the extremes of each."""

TEXTS = (b"", b"{", b"[]", b"null", b"\xff", b'{"a": 1, "a": 2}', b'"\\ud800"', b"NaN", b"1" * 40,
         b"[" * 100, b"\0" * 16, b"{}" * 2)  # fmt: skip
"""Contents that are no JSON, or not the JSON of any file of ours."""


def paths(document: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values of a document, itself first."""
    yield here
    if isinstance(document, dict):
        for key, value in document.items():
            yield from paths(value, (*here, key))
    elif isinstance(document, list):
        for index, value in enumerate(document):
            yield from paths(value, (*here, index))


def changed(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy of a document with another value at a place."""
    if not path:
        return value
    made = copy.deepcopy(document)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return made


def without(document: Any, path: tuple[Any, ...]) -> Any:
    """A copy of a document that lacks a value."""
    made = copy.deepcopy(document)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return made


def variants(document: Any) -> Iterator[Any]:
    """The document with each value replaced by each hostile one, left out, or put in twice."""
    for path in paths(document):
        for value in VALUES:
            yield changed(document, path, value)
        if path:
            yield without(document, path)
            if isinstance(path[-1], int):
                found = document
                for key in path[:-1]:
                    found = found[key]
                yield changed(document, path[:-1], [*found, found[path[-1]]])
            else:
                yield changed(document, (*path[:-1], "strange"), 1)


def texts(document: Any) -> Iterator[bytes]:
    """The variants as JSON files, and files that are none."""
    yield from TEXTS
    for variant in variants(document):
        yield json.dumps(variant).encode()


def refusals(load: Callable[[bytes], object], files: Iterable[bytes]) -> int:
    """Load each file; how many were refused, each in one clean sentence of bounded length."""
    said: list[StudioError] = []
    for content in files:
        try:
            load(content)
        except StudioError as error:
            said.append(error)
    for each in said:
        assert "\n" not in each.message
        assert len(each.message) < 600, each.message
        assert str(each).replace("\n  hint: ", "").isprintable(), repr(str(each))
    return len(said)
