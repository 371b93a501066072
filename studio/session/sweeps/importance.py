"""How much each thing that a sweep varied mattered, as far as its trials can tell.

Trials are ranked by their objective. Of the variance of the ranks, the importance of an axis is
the share that lies between groups of trials with the same value, or with neighbouring values of a
range, less what chance alone would leave there (eta squared from Kruskal and Wallis' H). Ranks do
not let a few diverged trials decide. What only two axes do together counts for neither.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from studio.engine.scale.sweep.folder import TrialRow
from studio.engine.scale.sweep.search_space import Axis, Raw

NEEDED = 10
"""Trials with a result below which nothing is said."""

_MOST_GROUPS, _GROUP = 8, 6
_ONE_IN_TWENTY = 1.645

Ranks = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Importance:
    """How much one axis mattered.

    Attributes:
        name: of the axis.
        share: part of the variance of the trials' ranks, 0 to 1; NaN where the trials cannot tell.
        is_clear: whether chance leaves as much in less than one of twenty sweeps.
        groups: how many groups of values were compared.
    """

    name: str
    share: float
    is_clear: bool
    groups: int


@dataclass(frozen=True)
class ImportanceReport:
    """What the trials of a sweep tell.

    Attributes:
        trials: those with a result, which it is from.
        items: one for each axis, the most important first; none where there are too few trials.
    """

    trials: int
    items: tuple[Importance, ...] = ()

    @property
    def is_enough(self) -> bool:
        """Whether there are trials enough to say anything."""
        return self.trials >= NEEDED

    @property
    def explanation(self) -> str:
        """What the numbers are, in a few sentences."""
        if not self.is_enough:
            return (
                f"Too few trials: {self.trials} with a result, at least {NEEDED} are needed to "
                "tell what mattered."
            )
        return (
            f"From {self.trials} trials with a result. The number is the share of the variance of "
            "their ranks that lies between groups of trials with the same value, or with "
            "neighbouring values of a range, less what chance would leave (eta squared from "
            "Kruskal and Wallis' H). Effects that two settings only have together are not in "
            "it, and the numbers need not add up to 100 %. Faint bars: chance leaves as much in "
            "one of twenty sweeps or more. TPE tries some values more often than others; the "
            "numbers tell of the trials that there are."
        )


def importance_of(rows: Sequence[TrialRow], axes: Sequence[Axis]) -> ImportanceReport:
    """How much each axis mattered to the objective of the trials that have one."""
    valued = [row for row in rows if row.value is not None and math.isfinite(row.value)]
    if len(valued) < NEEDED:
        return ImportanceReport(len(valued))
    worth = np.array([row.value for row in valued], float)
    found = []
    for axis in axes:
        groups = _groups(axis, [row.values.get(axis.name) for row in valued])
        found.append(_measured(axis.name, groups, worth))
    # Those that nothing is known of come last; of equals the order of the axes stays.
    found.sort(key=lambda each: -1.0 if math.isnan(each.share) else each.share, reverse=True)
    return ImportanceReport(len(valued), tuple(found))


def _groups(axis: Axis, values: Sequence[Raw]) -> npt.NDArray[np.int64]:
    """The group of each value; -1 for what the axis does not have."""
    if axis.values:
        # By text, as true is not 1.
        known = {repr(value): n for n, value in enumerate(axis.values)}
        return np.array([known.get(repr(value), -1) for value in values], np.int64)
    numbers = np.array([_number(value) for value in values], float)
    known_at = np.flatnonzero(np.isfinite(numbers))
    found = np.full(len(values), -1, np.int64)
    distinct, place = np.unique(numbers[known_at], return_inverse=True)
    wanted = min(_MOST_GROUPS, max(2, len(known_at) // _GROUP))
    if len(distinct) <= wanted:
        found[known_at] = place
        return found
    edges = np.quantile(numbers[known_at], np.linspace(0.0, 1.0, wanted + 1)[1:-1])
    # Equal numbers stay in one group, however often there is one.
    found[known_at] = np.searchsorted(np.unique(edges), numbers[known_at], side="right")
    return found


def _number(value: Raw) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else math.nan  # type: ignore[arg-type]


def _measured(name: str, groups: npt.NDArray[np.int64], worth: Ranks) -> Importance:
    inside = groups >= 0
    _, place, sizes = np.unique(groups[inside], return_inverse=True, return_counts=True)
    count, total = len(sizes), int(inside.sum())
    ranks = _ranked(worth[inside])
    spread = float(((ranks - ranks.mean()) ** 2).sum()) if total else 0.0
    if count < 2 or total <= count or spread == 0.0:
        # One value only, one trial for each, or all trials alike.
        return Importance(name, math.nan, False, count)
    means = np.bincount(place, weights=ranks) / sizes
    between = float((sizes * (means - ranks.mean()) ** 2).sum())
    statistic = (total - 1) * between / spread
    share = (statistic - count + 1) / (total - count)
    return Importance(name, min(max(share, 0.0), 1.0), statistic > _by_chance(count - 1), count)


def _ranked(values: Ranks) -> Ranks:
    """Ranks from 1; equal values share the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    middle: Ranks = last - (counts - 1) / 2.0
    return middle[place]


def _by_chance(freedom: int) -> float:
    """What chi squared exceeds once in twenty times (Wilson and Hilferty's formula)."""
    part = 2.0 / (9.0 * freedom)
    return float(freedom * (1.0 - part + _ONE_IN_TWENTY * math.sqrt(part)) ** 3)
