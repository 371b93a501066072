"""The learning rates of the steps to come, stated to the device ahead of time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from studio.engine.isa.program import Program
from studio.engine.optim.emit_updates import RATES_NAME
from studio.engine.optim.optimizers import Optimizer
from studio.engine.optim.schedules import Schedule
from studio.engine.runtime.backend import BackendSession


class RateTable:
    """Keeps slot ``step mod R`` right for the steps about to be queued.

    A change takes effect at the next step, since a write stands behind the steps queued before it.
    """

    def __init__(self, session: BackendSession, program: Program, optimizer: Optimizer) -> None:
        self._session = session
        self._own = optimizer.learning_rate
        self.slots = program.tensors.named(RATES_NAME).shape[0]
        # From which step on which rate was fixed; the steps of the epoch under way find theirs.
        self._fixed: list[tuple[int, float | None]] = [(0, None)]
        self._filled = -1

    def fix(self, rate: float | None, step: int) -> bool:
        """Use one rate from ``step`` on, or the optimiser's own again.

        Returns:
            Whether the rate of any step is another now.
        """
        before, was = self._fixed[-1][1], self.rate(step)
        if rate == before:
            return False
        self._fixed.append((step, rate))
        to_or_from_schedule = isinstance(self._own, Schedule) and None in (before, rate)
        if self.rate(step) == was and not to_or_from_schedule:
            return False
        self._filled = -1
        return True

    def forget(self, step: int) -> None:
        """Keep only what the rates of ``step`` and of later steps need."""
        later = [change for change in self._fixed if change[0] > step]
        self._fixed = [(step, self._fixed_at(step)), *later]

    def own(self, step: int) -> float:
        """The optimiser's own rate of a step."""
        own = self._own
        return own.rate(step) if isinstance(own, Schedule) else own

    def rate(self, step: int) -> float:
        """The rate of a step."""
        fixed = self._fixed_at(step)
        return self.own(step) if fixed is None else fixed

    def rates(self, first: int, count: int) -> float | npt.NDArray[np.float64]:
        """The rates of steps that follow one another; one number where all are the same."""
        changes = any(first < step < first + count for step, _ in self._fixed)
        is_own = self._fixed_at(first) is None
        if changes or (is_own and isinstance(self._own, Schedule)):
            return np.array([self.rate(first + ahead) for ahead in range(count)])
        return self.rate(first)

    def prepare(self, step: int, count: int) -> None:
        """Make the slots of ``count`` steps from ``step`` on right; at most ``slots`` of them."""
        if self._filled - self.slots <= step and step + count <= self._filled:
            return
        table = np.empty(self.slots, np.float32)
        # A rate beyond float32 becomes infinite; the loss of the next step then reports it.
        with np.errstate(over="ignore"):
            for ahead in range(self.slots):
                table[(step + ahead) % self.slots] = self.rate(step + ahead)
        self._session.write(RATES_NAME, table)
        self._filled = step + self.slots

    def _fixed_at(self, step: int) -> float | None:
        found = (rate for since, rate in reversed(self._fixed) if since <= step)
        return next(found, self._fixed[0][1])
