"""Element-wise kernels over large spaces: every work group takes a strip, results are the same."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.gl.backend import GlBackend
from studio.engine.gl.kernels import element_kernel
from studio.engine.gl.kernels.element_kernel import STRIP_LOCAL, ElementKernel
from studio.engine.gl.plan import planner
from studio.engine.gl.shader.source import KernelSource
from tests.engine.gl.naive import close, draw
from tests.engine.gl.one_line import OneLine, run_line

pytestmark = pytest.mark.gl


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> list[ElementKernel]:
    """Everything counts as large and three work groups share it; the kernels that are made."""
    made: list[ElementKernel] = []
    original = element_kernel.element_kernel

    def listed(*given: object, **named: object) -> ElementKernel:
        made.append(original(*given, **named))  # type: ignore[arg-type]
        return made[-1]

    monkeypatch.setattr(planner, "LARGE", 1)
    monkeypatch.setattr(planner, "element_kernel", listed)
    monkeypatch.setattr(element_kernel, "STRIPS", 3)
    return made


SHAPES = ((1, 3), (5, 7), (3, 8192), (11, 1031), (13, 2048))
"""Less than a quadruple; ends in the middle of one; whole strips; strips cut off by the end."""


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rectified_values_of_any_length(
    backend: GlBackend, kernels: list[ElementKernel], shape: tuple[int, int]
) -> None:
    x = draw(*shape).astype(np.float32)
    x[0, 1] = np.nan
    line = OneLine("RELU", {"x": x, "y": shape}, batched=("x", "y"))
    found = run_line(backend, line, "y", gpu=True)["y"]
    np.testing.assert_array_equal(found, np.where(np.isnan(x), x, np.maximum(x, 0)))
    (kernel,) = kernels
    assert kernel.strips
    assert kernel.source.local == STRIP_LOCAL


def test_gradients_are_added_in_place(backend: GlBackend, kernels: list[ElementKernel]) -> None:
    shape = (7, 1021)
    y, dy, old = draw(*shape), draw(*shape), draw(*shape)
    operands = {"x": shape, "y": y}
    line = OneLine("GRADS_RELU", operands, {"y": dy, "x": old}, ("x", "y"))
    close(run_line(backend, line, "dx", gpu=True)["dx"], old + np.where(y > 0, dy, 0))
    assert any(kernel.strips for kernel in kernels)


@pytest.mark.parametrize("repeated", [(1, 1, 8), (1, 5, 1), (1, 1, 1)], ids=str)
def test_repeated_operands(
    backend: GlBackend, kernels: list[ElementKernel], repeated: tuple[int, ...]
) -> None:
    a, b = draw(300, 5, 8), draw(*repeated)
    line = OneLine("MUL", {"a": a, "b": b, "y": a.shape}, batched=("a", "y"))
    close(run_line(backend, line, "y", gpu=True)["y"], a * b)
    assert kernels


def test_truth_values(backend: GlBackend, kernels: list[ElementKernel]) -> None:
    a = np.round(draw(9, 1500) * 2)
    b = np.round(draw(9, 1500) * 2)
    line = OneLine("EQUAL", {"a": a, "b": b, "y": a.shape}, batched=("a", "b", "y"))
    np.testing.assert_array_equal(run_line(backend, line, "y", gpu=True)["y"] != 0, a == b)
    assert any(kernel.strips for kernel in kernels)


def test_groups_of_several_instructions(backend: GlBackend, kernels: list[ElementKernel]) -> None:
    x, b = draw(6, 4096), draw(6, 4096)
    line = OneLine("ADD", {"x1": x, "x2": b, "y": x.shape}, batched=("x1", "x2", "y"))
    line.follow("RELU")
    found = run_line(backend, line, "y", "z", gpu=True)
    close(found["y"], x + b)
    close(found["z"], np.maximum(x + b, 0))
    assert kernels[-1].strips


@pytest.mark.parametrize("count", [1 << 24, (1 << 24) + 5, 100_000_001, 1 << 28])
def test_strips_cover_the_space_once(count: int) -> None:
    kernel = ElementKernel(KernelSource("", "", STRIP_LOCAL, ()), (), 4, strips=True)
    groups, (strip, _) = kernel.grid(count)
    assert groups <= element_kernel.STRIPS
    assert 4 * strip * (groups - 1) < count <= 4 * strip * groups
    assert strip % STRIP_LOCAL[0] == 0
