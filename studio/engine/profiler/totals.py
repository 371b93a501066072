"""Totals of a profile: one row per kernel, with its share of the device's measured peak."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from studio.engine.profiler.events import KernelEvent, Profile

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
        share: part of the time of all kernels, 0 to 1.
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
    """Time of all kernels that share a layer, a section or a mnemonic."""

    name: str
    mean_us: float
    share: float


def kernel_totals(profile: Profile, peaks: Peaks | None = None) -> tuple[KernelTotal, ...]:
    """One row per kernel of the program, slowest first.

    The roofline of Williams, Waterman and Patterson (2009): a kernel of f operations over b bytes
    cannot run faster than min(peak operations, f/b · peak bytes).
    """
    groups: dict[tuple[int, str], list[KernelEvent]] = {}
    for event in profile.events:
        groups.setdefault((event.index, event.kernel), []).append(event)
    whole = sum(e.duration_us for e in profile.events) or 1.0
    rows = [_total(events, whole, peaks) for events in groups.values()]
    return tuple(sorted(rows, key=lambda r: -r.share))


def group_totals(
    profile: Profile, key: Callable[[KernelEvent], tuple[str, ...]]
) -> tuple[GroupTotal, ...]:
    """Time per name, slowest first; a kernel of several names is split evenly between them."""
    times: dict[str, float] = {}
    for event in profile.events:
        names = key(event) or ("(housekeeping)",)
        for name in names:
            times[name] = times.get(name, 0.0) + event.duration_us / len(names)
    whole = sum(times.values()) or 1.0
    steps = max(1, profile.steps)
    rows = [GroupTotal(name, spent / steps, spent / whole) for name, spent in times.items()]
    return tuple(sorted(rows, key=lambda r: -r.share))


def _total(events: list[KernelEvent], whole: float, peaks: Peaks | None) -> KernelTotal:
    first = events[0]
    spent = sum(e.duration_us for e in events)
    mean = spent / len(events)
    seconds = max(mean, 1e-3) * 1e-6
    gflops, gbytes = first.flops / seconds * 1e-9, first.traffic_bytes / seconds * 1e-9
    bound, share = "", None
    if peaks is not None:
        by_arithmetic = first.flops / (peaks.gflops * 1e9)
        by_memory = first.traffic_bytes / (peaks.gbytes * 1e9)
        bound = "arithmetic" if by_arithmetic > by_memory else "memory"
        share = max(by_arithmetic, by_memory) / seconds
    return KernelTotal(
        first.section,
        first.index,
        first.mnemonic,
        first.kernel,
        first.owners,
        len(events),
        mean,
        spent / whole,
        gflops,
        gbytes,
        bound,
        share,
    )
