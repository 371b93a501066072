"""Times of kernels, sample after sample, and the rows a table shows of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias, get_args

import numpy as np

from studio.engine.profiler.events import KernelEvent, Profile
from studio.engine.profiler.totals import Floats, Peaks, share_of_peak, usual_times

Grouping: TypeAlias = Literal["kernel and layer", "layer", "kernel", "section"]

GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)

RECENT = 64
"""Samples of the line drawn beside each row."""

RING = 512
"""Samples percentiles are taken of."""


@dataclass(frozen=True)
class KernelRow:
    """A kernel of a layer, or all kernels of a group.

    Attributes:
        id: the same for the same group in every program.
        indices: running indices of its instructions, in order.
        section: section of the program; several joined by ``, ``.
        mnemonic: instruction, or the parts of a fused group; empty where several differ.
        kernel: kernel variants.
        owners: layers it works for, or housekeeping owners.
        calls: how often it was measured.
        total_ms: time of all those calls.
        mean_us: mean time of a call.
        median_us: time that half of the latest samples stay below: what a call usually takes.
        p95_us: time that 95 % of the latest samples stay below.
        min_us: shortest call.
        max_us: longest call.
        share: part of what all kernels usually take (by medians, as all that follows), 0 to 1.
        flops: operations of a call by the instruction's own formula.
        traffic_bytes: bytes a call reads and writes.
        gflops: 10⁹ operations per second.
        gbytes: 10⁹ bytes per second.
        bound: ``arithmetic`` or ``memory``: what limits it; empty without peaks.
        utilisation: part of that limit reached, 0 to 1; None where it is not known.
        wasted_us: time of a call above what the limit allows; None where it is not known.
        recent: time of a step in µs, the latest samples, newest last.
    """

    id: str
    indices: tuple[int, ...]
    section: str
    mnemonic: str
    kernel: str
    owners: tuple[str, ...]
    calls: int
    total_ms: float
    mean_us: float
    median_us: float
    p95_us: float
    min_us: float
    max_us: float
    share: float
    flops: float
    traffic_bytes: float
    gflops: float
    gbytes: float
    bound: str
    utilisation: float | None
    wasted_us: float | None
    recent: Floats

    @property
    def layers(self) -> str:
        """Its owners as one text."""
        return ", ".join(self.owners)


class KernelTimes:
    """The samples of one program's kernels.

    Args:
        first: a profile; its events say which kernels there are.
    """

    def __init__(self, first: Profile) -> None:
        self.device = first.device
        self.clock = first.clock
        self.samples = 0
        self.events = tuple(e for e in first.events if e.step == first.events[0].step)
        count = len(self.events)
        self._ring = np.zeros((RING, count))
        self._sums = np.zeros(count)
        self._least = np.full(count, np.inf)
        self._most = np.zeros(count)

    def fits(self, profile: Profile) -> bool:
        """Whether a profile is of the same kernels on the same device."""
        if profile.device != self.device or len(profile.events) != len(self.events):
            return False
        return all(_alike(a, b) for a, b in zip(profile.events, self.events, strict=True))

    def add(self, profile: Profile) -> None:
        """Count one instrumented step."""
        spent = np.array([event.duration_us for event in profile.events])
        self._ring[self.samples % RING] = spent
        self._sums += spent
        np.minimum(self._least, spent, out=self._least)
        np.maximum(self._most, spent, out=self._most)
        self.samples += 1

    def copy(self) -> Self:
        """The samples so far, which later ones do not change."""
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        for name in ("_ring", "_sums", "_least", "_most"):
            setattr(made, name, getattr(self, name).copy())
        return made

    def median_us(self) -> dict[int, float]:
        """What every instruction usually takes, by its running index."""
        if not self.samples:
            return {}
        found: dict[int, float] = {}
        for event, spent in zip(self.events, usual_times(self._latest()), strict=True):
            found[event.index] = found.get(event.index, 0.0) + float(spent)
        return found

    def rows(
        self, by: Grouping = "kernel and layer", peaks: Peaks | None = None
    ) -> tuple[KernelRow, ...]:
        """The groups, slowest first."""
        if not self.samples:
            return ()
        groups: dict[str, list[int]] = {}
        for column, event in enumerate(self.events):
            groups.setdefault(_GROUP_KEYS[by](event), []).append(column)
        latest = self._latest()
        usual = np.stack((usual_times(latest), np.percentile(latest, 95, axis=0)))
        rows = [self._row(name, at, latest, usual, peaks) for name, at in groups.items()]
        return tuple(sorted(rows, key=lambda row: -row.share))

    def raise_peaks(self, peaks: Peaks) -> Peaks:
        """The peaks, raised by the kernels whose latest calls were above them."""
        latest = self._latest()
        for column, event in enumerate(self.events):
            name = f"{event.mnemonic} ({', '.join(event.owners)})"
            times = latest[:, column]
            peaks = peaks.raised_by(name, times, event.flops, event.traffic_bytes)
        return peaks

    def together_us(self) -> float:
        """What all kernels of an instrumented step usually take, one timed after the other."""
        return float(np.median(self._latest().sum(axis=1))) if self.samples else 0.0

    def _latest(self) -> Floats:
        """The samples kept, oldest first."""
        if self.samples <= RING:
            return self._ring[: self.samples]
        return np.roll(self._ring, -(self.samples % RING), axis=0)

    def _row(
        self,
        name: str,
        at: list[int],
        latest: Floats,
        usual: Floats,
        peaks: Peaks | None,
    ) -> KernelRow:
        events = [self.events[column] for column in at]
        total = float(self._sums[at].sum())
        # One call among many that took a hundred times as long says nothing of the kernel.
        taken = usual[0]
        step = float(taken[at].sum())
        seconds = max(step, 1e-3) * 1e-6
        flops, traffic = sum(e.flops for e in events), sum(e.traffic_bytes for e in events)
        bound, utilisation = _roofline(events, taken[at], peaks)
        each = latest[:, at]
        median, p95 = usual[:, at[0]] if len(at) == 1 else np.percentile(each, (50, 95))
        return KernelRow(
            id=name,
            indices=tuple(e.index for e in events),
            section=", ".join(dict.fromkeys(e.section for e in events)),
            mnemonic=_same(e.mnemonic for e in events),
            kernel=_same(e.kernel for e in events) or f"{len(events)} kernels",
            owners=tuple(dict.fromkeys(owner for e in events for owner in e.owners)),
            calls=self.samples * len(at),
            total_ms=total * 1e-3,
            mean_us=total / self.samples / len(at),
            median_us=float(median),
            p95_us=float(p95),
            min_us=float(self._least[at].min()),
            max_us=float(self._most[at].max()),
            share=step / (float(taken.sum()) or 1.0),
            flops=flops / len(at),
            traffic_bytes=traffic / len(at),
            gflops=flops / seconds * 1e-9,
            gbytes=traffic / seconds * 1e-9,
            bound=bound,
            utilisation=utilisation,
            wasted_us=None if utilisation is None else step * (1.0 - utilisation) / len(at),
            recent=each[-RECENT:].sum(axis=1),
        )


def _alike(one: KernelEvent, other: KernelEvent) -> bool:
    return (one.index, one.mnemonic, one.kernel, one.owners, one.flops) == (
        other.index, other.mnemonic, other.kernel, other.owners, other.flops,
    )  # fmt: skip


def _same(texts: Iterable[str]) -> str:
    """The text they all are, empty where they differ."""
    found = set(texts)
    return found.pop() if len(found) == 1 else ""


_GROUP_KEYS: Mapping[Grouping, Callable[[KernelEvent], str]] = {
    "kernel and layer": lambda e: "/".join((e.section, e.mnemonic, e.kernel, "+".join(e.owners))),
    "layer": lambda e: " + ".join(e.owners),
    "kernel": lambda e: e.kernel,
    "section": lambda e: e.section,
}


def _roofline(
    events: Sequence[KernelEvent], taken_us: Floats, peaks: Peaks | None
) -> tuple[str, float | None]:
    """What limits a group for most of its time, and the part of the limit it reaches."""
    if peaks is None or not any(e.flops or e.traffic_bytes for e in events):
        return "", None
    spent = {"arithmetic": 0.0, "memory": 0.0}
    limit = 0.0
    for event, time in zip(events, taken_us, strict=True):
        bound, least = peaks.limit(event.flops, event.traffic_bytes)
        limit += least
        spent[bound] += float(time)
    share = share_of_peak(limit * 1e6, float(taken_us.sum()))
    return max(spent, key=lambda bound: spent[bound]), share


def matches(row: KernelRow, words: Sequence[str]) -> bool:
    """Whether every word stands somewhere in a row's names."""
    text = " ".join((row.mnemonic, row.kernel, row.layers, row.section)).casefold()
    return all(word in text for word in words)
