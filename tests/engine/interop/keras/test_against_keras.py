"""Files for Keras, opened by Keras: answers of every layer, training that goes on either way."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import studio.engine as gb
from studio.engine.interop.file_format import Exportable, format_named
from studio.engine.interop.keras.graph_out import keras_from_graph
from studio.engine.optim.optimizers import Optimizer
from studio.engine.train.export import exporting
from studio.engine.train.export.check.check import ExportCheck
from studio.engine.train.model.model import Model
from studio.engine.train.project.project import Project
from studio.engine.train.weights import initial_weights
from tests.engine.interop.keras.exported import exported, inputs_of
from tests.engine.interop.keras.test_files_out import OPTIMIZERS, SCHEDULES, J, written
from tests.recorded.keras_files.cases import CASES
from tests.recorded.layers.cases import CASES as LAYERS

# Keras, JAX and NumPy warn of one another.
pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]
ALL = {**LAYERS, **CASES}
PROJECTS = sorted((Path(__file__).parents[4] / "projects").glob("*/*.glassbox"))


@pytest.fixture(scope="module")
def keras() -> Any:
    os.environ.setdefault("KERAS_BACKEND", "jax")
    return pytest.importorskip("keras")


def answers(model: Any, inputs: list[Any]) -> list[Any]:
    found = model.predict(inputs if len(inputs) > 1 else inputs[0], verbose=0)
    return found if isinstance(found, list) else [found]


def assert_alike(found: list[Any], expected: list[Any]) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("case", [name for name in ALL if name != "activation_gelu_tanh"])
def test_keras_answers_as_the_network_does(case: str, keras: Any, tmp_path: Path) -> None:
    """Through all three forms; then what Keras saves comes back, and goes to Keras again."""
    given = exported(case, ALL[case])
    inputs = inputs_of(given)
    own = Model.of_graph(given.graph, backend="cpu")
    own.set_weights(list(given.public.values()))
    expected = answers(own, inputs)
    opened = keras.saving.load_model(written(given, "keras", tmp_path))
    assert [layer.name for layer in opened.layers] == [
        layer.name for layer in keras_from_graph(given.graph).layers
    ]
    assert_alike(answers(opened, inputs), expected)
    if format_named("hdf5").why_not(given) is None:
        older = keras.saving.load_model(written(given, "hdf5", tmp_path))
        assert_alike(answers(older, inputs), expected)
    for variable in opened.variables:
        variable.assign(np.zeros(variable.shape))
    opened.load_weights(written(given, "keras-weights", tmp_path))
    assert_alike(answers(opened, inputs), expected)
    opened.save(tmp_path / "theirs.keras")
    found = format_named("keras").read_model(tmp_path / "theirs.keras")
    again = replace(given, graph=found.graph, stored=found.weights, training=None)
    assert {layer.name for layer in found.graph.layers()} == {each.name for each in opened.layers}
    back = keras.saving.load_model(written(again, "keras", tmp_path, "again"))
    assert_alike(answers(back, inputs), expected)


@pytest.mark.slow
@pytest.mark.parametrize("path", PROJECTS, ids=lambda path: path.stem)
def test_keras_answers_as_the_sample_projects_do(path: Path, keras: Any, tmp_path: Path) -> None:
    graph = Project.load(path).graph
    # As a training begins: drawn without regard to their number, they saturate what comes last.
    given = Exportable(path.stem, graph, initial_weights(graph, 3))
    inputs = inputs_of(given)
    own = Model.of_graph(graph, backend="cpu")
    own.set_weights(list(given.public.values()))
    expected = answers(own, inputs)
    assert np.ptp(expected[0], axis=0).max() > 1e-3
    opened = keras.saving.load_model(written(given, "keras", tmp_path))
    assert_alike(answers(opened, inputs), expected)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["keras", "hdf5"])
def test_keras_has_the_rates_of_every_schedule(form: str, keras: Any, tmp_path: Path) -> None:
    for name, schedule in SCHEDULES.items():
        optimizer = Optimizer.from_json(J("Adam", learning_rate=schedule))
        path = written(exported("dense", LAYERS["dense"], optimizer), form, tmp_path, name)
        found, rates = keras.saving.load_model(path).optimizer, []
        own = [optimizer.rate(step) for step in range(9)]
        for step in range(9):
            found.iterations.assign(step)
            rates.append(float(np.asarray(found.learning_rate)))
        np.testing.assert_allclose(rates, own, rtol=1e-5, atol=1e-8)


# -- training goes on -----------------------------------------------------------------------------

BATCH = 8
RNG = np.random.default_rng(0)
X = RNG.normal(size=(5 * BATCH, 6, 6, 2)).astype(np.float32)
Y = RNG.normal(size=(5 * BATCH, 3)).astype(np.float32)
TRAINED = {
    **OPTIMIZERS,
    "plain sgd": J("SGD", learning_rate=0.1),
    "plain rmsprop": J("RMSprop"),
    "plain adam": J("Adam"),
    "first sum": J("Adagrad", learning_rate=0.1),
    # Slow, so that Adam does not magnify what is rounded otherwise.
    "schedule": J(
        "Adam", learning_rate=J("CosineDecay", initial_learning_rate=0.002, decay_steps=7)
    ),
}


def network(optimizer: dict[str, Any]) -> Any:
    x = gb.Input((6, 6, 2), name="x")
    y = gb.Conv2D(4, 3, name="c", activation="tanh")(x)
    y = gb.BatchNormalization(name="bn", momentum=0.8)(y)
    y = gb.Dense(5, name="d1", activation="tanh")(gb.Flatten(name="f")(y))
    made = gb.Model(x, gb.Dense(3, name="d2")(y), name="m", backend="cpu")
    made.compile(Optimizer.from_json(optimizer), "mse")
    return made


def unchecked(_: object, files: Any, *rest: object) -> list[ExportCheck]:
    return [ExportCheck(each.form.name, 0, reasons=("not looked at",)) for each in files]


def fit(model: Any, first: int, last: int) -> None:
    rows = slice(first * BATCH, last * BATCH)
    model.fit(X[rows], Y[rows], batch_size=BATCH, epochs=1, shuffle=False, verbose=0)


def assert_same_weights(found: Any, expected: Any) -> None:
    for one, other in zip(found.get_weights(), expected.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", TRAINED.values(), ids=TRAINED)
def test_three_steps_and_two_are_five(
    optimizer: dict[str, Any], keras: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours go on in Keras, and Keras' here, each as if it had not been moved."""
    # Another process with Keras for every file would take longer than all else here.
    monkeypatch.setattr(exporting, "check_files", unchecked)
    ours, path = network(optimizer), tmp_path / "a.keras"
    ours.export(path)
    theirs, whole = keras.saving.load_model(path), keras.saving.load_model(path)
    fit(ours, 0, 3)
    ours.export(path)
    moved = keras.saving.load_model(path)
    fit(moved, 3, 5)
    fit(ours, 3, 5)
    assert_same_weights(moved, ours)
    fit(whole, 0, 5)
    fit(theirs, 0, 3)
    theirs.save(path)
    brought = gb.import_model(path, backend="cpu")
    fit(brought, 3, 5)
    assert_same_weights(brought, whole)
