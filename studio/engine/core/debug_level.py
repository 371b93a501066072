"""How much a process tells on standard error while it works: the variable ``GLASSBOX_DEBUG``."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from enum import IntEnum

from studio.engine.core.errors import ParameterError, quoted

VARIABLE = "GLASSBOX_DEBUG"


class DebugLevel(IntEnum):
    """What is told; each level tells what those before it do too."""

    NOTHING = 0
    STEPS = 1
    KERNELS = 2
    PASSES = 3
    SOURCES = 4


def debug_level(environment: Mapping[str, str] = os.environ) -> DebugLevel:
    """The level that is set; ``NOTHING`` where the variable is not there or empty.

    Raises:
        ParameterError: it is none of 0 to 4.
    """
    text = environment.get(VARIABLE, "").strip()
    if not text:
        return DebugLevel.NOTHING
    if text not in {str(int(level)) for level in DebugLevel}:
        raise ParameterError(
            f"expected 0 to {int(max(DebugLevel))}, got {quoted(text)}",
            who=VARIABLE,
            hint="1 steps, 2 also kernels, 3 also listings after passes, 4 also shader sources",
        )
    return DebugLevel(int(text))


def tell(text: str) -> None:
    """Write a text and a line break to standard error, where there is one."""
    if sys.stderr is not None:
        sys.stderr.write(text.rstrip("\n") + "\n")
        sys.stderr.flush()
