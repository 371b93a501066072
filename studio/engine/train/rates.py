"""The learning rates of the steps to come, stated to the device ahead of time."""

from __future__ import annotations

import numpy as np

from studio.engine.isa.program import Program
from studio.engine.optim.optimizers import Optimizer
from studio.engine.runtime.backend import Session

RATES = "train/rates"


class RateTable:
    """Keeps slot ``step mod R`` right for the steps about to be queued.

    A change takes effect at the next step, since a write stands behind the steps queued before it.
    """

    def __init__(self, session: Session, program: Program, optimizer: Optimizer) -> None:
        self._session = session
        self._optimizer = optimizer
        self.slots = program.tensors.named(RATES).shape[0]
        self._fixed: float | None = None
        self._filled = -1

    def fix(self, rate: float | None) -> None:
        """Use one rate for all steps to come, or the optimiser's own again."""
        if rate != self._fixed:
            self._fixed, self._filled = rate, -1

    @property
    def fixed(self) -> float | None:
        """The rate that was fixed, if any."""
        return self._fixed

    def rate(self, step: int) -> float:
        """The rate of a step."""
        return self._optimizer.rate(step) if self._fixed is None else self._fixed

    def prepare(self, step: int, count: int) -> None:
        """Make the slots of ``count`` steps from ``step`` on right; at most ``slots`` of them."""
        if step + count <= self._filled:
            return
        table = np.empty(self.slots, np.float32)
        # A rate beyond float32 becomes infinite; the loss of the next step then reports it.
        with np.errstate(over="ignore"):
            for ahead in range(self.slots):
                table[(step + ahead) % self.slots] = self.rate(step + ahead)
        self._session.write(RATES, table)
        self._filled = step + self.slots
