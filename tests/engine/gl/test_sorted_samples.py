"""Gradients of pictures at many places: sorting them gives what going through all of them does."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.gl.backend import GlBackend
from studio.engine.gl.kernels.families import choose
from studio.engine.gl.kernels.specs import BoundInstruction, DeviceCaps
from tests.engine.gl.naive import close, draw
from tests.engine.gl.one_line import OneLine, run_line

pytestmark = pytest.mark.gl

WAYS = [
    ("bilinear", "zeros", "half_pixel"),
    ("bilinear", "border", "align_corners"),
    ("bilinear", "reflect", "pixels"),
    ("nearest", "zeros", "pixels"),
    ("nearest", "border", "half_pixel"),
    ("nearest", "reflect", "align_corners"),
]
MANY = (48, 44)
"""Places that are sorted on every device."""


def line_of(
    shape: tuple[int, int, int, int], grid: np.ndarray, method: str = "bilinear",
    outside: str = "zeros", coords: str = "half_pixel", set_: tuple[str, ...] = ("x", "grid"),
) -> OneLine:  # fmt: skip
    """Gradients of a picture and of a grid; of the picture they add to 1 unless set."""
    y = (*grid.shape[:3], shape[3])
    operands = {"x": draw(*shape), "grid": grid.astype(np.float32), "y": y}
    before = {"y": draw(*y), "x": np.ones(shape, np.float32)}
    return OneLine(
        "GRADS_SAMPLE_GRID", operands, before, ("x", "grid", "y"), method=method, outside=outside,
        coords=coords, set=set_,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("method", "outside", "coords"), WAYS)
def test_both_ways_agree_and_repeat_to_the_bit(
    backend: GlBackend, rng: np.random.Generator, method: str, outside: str, coords: str
) -> None:
    high = 9.0 if coords == "pixels" else 1.6
    grid = rng.uniform(-high, high, (2, *MANY, 2))
    grid[0, 0, :3] = [[np.nan, 0.0], [0.0, np.inf], [3e38, -3e38]]
    line = line_of((2, 5, 6, 3), grid, method, outside, coords, ("grid",))
    one = run_line(backend, line, "dx", "dgrid", variant="simple")
    other, again = (run_line(backend, line, "dx", "dgrid", variant="sorted") for _ in range(2))
    close(other["dx"], one["dx"])
    np.testing.assert_array_equal(other["dx"], again["dx"])
    np.testing.assert_array_equal(other["dgrid"], one["dgrid"])


@pytest.mark.slow
@pytest.mark.parametrize("channels", [1, 4])
def test_a_cell_that_many_places_weigh_is_joined_by_chunks(
    backend: GlBackend, rng: np.random.Generator, channels: int
) -> None:
    grid = rng.uniform(0.0, 7.0, (3, *MANY, 2))
    grid[:, 3:40] = [1.25, 2.5]
    line = line_of((3, 8, 8, channels), grid, coords="pixels", set_=("x", "grid"))
    one = run_line(backend, line, "dx", variant="simple")["dx"]
    close(run_line(backend, line, "dx", variant="sorted")["dx"], one)


def test_many_places_are_sorted_and_few_are_not() -> None:
    def chosen(side: int, rows: int, software: bool) -> str:
        line = line_of((1, side, side, 3), np.zeros((1, side, side, 2)))
        caps = DeviceCaps(is_software=software)
        return choose(BoundInstruction(line.program, line.instruction, rows, 1, caps)).name

    assert [chosen(side, 4, True) for side in (8, 64)] == ["simple", "sorted"]
    assert [chosen(side, 4, False) for side in (16, 64)] == ["simple", "sorted"]
    assert [chosen(32, rows, False) for rows in (4, 1024)] == ["simple", "sorted"]
