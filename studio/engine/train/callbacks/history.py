"""The record of all epochs, which every training keeps."""

from __future__ import annotations

import math
from collections.abc import Mapping

from studio.engine.core.errors import CheckpointError, quoted
from studio.engine.core.options import Plain
from studio.engine.formats.checkpoint import numbers_of_texts
from studio.engine.train.callbacks.callback import Array, Callback, Logs


class History(Callback):
    """Numbers of all epochs.

    Attributes:
        epoch: numbers of the epochs.
        history: for each metric one number per epoch.
        start: loss of the first steps of all, NaN before they are done.
    """

    def __init__(self) -> None:
        self.start = math.nan
        self.epoch: list[int] = []
        self.history: dict[str, list[float]] = {}

    def on_train_begin(self) -> None:
        """Begin an empty record."""
        self.start, self.epoch, self.history = math.nan, [], {}

    def note_start(self, loss: float) -> None:
        """Remember the loss a training began with; that of a continued one is known already."""
        if math.isnan(self.start):
            self.start = loss

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        """Add an epoch."""
        self.epoch.append(epoch)
        for name, value in logs.items():
            self.history.setdefault(name, []).append(value)

    def state(self) -> dict[str, Plain]:
        """The whole record; numbers that are not finite as text, since JSON has none."""
        return {
            "start": repr(self.start),
            "epoch": list(self.epoch),
            "history": {name: [repr(v) for v in values] for name, values in self.history.items()},
        }

    def restore(self, state: Mapping[str, object], arrays: Mapping[str, Array]) -> None:
        """Take the record of the epochs before; CheckpointError where it is damaged."""
        epochs, history, start = state.get("epoch"), state.get("history"), state.get("start")
        if not isinstance(epochs, list) or not isinstance(history, Mapping):
            return
        self.start = math.nan if start is None else _numbers("start", [start])[0]
        self.epoch = [e for e in epochs if isinstance(e, int)]
        self.history = {str(name): _numbers(str(name), values) for name, values in history.items()}


def _numbers(name: str, values: object) -> list[float]:
    try:
        return numbers_of_texts(values if isinstance(values, list) else [values])
    except (TypeError, ValueError):
        raise CheckpointError(
            f"the history of {quoted(name)} holds something other than numbers", who="checkpoint"
        ) from None
