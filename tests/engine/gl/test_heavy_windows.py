"""Pools and depthwise convolutions equal their definitions, ties, NaN and padding included."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.gl.backend import GlBackend
from tests.engine.gl.naive import (
    Window,
    average_pool,
    close,
    depthwise,
    depthwise_gradients,
    draw,
    max_pool,
)
from tests.engine.gl.one_line import OneLine, run_line

pytestmark = pytest.mark.gl
POOLS = [
    Window((2, 2), (2, 2)),
    Window((3, 3), (2, 2), (0, 0), (1, 1)),
    Window((3, 2), (1, 3), (2, 1), (1, 0)),
]


@pytest.mark.parametrize("window", POOLS)
def test_maxpool2d_sends_the_gradient_to_the_first_of_equals(
    backend: GlBackend, window: Window
) -> None:
    x = np.round(draw(2, 7, 8, 3))
    x[0, 2, 2, 0] = np.nan
    x[0, 3, 3, 0] = np.nan
    y, winners = max_pool(x, window)
    dy, before = draw(*y.shape), draw(*x.shape)
    operands = {"x": x, "y": y.shape}
    line = OneLine("MAXPOOL2D", operands, None, ("x", "y"), **window.fields(pooling=True))
    close(run_line(backend, line, "y")["y"], y)
    dx = before.copy()
    for (n, i, j, c), (h, w) in winners.items():
        dx[n, h, w, c] += dy[n, i, j, c]
    fields = window.fields(pooling=True)
    operands = {"x": x, "y": y}
    line = OneLine("GRADS_MAXPOOL2D", operands, {"y": dy, "x": before}, ("x", "y"), **fields)
    close(run_line(backend, line, "dx")["dx"], dx)


FOURS = [(POOLS[0], (2, 7, 8)), (Window((3, 2), (3, 2), (0, 0), (2, 1)), (2, 7, 9))]


@pytest.mark.parametrize(("window", "shape"), FOURS)
@pytest.mark.parametrize("halo", [False, True])
@pytest.mark.parametrize("adds", [False, True])
def test_pools_of_four_channels_at_once_keep_ties_nan_and_edges(
    backend: GlBackend, window: Window, shape: tuple[int, ...], halo: bool, adds: bool
) -> None:
    x = np.round(draw(*shape, 8))
    x[0, 2, 2, 0] = x[0, 3, 3, 0] = np.nan
    x[1, :4, :4, 5] = -np.inf
    y, winners = max_pool(x, window)
    dy, before = draw(*y.shape), draw(*x.shape)
    fields = window.fields(pooling=True)
    pads = {"x": ((0, 0), (1, 1), (1, 2), (0, 0))} if halo else {}
    line = OneLine("MAXPOOL2D", {"x": x, "y": y.shape}, None, ("x", "y"), pads, **fields)
    close(run_line(backend, line, "y", variant="fours")["y"], y)
    dx = before * adds
    for (n, i, j, c), (h, w) in winners.items():
        dx[n, h, w, c] += dy[n, i, j, c]
    given = {"y": dy, "x": before}
    fields |= {} if adds else {"set": ("x",)}
    line = OneLine("GRADS_MAXPOOL2D", {"x": x, "y": y}, given, ("x", "y"), pads, **fields)
    close(run_line(backend, line, "dx", variant="windows")["dx"], dx)


def test_maxpool2d_of_minus_infinity_is_minus_infinity(backend: GlBackend) -> None:
    x = np.full((1, 2, 2, 1), -np.inf)
    line = OneLine("MAXPOOL2D", {"x": x, "y": (1, 1, 1, 1)})
    assert run_line(backend, line, "y")["y"].item() == -np.inf


@pytest.mark.parametrize("exclude", [False, True])
@pytest.mark.parametrize("window", POOLS)
def test_avgpool2d_and_its_gradient(backend: GlBackend, window: Window, exclude: bool) -> None:
    x = draw(2, 7, 8, 3)
    y, counts = average_pool(x, window, exclude)
    dy = draw(*y.shape)
    fields = {**window.fields(pooling=True), "exclude": exclude}
    operands = {"x": x, "y": y.shape}
    line = OneLine("AVGPOOL2D", operands, None, ("x", "y"), **fields)
    close(run_line(backend, line, "y")["y"], y)
    dx = np.zeros(x.shape)
    for i, j in np.ndindex(*counts.shape):
        for _, _, h, w in window.cells(i, j, 7, 8):
            dx[:, h, w] += dy[:, i, j] / counts[i, j]
    line = OneLine("GRADS_AVGPOOL2D", operands, {"y": dy}, ("x", "y"), set=("x",), **fields)
    close(run_line(backend, line, "dx")["dx"], dx)


def test_global_avgpool2d_and_its_gradient(backend: GlBackend) -> None:
    x, dy = draw(3, 4, 5, 6), draw(3, 6)
    operands = {"x": x, "y": (3, 6)}
    line = OneLine("GLOBAL_AVGPOOL2D", operands, batched=("x", "y"))
    close(run_line(backend, line, "y")["y"], x.mean((1, 2)))
    line = OneLine("GRADS_GLOBAL_AVGPOOL2D", operands, {"y": dy, "x": x}, ("x", "y"))
    close(run_line(backend, line, "dx")["dx"], x + dy[:, None, None] / 20)


@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("halo", [False, True])
@pytest.mark.parametrize(
    ("channels", "multiplier", "window"),
    [
        (8, 1, Window((3, 3), (1, 1), (1, 1), (1, 1))),
        (3, 2, Window((2, 3), (2, 1), (1, 0), (0, 2), (1, 2))),
    ],
)
def test_depthwise_conv2d_and_its_gradients(
    backend: GlBackend, channels: int, multiplier: int, window: Window, halo: bool, gpu: bool
) -> None:
    x, w, b = (
        draw(2, 6, 7, channels),
        draw(*window.size, channels, multiplier),
        draw(channels * multiplier),
    )
    y = depthwise(x, w, window) + b
    dy = draw(*y.shape)
    pads = {"x": ((0, 0), (2, 2), (2, 2), (0, 0))} if halo else {}
    operands = {"w": w, "b": b, "x": x, "y": y.shape}
    line = OneLine("DEPTHWISE_CONV2D", operands, None, ("x", "y"), pads, **window.fields())
    close(run_line(backend, line, "y", gpu=gpu)["y"], y)
    fields = {**window.fields(), "set": ("x", "b")}
    old = {"y": dy, "w": w}
    line = OneLine("GRADS_DEPTHWISE_CONV2D", operands, old, ("x", "y"), pads, **fields)
    found = run_line(backend, line, "dx", "dw", "db", gpu=gpu)
    dx, dw = depthwise_gradients(x, w, dy, window)
    close(found["dx"], dx)
    close(found["dw"], w + dw)
    close(found["db"], dy.sum((0, 1, 2)))
