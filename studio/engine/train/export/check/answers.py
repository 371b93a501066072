"""Two sets of answers to the same samples: how far apart they are, and where they first differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.generic]
Wide: TypeAlias = npt.NDArray[np.float64]

TOLERANCE = 1e-5
"""Largest difference of an answer, relative to the answer expected where that is above 1."""
_SMALL = 1e-6
_SHOWN = 4


@dataclass(frozen=True)
class Difference:
    """The first sample a file answers differently.

    Attributes:
        sample: its number in its part of the data, from 0.
        expected: what the studio answers.
        found: what the file answers.
    """

    sample: int
    expected: str
    found: str


@dataclass(frozen=True)
class Comparison:
    """How far two sets of answers are apart.

    Attributes:
        max_abs: largest absolute difference of any number.
        max_relative: largest difference relative to what was expected.
        difference: largest difference, relative to what was expected where that is above 1.
        same_top: samples whose likeliest class is the same; None where there are no classes.
        reason: what is wrong, one sentence; empty when they are the same within the tolerance.
        first: the first sample that is answered differently.
    """

    max_abs: float
    max_relative: float
    difference: float
    same_top: int | None = None
    reason: str = ""
    first: Difference | None = None


_NAN = float("nan")
NOTHING = Comparison(_NAN, _NAN, _NAN)
"""There are no answers to compare."""


def compare(
    expected: Sequence[Array], found: Sequence[Array], class_names: Sequence[str]
) -> Comparison:
    """Compare answers, one array [samples, …] per output.

    A sample is answered differently where a number is off by more than the tolerance of exports
    (relative above 1), where one is NaN, or where another class is the likeliest.
    """
    if [f.shape for f in found] != [e.shape for e in expected]:
        return replace(NOTHING, reason="its outputs have another shape")
    samples = len(expected[0])
    wrong = np.zeros(samples, bool)
    max_abs = max_relative = difference = 0.0
    same = np.ones(samples, bool)
    for one, other in zip(expected, found, strict=True):
        e, f = one.astype(np.float64), other.astype(np.float64)
        gap = np.abs(f - e)
        max_abs = _larger(max_abs, gap)
        max_relative = _larger(max_relative, gap / np.maximum(np.abs(e), _SMALL))
        scaled = gap / np.maximum(1.0, np.abs(e))
        difference = _larger(difference, scaled)
        wrong |= ~(scaled <= TOLERANCE).reshape(samples, -1).all(axis=1)
        if class_names:
            same &= (likeliest(e, e) == likeliest(f, e)).reshape(samples, -1).all(axis=1)
    top = int(np.count_nonzero(same)) if class_names else None
    wrong |= ~same
    if not wrong.any():
        return Comparison(max_abs, max_relative, difference, top)
    first = int(np.argmax(wrong))
    count = int(np.count_nonzero(wrong))
    return Comparison(
        max_abs,
        max_relative,
        difference,
        top,
        f"{count} of {samples} samples give different outputs, the first is sample {first}",
        Difference(
            first, said(expected[0][first], class_names), said(found[0][first], class_names)
        ),
    )


def likeliest(values: Wide, scale: Wide) -> npt.NDArray[np.int64]:
    """The likeliest class; of a single output, on which side of the middle it is.

    The middle is one half where ``scale``, the answers expected, are shares, else 0.
    """
    if values.shape[-1] > 1:
        return np.asarray(values.argmax(axis=-1), np.int64)
    is_share = bool(scale.min() >= 0.0 and scale.max() <= 1.0)
    return np.asarray(values[..., 0] > (0.5 if is_share else 0.0), np.int64)


def said(values: Array, class_names: Sequence[str]) -> str:
    """An answer in a few words: the likeliest class, or the first numbers."""
    flat = values.astype(np.float64).ravel()
    if class_names and len(flat) == len(class_names):
        best = int(np.argmax(flat))
        return f"{class_names[best]} ({flat[best]:.4g})"
    shown = ", ".join(f"{v:.6g}" for v in flat[:_SHOWN])
    return shown + (", …" if len(flat) > _SHOWN else "")


def _larger(known: float, gaps: Wide) -> float:
    """The largest of what is known and some gaps; NaN where a gap is none."""
    return float(max(known, gaps.max())) if np.isfinite(gaps).all() else float("nan")
