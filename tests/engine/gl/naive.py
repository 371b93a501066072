"""What the heavy instructions mean, written naively in float64."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Window(NamedTuple):
    """Rows and columns of a window, its steps, pads before and after, and dilation."""

    size: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    pad: tuple[int, int] = (0, 0)
    end: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)

    def fields(self, pooling: bool = False) -> dict[str, Any]:
        """The attributes of an instruction with this window."""
        found: dict[str, Any] = {
            "stride_h": self.stride[0],
            "stride_w": self.stride[1],
            "pad_h": self.pad[0],
            "pad_w": self.pad[1],
            "pad_end": self.end,
        }
        if pooling:
            return {**found, "window_h": self.size[0], "window_w": self.size[1]}
        return {**found, "dil_h": self.dilation[0], "dil_w": self.dilation[1]}

    def out(self, height: int, width: int) -> tuple[int, int]:
        """Rows and columns of the result."""
        sizes = []
        for k, length in enumerate((height, width)):
            reach = (self.size[k] - 1) * self.dilation[k] + 1
            sizes.append((length + self.pad[k] + self.end[k] - reach) // self.stride[k] + 1)
        return sizes[0], sizes[1]

    def cells(self, i: int, j: int, height: int, width: int) -> list[tuple[int, int, int, int]]:
        """Filter row and column, input row and column of every cell inside the input."""
        found = []
        for r in range(self.size[0]):
            for s in range(self.size[1]):
                h = i * self.stride[0] + r * self.dilation[0] - self.pad[0]
                w = j * self.stride[1] + s * self.dilation[1] - self.pad[1]
                if 0 <= h < height and 0 <= w < width:
                    found.append((r, s, h, w))
        return found


def conv(x: Array, w: Array, window: Window) -> Array:
    """The cross-correlation, without a bias."""
    n, height, width, _ = x.shape
    out_h, out_w = window.out(height, width)
    y = np.zeros((n, out_h, out_w, w.shape[3]))
    for i in range(out_h):
        for j in range(out_w):
            for r, s, p, q in window.cells(i, j, height, width):
                y[:, i, j] += x[:, p, q] @ w[r, s]
    return y


def conv_gradients(x: Array, w: Array, dy: Array, window: Window) -> tuple[Array, Array]:
    """Gradients of x and w."""
    dx, dw = np.zeros(x.shape), np.zeros(w.shape)
    for i in range(dy.shape[1]):
        for j in range(dy.shape[2]):
            for r, s, p, q in window.cells(i, j, x.shape[1], x.shape[2]):
                dx[:, p, q] += dy[:, i, j] @ w[r, s].T
                dw[r, s] += x[:, p, q].T @ dy[:, i, j]
    return dx, dw


def depthwise(x: Array, w: Array, window: Window) -> Array:
    """The depthwise convolution, without a bias."""
    n, height, width, channels = x.shape
    out_h, out_w = window.out(height, width)
    y = np.zeros((n, out_h, out_w, channels, w.shape[3]))
    for i in range(out_h):
        for j in range(out_w):
            for r, s, p, q in window.cells(i, j, height, width):
                y[:, i, j] += x[:, p, q, :, None] * w[r, s]
    return y.reshape(n, out_h, out_w, -1)


def depthwise_gradients(x: Array, w: Array, dy: Array, window: Window) -> tuple[Array, Array]:
    """Gradients of x and w."""
    split = dy.reshape(*dy.shape[:3], *w.shape[2:])
    dx, dw = np.zeros(x.shape), np.zeros(w.shape)
    for i in range(dy.shape[1]):
        for j in range(dy.shape[2]):
            for r, s, p, q in window.cells(i, j, x.shape[1], x.shape[2]):
                dx[:, p, q] += (split[:, i, j] * w[r, s]).sum(-1)
                dw[r, s] += (x[:, p, q, :, None] * split[:, i, j]).sum(0)
    return dx, dw


def max_pool(x: Array, window: Window) -> tuple[Array, dict[tuple[int, ...], tuple[int, int]]]:
    """The maxima, and which cell of x each result came from."""
    n, height, width, channels = x.shape
    out_h, out_w = window.out(height, width)
    y = np.zeros((n, out_h, out_w, channels))
    winners: dict[tuple[int, ...], tuple[int, int]] = {}
    for e, i, j, c in np.ndindex(*y.shape):
        cells = [(h, w) for _, _, h, w in window.cells(i, j, height, width)]
        values = [x[e, h, w, c] for h, w in cells]
        bad = [k for k, v in enumerate(values) if np.isnan(v)]
        best = bad[0] if bad else values.index(max(values))
        y[e, i, j, c] = values[best]
        winners[e, i, j, c] = cells[best]
    return y, winners


def average_pool(x: Array, window: Window, exclude: bool) -> tuple[Array, Array]:
    """The means, and how many cells each was divided by, [rows, columns]."""
    n, height, width, channels = x.shape
    out_h, out_w = window.out(height, width)
    y = np.zeros((n, out_h, out_w, channels))
    counts = np.zeros((out_h, out_w))
    for i in range(out_h):
        for j in range(out_w):
            cells = window.cells(i, j, height, width)
            counts[i, j] = len(cells) if exclude else window.size[0] * window.size[1]
            for _, _, h, w in cells:
                y[:, i, j] += x[:, h, w] / counts[i, j]
    return y, counts


def draw(*shape: int) -> Array:
    """Normal numbers, the same for a shape every time."""
    return np.random.default_rng(sum(shape) + len(shape)).normal(size=shape)


def close(found: Array, expected: Array) -> None:
    """Equal up to the rounding of float32 sums."""
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=3e-5, atol=3e-5)
