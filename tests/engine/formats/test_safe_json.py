"""Hostile JSON: every trick refused by name; plain JSON read as Python reads it."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.engine.core.errors import FormatError
from studio.engine.formats.limits import Limits
from studio.engine.formats.safe_json import load_json, parse_json

if TYPE_CHECKING:
    from pathlib import Path

LIMITS = Limits()
text = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**19) + 1, 10**19 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | text,
    lambda inner: st.lists(inner) | st.dictionaries(text, inner),
    max_leaves=30,
)


@pytest.mark.slow
@given(values, st.booleans())
def test_plain_json_reads_as_itself(value, ascii_only: bool) -> None:
    data = json.dumps(value, ensure_ascii=ascii_only).encode()
    assert parse_json(data, "x") == value


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested too deeply"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[NaN]", "no number NaN"),
        (b"[Infinity]", "no number Infinity"),
        (b"[-Infinity]", "no number -Infinity"),
        (b"1" * 5000, "integer too large"),
        (b"-" + b"1" * 20, "integer too large"),
        (b"[1e999]", "number too large"),
        (b"-1e999", "number too large"),
        (b"1" * 5000 + b".5", "number too large"),
        (b'{"a": 1, "b": 2, "a": 3}', "'a' occurs twice"),
        (b'[{"x": {"a": 1, "\\u0061": 1}}]', "'a' occurs twice"),
        ('{"a": 1}'.encode("utf-16"), "byte-order mark"),
        ('{"a": 1}'.encode("utf-8-sig"), "byte-order mark"),
        ('{"a": 1}'.encode("utf-16-le"), "broken JSON"),
        (b'["\xff"]', "must be UTF-8"),
        (b'["\xed\xa0\x80"]', "must be UTF-8"),
        (b'["\\ud800"]', "surrogate"),
        (b'{"\\udc00x": 1}', "surrogate"),
        (b"", "broken JSON"),
        (b"{", "broken JSON"),
        (b"[1,]", "broken JSON"),
        (b'{"a": 1} {}', "broken JSON"),
        (b"{'a': 1}", "broken JSON"),
        (b'["a\nb"]', "broken JSON"),
        (b'"abc', "broken JSON"),
        (b"\0", "broken JSON"),
    ],
)
def test_hostile_json_is_refused_by_name(data: bytes, words: str) -> None:
    with pytest.raises(FormatError, match=words) as caught:
        parse_json(data, "model.json")
    assert caught.value.who == "model.json"
    assert len(str(caught.value)) < 300


def test_a_grammar_error_names_line_and_column() -> None:
    with pytest.raises(FormatError) as caught:
        parse_json(b'{\n "a": 1,\n "b": x\n}', "f")
    assert caught.value.origin == "line 3, column 7"
    with pytest.raises(FormatError) as caught:
        parse_json(b"[\n [[1]]]", "f", replace(LIMITS, json_depth=2))
    assert caught.value.origin == "line 2, column 3"


def test_brackets_inside_strings_do_not_count() -> None:
    data = json.dumps(["[{" * 100 + '\\"[' * 100, '"']).encode()
    assert parse_json(data, "f", replace(LIMITS, json_depth=1)) == json.loads(data)


def test_an_empty_file_is_called_empty(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"")
    with pytest.raises(FormatError, match="the file is empty"):
        load_json(path, LIMITS)


def test_caps_on_length_and_values(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="too long"):
        parse_json(b" " * 101, "f", replace(LIMITS, json_bytes=100))
    with pytest.raises(FormatError, match="too many values"):
        parse_json(b"[1,2,3,4]", "f", replace(LIMITS, json_values=4))
    path = tmp_path / "a.json"
    path.write_bytes(b" " * 101)
    with pytest.raises(FormatError, match="too long"):
        load_json(path, replace(LIMITS, json_bytes=100))


def test_files_that_are_not_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'{"a": [1, 2.5, null]}')
    assert load_json(tmp_path / "a.json") == {"a": [1, 2.5, None]}
    for path, words in [(tmp_path / "b", "there is no such file"), (tmp_path, "regular file")]:
        with pytest.raises(FormatError, match=words):
            load_json(path)
    with pytest.raises(FormatError, match="NUL"):
        load_json("a\0b")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(FormatError, match="regular file"):
            load_json(tmp_path / "pipe")
