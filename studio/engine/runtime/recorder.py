"""Makes a Profile from the times of entries, whose cost is counted once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from studio.engine.isa.program import Program
from studio.engine.profiler.events import KernelEvent, Profile
from studio.engine.runtime.entries import Entry


@dataclass(frozen=True)
class EntryCost:
    """What an entry does by its own formula: operations, and bytes read and written."""

    flops: int
    traffic_bytes: int


def entry_costs(
    program: Program, found: Sequence[Entry], batch: int, rows: int
) -> tuple[EntryCost, ...]:
    """The cost of every entry for a batch length and a data set of ``rows``."""
    return tuple(
        EntryCost(entry.flops(program, batch, rows), entry.traffic(program, batch, rows))
        for entry in found
    )


@dataclass
class Recorder:
    """Collects one event per entry and run.

    Attributes:
        entries: entries of a program in order.
        kernels: name of the kernel each entry runs.
        costs: what each entry does.
    """

    entries: Sequence[Entry]
    kernels: Sequence[str]
    costs: Sequence[EntryCost]
    _events: list[KernelEvent] = field(default_factory=list)

    def add(self, step: int, number: int, start_us: float, duration_us: float) -> None:
        """Record that entry ``number`` ran."""
        entry = self.entries[number]
        cost = self.costs[number]
        self._events.append(
            KernelEvent(
                step,
                entry.section,
                entry.index,
                entry.mnemonic,
                self.kernels[number],
                entry.owners,
                start_us,
                duration_us,
                cost.flops,
                cost.traffic_bytes,
            )
        )

    def profile(self, device: str, clock: str, steps: int, wall_us: float) -> Profile:
        """What was recorded."""
        return Profile(device, clock, steps, wall_us, tuple(self._events))
