"""Values and gradients of every loss on the CPU backend against recordings of Keras 3.15.1."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from studio.engine.autodiff.differentiate import differentiate
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import ABSENT, BATCH, Ref, Role
from studio.engine.cpu.backend import CpuBackend
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.ops.arithmetic import Add
from studio.engine.isa.ops.function import Square
from studio.engine.isa.ops.softmax import SoftmaxCE
from studio.engine.optim.emit_updates import emit_updates
from studio.engine.optim.losses import (
    CategoricalCrossentropy,
    Emit,
    Loss,
    MeanSquaredError,
    PointwiseLoss,
)
from studio.engine.optim.optimizers import SGD
from tests.recorded.optim.cases import LOSSES, POSITIONS, Array, loss_data, position_weights

RECORDED = Path(__file__).parents[2] / "recorded" / "optim" / "keras.npz"


def value_and_gradient(
    loss: Loss, p: Array, t: Array, weights: Array | None = None, *, softmax: bool = False
) -> tuple[float, Array]:
    """Predictions are a parameter, so that one step of descent at rate 1 shows their gradient."""
    builder = ProgramBuilder("loss", "train")
    start = builder.tensor("p", p.shape, role=Role.PARAM, trainable=True)
    dtype = DType.int32 if loss.indices else DType.float32
    target = builder.tensor("t", t.shape, dtype, Role.TARGET)
    fed = [target]
    weight = ABSENT
    if weights is not None:
        weight = builder.tensor("w", weights.shape, role=Role.TARGET)
        fed.append(weight)
    source = start
    if softmax:
        source = builder.emit("forward", SoftmaxCE, x=start, step=p.shape[-1])[0]
    total = loss.emit(builder, source, target, weights=weight, joined=softmax)
    program = builder.finish(tuple(fed), (total,))
    program = emit_updates(differentiate(program), SGD(1.0))
    backend = CpuBackend()
    session = backend.open_session()
    executable = backend.compile(program, session, 1)
    session.write("p", p.astype(np.float32))
    session.write("train/rates", np.ones(256, np.float32))
    executable.feed(program.inputs[0], t.astype(dtype.np))
    if weights is not None:
        executable.feed(program.inputs[1], weights.astype(np.float32))
    executable.run()
    value = float(executable.fetch(total).result())
    after = session.read("p").result().astype(np.float64)
    backend.close()
    return value, p.astype(np.float32).astype(np.float64) - after


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("case", LOSSES)
def test_value_and_gradient_are_those_of_keras(case: str, weighted: bool) -> None:
    kind, config, _, _ = LOSSES[case]
    p, t, weights = loss_data(case)
    loss = Loss.from_json({"type": kind, "config": config})
    value, gradient = value_and_gradient(loss, p, t, weights if weighted else None)
    head = f"loss|{case}|{'weighted' if weighted else 'plain'}"
    with np.load(RECORDED, allow_pickle=False) as file:
        assert value == pytest.approx(float(file[f"{head}|value"]), rel=3e-6)
        wanted = file[f"{head}|grad"]
    np.testing.assert_allclose(gradient, wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("case", POSITIONS)
def test_weights_of_positions_are_those_of_keras(case: str) -> None:
    kind, config, _, _ = LOSSES[case]
    p, t, _ = loss_data(case)
    loss = Loss.from_json({"type": kind, "config": config})
    value, gradient = value_and_gradient(loss, p, t, position_weights(case))
    with np.load(RECORDED, allow_pickle=False) as file:
        assert value == pytest.approx(float(file[f"loss|{case}|positions|value"]), rel=3e-6)
        wanted = file[f"loss|{case}|positions|grad"]
    np.testing.assert_allclose(gradient, wanted, rtol=2e-5, atol=2e-6)


class _Squares(PointwiseLoss, abstract=True):
    """Squared differences, by instructions."""

    def terms(self, emit: Emit, p: Ref, t: Ref) -> Ref:
        return emit(Square, x=emit(Add, x1=p, x2=t, alpha=1.0, beta=-1.0))


@pytest.mark.parametrize("weighed", [(4,), (4, 3), (4, 3, 2)])
def test_a_pointwise_loss_takes_weights_of_positions(weighed: tuple[int, ...]) -> None:
    rng = np.random.default_rng(8)
    p, t, weights = rng.normal(size=(4, 3, 2)), rng.normal(size=(4, 3, 2)), rng.random(weighed)
    spread = weights.reshape(*weighed, *[1] * (3 - len(weighed)))
    value, gradient = value_and_gradient(_Squares(), p, t, weights)
    assert value == pytest.approx((spread * (p - t) ** 2).mean(), rel=1e-5)
    np.testing.assert_allclose(gradient, spread * 2 * (p - t) / p.size, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "given", "text"),
    [
        ("MeanSquaredError", (4, 2), r"weights must be \[4\] or \[4,3\] or \[4,3,2\]: got"),
        ("CategoricalCrossentropy", (4, 3, 2), r"weights must be \[4\] or \[4,3\]: got"),
        ("CategoricalCrossentropy", (3,), r"weights must be \[4\] or \[4,3\]: got"),
    ],
)
def test_weights_that_do_not_fit_are_refused(kind: str, given: tuple[int, ...], text: str) -> None:
    p = np.full((4, 3, 2), 0.5)
    with pytest.raises(ShapeError, match=text):
        value_and_gradient(Loss.from_json({"type": kind, "config": {}}), p, p, np.ones(given))


def test_softmax_joined_with_its_loss_gives_the_gradient_of_the_logits() -> None:
    rng = np.random.default_rng(5)
    logits, t = rng.normal(size=(4, 5)), np.eye(5)[[0, 3, 3, 1]]
    shares = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    value, gradient = value_and_gradient(CategoricalCrossentropy(), logits, t, softmax=True)
    assert value == pytest.approx(-np.log(shares[t == 1]).mean(), rel=1e-5)
    np.testing.assert_allclose(gradient, (shares - t) / 4, atol=1e-6)
    summed = CategoricalCrossentropy(sum_gradient=True)
    value, gradient = value_and_gradient(summed, logits, t, softmax=True)
    assert value == pytest.approx(-np.log(shares[t == 1]).mean(), rel=1e-5)
    np.testing.assert_allclose(gradient, shares - t, atol=1e-6)


def test_dylanns_squared_error_is_a_sum_of_halves() -> None:
    p, t = np.array([[1.0, 3.0], [0.0, -2.0]]), np.array([[0.0, 1.0], [0.5, -1.0]])
    value, gradient = value_and_gradient(MeanSquaredError(sum_halves=True), p, t)
    assert value == pytest.approx((1 + 4 + 0.25 + 1) / 2)
    np.testing.assert_allclose(gradient, p - t, atol=1e-6)


def test_every_loss_has_a_case() -> None:
    assert {kind for kind, *_ in LOSSES.values()} == set(Loss.members)


def test_batch_symbol_is_accepted() -> None:
    builder = ProgramBuilder("loss", "train")
    p = builder.tensor("p", (BATCH, 3), role=Role.INPUT)
    t = builder.tensor("t", (BATCH,), DType.int32, Role.TARGET)
    loss = Loss.resolve("sparse_categorical_crossentropy")
    assert builder.type_of(loss.emit(builder, p, t)).shape == ()
