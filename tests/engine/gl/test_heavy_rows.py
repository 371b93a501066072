"""Softmax and reductions equal their definitions, with NaN, infinities and ties."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.gl.backend import GlBackend
from tests.engine.gl.naive import Array, draw
from tests.engine.gl.one_line import OneLine, run_line

pytestmark = pytest.mark.gl


def close(found: Array, expected: Array) -> None:
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=3e-5, atol=3e-6)


def softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("shape", [(5, 10), (3, 2, 70), (2, 700)])
def test_softmax_logarithm_and_gradients(
    backend: GlBackend, shape: tuple[int, ...], gpu: bool
) -> None:
    x, dy = draw(*shape) * 4.0, draw(*shape)
    y = softmax(x)
    operands = {"x": x, "y": shape}
    for mnemonic in ("SOFTMAX", "SOFTMAX_CE"):
        line = OneLine(mnemonic, operands, None, ("x", "y"), step=shape[-1])
        close(run_line(backend, line, "y", gpu=gpu)["y"], y)
    line = OneLine("SOFTMAX_LOG", operands, None, ("x", "y"), step=shape[-1])
    close(run_line(backend, line, "y", gpu=gpu)["y"], np.log(y))
    given = {"x": x, "y": y}
    line = OneLine("GRADS_SOFTMAX", given, {"y": dy, "x": x}, ("x", "y"), step=shape[-1])
    expected = x + y * (dy - (dy * y).sum(-1, keepdims=True))
    close(run_line(backend, line, "dx", gpu=gpu)["dx"], expected)
    given = {"x": x, "y": np.log(y)}
    line = OneLine("GRADS_SOFTMAX_LOG", given, {"y": dy}, ("x", "y"), step=shape[-1], set=("x",))
    expected = dy - y * dy.sum(-1, keepdims=True)
    np.testing.assert_allclose(
        run_line(backend, line, "dx", gpu=gpu)["dx"], expected, rtol=2e-4, atol=2e-5
    )
    line = OneLine("GRADS_SOFTMAX_CE", given, {"y": dy, "x": x}, ("x", "y"), step=shape[-1])
    close(run_line(backend, line, "dx", gpu=gpu)["dx"], x + dy)


@pytest.mark.parametrize("shape", [(40, 3), (3, 70, 5), (2, 600, 17)])
def test_softmax_along_another_dimension_as_on_a_gpu(
    backend: GlBackend, shape: tuple[int, ...]
) -> None:
    axis = len(shape) - 2
    x, dy = draw(*shape) * 4.0, draw(*shape)
    y = np.moveaxis(softmax(np.moveaxis(x, axis, -1)), -1, axis)
    fields = {"step": shape[axis], "axis": axis}
    line = OneLine("SOFTMAX", {"x": x, "y": shape}, **fields)
    close(run_line(backend, line, "y", gpu=True)["y"], y)
    line = OneLine("GRADS_SOFTMAX", {"x": x, "y": y}, {"y": dy, "x": x}, **fields)
    expected = x + y * (dy - (dy * y).sum(axis, keepdims=True))
    close(run_line(backend, line, "dx", gpu=True)["dx"], expected)


@pytest.mark.parametrize(("count", "sets"), [(7, True), (40, False), (1000, True)])
def test_the_gradient_of_a_product_is_shared_on_a_gpu(
    backend: GlBackend, count: int, sets: bool
) -> None:
    x = np.random.default_rng(count).uniform(0.9, 1.1, (5, count)).astype(np.float32)
    x[1, count // 2] = 0.0
    x[2, [0, count - 1]] = 0.0
    dy, before = draw(5), draw(5, count)
    wide = x.astype(np.float64)
    others = [[np.delete(row, k).prod() for k in range(count)] for row in wide]
    expected = dy[:, None] * np.array(others) + (0.0 if sets else before)
    fields = {"axes": (1,), "set": ("x",) if sets else ()}
    line = OneLine("GRADS_REDUCE_PROD", {"x": x, "y": dy}, {"y": dy, "x": before}, **fields)
    found = run_line(backend, line, "dx", gpu=True)["dx"]
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-6)


def test_softmax_rows_of_several_dimensions(backend: GlBackend) -> None:
    x = draw(2, 3, 4)
    line = OneLine("SOFTMAX", {"x": x, "y": x.shape}, None, ("x", "y"), step=12)
    close(run_line(backend, line, "y")["y"], softmax(x.reshape(2, 12)).reshape(x.shape))


@pytest.mark.parametrize("length", [128, 384, 256, 1024, 4096])
def test_softmax_rows_that_are_kept(backend: GlBackend, length: int) -> None:
    x = draw(5, length) * 4.0
    x[1] += 100.0
    line = OneLine("SOFTMAX", {"x": x, "y": x.shape}, None, ("x", "y"), step=length)
    close(run_line(backend, line, "y", variant="kept_rows", gpu=True)["y"], softmax(x))
    x[3, length // 2] = np.nan
    line = OneLine("SOFTMAX", {"x": x, "y": x.shape}, None, ("x", "y"), step=length)
    found = run_line(backend, line, "y", variant="kept_rows", gpu=True)["y"]
    assert np.isnan(found[3]).all()
    assert np.isfinite(found[[0, 1, 2, 4]]).all()


@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_bad_value_makes_its_row_nan(backend: GlBackend, bad: float, gpu: bool) -> None:
    x = draw(3, 40)
    x[1, 17] = bad
    line = OneLine("SOFTMAX", {"x": x, "y": x.shape}, None, ("x", "y"), step=40)
    found = run_line(backend, line, "y", gpu=gpu)["y"]
    assert np.isnan(found[1]).all()
    assert np.isfinite(found[[0, 2]]).all()


SHAPE = (3, 4, 5, 6)


@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize(("axes", "keepdims"), [((), False), ((1,), True), ((0, 3), False)])
def test_reductions_and_their_gradients(
    backend: GlBackend, axes: tuple[int, ...], keepdims: bool, gpu: bool
) -> None:
    x = np.round(draw(*SHAPE) * 2.0)
    over = axes or (0, 1, 2, 3)
    count = np.prod([SHAPE[a] for a in over])
    fields = {"axes": axes, "keepdims": keepdims}
    functions = {"SUM": np.sum, "MEAN": np.mean, "MAX": np.max, "MIN": np.min}
    for name, function in functions.items():
        y = function(x, axis=over, keepdims=keepdims)
        operands = {"x": x, "y": y.shape}
        line = OneLine(f"REDUCE_{name}", operands, **fields)
        close(run_line(backend, line, "y", gpu=gpu)["y"], np.asarray(y))
        dy = draw(*y.shape) + 1.0
        spread = np.broadcast_to(dy if keepdims else np.expand_dims(dy, over), SHAPE)
        whole = function(x, axis=over, keepdims=True)
        expected = {"SUM": spread, "MEAN": spread / count}.get(name)
        if expected is None:
            first = np.zeros(SHAPE)
            for group in np.ndindex(*whole.shape):
                cells = [c for c in np.ndindex(*SHAPE)
                         if all(c[k] == group[k] for k in range(4) if k not in over)]  # fmt: skip
                winner = next(c for c in cells if x[c] == whole[group])
                first[winner] = spread[winner]
            expected = first
        given = {"x": x, "y": np.asarray(y)}
        for sets in ((), ("x",)):
            line = OneLine(f"GRADS_REDUCE_{name}", given, {"y": dy, "x": x}, set=sets, **fields)
            found = run_line(backend, line, "dx", gpu=gpu)["dx"]
            close(found, expected if sets else x + expected)


def test_nan_wins_reductions(backend: GlBackend) -> None:
    x = draw(3, 40)
    x[1, 4] = np.nan
    for mnemonic in ("REDUCE_MAX", "REDUCE_MIN"):
        line = OneLine(mnemonic, {"x": x, "y": (3,)}, axes=(1,))
        assert np.isnan(run_line(backend, line, "y")["y"]).tolist() == [False, True, False]


def test_argmax_takes_the_first_of_equals_and_the_first_nan(backend: GlBackend) -> None:
    x = np.array([[1.0, 3.0, 3.0], [2.0, np.nan, np.nan], [-np.inf, -np.inf, -np.inf], [0, 1, 2]])
    line = OneLine("ARGMAX", {"x": x, "y": (4,)}, None, ("x", "y"))
    assert run_line(backend, line, "y")["y"].tolist() == [1, 1, 0, 2]


@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("shape", [(5, 1), (3, 70), (70, 3), (2, 700)])
def test_whole_numbers_are_reduced_exactly(
    backend: GlBackend, shape: tuple[int, ...], gpu: bool
) -> None:
    x = np.random.default_rng(4).integers(-(1 << 31), 1 << 31, shape).astype(np.int32)
    for mnemonic, reduce in (("REDUCE_SUM", np.add), ("REDUCE_MIN", np.minimum)):
        for axis in (0, 1):
            wanted = reduce.reduce(x, axis=axis, dtype=np.int32)
            line = OneLine(mnemonic, {"x": x, "y": wanted.shape}, None, axes=(axis,))
            np.testing.assert_array_equal(run_line(backend, line, "y", gpu=gpu)["y"], wanted)
