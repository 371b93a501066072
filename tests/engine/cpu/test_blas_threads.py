"""BLAS runs on one thread unless a product is worth sharing, and is left as it was found."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from studio.engine.core.tensor import BATCH, Role
from studio.engine.cpu.blas_threads import blas_threads, shares_work
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.ops.linear import Linear


def dense(inputs: int, units: int):
    build = ProgramBuilder("dense", "infer")
    x = build.tensor("x", (BATCH, inputs), role=Role.INPUT)
    w = build.tensor("w", (units, inputs), role=Role.INPUT)
    (y,) = build.emit("forward", Linear, w=w, x=x)
    return build.finish((x, w), (y,))


def threads() -> set[int]:
    return {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"}


@pytest.mark.parametrize(("batch", "expected"), [(8, False), (128, True)])
def test_only_large_products_are_shared(batch, expected):
    assert shares_work(dense(784, 512), batch, 0) is expected


@pytest.mark.parametrize(("many", "inside"), [(False, {1}), (True, {2})])
def test_threads_are_limited_and_given_back(many, inside):
    np.ones((4, 4)) @ np.ones((4, 4))
    with threadpool_limits(2, user_api="blas"):
        with blas_threads(many):
            assert threads() == inside
        assert threads() == {2}
