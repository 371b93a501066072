"""Totals of a profile: one row per kernel, with its share of the device's measured peak.

What a kernel takes is the median of its calls, here and in the studio: one call that other programs
held up a hundredfold raises the mean and says nothing of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.profiler.events import KernelEvent, Profile

Floats: TypeAlias = npt.NDArray[np.float64]

FROM_CACHES = "above the peak of memory: served by caches"
"""What is said of a kernel that moves more than memory can."""
_WHOLE = 1.005
"""The share that is shown as more than 100 %."""


@dataclass(frozen=True)
class Peaks:
    """The best this device was seen to do.

    Attributes:
        gflops: arithmetic, 10⁹ operations per second (a large matrix product).
        gbytes: memory traffic, 10⁹ bytes per second read and written (a large copy).
    """

    gflops: float
    gbytes: float

    def limit(self, flops: float, traffic_bytes: float) -> tuple[str, float]:
        """``arithmetic`` or ``memory``, and the seconds that this many of either take at least.

        The roofline of Williams, Waterman and Patterson (2009): a kernel of f operations over b
        bytes cannot run faster than the slower of f at the peak of arithmetic and b at that of
        memory.
        """
        by_arithmetic = flops / (self.gflops * 1e9)
        by_memory = traffic_bytes / (self.gbytes * 1e9)
        bound = "arithmetic" if by_arithmetic > by_memory else "memory"
        return bound, max(by_arithmetic, by_memory)


@dataclass(frozen=True)
class KernelTotal:
    """Everything one kernel of a program took.

    Attributes:
        section: section of the program.
        index: running index of the (first) instruction.
        mnemonic: instruction, or the parts of a fused group.
        kernel: kernel variant.
        owners: layers it came from.
        calls: runs counted.
        mean_us: mean time of a run, microseconds.
        median_us: time that half of the runs stay below: what a run usually takes.
        share: part of what all kernels usually take (by medians, as all that follows), 0 to 1.
        gflops: 10⁹ operations per second reached.
        gbytes: 10⁹ bytes per second reached.
        bound: what limits it by the roofline model, ``arithmetic`` or ``memory``; empty without
            peaks.
        peak_share: part of that limit reached, 0 to 1 (or above, from caches); None without
            peaks.
    """

    section: str
    index: int
    mnemonic: str
    kernel: str
    owners: tuple[str, ...]
    calls: int
    mean_us: float
    median_us: float
    share: float
    gflops: float
    gbytes: float
    bound: str = ""
    peak_share: float | None = None


def is_from_caches(bound: str, share: float | None) -> bool:
    """Whether a kernel of that bound and share of its peak moves more than memory can."""
    return bound == "memory" and share is not None and share >= _WHOLE


@dataclass(frozen=True)
class GroupTotal:
    """Time of all kernels that share a layer, a section or a mnemonic.

    Attributes:
        name: what they share.
        step_us: what they usually take of a step, microseconds: the sum of their medians.
        share: part of what all kernels usually take, 0 to 1.
    """

    name: str
    step_us: float
    share: float


def usual_times(times: npt.ArrayLike) -> Floats:
    """What each column of measured times usually takes: its median."""
    return np.asarray(np.median(np.asarray(times, np.float64), axis=0))


def kernel_totals(profile: Profile, peaks: Peaks | None = None) -> tuple[KernelTotal, ...]:
    """One row per kernel of the program, slowest first; with peaks, by the roofline."""
    kernels = _kernels(profile)
    whole = sum(usual * len(events) for events, usual in kernels) or 1.0
    rows = [_total(events, usual, whole, peaks) for events, usual in kernels]
    return tuple(sorted(rows, key=lambda r: -r.share))


def group_totals(
    profile: Profile, key: Callable[[KernelEvent], tuple[str, ...]]
) -> tuple[GroupTotal, ...]:
    """Time per name, slowest first; a kernel of several names is split evenly between them."""
    times: dict[str, float] = {}
    for events, usual in _kernels(profile):
        names = key(events[0]) or ("(housekeeping)",)
        for name in names:
            times[name] = times.get(name, 0.0) + usual * len(events) / len(names)
    whole = sum(times.values()) or 1.0
    steps = max(1, profile.steps)
    rows = [GroupTotal(name, spent / steps, spent / whole) for name, spent in times.items()]
    return tuple(sorted(rows, key=lambda r: -r.share))


def _kernels(profile: Profile) -> list[tuple[list[KernelEvent], float]]:
    """The calls of each kernel, and what one usually takes."""
    found: dict[tuple[int, str], list[KernelEvent]] = {}
    for event in profile.events:
        found.setdefault((event.index, event.kernel), []).append(event)
    return [(calls, float(usual_times([e.duration_us for e in calls]))) for calls in found.values()]


def _total(
    events: list[KernelEvent], usual: float, whole: float, peaks: Peaks | None
) -> KernelTotal:
    first = events[0]
    seconds = max(usual, 1e-3) * 1e-6
    bound, share = "", None
    if peaks is not None:
        bound, least = peaks.limit(first.flops, first.traffic_bytes)
        share = least / seconds
    return KernelTotal(
        section=first.section,
        index=first.index,
        mnemonic=first.mnemonic,
        kernel=first.kernel,
        owners=first.owners,
        calls=len(events),
        mean_us=sum(e.duration_us for e in events) / len(events),
        median_us=usual,
        share=usual * len(events) / whole,
        gflops=first.flops / seconds * 1e-9,
        gbytes=first.traffic_bytes / seconds * 1e-9,
        bound=bound,
        peak_share=share,
    )
