"""MATMUL and its gradients against float64 NumPy, however the matrices lie: loops and BLAS."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest

from studio.engine.cpu.backend import CpuBackend
from tests.engine.gl.gl_programs import Lines, run_once

Array = np.ndarray
Lead = tuple[int, ...]


@pytest.fixture(scope="module")
def backend() -> Iterator[CpuBackend]:
    with closing(CpuBackend()) as made:
        yield made


def turned(array: Array, transposed: bool) -> Array:
    return array.swapaxes(-1, -2) if transposed else array


def summed(gradient: Array, shape: tuple[int, ...]) -> Array:
    """A gradient summed over the dimensions that its operand repeats along."""
    gradient = gradient.sum(axis=tuple(range(gradient.ndim - len(shape))))
    repeats = tuple(d for d, size in enumerate(shape) if size == 1 != gradient.shape[d])
    return gradient.sum(axis=repeats, keepdims=True)


SIZES = {
    "full vectors": (48, 32, 64),
    "odd": (33, 7, 20),
    "short": (3, 16, 32),
    "a row": (1, 16, 16),
    "a column": (16, 16, 1),
    "no rows": (0, 4, 5),
    "nothing to sum": (4, 0, 5),
}
LEADS: dict[str, tuple[Lead, Lead]] = {
    "plain": ((), ()),
    "one matrix for all": ((2, 3), ()),
    "all of one matrix": ((), (2,)),
    "both repeat": ((3, 1), (2, 1, 3)),
}


@pytest.mark.parametrize(("ta", "tb"), [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("size", SIZES)
def test_products_and_gradients_are_those_of_numpy(
    backend: CpuBackend,
    rng: np.random.Generator,
    size: str,
    lead: str,
    ta: bool,
    tb: bool,
) -> None:
    adds = ta != tb
    (rows, inner, columns), (left, right) = SIZES[size], LEADS[lead]
    a, b = rng.standard_normal((*left, rows, inner)), rng.standard_normal((*right, inner, columns))
    y = a @ b
    dy = rng.standard_normal(y.shape)
    lines = Lines()
    fed = {"a": turned(a, ta), "b": turned(b, tb), "seed": dy}
    given = {name: lines.input(name, array.shape) for name, array in fed.items()}
    made = lines.made("y", y.shape)
    fields = {"a": given["a"], "b": given["b"], "y": made, "ta": ta, "tb": tb}
    lines.add("forward", "MATMUL", **fields)
    lines.add("backward", "COPY", x=given["seed"], y=made.gradient)
    if adds:
        for name in "ab":
            lines.add("backward", "FILL", y=given[name].gradient, number=0.5)
    lines.add("backward", "GRADS_MATMUL", **fields, set=() if adds else ("a", "b"))
    fed = {name: np.ascontiguousarray(array, np.float32) for name, array in fed.items()}
    fetched = (made, given["a"].gradient, given["b"].gradient)
    found = run_once(backend, lines.program(made), 1, *fetched, **fed)
    da = summed(dy @ turned(b, True), a.shape) + 0.5 * adds
    db = summed(turned(a, True) @ dy, b.shape) + 0.5 * adds
    for one, wanted in zip(found, (y, turned(da, ta), turned(db, tb)), strict=True):
        np.testing.assert_allclose(one, wanted, rtol=1e-4, atol=1e-4)
