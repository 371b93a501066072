"""Loops whose text was printed from a formula."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from studio.engine.cpu.machine.toolchain import cache_folder, compiled

_LOG = logging.getLogger(__name__)


@cache
def compiled_text(name: str, text: str, *, fast: bool) -> Callable[..., object]:
    """The function that a text defines, as `compiled` makes it; once in a process.

    Numba keeps machine code only of functions from a file, so the text is laid beside it.

    Args:
        name: of the function.
        text: Python that defines it; it may use NumPy as ``np``.
        fast: as of `compiled`.
    """
    digest = hashlib.sha256(f"{fast} {text}".encode()).hexdigest()[:16]
    path = cache_folder() / "formulas" / f"{name}_{digest}.py"
    try:
        if not path.is_file() or path.read_text("utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(f".{os.getpid()}")
            part.write_text(text, "utf-8")
            part.replace(path)
    except OSError as error:
        _LOG.info("loops are compiled in every process: %s", error)
    known: dict[str, Any] = {"np": np, "__name__": __name__}
    exec(compile(text, str(path), "exec"), known)  # our own text, never the file's
    made: Callable[..., object] = compiled(known[name], fast=fast)
    return made
