"""Pictures in another size against what others answer, and cells that must not matter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from studio.engine.runtime.backend import Backend
from tests.engine.conformance.case import Case, Given, exactly
from tests.engine.conformance.harness import gradients, results

SIZES = [
    ((5, 7), (10, 14)),
    ((5, 7), (8, 9)),
    ((12, 9), (5, 4)),
    ((4, 4), (1, 7)),
    ((1, 3), (4, 2)),
]


def resized(backend: Backend, x: np.ndarray, size: tuple[int, int], **attrs: Any) -> np.ndarray:
    given = Given(x.shape, exactly(x))
    attrs = {"height": size[0], "width": size[1], **attrs}
    return results(backend, Case("RESIZE", "peer", {"x": given}, attrs))["y"]


def pictures(size: tuple[int, int]) -> np.ndarray:
    return np.random.default_rng(3).uniform(-2, 2, (2, *size, 3)).astype(np.float32)


def test_growing_by_whole_factors_repeats_cells(backend: Backend) -> None:
    x = pictures((3, 4))
    found = resized(backend, x, (9, 8))
    np.testing.assert_array_equal(found, x.repeat(3, axis=1).repeat(2, axis=2))


def test_a_bad_cell_stays_where_it_weighs_something(backend: Backend) -> None:
    x = np.ones((1, 5, 5, 1), np.float32)
    x[0, 2, 2] = np.nan
    for method in ("bilinear", "bicubic"):
        same = resized(backend, x, (5, 5), method=method)
        np.testing.assert_array_equal(same, x)
    wide = resized(backend, x, (10, 10), method="bilinear")[0, :, :, 0]
    assert np.isnan(wide[3:7, 3:7]).all()
    assert np.isnan(wide).sum() == 16


def test_the_gradient_of_places_that_nobody_takes_is_0(backend: Backend) -> None:
    x, dy = pictures((6, 6))[:1], np.ones((1, 2, 2, 3), np.float32)
    attrs = {"height": 2, "width": 2}
    case = Case("RESIZE", "few", {"x": Given(x.shape, exactly(x))}, attrs)
    found = gradients(backend, case, dy, {"x": [np.ones_like(x)]}, set_=("x",))["x"][0]
    assert found.sum() == dy.sum()
    assert np.count_nonzero(found) == dy.size


@pytest.mark.peers
@pytest.mark.parametrize(("size", "wanted"), SIZES)
@pytest.mark.parametrize(
    ("method", "attrs"),
    [
        ("nearest", {}),
        ("linear", {"method": "bilinear"}),
        ("cubic", {"method": "bicubic", "exclude": True}),
        ("linear smooth", {"method": "bilinear", "antialias": True}),
        ("cubic smooth", {"method": "bicubic", "antialias": True}),
    ],
)
def test_resizes_as_jax_does_for_keras(
    backend: Backend,
    method: str,
    attrs: dict[str, Any],
    size: tuple[int, int],
    wanted: tuple[int, int],
) -> None:
    import jax.image

    x = pictures(size)
    name, _, smooth = method.partition(" ")
    answer = jax.image.resize(x, (2, *wanted, 3), name, antialias=bool(smooth))
    found = resized(backend, x, wanted, **attrs)
    np.testing.assert_allclose(found, np.asarray(answer), rtol=1e-4, atol=1e-5)


@pytest.mark.peers
@pytest.mark.parametrize(("size", "wanted"), SIZES)
@pytest.mark.parametrize("method", ["bilinear", "bicubic"])
@pytest.mark.parametrize("corners", [False, True])
def test_resizes_as_torch_does_and_so_do_gradients(
    backend: Backend, method: str, corners: bool, size: tuple[int, int], wanted: tuple[int, int]
) -> None:
    import torch

    x = pictures(size)
    dy = np.random.default_rng(5).uniform(-1, 1, (2, *wanted, 3)).astype(np.float32)
    given = torch.tensor(x.transpose(0, 3, 1, 2), requires_grad=True)
    answer = torch.nn.functional.interpolate(
        given, wanted, mode=method, align_corners=corners
    ).permute(0, 2, 3, 1)
    answer.backward(torch.tensor(dy))
    attrs = {
        "method": method,
        "coords": "align_corners" if corners else "half_pixel",
        "cubic": -0.75,
    }
    found = resized(backend, x, wanted, **attrs)
    np.testing.assert_allclose(found, answer.detach().numpy(), rtol=1e-4, atol=1e-5)
    attrs |= {"height": wanted[0], "width": wanted[1]}
    case = Case("RESIZE", "peer", {"x": Given(x.shape, exactly(x))}, attrs)
    slope = gradients(backend, case, dy, {"x": [np.zeros_like(x)]}, set_=("x",))["x"][0]
    expected = given.grad.numpy().transpose(0, 2, 3, 1)
    np.testing.assert_allclose(slope, expected, rtol=1e-4, atol=1e-5)
