"""Texts of a tensor view: badge, status, statistics, the element pointed at."""

from __future__ import annotations

from typing import Any

from studio.engine.runtime.live_statistics import Statistics
from studio.session.live.frames import Frame, Status
from studio.session.tensor_view.colours import Choice
from studio.session.tensor_view.layout import SheetLayout
from studio.session.tensor_view.picture import exact_number, short_number

_WORDS = {"live": "LIVE", "after": "AFTER", "resting": "AT REST", "held": "HELD"}
_CHOICES = {
    "largest": "the largest magnitude",
    "greatest": "the maximum",
    "least": "the minimum",
}
_TIMES = "\N{MULTIPLICATION SIGN}"
_MINUS = "\N{MINUS SIGN}"
_THIN = "\N{NARROW NO-BREAK SPACE}"


def badge_text(frame: Frame | None, status: Status, minus: str = "", *, older: bool = False) -> str:
    """Mode and moment, for the corner of the picture.

    Args:
        minus: what the picture is the difference to, empty where it is none.
        older: the network was changed since it was trained.
    """
    if frame is None:
        return {"compiling": "RECOMPILING", "quiet": "QUIET"}.get(status.state, "NO IMAGE YET")
    word = _WORDS[frame.state] if is_current(frame, status) else "LAST SEEN"
    text = f"{word} · {frame.label}"
    if older and frame.state != "held":
        text += " · of the previous program"
    return f"{text} {_MINUS} {minus}" if minus else text


def is_current(frame: Frame | None, status: Status, *, older: bool = False) -> bool:
    """Whether what is shown is the newest there is, and of the network at hand."""
    if frame is None or status.state != frame.state:
        return False
    return not older or frame.state == "held"


def status_text(status: Status, *, older: bool = False) -> str:
    """Why a picture is what it is, and what to do about it."""
    if older:
        return "From the previous program: the network changed since. Train again"
    return f"{status.text}. {status.hint}" if status.hint else status.text


def aside_text(sheet_layout: SheetLayout | None, choice: Choice) -> str:
    """The note on how many elements one cell of an image stands for."""
    if sheet_layout is None or sheet_layout.sheet.exact:
        return ""
    down, across = sheet_layout.sheet.block
    return f"a pixel shows {down} {_TIMES} {across} elements: {_CHOICES[choice]}"


def statistics_text(found: Statistics | None) -> str:
    """Range, mean, spread and the counts that matter, in one line."""
    if found is None:
        return ""
    parts = [f"{_count(found.count)} element{'' if found.count == 1 else 's'}"]
    if found.finite:
        parts += [
            f"min {short_number(found.low)}",
            f"max {short_number(found.high)}",
            f"mean {short_number(found.mean)}",
            f"std {short_number(found.std)}",
        ]
    counts = (
        (found.zeros, "zero"), (found.nan, "NaN"), (found.plus_inf, "+Inf"),
        (found.minus_inf, f"{_MINUS}Inf"),
    )  # fmt: skip
    parts += [f"{_count(number)} {name}" for number, name in counts if number]
    return " · ".join(parts)


def pick_text(index: tuple[int, ...] | None, value: Any) -> str:
    """The element pointed at and exactly what it is."""
    if index is None:
        return ""
    place = f"[{', '.join(map(str, index))}]"
    return f"{place} reading…" if value is None else f"{place} = {exact_number(value)}"


def _count(number: int) -> str:
    return f"{number:,}".replace(",", _THIN)
