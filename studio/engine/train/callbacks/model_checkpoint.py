"""Keeps checkpoints: the last few, and the best."""

from __future__ import annotations

import math
from collections.abc import Mapping

from studio.engine.core.options import Plain, choice, flag, integer
from studio.engine.train.callbacks.callback import (
    MODES,
    Array,
    Logs,
    ProjectCallback,
    higher_is_better,
    monitored,
    number_in,
)
from studio.engine.train.callbacks.watching import monitor


class ModelCheckpoint(ProjectCallback):
    """Writes ``epoch-0001.safetensors`` … and ``best.safetensors`` into the run's folder.

    Each new file is whole before an older one goes, so a kill leaves one to resume from.
    """

    positional = ("monitor",)

    monitor = monitor("What decides which is best; loss without validation.")
    mode = choice("Whether lower or higher is better.", *MODES)
    every = integer("Epochs between checkpoints.", 1, low=1)
    keep = integer("Number of latest checkpoints to keep.", 2, low=1, high=10_000)
    best = flag("Also keep the best checkpoint.", True)

    def on_train_begin(self) -> None:
        """Forget what a run before wrote."""
        self._sign = -1.0 if higher_is_better(self.monitor, self.mode) else 1.0
        self._value = math.inf * self._sign
        self._kept: list[str] = []

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        """Write what is due, then remove what is too many."""
        watched = self.monitor if self.monitor in logs or self.monitor != "val_loss" else "loss"
        value = monitored(logs, watched, self.who)
        better, before = self._sign * value < self._sign * self._value, self._value
        if better:
            self._value = value
        # First, so that a training resumed from the other knows a best one that is there.
        if better and self.best and not self.training.save_checkpoint("best"):
            self._value = before
        if (epoch + 1) % self.every == 0 or epoch + 1 == self.training.epochs:
            name = self.training.save_checkpoint(f"epoch-{epoch + 1:04d}")
            # What could not be written must not push out what was.
            if name:
                self._kept = [*(k for k in self._kept if k != name), name]
        while len(self._kept) > self.keep:
            self.training.remove_checkpoint(self._kept.pop(0))

    def state(self) -> dict[str, Plain]:
        """The best value so far."""
        return {"value": self._value if math.isfinite(self._value) else None}

    def restore(self, state: Mapping[str, object], arrays: Mapping[str, Array]) -> None:
        """Go on with the files that are there, whether or not the checkpoint knew of them."""
        self._value = number_in(state, "value", math.inf * self._sign)
        self._kept = list(self.training.saved_epochs())
