"""Models that live Keras saves, in both forms: every layer class with several options."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studio.engine.interop.reading import model_format
from tests.engine.interop.keras.answers import answers
from tests.recorded.layers.cases import BATCH, CASES

pytestmark = [
    pytest.mark.peers,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Layer .* does not support masking:UserWarning"),
]

NOT_SAVED = {name for name in CASES if "gelu_tanh" in name}
"""Cases whose activation is a function of Python's in Keras, which no file holds."""


@pytest.fixture
def keras() -> Any:
    """Keras on JAX."""
    os.environ.setdefault("KERAS_BACKEND", "jax")
    return pytest.importorskip("keras")


def require_same(model: Any, folder: Path, seed: int = 0) -> None:
    """Save a model in both forms, read it, and compare what both answer."""
    rng = np.random.default_rng(seed)
    for weight in model.weights:
        drawn = rng.uniform(0.2, 1.0, weight.shape) * rng.choice((-1, 1), weight.shape)
        is_variance = weight.path.endswith("moving_variance")
        weight.assign((np.abs(drawn) if is_variance else drawn).astype(np.float32))
    inputs = [np.asarray(rng.normal(size=(BATCH, *x.shape[1:])), x.dtype) for x in model.inputs]
    wanted = model.predict(inputs if len(inputs) > 1 else inputs[0], verbose=0)
    wanted = wanted if isinstance(wanted, list) else [wanted]
    for ending in (".keras", ".h5"):
        path = folder / f"model{ending}"
        model.save(path)
        found = model_format(path).read_model(path)
        for ours, theirs in zip(answers(found.graph, found.weights, inputs), wanted, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5, err_msg=ending)


@pytest.mark.parametrize("case", sorted(CASES.keys() - NOT_SAVED))
def test_every_layer_answers_as_in_keras(case: str, tmp_path: Path) -> None:
    record = pytest.importorskip("tests.recorded.layers.record_keras")
    model, _ = record.build(CASES[case])
    require_same(model, tmp_path, seed=len(case))


def test_other_classes_that_are_one_of_ours(keras: Any, tmp_path: Path) -> None:
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((6, 6, 2)),
            layers.LeakyReLU(0.2),
            layers.Conv2D(3, 3, activation=layers.ELU()),
            layers.ELU(),
            layers.Identity(),
            layers.Conv2D(4, 2, activation=layers.LeakyReLU(0.4)),
            layers.Flatten(),
            layers.Dense(3, activation=layers.Softmax()),
            layers.Dense(3, activation=layers.ReLU(max_value=0.5)),
        ]
    )
    require_same(model, tmp_path)


def test_inputs_by_name_and_layers_frozen_in_parts(keras: Any, tmp_path: Path) -> None:
    layers = keras.layers
    one, two = keras.Input((4,), name="b"), keras.Input((4,), name="a")
    join = keras.Model(
        {"b": one, "a": two},
        {"z": layers.Dense(3, name="d")(one), "y": layers.Multiply()([one, two])},
        name="join",
    )
    frozen = keras.Sequential([keras.Input((4,)), layers.BatchNormalization(), layers.Dense(4)])
    frozen.trainable = False
    x = keras.Input((4,), name="x")
    made = join({"b": x, "a": frozen(x)})
    model = keras.Model(x, [made["y"], made["z"]])
    require_same(model, tmp_path)
    found = model_format(tmp_path / "model.h5").read_model(tmp_path / "model.h5")
    frozen_here = [layer.name for layer in found.graph.layers() if not layer.trainable]
    assert any("dense" in name for name in frozen_here)
    assert found.graph.layer("d").trainable


def test_a_mobile_net_answers_as_in_keras(keras: Any, tmp_path: Path) -> None:
    keras.utils.set_random_seed(3)
    model = keras.applications.MobileNetV2(
        weights=None, input_shape=(32, 32, 3), classes=5, alpha=0.35
    )
    inputs = np.random.default_rng(3).normal(size=(2, 32, 32, 3)).astype(np.float32)
    wanted = model.predict(inputs, verbose=0)
    for ending in (".keras", ".h5"):
        path = tmp_path / f"net{ending}"
        model.save(path)
        found = model_format(path).read_model(path)
        assert not [each for each in found.report.layers if each.note]
        (ours,) = answers(found.graph, found.weights, [inputs])
        np.testing.assert_allclose(ours, wanted, atol=1e-5)


def test_everything_that_is_not_here_is_named_at_once(keras: Any, tmp_path: Path) -> None:
    layers = keras.layers
    x = keras.Input((6, 4))
    y = layers.LSTM(3, return_sequences=True, name="memory")(x)
    y = layers.LayerNormalization(name="norm")(layers.Lambda(lambda t: t, name="code")(y) + 1.0)
    model = keras.Model(x, layers.Dense(2)(y))
    for ending in (".keras", ".h5"):
        model.save(tmp_path / f"net{ending}")
        with pytest.raises(Exception, match="of a kind that is not here yet") as caught:
            model_format(tmp_path / f"net{ending}").read_model(tmp_path / f"net{ending}")
        text = str(caught.value)
        assert all(name in text for name in ("LSTM", "LayerNormalization", "Lambda"))
