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

SHORT_US = 1.0
"""Shorter calls are not compared with the peaks: the clock is too coarse for them."""
CALLS_THAT_RAISE = 3
"""Calls of a kernel above a roof that show the roof to be too low."""


@dataclass(frozen=True)
class Peaks:
    """The best this device was seen to do.

    Attributes:
        gflops: arithmetic, 10⁹ operations per second (a large matrix product).
        gbytes: memory traffic, 10⁹ bytes per second read and written (a large copy).
        doubt: why they may be wrong, as one clause; empty where there is no doubt.
    """

    gflops: float
    gbytes: float
    doubt: str = ""

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

    def raised_by(self, name: str, calls_us: npt.ArrayLike, flops: float, traffic: float) -> Peaks:
        """These peaks, or higher ones where a kernel has shown them to be too low.

        Args:
            name: of the kernel, for the doubt.
            calls_us: microseconds that each call took.
            flops: operations of a call.
            traffic: bytes that a call reads and writes.
        """
        times = np.sort(np.asarray(calls_us, np.float64))
        times = times[times >= SHORT_US]
        least_us = self.limit(flops, traffic)[1] * 1e6
        if np.count_nonzero(times < least_us) < CALLS_THAT_RAISE:
            return self
        # The fastest calls may be errors of the clock: the third fastest counts, or the median.
        seconds = float(min(times[CALLS_THAT_RAISE - 1], usual_times(times))) * 1e-6
        gflops = max(self.gflops, flops / seconds * 1e-9)
        gbytes = max(self.gbytes, traffic / seconds * 1e-9)
        return Peaks(gflops, gbytes, f"{name} was faster than measured")


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
        peak_share: part of that limit reached, 0 to 1; None where `share_of_peak` knows none.
        traffic_bytes: bytes that a call reads and writes, or for ALLREDUCE sends and receives.
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
    traffic_bytes: int = 0


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


def share_of_peak(least_us: float, taken_us: float) -> float | None:
    """The part of its limit that a kernel reaches, 0 to 1.

    None where it cannot be told: the call is too short for the clock, or was above a roof that too
    few calls have raised yet.

    Args:
        least_us: microseconds that the peaks allow.
        taken_us: microseconds that it usually takes.
    """
    if taken_us < SHORT_US or least_us > taken_us * (1 + 1e-9):
        return None
    return min(1.0, least_us / taken_us)


def raised_peaks(profile: Profile, peaks: Peaks) -> Peaks:
    """The peaks, raised by the kernels of a profile that were above them."""
    for events, _ in _kernels(profile):
        first = events[0]
        name = f"{first.mnemonic} ({', '.join(first.owners)})"
        times = [event.duration_us for event in events]
        peaks = peaks.raised_by(name, times, first.flops, first.traffic_bytes)
    return peaks


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
        share = share_of_peak(least * 1e6, usual)
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
        traffic_bytes=first.traffic_bytes,
    )
