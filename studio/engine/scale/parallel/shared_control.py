"""Lets all workers of a training stop behind the same step."""

from __future__ import annotations

from studio.engine.runtime.exchange import Exchange
from studio.engine.train.loop.control import UNLIMITED, Control, RateUser


class SharedControl(Control):
    """As `Control`, for one worker of several: what one of them wants, all do.

    Workers of one training cannot be paused.

    Args:
        exchange: carries what each wants from step to step.
    """

    def __init__(self, exchange: Exchange) -> None:
        super().__init__()
        self._exchange = exchange

    def interrupts(self) -> bool:
        """Whether the workers have agreed to halt behind the steps so far."""
        exchange = self._exchange
        exchange.wants_stop |= self.stop_wanted
        return exchange.stop_agreed or exchange.bad_agreed or exchange.save_agreed

    def gate(self, use_rate: RateUser | None = None) -> int:
        """How many steps may run now, 0 to end the training.

        One that was asked to stop goes on until all know of it, which takes a step.
        """
        self._exchange.wants_stop |= self.stop_wanted
        if self._exchange.stop_agreed:
            self.stop()
            return super().gate(use_rate)
        self.take_rate(use_rate)
        return UNLIMITED
