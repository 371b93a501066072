"""Suggestions for a name that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_MOST = 3
_CUTOFF = 0.6


def near_names(word: object, names: Iterable[str]) -> tuple[str, ...]:
    """The few names nearest to a word, the nearest first; upper and lower case count as the same.

    Args:
        word: what was given; anything but text has no near names.
        names: what there is.
    """
    wanted = word.casefold() if isinstance(word, str) and len(word) <= 100 else ""
    by_letters: dict[str, str] = {}
    for name in names:
        by_letters.setdefault(name.casefold(), name)
    near = difflib.get_close_matches(wanted, by_letters, n=_MOST, cutoff=_CUTOFF)
    if len(wanted) > 2:
        holding = [name for name in by_letters if wanted in name and name not in near]
        near += sorted(holding, key=len)[: _MOST - len(near)]
    return tuple(by_letters[name] for name in near)


def did_you_mean(word: object, names: Iterable[str], otherwise: str = "") -> str:
    """The hint ``did you mean relu?``, followed by ``otherwise``; that alone without near names."""
    near = near_names(word, names)
    asked = f"did you mean {' or '.join(near)}?" if near else ""
    return " ".join(part for part in (asked, otherwise) if part)
