"""Keeps BLAS on one thread while a program runs; its work is shared by threads of our own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Run with BLAS on one thread.

    The threads of BLAS wait for one another longer than they work on the small products a network
    is cut into, and when another process holds a core they wait for its time slice: a small CNN
    took seven times as long on two threads of a busy two-core machine as on one.
    """
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    # Looking through the loaded libraries takes milliseconds; it is done once.
    return ThreadpoolController()
