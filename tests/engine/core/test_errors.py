"""Exceptions that nobody expected, in a sentence for the user."""

from __future__ import annotations

import pytest

from studio.engine.core.errors import in_one_line


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("oops"), "ValueError: oops"),
        (KeyError(), "KeyError"),
        (
            RuntimeError("\n\x1b[1m\x1b[31mno such kernel\x1b[0m\n\nFile x.py, line 3\n\tdef x"),
            "RuntimeError: no such kernel",
        ),
        (OSError("a\x00b\x07 c"), "OSError: ab c"),
    ],
)
def test_an_unexpected_exception_is_told_in_one_line(error: Exception, text: str) -> None:
    assert in_one_line(error) == text


def test_a_long_line_is_cut() -> None:
    told = in_one_line(ValueError("x" * 5000))
    assert told.endswith("x…")
    assert len(told) < 250
