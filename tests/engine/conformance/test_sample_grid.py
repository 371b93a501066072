"""Pictures looked up at places against what PyTorch answers, and places that are no numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from studio.engine.runtime.backend import Backend
from tests.engine.conformance.case import Case, Given, exactly
from tests.engine.conformance.harness import gradients, results


def case_of(x: np.ndarray, grid: np.ndarray, **attrs: Any) -> Case:
    operands = {"x": Given(x.shape, exactly(x)), "grid": Given(grid.shape, exactly(grid))}
    return Case("SAMPLE_GRID", "peer", operands, attrs)


def test_whole_places_give_cells(backend: Backend) -> None:
    x = np.arange(24, dtype=np.float32).reshape(1, 4, 6, 1)
    down, across = np.indices((4, 6))
    grid = np.stack((across, down), -1)[None].astype(np.float32)
    for method in ("bilinear", "nearest"):
        for outside in ("zeros", "border", "reflect"):
            case = case_of(x, grid, coords="pixels", method=method, outside=outside)
            np.testing.assert_array_equal(results(backend, case)["y"], x)


def test_bad_places_give_nan_and_no_gradient(backend: Backend) -> None:
    x = np.ones((1, 3, 3, 1), np.float32)
    grid = np.array([[np.nan, 0], [0, np.inf], [-np.inf, 0], [3e38, 0], [0, 0]], np.float32)
    grid = grid.reshape(1, 1, 5, 2)
    for outside in ("zeros", "border", "reflect"):
        case = case_of(x, grid, outside=outside)
        found = results(backend, case)["y"].reshape(-1)
        np.testing.assert_array_equal(np.isnan(found), [True, True, True, True, False])
        dy = np.ones((1, 1, 5, 1), np.float32)
        held = {"x": [np.zeros_like(x)], "grid": [np.zeros_like(grid)]}
        slopes = gradients(backend, case, dy, held, set_=("x", "grid"))
        assert slopes["x"][0].sum() == 1
        np.testing.assert_array_equal(slopes["grid"][0], np.zeros_like(grid))


def test_a_bad_cell_stays_where_it_weighs_something(backend: Backend) -> None:
    x = np.ones((1, 3, 3, 1), np.float32)
    x[0, 1, 1] = np.nan
    places = [[0, 0], [0, 1], [2, 1], [0.5, 0], [0.5, 1]]
    grid = np.array(places, np.float32).reshape(1, 1, 5, 2)
    found = results(backend, case_of(x, grid, coords="pixels"))["y"].reshape(-1)
    np.testing.assert_array_equal(np.isnan(found), [False, False, False, False, True])


def tents(places: np.ndarray, size: int) -> np.ndarray:
    """What each of so many cells weighs for places that are counted in cells."""
    return np.maximum(1 - abs(places.astype(np.float64)[..., None] - np.arange(size)), 0)


def many_places(name: str) -> tuple[Case, np.ndarray, np.ndarray]:
    """Pictures looked up at many places, a slope, and the gradient of the pictures in float64."""
    rng = np.random.default_rng(len(name))
    grid = rng.uniform(-3, 66, (4, 64, 64, 2)).astype(np.float32)
    if name == "smooth":
        grid[:] = np.stack(np.meshgrid(*[np.linspace(2, 60, 64)] * 2), -1) + rng.random(
            (4, 1, 1, 2)
        )
    if name == "crowded":
        grid[rng.random((4, 64, 64)) < 0.9] = [17.25, 40.5]
    x = rng.uniform(-1, 1, (4, 64, 64, 3)).astype(np.float32)
    dy = rng.uniform(-1, 1, x.shape).astype(np.float32)
    across, down = tents(grid[..., 0], 64), tents(grid[..., 1], 64)
    given = across[..., None] * dy[..., None, :]
    wanted = [d.reshape(-1, 64).T @ g.reshape(-1, 64 * 3) for d, g in zip(down, given, strict=True)]
    return case_of(x, grid, coords="pixels"), dy, np.reshape(wanted, x.shape)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["anywhere", "smooth", "crowded"])
def test_slopes_at_many_places_add_up_alike_in_every_run(backend: Backend, name: str) -> None:
    case, dy, wanted = many_places(name)
    runs = [
        gradients(backend, case, dy, {"x": [np.ones(dy.shape, np.float32)]}, set_=set_)["x"][0]
        for set_ in (("x",), ("x",), ())
    ]
    np.testing.assert_allclose(runs[0], wanted, rtol=2e-5, atol=2e-4 if name == "crowded" else 2e-5)
    np.testing.assert_array_equal(runs[0], runs[1])
    np.testing.assert_allclose(runs[2], wanted + 1, rtol=2e-5, atol=3e-4)


@pytest.mark.slow
@pytest.mark.parametrize("side", [6, 64])
def test_slopes_are_differences_of_results(backend: Backend, side: int) -> None:
    """Results are linear in cells, so that a difference of one is exact but for rounding."""
    rng = np.random.default_rng(side)
    grid = rng.uniform(-1.1, 1.1, (2, side, side, 2)).astype(np.float32)
    x = np.zeros((2, side, side, 2), np.float32)
    dy = rng.uniform(-1, 1, x.shape).astype(np.float32)
    slope = gradients(backend, case_of(x, grid), dy, {"x": [x]}, set_=("x",))["x"][0]
    for _ in range(5):
        place = tuple(rng.integers(x.shape))
        moved = x.copy()
        moved[place] = 1
        change = (results(backend, case_of(moved, grid))["y"].astype(np.float64) * dy).sum()
        np.testing.assert_allclose(slope[place], change, rtol=2e-5, atol=2e-5)


@pytest.mark.peers
@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("outside", ["zeros", "border", "reflect"])
@pytest.mark.parametrize("method", ["bilinear", "nearest"])
def test_samples_as_torch_does_and_so_do_gradients(
    backend: Backend, method: str, outside: str, corners: bool
) -> None:
    import torch

    rng = np.random.default_rng(4)
    x = rng.uniform(-2, 2, (2, 5, 6, 3)).astype(np.float32)
    grid = rng.uniform(-2.5, 2.5, (2, 7, 4, 2)).astype(np.float32)
    dy = rng.uniform(-1, 1, (2, 7, 4, 3)).astype(np.float32)
    given = torch.tensor(x.transpose(0, 3, 1, 2), requires_grad=True)
    places = torch.tensor(grid, requires_grad=True)
    beyond = "reflection" if outside == "reflect" else outside
    answer = torch.nn.functional.grid_sample(given, places, method, beyond, corners)
    answer.backward(torch.tensor(dy.transpose(0, 3, 1, 2)))
    coords = "align_corners" if corners else "half_pixel"
    case = case_of(x, grid, method=method, outside=outside, coords=coords)
    found = results(backend, case)["y"]
    np.testing.assert_allclose(
        found, answer.detach().numpy().transpose(0, 2, 3, 1), rtol=1e-4, atol=1e-5
    )
    held = {"x": [np.zeros_like(x)], "grid": [np.zeros_like(grid)]}
    slopes = gradients(backend, case, dy, held, set_=("x", "grid"))
    expected = given.grad.numpy().transpose(0, 2, 3, 1)
    np.testing.assert_allclose(slopes["x"][0], expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(slopes["grid"][0], places.grad.numpy(), rtol=1e-4, atol=1e-4)
