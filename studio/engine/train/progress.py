"""Where a training stands, as plain data for a bar, a window or a log."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Progress:
    """One report.

    Attributes:
        epoch: epochs finished.
        epochs: epochs in all.
        step: steps of this epoch that are queued.
        steps: steps of an epoch.
        total_step: steps since the beginning, resumed parts included.
        metrics: means over this epoch's rows so far, of the steps whose numbers have arrived.
        learning_rate: rate of the next step.
        elapsed: seconds since this part of the training began, pauses left out.
        eta: seconds still to go at the pace so far, or None while that is unknown.
        rows_per_second: pace so far.
    """

    epoch: int
    epochs: int
    step: int
    steps: int
    total_step: int
    metrics: Mapping[str, float] = field(default_factory=dict)
    learning_rate: float = 0.0
    elapsed: float = 0.0
    eta: float | None = None
    rows_per_second: float = 0.0

    @property
    def share(self) -> float:
        """The part of all steps that is done, 0 to 1."""
        whole = self.epochs * self.steps
        return min(1.0, (self.epoch * self.steps + self.step) / whole) if whole else 1.0


class Stopwatch:
    """Seconds that passed while it ran; it begins halted."""

    def __init__(self) -> None:
        self._before = 0.0
        self._since: float | None = None

    def start(self) -> None:
        """Go on counting."""
        if self._since is None:
            self._since = time.perf_counter()

    def halt(self) -> None:
        """Stop counting."""
        self._before, self._since = self.seconds, None

    @property
    def seconds(self) -> float:
        """Seconds counted so far."""
        running = 0.0 if self._since is None else time.perf_counter() - self._since
        return self._before + running
