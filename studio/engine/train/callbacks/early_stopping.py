"""Ends a training that no longer gets better, and puts the best weights back."""

from __future__ import annotations

import math
from collections.abc import Mapping

from studio.engine.core.errors import CheckpointError, quoted
from studio.engine.core.options import (
    Plain,
    choice,
    flag,
    integer,
    number,
    optional_number,
)
from studio.engine.train.callbacks.callback import (
    MODES,
    Array,
    Logs,
    ProjectCallback,
    Weights,
    higher_is_better,
    monitored,
    number_in,
)
from studio.engine.train.callbacks.watching import monitor, patience


class EarlyStopping(ProjectCallback):
    """Stops when ``monitor`` has not improved for ``patience`` epochs (Keras 3).

    Better means by more than ``min_delta``. With ``baseline`` only improvements over it reset the
    count. The best weights are kept from ``start_from_epoch`` on and come back at the end of the
    training when ``restore_best_weights``, whichever way it ended.
    """

    positional = ("monitor",)

    monitor = monitor("Metric to watch.")
    min_delta = number("Smallest change that counts as better.", 0.0, low=0.0, steps="decades")
    patience = patience(0)
    mode = choice("Whether lower or higher is better.", *MODES)
    baseline = optional_number("A value to improve on.")
    restore_best_weights = flag(
        "Restore the weights of the best epoch at the end.", label="Restore best"
    )
    start_from_epoch = integer("Epochs before watching starts.", 0, low=0, label="First epoch")

    best: float
    wait: int
    best_epoch: int
    stopped_epoch: int

    def on_train_begin(self) -> None:
        """Forget what a run before found."""
        self._sign = -1.0 if higher_is_better(self.monitor, self.mode) else 1.0
        self.best = math.inf * self._sign
        self.wait, self.best_epoch, self.stopped_epoch = 0, -1, -1
        self._weights: Weights = {}
        self._restored = False

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        """Compare, count, and stop when patience is out."""
        if epoch < self.start_from_epoch:
            return
        value = monitored(logs, self.monitor, self.who)
        if self.restore_best_weights and not self._weights:
            self._keep(epoch)
        self.wait += 1
        if self._better(value, self.best):
            self.best = value
            self._keep(epoch)
            if self.baseline is None or self._better(value, self.baseline):
                self.wait = 0
            return
        if self.wait >= self.patience and epoch > 0:
            self.stopped_epoch = epoch
            self.training.stop_training(
                f"{self.monitor} has not improved since epoch {self.best_epoch + 1}"
            )

    def on_train_end(self) -> None:
        """Put the best weights back."""
        if self.restore_best_weights and self._weights:
            self.training.write_weights(self._weights)
            self._restored = True

    def state(self) -> dict[str, Plain]:
        """Best value and counts, and whether the best weights have been put back."""
        best = self.best if math.isfinite(self.best) else None
        return {
            "best": best, "wait": self.wait, "best_epoch": self.best_epoch,
            "restored": self._restored,
        }  # fmt: skip

    def arrays(self) -> Weights:
        """The best weights."""
        return dict(self._weights)

    def restore(self, state: Mapping[str, object], arrays: Mapping[str, Array]) -> None:
        """Go on counting where the checkpoint stood."""
        self.best = number_in(state, "best", math.inf * self._sign)
        self.wait = int(number_in(state, "wait", 0))
        self.best_epoch = int(number_in(state, "best_epoch", -1))
        self._weights = dict(arrays)
        own = self.training.read_weights() if arrays else {}
        for name in sorted({*own, *arrays}):
            if name not in own or name not in arrays or own[name].shape != arrays[name].shape:
                raise CheckpointError(
                    f"the best weights of EarlyStopping do not fit at {quoted(name)}",
                    who="checkpoint",
                    hint="it was made for another network",
                )

    def _better(self, value: float, than: float) -> bool:
        return self._sign * value < self._sign * than - self.min_delta

    def _keep(self, epoch: int) -> None:
        self.best_epoch = epoch
        if self.restore_best_weights:
            self._weights = self.training.read_weights()
