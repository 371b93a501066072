"""Long tables of cases: a sample of each belongs to the quick part of the tests."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

import pytest

C = TypeVar("C")


def sampled(
    cases: Iterable[C], by: Callable[[C], Hashable], name: Callable[[C], str] = str
) -> list[Any]:
    """Parameters of a test, one for each case; all but the first of each kind are marked slow.

    Args:
        cases: the table.
        by: the kind of a case, such as the mnemonic of its instruction.
        name: the id of a case.
    """
    seen: set[Hashable] = set()
    made = []
    for case in cases:
        kind = by(case)
        marks = [pytest.mark.slow] if kind in seen else []
        seen.add(kind)
        made.append(pytest.param(case, id=name(case), marks=marks))
    return made
