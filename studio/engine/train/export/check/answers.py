"""Two sets of answers to the same samples: how far apart they are, and where they first differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import quoted

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
        output: name of the output, where the network has several.
    """

    sample: int
    expected: str
    found: str
    output: str = ""


@dataclass(frozen=True)
class Comparison:
    """How far two sets of answers are apart.

    Attributes:
        max_abs: largest absolute difference of any number.
        max_relative: largest difference relative to what was expected.
        difference: largest difference, relative to what was expected where that is above 1.
        same_top: samples whose likeliest class is the same, of every output that has classes; None
            where none has.
        reason: what is wrong, one sentence; empty when they are the same within the tolerance.
        first: the first sample that is answered differently.
        by_output: largest absolute difference of each output.
    """

    max_abs: float
    max_relative: float
    difference: float
    same_top: int | None = None
    reason: str = ""
    first: Difference | None = None
    by_output: tuple[float, ...] = ()


_NAN = float("nan")
NOTHING = Comparison(_NAN, _NAN, _NAN)
"""There are no answers to compare."""


def compare(
    expected: Sequence[Array],
    found: Sequence[Array],
    classes: Sequence[Sequence[str]],
    names: Sequence[str] = (),
) -> Comparison:
    """Compare answers, one array [samples, …] per output.

    A sample is answered differently where a number is off by more than the tolerance of exports
    (relative above 1), where one is NaN, or where another class is the likeliest.

    Args:
        expected: what the studio answers.
        found: what the file answers.
        classes: for each output names of its classes; empty for numbers.
        names: names of the outputs; empty where there is only one.
    """
    reason = _other_shape(expected, found, names)
    if reason:
        return replace(NOTHING, reason=reason)
    samples = len(expected[0]) if expected[0].ndim else 1
    wrong: list[npt.NDArray[np.bool_]] = []
    by_output: list[float] = []
    max_relative = difference = 0.0
    same = np.ones(samples, bool)
    for one, other, own in zip(expected, found, classes, strict=True):
        e, f = one.astype(np.float64), other.astype(np.float64)
        gap = np.abs(f - e)
        by_output.append(_larger(0.0, gap))
        max_relative = _larger(max_relative, gap / np.maximum(np.abs(e), _SMALL))
        scaled = gap / np.maximum(1.0, np.abs(e))
        difference = _larger(difference, scaled)
        differs = ~_of_samples(scaled <= TOLERANCE, samples)
        if own:
            alike = _of_samples(likeliest(e, e) == likeliest(f, e), samples)
            differs |= ~alike
            same &= alike
        wrong.append(differs)
    max_abs = float(np.max(by_output))
    top = int(np.count_nonzero(same)) if any(classes) else None
    made = Comparison(max_abs, max_relative, difference, top, by_output=tuple(by_output))
    every = np.any(wrong, axis=0)
    if not every.any():
        return made
    first, count = int(np.argmax(every)), int(np.count_nonzero(every))
    place = next(place for place, differs in enumerate(wrong) if differs[first])
    name = names[place] if len(names) > 1 else ""
    where = f" in the output {quoted(name)}" if name else ""
    return replace(
        made,
        reason=f"{count} of {samples} samples give different outputs, the first is sample "
        f"{first}{where}",
        first=Difference(
            first,
            said(_sample(expected[place], first, samples), classes[place]),
            said(_sample(found[place], first, samples), classes[place]),
            name,
        ),
    )


def _other_shape(expected: Sequence[Array], found: Sequence[Array], names: Sequence[str]) -> str:
    """That outputs have another number or shape, in a sentence; empty where they have not."""
    if len(found) != len(expected):
        count = f"{len(found)} output{'' if len(found) == 1 else 's'}"
        return f"it has {count}, expected {len(expected)}"
    for place, (one, other) in enumerate(zip(expected, found, strict=True)):
        if one.shape != other.shape:
            if len(names) > 1:
                return f"its output {quoted(names[place])} has another shape"
            return "its outputs have another shape"
    return ""


def _of_samples(fine: npt.NDArray[np.bool_], samples: int) -> npt.NDArray[np.bool_]:
    """For each sample whether all is fine; an output without samples counts for every one."""
    if fine.shape[:1] == (samples,):
        return np.asarray(fine.reshape(samples, -1).all(axis=1))
    return np.full(samples, bool(fine.all()))


def _sample(values: Array, sample: int, samples: int) -> Array:
    return np.asarray(values[sample]) if values.shape[:1] == (samples,) else values


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
