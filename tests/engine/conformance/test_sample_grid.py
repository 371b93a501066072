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
