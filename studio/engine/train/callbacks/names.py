"""Checks of the names callbacks take from a project file."""

from __future__ import annotations

import re

from studio.engine.core.errors import ParameterError, quoted

_MONITOR = re.compile(r"[a-z][a-z0-9_]{0,79}\Z")


def read_monitor(value: object, who: str) -> str:
    """The name of a metric, such as ``val_loss``; ParameterError for anything else."""
    if not isinstance(value, str) or not _MONITOR.match(value):
        raise ParameterError(
            f"monitor: expected the name of a metric such as val_loss, got {quoted(value)}",
            who=who,
        )
    return value
