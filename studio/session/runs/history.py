"""What happened to a run in the order it did: begun, continued, its rate changed, ended."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime

from studio.engine.train.marks import BEGINNINGS, ENDINGS, Mark, MarkKind

_WORDS: Mapping[MarkKind, str] = {
    "finished": "finished",
    "early": "stopped early",
    "stopped": "stopped",
    "failed": "failed",
}


def parts_of(marks: Sequence[Mark]) -> int:
    """How many parts a run was trained in."""
    return sum(mark.kind in BEGINNINGS for mark in marks)


def history_of(marks: Sequence[Mark], *, is_training: bool = False) -> tuple[str, ...]:
    """A line for each thing that happened; none for a run that was trained in one go.

    Args:
        marks: of the run, in order.
        is_training: whether it trains now.
    """
    in_one_go = len(marks) <= 2 and [mark.kind for mark in marks] in (
        [], ["start"], ["start", "finished"],
    )  # fmt: skip
    if in_one_go:
        return ()
    lines = []
    # Older runs record no ends; only where there are some does a missing one mean an interruption.
    knows_ends = any(mark.kind in ENDINGS for mark in marks)
    under_way = False
    for mark in marks:
        if mark.kind in BEGINNINGS:
            was_cut = under_way and knows_ends
            lines.append(f"{_when(mark)}  {_begun(mark, was_cut=was_cut)}")
        elif mark.kind == "learning_rate":
            lines.append(f"{_when(mark)}  {_rate(mark)}")
        else:
            lines.append(f"{_when(mark)}  {_WORDS[mark.kind]} after {_steps(mark.step)}")
        if mark.kind != "learning_rate":
            under_way = mark.kind in BEGINNINGS
    if under_way and knows_ends and not is_training:
        lines.append("interrupted since")
    return tuple(lines)


def _begun(mark: Mark, *, was_cut: bool) -> str:
    if mark.kind == "start":
        return "started"
    cut = ", interrupted before" if was_cut else ""
    return f"continued after {_steps(mark.step)}{cut}"


def _rate(mark: Mark) -> str:
    rate = "the optimiser's own" if math.isnan(mark.value) else f"{mark.value:.4g}"
    return f"learning rate {rate} from step {mark.step + 1:,}"


def _steps(count: int) -> str:
    return f"{count:,} step{'' if count == 1 else 's'}"


def _when(mark: Mark) -> str:
    try:
        return datetime.fromtimestamp(mark.wall).astimezone().strftime("%d %b %H:%M").lstrip("0")
    except (OverflowError, OSError, ValueError):
        return "?"
