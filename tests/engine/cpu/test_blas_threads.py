"""BLAS runs on one thread inside a program, and is left as it was found."""

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from studio.engine.cpu.threads import blas_threads
from studio.engine.cpu.threads.blas_threads import single_blas_thread


def threads() -> set[int]:
    return {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"}


def test_threads_are_limited_and_given_back():
    np.ones((4, 4)) @ np.ones((4, 4))
    # Other tests may have loaded a BLAS of their own, such as SciPy's, since it was looked.
    blas_threads._controller.cache_clear()
    with threadpool_limits(2, user_api="blas"):
        with single_blas_thread():
            assert threads() == {1}
        assert threads() == {2}
