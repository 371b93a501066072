"""Makes a Profile from the times of entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from studio.engine.isa.program import Program
from studio.engine.profiler.events import KernelEvent, Profile
from studio.engine.runtime.entries import Entry


@dataclass
class Recorder:
    """Collects one event per entry and run.

    Attributes:
        program: what runs.
        entries: its entries in order.
        kernels: name of the kernel each entry runs.
        batch: rows in a batch.
        rows: rows of the data set.
    """

    program: Program
    entries: Sequence[Entry]
    kernels: Sequence[str]
    batch: int
    rows: int
    _events: list[KernelEvent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._costs = [
            (
                entry.flops(self.program, self.batch, self.rows),
                entry.traffic(self.program, self.batch, self.rows),
            )
            for entry in self.entries
        ]

    def add(self, step: int, number: int, start_us: float, duration_us: float) -> None:
        """Record that entry ``number`` ran."""
        entry = self.entries[number]
        flops, traffic = self._costs[number]
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
                flops,
                traffic,
            )
        )

    def profile(self, device: str, clock: str, steps: int, wall_us: float) -> Profile:
        """What was recorded."""
        return Profile(device, clock, steps, wall_us, tuple(self._events))
