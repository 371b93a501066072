"""The training of TensorFlow.js models: settings and the state of the optimiser, both ways."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studio.engine.compiler.lower import Objective
from studio.engine.formats.checkpoint import Checkpoint, Position
from studio.engine.interop.file_format import Exportable, ExportedTraining
from studio.engine.interop.tensorflow_js import TensorFlowJs
from studio.engine.optim.losses import BinaryCrossentropy, Loss, MeanSquaredError
from studio.engine.optim.metrics import Accuracy
from studio.engine.optim.optimizers import SGD, Adam, Optimizer, RMSprop
from studio.engine.optim.schedules import ExponentialDecay
from tests.engine.interop.tfjs_cases import exportable
from tests.recorded.keras_files.cases import network

FORM = TensorFlowJs()
RECORDED = Path(__file__).parents[2] / "recorded" / "tfjs"
NET = network(
    ["out"],
    ("x", "Input", {"shape": [4]}, []),
    ("h", "Dense", {"units": 3, "trainable": False}, ["x"]),
    ("n", "BatchNormalization", {}, ["h"]),
    ("out", "Dense", {"units": 2}, ["n"]),
)
TRAINED = ("n/gamma", "n/beta", "out/kernel", "out/bias")


def trained(optimizer: Optimizer, loss: Loss | None = None, **other: Any) -> Exportable:
    """A network 7 steps into its training, with numbers as the state of its optimiser."""
    objective = Objective((loss or MeanSquaredError(),), ((Accuracy(),),), (), ((),))
    model = exportable(NET)
    rng = np.random.default_rng(1)
    tensors = dict(model.stored)
    for name in TRAINED:
        for slot in optimizer.rule().slots:
            shape = model.stored[name].shape
            tensors[f"{name}/{slot}"] = rng.uniform(0.1, 1.0, shape).astype(np.float32)
    model.training = ExportedTraining(optimizer, replace(objective, **other))
    model.checkpoint = Checkpoint(tensors, Position(1, 2, 7), 0, 8)
    return model


def document(place: Path) -> Any:
    return json.loads((place / "model.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("optimizer", [Adam(0.01, beta_1=0.8, epsilon_at="hat"), SGD(0.2)])
def test_settings_and_state_come_back(tmp_path: Path, optimizer: Optimizer) -> None:
    model = trained(optimizer)
    FORM.write(model, tmp_path / "m")
    back = FORM.read_model(tmp_path / "m").training
    assert back is not None
    assert back.optimizer == optimizer
    assert back.steps == 7
    assert back.loss == {"out": MeanSquaredError().to_json()}
    assert len(back.metrics["out"]) == 1
    slots = optimizer.rule().slots
    assert set(back.slots) == {f"{name}/{slot}" for name in TRAINED for slot in slots}
    for name, values in back.slots.items():
        np.testing.assert_array_equal(values, model.checkpoint.tensors[name])


def test_the_state_stands_as_tensorflow_js_takes_it(tmp_path: Path) -> None:
    """By place: the count, then one slot of all weights after the other."""
    FORM.write(trained(Adam(0.01)), tmp_path / "m")
    found = document(tmp_path / "m")
    weights = found["weightsManifest"][0]["weights"]
    names = [each["name"] for each in weights if each.get("group") == "optimizer"]
    assert names == ["iter", *(f"{n}/{slot}" for slot in "mv" for n in TRAINED)]
    assert found["trainingConfig"] == {
        "optimizer_config": {
            "class_name": "Adam",
            "config": {"learningRate": 0.01, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-7},
        },
        "loss": "mean_squared_error",
        "metrics": ["accuracy"],
    }


@pytest.mark.parametrize(
    "model",
    [
        trained(RMSprop(0.01)),
        trained(SGD(0.1, momentum=0.9)),
        trained(Adam(0.01, clipnorm=1.0)),
        trained(Adam(0.01, amsgrad=True)),
        trained(Adam(ExponentialDecay(0.1, 10, 0.9))),
        trained(Adam(0.01), BinaryCrossentropy(from_logits=True)),
        trained(Adam(0.01), weights=(0.5,)),
        trained(Adam(0.01), weighted=((Accuracy(),),)),
        trained(Adam(0.01), losses=(None,)),
    ],
)
def test_what_trains_otherwise_there_is_written_without_its_training(
    tmp_path: Path, model: Exportable
) -> None:
    FORM.write(model, tmp_path / "m")
    found = document(tmp_path / "m")
    assert "trainingConfig" not in found
    assert all("group" not in each for each in found["weightsManifest"][0]["weights"])
    assert FORM.read_model(tmp_path / "m").training is None


def test_the_training_of_tensorflow_js_itself_is_read() -> None:
    back = FORM.read_model(RECORDED / "model.json")
    assert back.report.left_out == ()
    assert back.training is not None
    assert back.training.optimizer == Adam(0.01, epsilon_at="hat")
    assert back.training.steps == 6
    weights = np.frombuffer((RECORDED / "model.weights.bin").read_bytes(), "<f4")
    # The last of the file is the square of the last bias.
    last = back.training.slots[next(n for n in reversed(back.training.slots) if "bias/v" in n)]
    np.testing.assert_array_equal(last, weights[-len(last) :])
    assert len(back.training.slots) == 2 * 12


def reordered(found: Any) -> None:
    """State after state of each weight; the bytes stay, so that the shapes do not fit any more."""
    weights = found["weightsManifest"][0]["weights"]
    weights[-1]["name"], weights[-2]["name"] = "a/v", "b/m"


def uncounted(found: Any) -> None:
    weights = found["weightsManifest"][0]["weights"]
    next(each for each in weights if each["name"] == "iter")["name"] = "count"


def fractional(found: Any) -> None:
    weights = found["weightsManifest"][0]["weights"]
    next(each for each in weights if each["name"] == "iter")["dtype"] = "float32"


def unknown(found: Any) -> None:
    found["trainingConfig"]["optimizer_config"]["class_name"] = "Momentum"


def other(found: Any) -> None:
    found["trainingConfig"]["optimizer_config"] = {
        "class_name": "Adagrad", "config": {"learningRate": 0.1},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (reordered, "the state of the optimiser: expected v of "),
        (uncounted, "the state of the optimiser: expected a whole count of updates"),
        (fractional, "the state of the optimiser: expected a whole count of updates"),
        (unknown, "the optimiser: "),
        (other, "the state of the optimiser Adagrad, which TensorFlow.js keeps otherwise"),
        (lambda found: found.pop("trainingConfig"), "the state of an optimiser that the file"),
    ],
)
def test_a_state_that_does_not_fit_is_left_out_and_said(
    tmp_path: Path, change: Any, words: str
) -> None:
    place = tmp_path / "m"
    shutil.copytree(RECORDED, place)
    found = document(place)
    change(found)
    (place / "model.json").write_text(json.dumps(found), encoding="utf-8")
    back = FORM.read_model(place)
    assert any(words in each for each in back.report.left_out), back.report.left_out
    assert back.training is None or back.training.slots == {}
    assert back.weights


def test_numbers_behind_the_names_of_a_state_are_passed_over(tmp_path: Path) -> None:
    """TensorFlow.js appends them where a page loaded two models with layers of one name."""
    place = tmp_path / "m"
    shutil.copytree(RECORDED, place)
    before = FORM.read_model(place).training
    found = document(place)
    for weight in found["weightsManifest"][0]["weights"]:
        layer, _, rest = weight["name"].partition("/")
        if weight.get("group") == "optimizer" and rest:
            role, _, slot = rest.partition("/")
            weight["name"] = f"{layer}/{role}_1/{slot}"
    (place / "model.json").write_text(json.dumps(found), encoding="utf-8")
    after = FORM.read_model(place).training
    assert before is not None
    assert after is not None
    assert before.slots.keys() == after.slots.keys()
    for name, values in before.slots.items():
        np.testing.assert_array_equal(values, after.slots[name])
