"""Batch normalisation: statistics, running ones, gradients, frozen mode, both kinds of device."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.gl.backend import GlBackend
from tests.engine.gl.naive import Array, draw
from tests.engine.gl.one_line import OneLine, run_line

pytestmark = pytest.mark.gl
EPS, FACTOR = 1e-3, 0.25


def close(found: Array, expected: Array, tolerance: float = 5e-5) -> None:
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def operands(x: Array, shape: tuple[int, ...], affine: bool) -> dict[str, Array | tuple[int, ...]]:
    gamma, beta = draw(*shape) + 2.0, draw(*shape) + 1.0
    found = {"x": x, "y": x.shape, "gamma": gamma, "beta": beta}
    if not affine:
        found |= {"gamma": None, "beta": None}
    return {**found, "mean": draw(*shape), "var": draw(*shape) ** 2 + 0.5}


@pytest.mark.slow
@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize(
    ("mnemonic", "shape"),
    [
        ("BATCHNORM2D", (5, 6, 7, 4)),
        ("BATCHNORM2D", (33, 3)),
        ("BATCHNORM2D", (3, 19, 21, 40)),
        ("BATCHNORM2D", (2500, 2)),
        ("BATCHNORM", (9, 2, 3)),
        ("BATCHNORM", (70, 4, 8)),
        ("BATCHNORM2D", (700, 300)),
    ],
)
def test_training_uses_and_keeps_the_statistics_of_the_batch(
    backend: GlBackend, mnemonic: str, shape: tuple[int, ...], affine: bool, gpu: bool
) -> None:
    x = draw(*shape) * 3.0 + 100.0
    own = shape[1:] if mnemonic == "BATCHNORM" else shape[-1:]
    given = operands(x, own, affine)
    axes = tuple(range(len(shape) - len(own)))
    mean, var = x.mean(axes), x.var(axes)
    inverse = 1.0 / np.sqrt(var + EPS)
    xhat = (x - mean) * inverse
    gamma = given["gamma"] if affine else 1.0
    line = OneLine(mnemonic, given, None, ("x", "y"), eps=EPS, factor=FACTOR)
    found = run_line(backend, line, "y", "mean", "var", "dmean", "dvar", gpu=gpu)
    close(found["y"], gamma * xhat + (given["beta"] if affine else 0.0), 2e-4)
    close(found["mean"], (1 - FACTOR) * given["mean"] + FACTOR * mean)
    close(found["var"], (1 - FACTOR) * given["var"] + FACTOR * var, 2e-4)
    close(found["dmean"], mean)
    close(found["dvar"], inverse, 2e-4)
    dy = draw(*shape) + 0.5
    old = {"y": dy, "mean": mean, "var": inverse, **({"beta": draw(*own)} if affine else {})}
    fields = {"eps": EPS, "factor": FACTOR, "set": ("x", "gamma") if affine else ("x",)}
    line = OneLine(f"GRADS_{mnemonic}", given, old, ("x", "y"), **fields)
    wanted = ("dx", "dgamma", "dbeta") if affine else ("dx",)
    found = run_line(backend, line, *wanted, gpu=gpu)
    centred = dy - dy.mean(axes) - xhat * (dy * xhat).mean(axes)
    close(found["dx"], gamma * inverse * centred, 2e-4)
    if affine:
        close(found["dgamma"], (dy * xhat).sum(axes), 5e-4)
        close(found["dbeta"], old["beta"] + dy.sum(axes), 2e-4)


@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("skip", [(), ("x",), ("gamma", "beta")])
def test_frozen_uses_running_statistics_and_changes_nothing(
    backend: GlBackend, skip: tuple[str, ...], gpu: bool
) -> None:
    x, dy = draw(6, 5, 4), draw(6, 5, 4) + 0.5
    given = operands(x, (4,), True)
    inverse = 1.0 / np.sqrt(given["var"] + EPS)
    xhat = (x - given["mean"]) * inverse
    line = OneLine("BATCHNORM2D", given, None, ("x", "y"), eps=EPS, frozen=True)
    found = run_line(backend, line, "y", "mean", "var")
    close(found["y"], given["gamma"] * xhat + given["beta"])
    close(found["mean"], given["mean"], 1e-6)
    close(found["var"], given["var"], 1e-6)
    fields = {"eps": EPS, "frozen": True, "skip": skip, "set": ("x", "gamma", "beta")}
    line = OneLine("GRADS_BATCHNORM2D", given, {"y": dy}, ("x", "y"), **fields)
    expected = {
        "dx": given["gamma"] * inverse * dy,
        "dgamma": (dy * xhat).sum((0, 1)),
        "dbeta": dy.sum((0, 1)),
    }
    wanted = [name for name in expected if name[1:] not in skip]
    for name, values in run_line(backend, line, *wanted, gpu=gpu).items():
        close(values, expected[name])


def test_a_large_mean_costs_no_accuracy(backend: GlBackend) -> None:
    x = (draw(64, 2) + 10000.0).astype(np.float32)
    exact = x.astype(np.float64)
    line = OneLine("BATCHNORM2D", operands(x, (2,), False), None, ("x", "y"), eps=EPS)
    for gpu in (False, True):
        found = run_line(backend, line, "dvar", gpu=gpu)["dvar"]
        close(found, 1.0 / np.sqrt(exact.var(0) + EPS), 1e-4)


def test_nan_in_one_channel_stays_in_it(backend: GlBackend) -> None:
    x = draw(8, 2)
    x[3, 1] = np.nan
    line = OneLine("BATCHNORM2D", operands(x, (2,), False), None, ("x", "y"), eps=EPS)
    found = run_line(backend, line, "y", "mean", "var")
    for values in found.values():
        assert np.isfinite(values[..., 0]).all()
        assert np.isnan(values[..., 1]).all()
