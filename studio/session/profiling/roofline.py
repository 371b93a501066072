"""The roofline: how much each kernel computes per byte, how fast, and how fast it could be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from studio.engine.profiler.totals import Peaks
from studio.session.profiling.kernel_rows import KernelRow


@dataclass(frozen=True)
class RooflinePoint:
    """One kernel on the plot.

    Attributes:
        id: of its row.
        intensity: operations for each byte moved.
        gflops: 10⁹ operations per second reached.
        share: part of the time of all kernels.
        roof: 10⁹ operations per second possible at that intensity; None without peaks.
        gain_ms: time of a step saved if it reached the roof; None without peaks.
    """

    id: str
    intensity: float
    gflops: float
    share: float
    roof: float | None = None
    gain_ms: float | None = None


@dataclass(frozen=True)
class Range:
    """Limits of an axis, whole decades, as powers of ten."""

    low: int
    high: int


def points(rows: Iterable[KernelRow], peaks: Peaks | None) -> tuple[RooflinePoint, ...]:
    """The kernels that compute something; those that only move bytes have no place on the plot."""
    found = []
    for row in rows:
        if row.flops <= 0 or row.traffic_bytes <= 0:
            continue
        intensity = row.flops / row.traffic_bytes
        limit = None if peaks is None else roof(peaks, intensity)
        gain = None if row.wasted_us is None else row.wasted_us * len(row.indices) * 1e-3
        found.append(RooflinePoint(row.id, intensity, row.gflops, row.share, limit, gain))
    return tuple(found)


def roof(peaks: Peaks, intensity: float) -> float:
    """10⁹ operations per second possible at an intensity."""
    return min(peaks.gflops, intensity * peaks.gbytes)


def ridge(peaks: Peaks) -> float:
    """The intensity from which arithmetic limits and no longer memory."""
    return peaks.gflops / peaks.gbytes


def axes(found: Sequence[RooflinePoint], peaks: Peaks | None) -> tuple[Range, Range]:
    """Decades that show all points, and the ridge of the roofs: intensity, then speed."""
    across = [point.intensity for point in found]
    up = [point.gflops for point in found if point.gflops > 0]
    if peaks is not None:
        across.append(ridge(peaks))
        up.append(peaks.gflops)
    return _decades(across), _decades(up)


def _decades(values: Sequence[float]) -> Range:
    good = [value for value in values if value > 0 and math.isfinite(value)]
    if not good:
        return Range(-1, 2)
    low, high = math.floor(math.log10(min(good))), math.ceil(math.log10(max(good)))
    # A point on the border would be cut in half.
    if math.log10(min(good)) - low < 0.1:
        low -= 1
    if high - math.log10(max(good)) < 0.1:
        high += 1
    return Range(low, max(high, low + 2))


def inside(
    found: Iterable[RooflinePoint], across: tuple[float, float], up: tuple[float, float]
) -> frozenset[str]:
    """Ids of the points in a rectangle of intensities and speeds."""
    left, right = sorted(across)
    low, high = sorted(up)
    return frozenset(
        point.id
        for point in found
        if left <= point.intensity <= right and low <= point.gflops <= high
    )
