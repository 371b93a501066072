"""Finds Numba, and compiles functions with the rules of this package."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

_LOG = logging.getLogger(__name__)

F = TypeVar("F", bound=Callable[..., Any])

FAST = {"contract", "reassoc"}
"""Freedoms of the compiler; none that lets it forget NaN, infinities or signed zeros."""


@cache
def has_compiler() -> bool:
    """Whether Numba can be loaded here."""
    if find_spec("numba") is None:
        return False
    try:
        import numba  # noqa: F401
    except Exception as error:
        # Numba refuses NumPy versions newer than itself with various errors.
        _LOG.info("kernels stay with NumPy: %s: %s", type(error).__name__, error)
        return False
    return True


def compiled(function: F, *, fast: bool = True) -> F:
    """The function as machine code, kept on disk; free of the interpreter's lock.

    Args:
        function: in the part of Python that Numba reads.
        fast: the compiler has the freedoms of ``FAST``, else none.
    """
    import numba

    settings: Any = numba.config
    if not settings.CACHE_DIR:
        # Beside the code, where Numba would put it, belongs to the installation.
        settings.CACHE_DIR = str(cache_folder())
    options: dict[str, Any] = {
        "nogil": True,
        "fastmath": FAST if fast else False,
        "error_model": "numpy",
    }
    try:
        made: F = numba.njit(function, cache=True, **options)
    except RuntimeError:
        # The folder cannot be written: compile in every process.
        made = numba.njit(function, **options)
    return made


def cache_folder() -> Path:
    """Where machine code is kept."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(given) if given.startswith("/") else Path.home() / ".cache"
    return root / "glassbox" / "compiled"
