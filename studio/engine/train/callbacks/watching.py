"""Options of the callbacks that watch a number of the training."""

from __future__ import annotations

import re

from studio.engine.core.errors import ParameterError, quoted
from studio.engine.core.options import Option, integer, spec

_MONITOR = re.compile(r"\w[\w.\-]{0,149}\Z")

USUAL = ("val_loss", "loss", "val_accuracy", "accuracy")
"""Numbers of a training with classes, which a form offers; a project may name others."""


def monitor(doc: str) -> Option[str]:
    """Which number is watched: the name of a metric, such as ``val_loss``."""
    return spec(doc, "val_loss", read_monitor, str, choices=USUAL)


def patience(default: int) -> Option[int]:
    """How many epochs may pass without improvement."""
    return integer(
        "Epochs to wait for an improvement.", default, low=0,
        effect="Higher values wait longer.",
    )  # fmt: skip


def read_monitor(value: object, who: str) -> str:
    """The name of a metric, such as ``val_loss``; ParameterError for anything else."""
    if not isinstance(value, str) or not _MONITOR.match(value):
        raise ParameterError(
            f"monitor: expected the name of a metric such as val_loss, got {quoted(value)}",
            who=who,
        )
    return value
