"""Tells a person at a terminal how a training goes, one line per epoch."""

from __future__ import annotations

import sys
from typing import TextIO

from studio.engine.train.callbacks.callback import Callback, Logs


class EpochLines(Callback):
    """Writes the metrics of each epoch as a line; what ``fit(verbose=1)`` adds.

    Args:
        stream: where to write; standard error unless given.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        """Write the line of an epoch."""
        values = "  ".join(f"{name} {value:.4f}" for name, value in logs.items())
        stream = sys.stderr if self._stream is None else self._stream
        stream.write(f"epoch {epoch + 1}/{self.training.epochs}  {values}\n")
        stream.flush()
