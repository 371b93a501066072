"""Results of single operations compared with float64 at some places, by their definitions."""

from __future__ import annotations

import numpy as np

from studio.engine.isa.program import Program

_PLACES = 64


def spot_error(program: Program, given: list[np.ndarray], found: np.ndarray) -> float:
    """The largest deviation at random places, as a share of the largest value expected there.

    Args:
        program: one of `benchmarks.kernels`.
        given: its inputs.
        found: its result.
    """
    rng = np.random.default_rng(1)
    places = [tuple(int(rng.integers(n)) for n in found.shape) for _ in range(_PLACES)]
    name = program.name.upper()
    wanted = np.array([_EXPECTED[name](given, place) for place in places])
    got = np.array([found[place] for place in places], np.float64)
    return float(np.abs(got - wanted).max() / np.abs(wanted).max())


def _product(given: list[np.ndarray], place: tuple[int, ...]) -> float:
    a, b = given
    return float(a[place[0]].astype(np.float64) @ b[:, place[1]].astype(np.float64))


def _relu(given: list[np.ndarray], place: tuple[int, ...]) -> float:
    return max(0.0, float(given[0][place]))


def _softmax(given: list[np.ndarray], place: tuple[int, ...]) -> float:
    row = given[0][place[0]].astype(np.float64)
    powers = np.exp(row - row.max())
    return float(powers[place[1]] / powers.sum())


def _window(given: list[np.ndarray], place: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The 3x3 cells around a place with a border of zeros, and the filters."""
    x, w = given
    n, row, col, _ = place
    padded = np.pad(x[n].astype(np.float64), ((1, 1), (1, 1), (0, 0)))
    return padded[row : row + 3, col : col + 3], w.astype(np.float64)


def _conv2d(given: list[np.ndarray], place: tuple[int, ...]) -> float:
    cells, filters = _window(given, place)
    return float((cells * filters[..., place[3]]).sum())


def _depthwise(given: list[np.ndarray], place: tuple[int, ...]) -> float:
    cells, filters = _window(given, place)
    return float((cells[..., place[3]] * filters[..., place[3], 0]).sum())


def _adds(given: list[np.ndarray], place: tuple[int, ...]) -> float:
    # A thousand roundings are no error: each sum is float32, so the same in the same order.
    total, step = given[0][place], given[1][place]
    for _ in range(1000):
        total = total + step
    return float(total)


_EXPECTED = {
    "MATMUL": _product,
    "RELU": _relu,
    "SOFTMAX": _softmax,
    "CONV2D": _conv2d,
    "DEPTHWISE_CONV2D": _depthwise,
    "ADDS": _adds,
}
