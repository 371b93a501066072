"""Slices typed as NumPy writes them: ``[0, :, ::2]`` says which indices of each axis are shown.

``t[-50:]`` means the last pictures of a tensor, laid one behind another along a first axis; what
follows after a comma is taken of each: ``t[-50:, 0]``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from studio.engine.core.errors import ParameterError
from studio.engine.core.tensor import Shape, shape_text
from studio.engine.runtime.live_sheet import Pick

_NUMBER = re.compile(r"[+-]?\d+")
_HISTORY = re.compile(r"\s*t\s*(\[.*)", re.DOTALL)

MOST_PAST = 200
"""Pictures kept at most for a slice over the past."""


@dataclass(frozen=True)
class Slicing:
    """The indices taken along every axis.

    Attributes:
        picks: for every axis.
        fixed: axes of which one index was named, and which the picture therefore lacks.
    """

    picks: tuple[Pick, ...]
    fixed: frozenset[int] = frozenset()

    @classmethod
    def whole(cls, shape: Shape) -> Slicing:
        """Every index of every axis."""
        return cls(tuple(Pick(0, 1, size) for size in shape))

    @property
    def free(self) -> tuple[int, ...]:
        """Axes the picture has, in order."""
        return tuple(axis for axis in range(len(self.picks)) if axis not in self.fixed)


def past_wanted(text: str) -> int:
    """How many pictures a slice over the past needs; 0 for one that is not over the past."""
    found = _HISTORY.fullmatch(text)
    if found is None:
        return 0
    first = found[1].strip("[] ").partition(",")[0]
    start = first.partition(":")[0].strip()
    if _NUMBER.fullmatch(start) and int(start) < 0:
        return min(-int(start), MOST_PAST)
    return MOST_PAST


def parse_slicing(text: str, shape: Shape) -> Slicing:
    """What a text takes of a tensor, or, where it is over the past, of its pictures in a row.

    Brackets may be left out, missing axes are whole, ``...`` stands for as many as fit. Nothing at
    all takes everything.

    Raises:
        ParameterError: the text is no slice, or lies outside the shape; says which axis and why.
    """
    over_past = _HISTORY.fullmatch(text)
    inside = text.strip() if over_past is None else over_past[1].strip()
    if inside.startswith("[") != inside.endswith("]"):
        raise _wrong("a bracket is missing", text)
    inside = inside.removeprefix("[").removesuffix("]").strip()
    parts = [part.strip() for part in inside.split(",")] if inside else []
    if parts and not parts[-1]:
        parts.pop()
    if parts.count("...") > 1:
        raise _wrong("`...` may occur only once", text)
    named = len(parts) - ("..." in parts)
    if named > len(shape):
        raise _wrong(f"{shape_text(shape)} has {len(shape)} axes: got {named}", text)
    if "..." in parts:
        at = parts.index("...")
        parts[at : at + 1] = [":"] * (len(shape) - named)
    parts += [":"] * (len(shape) - len(parts))
    picks: list[Pick] = []
    fixed: set[int] = set()
    for axis, (part, size) in enumerate(zip(parts, shape, strict=True)):
        if ":" in part:
            picks.append(_stretch(part, axis, size, text))
        else:
            picks.append(Pick(_index(part, axis, size, text), 1, 1))
            fixed.add(axis)
    return Slicing(tuple(picks), frozenset(fixed))


def parse_index(text: str, shape: Shape) -> tuple[int, ...]:
    """One element's index, such as ``3, -1, 0``; ParameterError for anything else."""
    found = parse_slicing(text, shape)
    if len(found.fixed) != len(shape):
        raise _wrong(f"expected one index for each axis of {shape_text(shape)}", text)
    return tuple(pick.start for pick in found.picks)


def _index(part: str, axis: int, size: int, text: str) -> int:
    if not _NUMBER.fullmatch(part):
        raise _wrong(f"axis {axis}: expected a whole number or a slice, got {part!r}", text)
    at = int(part)
    if not -size <= at < size:
        raise _wrong(f"axis {axis} has {size} indices, got {at}", text)
    return at % size


def _stretch(part: str, axis: int, size: int, text: str) -> Pick:
    bounds = [piece.strip() for piece in part.split(":")]
    if len(bounds) > 3 or any(piece and not _NUMBER.fullmatch(piece) for piece in bounds):
        raise _wrong(f"axis {axis}: expected start:stop:step, got {part!r}", text)
    start, stop, step = (int(p) if p else None for p in (*bounds, "", "")[:3])
    if step == 0:
        raise _wrong(f"the step of axis {axis} cannot be 0", text)
    taken = range(size)[slice(start, stop, step)]
    return Pick(taken.start if len(taken) else 0, taken.step, len(taken))


def _wrong(why: str, text: str) -> ParameterError:
    return ParameterError(why, who="slice", hint=f"got {text.strip()!r}, try [0, :, ::2]")
