"""Functional networks train as Keras 3.15.1 recorded: losses and metrics over 20 steps."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import studio.engine
from studio.engine import Model
from studio.engine.core.errors import ParameterError
from studio.engine.layers.named_parameters import public_weights
from studio.engine.train.model.keras_arguments import UNSUPPORTED
from studio.engine.train.weights import initial_weights
from tests.recorded.functional.cases import NETWORKS, TOLERANCE, Functional, starts

RECORDED = json.loads(
    (Path(__file__).parents[3] / "recorded" / "functional" / "keras.json").read_text("utf-8")
)
LABELS = {"mae": "mean_absolute_error", "mse": "mean_squared_error"}
"""Metrics that logs name in full here, and as they were given in Keras."""

BACKENDS = ("cpu", pytest.param("gl", marks=(pytest.mark.gl, pytest.mark.slow)))


def label(name: str) -> str:
    """A name of Keras' logs as ours have it."""
    head, _, metric = name.rpartition("_")
    full = LABELS.get(metric, metric)
    return f"{head}_{full}" if head else full


def built(case: Functional, backend: str) -> Model:
    """The model with the weights the recording began with, compiled."""
    model: Model = case.build(studio.engine)
    graph_model = Model.of_graph(model.graph, backend=backend)
    names = public_weights(model.graph, initial_weights(model.graph, 0))
    shapes: dict[str, list[tuple[int, ...]]] = {}
    for name, values in names.items():
        shapes.setdefault(name.rpartition("/")[0], []).append(values.shape)
    first = starts(shapes)
    graph_model.set_weights(
        [first[layer].pop(0) for layer in (n.rpartition("/")[0] for n in names)]
    )
    graph_model.compile(case.optimizer(studio.engine), **case.compile)
    return graph_model


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", NETWORKS)
def test_twenty_steps_are_those_of_keras(name: str, backend: str) -> None:
    case, recorded = NETWORKS[name], RECORDED["networks"][name]
    x, y = case.samples()
    weight = case.sample_weight()
    with built(case, backend) as model:
        history = model.fit(
            x, y, case.batch, case.epochs, shuffle=False, sample_weight=weight, **case.fit
        ).history
        measured = model.evaluate(x, y, case.batch, 0, weight)
    wanted = {label(each): values for each, values in recorded["history"].items()}
    assert set(history) == {*wanted, "learning_rate"}
    for each, values in wanted.items():
        np.testing.assert_allclose(
            history[each], values, rtol=TOLERANCE, atol=TOLERANCE, err_msg=f"{name}: {each}"
        )
    theirs = recorded["evaluate"]
    if name == "weighted metrics":
        # Keras lists the metric of a name given twice once more.
        theirs = [*theirs[:2], *theirs[3:]]
    assert np.shape(measured) == np.shape(theirs)
    np.testing.assert_allclose(measured, theirs, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("call", ["compile", "fit", "evaluate", "predict"])
def test_arguments_have_the_order_of_keras_and_the_others_are_refused(call: str) -> None:
    parameters = inspect.signature(getattr(Model, call)).parameters.values()
    own = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD and p.name != "self"]
    theirs = RECORDED["arguments"][call]
    assert own == theirs[: len(own)]
    case = NETWORKS["two inputs"]
    x, y = case.samples()
    with built(case, "cpu") as model:
        arguments: dict[str, Any] = {"optimizer": "sgd", "loss": "mse"}
        if call != "compile":
            arguments = {"x": x} if call == "predict" else {"x": x, "y": y}
        for name in theirs:
            if name not in own or name in UNSUPPORTED[call]:
                with pytest.raises(ParameterError, match=f"{name}: Keras has this"):
                    getattr(model, call)(**arguments, **{name: ["something"]})
        with pytest.raises(ParameterError, match="unknown argument 'speed'"):
            getattr(model, call)(**arguments, speed=3)
