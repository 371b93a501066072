"""Finds names by a few of their letters, best first."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

_WORD_START, _RUN, _FIRST, _WHOLE_WORD = 8.0, 5.0, 6.0, 10.0
_GAP = 0.3
_BRITISH = (("color", "colour"), ("normaliz", "normalis"), ("optimiz", "optimis"),
            ("center", "centre"), ("gray", "grey"), ("maximiz", "maximis"))  # fmt: skip


class Match(NamedTuple):
    """How well a name fits what was typed, and at which of its letters."""

    score: float
    places: tuple[int, ...] = ()


@lru_cache(maxsize=1 << 14)
def folded(text: str) -> str:
    """A text as it is compared: without case and accents, one spelling of a word."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    for american, british in _BRITISH:
        plain = plain.replace(american, british)
    return plain


def match(typed: str, name: str) -> Match | None:
    """How well ``name`` fits, or None where letters are missing; nothing typed fits everything.

    Words that were typed are looked for one by one, in any order; the letters of each stand in the
    name in the order they were typed, the better the closer together and the nearer to the
    beginnings of words.
    """
    name = folded(name)
    total, places = 0.0, set[int]()
    for word in folded(typed).split():
        found = _match_word(word, name)
        if found is None:
            return None
        total += found.score
        places.update(found.places)
    # Of two names that fit alike the shorter one is meant.
    return Match(total - 0.02 * len(name), tuple(sorted(places)))


def _match_word(word: str, name: str) -> Match | None:
    at = _best_run(word, name)
    if at >= 0:
        score = len(word) * _RUN + (_WORD_START if _starts_word(name, at) else 0.0)
        if at == 0:
            score += _FIRST
        if _is_whole_word(name, at, len(word)):
            score += _WHOLE_WORD
        return Match(score, tuple(range(at, at + len(word))))
    best: Match | None = None
    for start in (i for i, letter in enumerate(name) if letter == word[0]):
        found = _scattered(word, name, start)
        if found is not None and (best is None or found.score > best.score):
            best = found
    return best


def _best_run(word: str, name: str) -> int:
    """Where the whole word stands in the name, at the beginning of a word where that is so."""
    starts = [found.start() for found in re.finditer(f"(?={re.escape(word)})", name)]
    return next((at for at in starts if _starts_word(name, at)), starts[0] if starts else -1)


def _scattered(word: str, name: str, start: int) -> Match | None:
    places, score, at = [start], _WORD_START if _starts_word(name, start) else 0.0, start
    for letter in word[1:]:
        close = at + 1
        if close < len(name) and name[close] == letter:
            score += _RUN
            at = close
        else:
            later = [i for i in range(close, len(name)) if name[i] == letter]
            if not later:
                return None
            at = next((i for i in later if _starts_word(name, i)), later[0])
            score += _WORD_START / 2 if _starts_word(name, at) else -1.0
        places.append(at)
    return Match(score - _GAP * (places[-1] - places[0] - len(word) + 1), tuple(places))


def _starts_word(name: str, at: int) -> bool:
    return at == 0 or not name[at - 1].isalnum()


def _is_whole_word(name: str, at: int, length: int) -> bool:
    end = at + length
    return _starts_word(name, at) and (end == len(name) or not name[end].isalnum())
