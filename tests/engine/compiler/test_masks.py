"""Masks beside values: where they go, and what losses make of them, as in Keras."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import studio.engine
from studio.engine import (
    SGD,
    Activation,
    Add,
    Concatenate,
    Dense,
    Dropout,
    Flatten,
    Input,
    Masking,
    Model,
    Multiply,
    Softmax,
)
from studio.engine.compiler.lower import lower
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ParameterError, ShapeError
from studio.engine.core.tensor import Ref, TensorType
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.ops.arithmetic import Greater
from studio.engine.isa.ops.reduce import ReduceMax
from studio.engine.layers.context import LayerContext
from studio.engine.layers.graph import Port
from studio.engine.layers.graph_json import graph_from_json, graph_to_json
from studio.engine.layers.layer import Layer
from studio.engine.optim.metrics import Metric
from tests.engine.registered import registered_meanwhile
from tests.recorded.masks.cases import (
    CASES,
    LOSSES,
    METRICS,
    RATE,
    ROWS,
    STEPS,
    WEIGHTED,
    first_weight,
    inputs,
    sample_weights,
    targets,
)

BACKENDS = ("cpu", pytest.param("gl", marks=pytest.mark.gl))
RECORDED = Path(__file__).parents[2] / "recorded" / "masks" / "keras.npz"


@cache
def recorded() -> dict[str, np.ndarray]:
    with np.load(RECORDED) as found:
        return dict(found)


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", [*CASES, *(f"{name}:weighted" for name in WEIGHTED)])
def test_losses_and_weights_over_steps_are_those_of_keras(case: str, backend: str) -> None:
    name, _, weighted = case.partition(":")
    x, output = CASES[name](studio.engine)
    with Model(x, output, backend=backend) as model:
        shapes = [w.shape for w in model.get_weights()]
        model.set_weights([first_weight(name, i, shape) for i, shape in enumerate(shapes)])
        metric = METRICS.get(name, "mae")
        model.compile(SGD(RATE), LOSSES.get(name, "mse"), metrics=[metric])
        given = inputs(name, x.shape), targets(name, output.shape), ROWS
        weights = sample_weights(name) if weighted else None
        history = model.fit(*given, STEPS, sample_weight=weights, shuffle=False).history
        measured = model.evaluate(*given, sample_weight=weights)
        found = model.get_weights()
    np.testing.assert_allclose(history["loss"], recorded()[f"{case}:losses"], rtol=1e-5)
    np.testing.assert_allclose(measured, recorded()[f"{case}:measured"], rtol=1e-5)
    for index, weight in enumerate(found):
        np.testing.assert_allclose(
            weight, recorded()[f"{case}:weight{index}"], rtol=1e-4, atol=1e-6
        )


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_masking_sets_positions_to_zero_and_keeps_all_others(backend: str) -> None:
    x = Input((3, 2))
    values = np.array([[[0.5, 0.5], [0.5, 0.0], [1e-30, 0.5]],
                       [[-0.5, 0.5], [3e38, 0.5], [0.5, 0.5]]], np.float32)  # fmt: skip
    with Model(x, Masking(0.5)(x), backend=backend) as model:
        found = model.predict(values)
    wanted = values.copy()
    wanted[0, 0] = wanted[1, 2] = 0
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_batch_in_which_nothing_counts_has_no_loss_and_moves_nothing(backend: str) -> None:
    x = Input((3,))
    with Model(x, Dense(2)(Masking()(x)), backend=backend) as model:
        before = model.get_weights()
        model.compile(SGD(1.0), "mse")
        history = model.fit(np.zeros((4, 3)), np.ones((4, 2)), batch_size=4).history
        assert history["loss"] == [0.0]
        for one, other in zip(before, model.get_weights(), strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_symbol_carries_the_mask_as_far_as_layers_support_it() -> None:
    x = Input((4, 3))
    masked = Masking(name="mask")(x)
    steps = TensorType.of_batch((4,), DType.bool)
    assert (x.mask, masked.mask) == (None, steps)
    kept = Dropout(0.5)(Activation("tanh")(Dense(5)(masked)))
    assert kept.mask == steps
    with pytest.warns(UserWarning, match=r"\[flat\] does not support masking: the mask .* ends"):
        flat = Flatten(name="flat")(kept)
    assert flat.mask is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Flatten()(x)
    graph = Model(x, flat).graph
    assert list(graph.masks()) == [
        Port("mask"), Port("dense"), Port("activation"), Port("dropout"),
    ]  # fmt: skip


def test_masks_are_joined_as_values_are() -> None:
    x, y = Input((4, 3)), Input((2, 3))
    short, long = Masking()(y), Masking()(x)
    assert Concatenate(axis=1)([long, short, x]).mask == TensorType.of_batch((10,), DType.bool)
    assert Concatenate()([long, x]).mask is None
    assert Add()([long, x]).mask is None
    one = Masking()(Input((1, 3)))
    assert Add()([long, one]).mask == TensorType.of_batch((4,), DType.bool)


def test_a_softmax_whose_elements_have_no_mask_of_their_own_refuses_it_by_name() -> None:
    x, message = Input((4, 3)), r"\[s\] expected a mask for the elements of the input"
    layer = Softmax(name="s")
    with pytest.raises(ShapeError, match=message):
        layer(Masking()(x))
    graph = Model(x, layer(x)).graph
    document = graph_to_json(graph)
    document["nodes"].insert(1, {"id": "m", "type": "Masking", "config": {"name": "m"},
                                 "inputs": [document["nodes"][0]["id"]]})  # fmt: skip
    document["nodes"][2]["inputs"] = ["m"]
    with pytest.raises(ShapeError, match=message):
        graph_from_json(document).check()


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("axis", [-1, 1])
def test_a_softmax_gives_masked_elements_nothing(axis: int, backend: str) -> None:
    """Where nothing counts all get the same, as in Keras."""
    with registered_meanwhile():

        class Positive(Layer):
            """Masks what is not positive."""

            category = "sequence"
            supports_masking = True

            def mask_types(self, types: Any, masks: Any) -> tuple[TensorType]:
                return (TensorType.of_batch(types[0].sample, DType.bool),)

            def lower_masks(self, context: LayerContext, *inputs: Ref) -> tuple[Ref]:
                zero = context.constant("zero", 0.0)
                return (context.emit(Greater, "mask", a=inputs[0], b=zero),)

            def lower(self, context: LayerContext, *inputs: Ref) -> Ref:
                return inputs[0]

        start = Input((4, 3))
        softmax = Softmax(axis)(Positive()(start))
        assert softmax.mask == TensorType.of_batch((4, 3), DType.bool)
        end = Dense(2)(Flatten()(Activation("linear")(Multiply()([softmax, start]))))
        values = np.random.default_rng(5).normal(size=(6, 4, 3)).astype(np.float32)
        values[0] = -1.0
        with Model(start, softmax, backend=backend) as model:
            found = model.predict(values)
        with Model(start, end, backend=backend) as model:
            model.compile(SGD(0.1), "mse")
            history = model.fit(values, np.ones((6, 2), np.float32), 6, 3, verbose=0).history
    kept = np.where(values > 0, values, -1e9)
    shares = np.exp(kept - kept.max(axis, keepdims=True))
    np.testing.assert_allclose(found, shares / shares.sum(axis, keepdims=True), rtol=1e-5)
    assert history["loss"] == sorted(history["loss"], reverse=True)


def test_a_metric_that_takes_no_weights_refuses_an_output_with_a_mask() -> None:
    with registered_meanwhile():

        class Largest(Metric):
            """The largest prediction."""

            def emit(self, builder: ProgramBuilder, p: Ref, t: Ref, name: str) -> Ref:
                return builder.emit("metrics", ReduceMax, name=name, x=p)[0]

        x = Input((3,))
        plain, masked = (Model(x, Dense(2)(each)).graph for each in (x, Masking()(x)))
        assert lower(plain, "train", loss="mse", metrics=[Largest()]).section("metrics")
        with pytest.raises(
            ParameterError, match="largest takes no weights and cannot leave masked"
        ):
            lower(masked, "train", loss="mse", metrics=[Largest()])


def test_a_listing_without_masks_has_no_trace_of_them() -> None:
    x = Input((3,))
    program = lower(Model(x, Dense(2)(Masking(name="m")(x))).graph, "train", loss="mse")
    assert [i.mnemonic for i in program.section("loss")] == [
        "CAST", "REDUCE_MEAN", "ADD_SCALAR", "DIV", "LOSS_MSE",
    ]  # fmt: skip
    named = {t.name: t.port for t in program.tensors.values()}
    assert named["m/mask"] == "mask"
    plain = lower(Model(x, Dense(2)(x)).graph, "train", loss="mse")
    assert [i.mnemonic for i in plain.section("loss")] == ["LOSS_MSE"]


def test_metrics_that_count_leave_masked_positions_out() -> None:
    """Rows of -1 are masked: they are of the first class, and predicted so."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(6, 5, 2)).astype(np.float32)
    lengths = np.array([5, 1, 3, 2, 4, 3])
    kept = np.arange(5) < lengths[:, None]
    x[~kept] = -1.0
    start = Input((5, 2))
    model = Model(start, Dense(1, "sigmoid")(Masking(-1.0)(start)), backend="cpu")
    model.compile(SGD(0.0), "binary_crossentropy", metrics=["precision", "recall"])
    y = np.ones((6, 5, 1), np.float32)
    y[kept] = rng.integers(0, 2, (kept.sum(), 1))
    found = model.evaluate(x, y, batch_size=4, return_dict=True)
    guess, true = model.predict(x)[kept] > 0.5, y[kept] > 0
    hits = (guess & true).sum()
    assert found["precision"] == pytest.approx(hits / max(guess.sum(), 1), abs=1e-6)
    assert found["recall"] == pytest.approx(hits / true.sum(), abs=1e-6)
    model.close()
