"""One broken rule."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Breach:
    """A rule, what came instead, and the running index of the instruction where there is one.

    Attributes:
        rule: the rule in a few words.
        found: what was found.
        index: running index of the instruction, -1 for a breach of the tensor map.
    """

    rule: str
    found: str
    index: int = -1
