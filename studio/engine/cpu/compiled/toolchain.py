"""Finds Numba, and compiles functions with the rules of this package."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any, TypeVar

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
    except Exception:
        # Numba refuses NumPy versions newer than itself with various errors.
        return False
    return True


def compiled(function: F) -> F:
    """The function as machine code, kept on disk; free of the interpreter's lock."""
    import numba

    made: F = numba.njit(function, nogil=True, cache=True, fastmath=FAST, error_model="numpy")
    return made
