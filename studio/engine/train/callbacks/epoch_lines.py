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
        self.write(f"epoch {epoch + 1}/{self.training.epochs}", logs)

    def write(self, title: str, logs: Logs) -> None:
        """Write a line of numbers."""
        values = "  ".join(
            f"{name} {value}" if isinstance(value, int) else f"{name} {value:.4f}"
            for name, value in logs.items()
        )
        stream = sys.stderr if self._stream is None else self._stream
        stream.write(f"{title}  {values}\n")
        stream.flush()
