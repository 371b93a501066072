"""How long calls take: in all, and kernel by kernel."""

from __future__ import annotations

import time as clock
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from studio.engine.core.errors import ParameterError
from studio.engine.ops import recording
from studio.engine.ops.call_trace import Trace
from studio.engine.ops.patterns import TYPES
from studio.engine.ops.programs import call_of
from studio.engine.ops.recording import STATE
from studio.engine.ops.scopes import tensors_in
from studio.engine.profiler.events import Profile

_COLUMNS = ("operation", "calls", "µs", "share", "GFLOP/s", "GB/s")


@dataclass(frozen=True)
class Timing:
    """How long a function took.

    Attributes:
        wall_ms: from its call to its last number, milliseconds.
        kernel_ms: of that, what kernels took.
        result: what it returned.
    """

    wall_ms: float
    kernel_ms: float
    result: Any

    def __str__(self) -> str:
        return f"{self.wall_ms:.3f} ms, kernels {self.kernel_ms:.3f} ms"


@dataclass(frozen=True)
class Row:
    """All calls of one operation.

    Attributes:
        operation: its name; several joined by ``+`` where they ran as one.
        calls: how many kernels ran.
        microseconds: what they took.
        flops: arithmetic operations.
        traffic_bytes: bytes read and written.
        sources: files and lines in the user's code.
    """

    operation: str
    calls: int
    microseconds: float
    flops: int
    traffic_bytes: int
    sources: tuple[str, ...]


class Profiling:
    """Everything that runs while it is open, kernel by kernel: ``with profile() as seen:``.

    Attributes:
        profiles: one for each trace that ran.
        new_tensors: tensors these traces made that somebody kept.
        new_bytes: of these.
        peak_bytes: most bytes the device has held.
        wall_us: wall time of the runs, microseconds.
    """

    def __init__(self) -> None:
        self.profiles: list[Profile] = []
        self.new_tensors = self.new_bytes = self.peak_bytes = 0
        self.wall_us = 0.0
        self._found: dict[str, list[Any]] = defaultdict(lambda: [0, 0.0, 0, 0, {}])

    def __enter__(self) -> Profiling:
        if STATE.trace.tape:
            raise ParameterError("profile outside of gradients", who="profile")
        recording.flush()
        STATE.watchers.append(self._hear)
        return self

    def __exit__(self, *error: object) -> None:
        try:
            if error[0] is None:
                recording.flush()
        finally:
            STATE.watchers.remove(self._hear)
        self.peak_bytes = recording.runner().backend.memory().peak_bytes

    def _hear(self, trace: Trace, live: tuple[int, ...], profile: Profile) -> None:
        self.profiles.append(profile)
        self.wall_us += profile.wall_us
        self.new_tensors += len(live)
        for place in live:
            kind = TYPES[trace.kind_at(place)]
            self.new_bytes += kind.numel * kind.dtype.itemsize
        for event in profile.events:
            names = dict.fromkeys(o.rpartition("_")[0] for o in event.owners)
            row = self._found["+".join(names)]
            row[0] += 1
            row[1] += event.duration_us
            row[2] += event.flops
            row[3] += event.traffic_bytes
            row[4].update((trace.source(call_of(o)), None) for o in event.owners)

    @property
    def rows(self) -> tuple[Row, ...]:
        """A row for each operation, the slowest first."""
        found = [
            Row(name, calls, us, flops, traffic, tuple(sources))
            for name, (calls, us, flops, traffic, sources) in self._found.items()
        ]
        return tuple(sorted(found, key=lambda row: -row.microseconds))

    @property
    def kernel_us(self) -> float:
        """What all kernels took, microseconds."""
        return sum(row.microseconds for row in self.rows)

    def table(self) -> str:
        """The rows as text."""
        lines = [list(_COLUMNS), *(self._cells(row) for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(
                cell.rjust(width) if place else cell.ljust(width)
                for place, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        )

    def _cells(self, row: Row) -> list[str]:
        # 10⁹ a second are a thousand a microsecond.
        per = max(row.microseconds, 1e-9) * 1e3
        return [
            row.operation, str(row.calls), f"{row.microseconds:.1f}",
            f"{row.microseconds / max(self.kernel_us, 1e-9):.1%}",
            f"{row.flops / per:.1f}", f"{row.traffic_bytes / per:.1f}",
        ]  # fmt: skip

    def __repr__(self) -> str:
        return self.table()


def profile(function: Callable[[], Any] | None = None) -> Profiling:
    """What runs inside, kernel by kernel: ``with profile() as seen:``, or a function.

    Each kernel is measured alone, so that the whole takes longer than without.

    Args:
        function: takes nothing; called at once where it is given.
    """
    made = Profiling()
    if function is not None:
        with made:
            np.asarray([tensor.numpy().size for tensor in tensors_in(function())])
    return made


def time(function: Callable[[], Any]) -> Timing:
    """How long a function takes, until its last number is there.

    It is called twice: once for the wall clock, once with the time of every kernel.

    Args:
        function: takes nothing.
    """
    recording.flush()
    begin = clock.perf_counter()
    result = function()
    for tensor in tensors_in(result):
        tensor.data().result()
    recording.flush()
    wall = clock.perf_counter() - begin
    return Timing(wall * 1e3, profile(function).kernel_us * 1e-3, result)
