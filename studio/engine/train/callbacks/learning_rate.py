"""Callbacks that change the learning rate while a network trains."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from studio.engine.core.errors import ParameterError
from studio.engine.core.options import Plain, choice, integer, number
from studio.engine.train.callbacks.callback import (
    MODES,
    Array,
    Callback,
    Logs,
    ProjectCallback,
    higher_is_better,
    monitored,
    number_in,
)
from studio.engine.train.callbacks.watching import monitor, patience


class LearningRateScheduler(Callback):
    """Sets the rate at the beginning of each epoch.

    Args:
        schedule: from (epoch, rate so far) to the new rate, as in Keras.
    """

    def __init__(self, schedule: Callable[[int, float], float]) -> None:
        self.schedule = schedule

    def on_epoch_begin(self, epoch: int) -> None:
        """Ask the function; ParameterError where it gives no rate."""
        rate = self.schedule(epoch, self.training.learning_rate)
        if isinstance(rate, bool) or not isinstance(rate, int | float):
            raise ParameterError(
                f"the schedule must give a number, got {rate!r}", who="LearningRateScheduler"
            )
        self.training.set_learning_rate(float(rate))


class ReduceLROnPlateau(ProjectCallback):
    """Multiplies the learning rate by ``factor`` when ``monitor`` stops improving (Keras 3)."""

    positional = ("monitor",)

    monitor = monitor("Metric to watch.")
    factor = number("Factor of the learning rate.", 0.1, low=0.0, high=0.999999)
    patience = patience(10)
    mode = choice("Whether lower or higher is better.", *MODES)
    min_delta = number("Smallest change that counts as better.", 1e-4, low=0.0, steps="decades")
    cooldown = integer("Epochs to wait after a change.", 0, low=0)
    min_lr = number("Smallest learning rate.", 0.0, low=0.0, label="Smallest rate", steps="decades")

    def on_train_begin(self) -> None:
        """Forget what a run before found."""
        self._sign = -1.0 if higher_is_better(self.monitor, self.mode) else 1.0
        self.best = math.inf * self._sign
        self.wait, self.cooling = 0, 0

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        """Compare, count, and lower the rate."""
        value = monitored(logs, self.monitor, self.who)
        if self.cooling > 0:
            self.cooling -= 1
            self.wait = 0
        if self._sign * value < self._sign * self.best - self.min_delta:
            self.best, self.wait = value, 0
            return
        if self.cooling > 0:
            return
        self.wait += 1
        rate = self.training.learning_rate
        if self.wait >= self.patience and rate > self.min_lr:
            lowered = max(rate * self.factor, self.min_lr)
            self.training.set_learning_rate(lowered)
            self.training.say(f"epoch {epoch + 1}: learning rate lowered to {lowered:g}")
            self.cooling, self.wait = self.cooldown, 0

    def state(self) -> dict[str, Plain]:
        """Best value and counts."""
        best = self.best if math.isfinite(self.best) else None
        return {"best": best, "wait": self.wait, "cooling": self.cooling}

    def restore(self, state: Mapping[str, object], arrays: Mapping[str, Array]) -> None:
        """Go on counting where the checkpoint stood."""
        self.best = number_in(state, "best", math.inf * self._sign)
        self.wait = int(number_in(state, "wait", 0))
        self.cooling = int(number_in(state, "cooling", 0))
