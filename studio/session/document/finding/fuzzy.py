"""Fuzzy matching: letters of a query in order within a text, nearer the beginning the better."""

from __future__ import annotations

from collections.abc import Iterable

_START, _WORD, _NEXT, _LETTER = 12.0, 8.0, 5.0, 1.0
_WHOLE = 30.0


def match_score(query: str, text: str) -> float | None:
    """How well a query fits a text; None when its letters do not all occur in order.

    Letters that begin the text or a word, or follow each other, count more; a text that is the
    query counts most.
    """
    wanted, given = query.casefold().replace(" ", ""), text.casefold()
    if not wanted:
        return 0.0
    if wanted == given.replace(" ", ""):
        return _WHOLE + _START * len(wanted)
    best: float | None = None
    for start, letter in enumerate(given):
        if letter != wanted[0]:
            continue
        found = _from(wanted, text, given, start)
        if found is not None and (best is None or found > best):
            best = found
    return best


def best_score(query: str, texts: Iterable[str]) -> float | None:
    """The best score among several texts; None when none fits."""
    scores = [score for text in texts if (score := match_score(query, text)) is not None]
    return max(scores, default=None)


def _from(wanted: str, text: str, given: str, start: int) -> float | None:
    """The score when the first letter is taken at ``start``; letters that follow on go first."""
    score, at, last = 0.0, start, start - 2
    for letter in wanted:
        follows = last + 1 < len(given) and given[last + 1] == letter
        place = last + 1 if follows and last >= start else given.find(letter, at)
        if place < 0:
            return None
        score += _worth(text, place, last)
        at, last = place + 1, place
    return score - 0.05 * len(given) - 0.02 * start


def _worth(text: str, place: int, last: int) -> float:
    if place == 0:
        return _START
    if place == last + 1:
        return _NEXT
    before, here = text[place - 1], text[place]
    begins = (
        not before.isalnum()
        or (here.isupper() and before.islower())
        or (here.isdigit() and not before.isdigit())
    )
    return _WORD if begins else _LETTER
