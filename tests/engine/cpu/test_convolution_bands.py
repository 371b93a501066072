"""Pictures that are no batch are shared between threads by rows, whatever kernel takes them."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.core.tensor import BATCH, Role
from studio.engine.cpu.backend import CpuBackend
from studio.engine.cpu.machine.execution_config import ExecutionConfig
from studio.engine.cpu.machine.toolchain import has_compiler
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.ops.conv import Conv2D


def expected(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """A convolution with a border of one cell, in float64."""
    height, width = x.shape[1:3]
    room = np.zeros((len(x), height + 2, width + 2, x.shape[3]))
    room[:, 1:-1, 1:-1] = x
    return sum(
        room[:, r : r + height, s : s + width] @ w[r, s].astype(np.float64)
        for r in range(3)
        for s in range(3)
    )


@pytest.mark.parametrize("sides", [(2, 5), (3, 9), (8, 8), (13, 6), (26, 12)], ids=str)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_rows_of_a_picture_come_from_several_threads(
    sides: tuple[int, int], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studio.engine.cpu.machine.threads.WORTH_ELEMENTS", 16)
    values = np.random.default_rng(5).standard_normal((1, *sides, 16)).astype(np.float32)
    found, right = convolved(values, BATCH, threads)
    np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("sides", [(2, 5), (8, 8)], ids=str)
def test_a_fixed_number_of_pictures_is_shared_by_rows_too(
    sides: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studio.engine.cpu.machine.threads.WORTH_ELEMENTS", 16)
    values = np.random.default_rng(6).standard_normal((5, *sides, 16)).astype(np.float32)
    found, right = convolved(values, 5, 2)
    np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-4)


def convolved(values: np.ndarray, count: int, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """The convolution of pictures, as many as the program says, and the right answer."""
    rng = np.random.default_rng(7)
    filters = rng.standard_normal((3, 3, 16, 32)).astype(np.float32)
    b = ProgramBuilder("conv", "infer")
    x = b.tensor("x", (count, *values.shape[1:]), role=Role.INPUT)
    w = b.tensor("w", filters.shape, role=Role.PARAM)
    (y,) = b.emit("forward", Conv2D, w=w, x=x, pad_h=1, pad_w=1)
    program = b.finish((x,), (y,))
    backend = CpuBackend(config=ExecutionConfig(threads, has_compiler()))
    session = backend.open_session()
    executable = backend.compile(program, session, 1)
    session.write("w", filters)
    executable.feed(program.inputs[0], values)
    executable.run()
    found = executable.fetch(y).result()
    backend.close()
    return found, expected(values, filters)
