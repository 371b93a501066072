"""The record of all epochs, which every training keeps."""

from __future__ import annotations

from collections.abc import Mapping

from studio.engine.core.options import Plain
from studio.engine.train.callbacks.callback import Array, Callback, Logs


class History(Callback):
    """Numbers of all epochs.

    Attributes:
        epoch: numbers of the epochs.
        history: for each metric one number per epoch.
    """

    def __init__(self) -> None:
        self.epoch: list[int] = []
        self.history: dict[str, list[float]] = {}

    def on_train_begin(self) -> None:
        """Begin an empty record."""
        self.epoch, self.history = [], {}

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        """Add an epoch."""
        self.epoch.append(epoch)
        for name, value in logs.items():
            self.history.setdefault(name, []).append(value)

    def state(self) -> dict[str, Plain]:
        """The whole record; numbers that are not finite as text, since JSON has none."""
        return {
            "epoch": list(self.epoch),
            "history": {name: [repr(v) for v in values] for name, values in self.history.items()},
        }

    def restore(self, state: Mapping[str, object], arrays: Mapping[str, Array]) -> None:
        """Take the record of the epochs before."""
        epochs, history = state.get("epoch"), state.get("history")
        if not isinstance(epochs, list) or not isinstance(history, Mapping):
            return
        self.epoch = [e for e in epochs if isinstance(e, int)]
        self.history = {
            str(name): [float(v) for v in values if isinstance(v, str)]
            for name, values in history.items()
            if isinstance(values, list)
        }
