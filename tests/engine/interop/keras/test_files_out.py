"""Files for Keras: the same bytes, every group, small configs, and training that Keras has."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from studio.engine.compiler.lower import objective_of
from studio.engine.core.errors import CheckpointError, FormatError, ShapeError
from studio.engine.formats.checkpoint import Checkpoint, Position
from studio.engine.formats.hdf5_writing import write_hdf5
from studio.engine.interop.file_format import Exportable, ExportedTraining, format_named
from studio.engine.interop.keras.dialect_out import Dialect, model_to_json
from studio.engine.interop.keras.files_out import KerasExport
from studio.engine.interop.keras.graph_out import keras_from_graph
from studio.engine.interop.keras.optimizer_state import (
    OptimizerState,
    state_from_keras,
    state_order,
    state_to_keras,
)
from studio.engine.interop.keras.training_out import TrainingForm, keras_schedule
from studio.engine.interop.keras.variables import trained_variables
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.graph_json import graph_from_json
from studio.engine.layers.inputs import Input
from studio.engine.layers.named_parameters import public_weights
from studio.engine.layers.normalization import BatchNormalization
from studio.engine.optim.optimizers import Optimizer
from studio.engine.optim.schedules import Schedule, rate_at
from tests.engine.interop.keras.exported import FACTS, exported
from tests.recorded.keras_files.cases import CASES, network
from tests.recorded.layers.cases import CASES as LAYERS

OPTIONS = Path(__file__).parents[3] / "recorded" / "keras_files" / "options.json"
FORMS = ("keras", "hdf5", "keras-weights")
DEEP = CASES["outputs"]


def written(model: Exportable, form: str, folder: Path, name: str = "a") -> Path:
    chosen = format_named(form)
    path = folder / f"{name}{chosen.ending}"
    chosen.save(model, path)
    return path


def J(kind: str, **config: Any) -> dict[str, Any]:  # noqa: N802
    return {"type": kind, "config": config}


@pytest.mark.parametrize("form", FORMS)
def test_the_same_network_gives_the_same_bytes(form: str, tmp_path: Path) -> None:
    model = exported("outputs", DEEP)
    first = written(model, form, tmp_path).read_bytes()
    assert first == written(model, form, tmp_path, "b").read_bytes()
    other = replace(model, stored={n: a + 1 for n, a in model.stored.items()})
    assert first != written(other, form, tmp_path, "c").read_bytes()


def test_an_archive_has_facts_and_a_group_for_every_layer(tmp_path: Path) -> None:
    model = exported("outputs", DEEP)
    with zipfile.ZipFile(written(model, "keras", tmp_path)) as archive:
        assert [m.compress_type for m in archive.infolist()] == [zipfile.ZIP_STORED] * 3
        metadata = json.loads(archive.read("metadata.json"))
        config = json.loads(archive.read("config.json"))
        weights = h5py.File(io.BytesIO(archive.read("model.weights.h5")))
    assert metadata["glassbox"] == FACTS
    assert metadata["keras_version"].startswith("3.")
    assert config["compile_config"]["optimizer"]["class_name"] == "Adam"
    layers = [each["name"] for each in config["config"]["layers"]]
    named = {weights[f"layers/{own}/vars"].attrs["name"] for own in weights["layers"]}
    assert named == set(layers)
    assert "vars" in weights
    public = public_weights(model.graph, model.stored)
    np.testing.assert_array_equal(weights["layers/conv2d_1/vars/0"], public["second/kernel"])
    # The count of updates, the rate, and two slots for each of six weights.
    assert len(weights["optimizer/vars"]) == 2 + 2 * 6


def test_a_model_in_hdf5_has_the_names_of_keras_2_and_no_state(tmp_path: Path) -> None:
    model = exported("depthwise", LAYERS["depthwise"])
    with h5py.File(written(model, "hdf5", tmp_path)) as file:
        assert json.loads(file.attrs["glassbox"]) == FACTS
        assert json.loads(file.attrs["training_config"])["loss"] == "mean_squared_error"
        assert [n.decode() for n in file["model_weights"].attrs["layer_names"]] == ["x", "layer0"]
        names = [n.decode() for n in file["model_weights/layer0"].attrs["weight_names"]]
        assert names == ["layer0/depthwise_kernel:0", "layer0/bias:0"]
        np.testing.assert_array_equal(
            file[f"model_weights/layer0/{names[0]}"], model.public["layer0/kernel"]
        )
        assert "optimizer_weights" not in file


@pytest.mark.parametrize("case", ["softmax_middle", "concatenate_axis"])
def test_an_axis_that_older_versions_lose_is_refused_in_hdf5_only(
    case: str, tmp_path: Path
) -> None:
    model = exported(case, LAYERS[case])
    refused = format_named("hdf5").why_not(model)
    assert refused is not None
    assert (refused.who, "(keras)" in refused.hint) == ("layer0", True)
    with pytest.raises(FormatError, match=r"axis: Keras 3\.0 to 3\.9"):
        written(model, "hdf5", tmp_path)
    assert format_named("keras").why_not(model) is None


def test_long_lists_of_names_are_cut_as_keras_cuts_them() -> None:
    names = [f"layer_{i:05}_with_a_name" for i in range(8000)]
    file = io.BytesIO()
    write_hdf5(file, {"/": {"names": names, "none": [], "text": "x" * 100_000}}, {})
    with h5py.File(file) as opened:
        pieces = [opened.attrs[f"names{i}"] for i in range(3)]
        assert [n.decode() for piece in pieces for n in piece] == names
        assert (len(opened.attrs["none"]), len(opened.attrs["text"])) == (0, 100_000)
    with pytest.raises(FormatError, match="cannot be a name in an HDF5 file"):
        write_hdf5(io.BytesIO(), {"a/../b": {}}, {})
    with pytest.raises(FormatError, match="expected at most 64512 bytes, got 70000"):
        write_hdf5(io.BytesIO(), {"/": {"names": ["x" * 70_000]}}, {})


# -- options that old versions know ---------------------------------------------------------------


def objects(value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every class with its config, however deep."""
    if isinstance(value, dict):
        if "class_name" in value and isinstance(value.get("config"), dict):
            yield value["class_name"], value["config"]
        for each in value.values():
            yield from objects(each)
    elif isinstance(value, list):
        for each in value:
            yield from objects(each)


@pytest.mark.parametrize("dialect", ["keras3", "keras2"])
def test_configs_have_no_option_that_keras_3_0_lacks(dialect: Dialect) -> None:
    recorded = json.loads(OPTIONS.read_text(encoding="utf-8"))["options"]
    known = {name: set(own) for family in recorded.values() for name, own in family.items()}
    known["InputLayer"] |= {"batch_input_shape"}
    seen = set()
    for name, document in {**CASES, **LAYERS}.items():
        try:
            found = model_to_json(keras_from_graph(graph_from_json(document)), dialect)
        except FormatError:
            assert name.startswith("activation_")
            continue
        for kind, config in objects(found["config"]):
            if kind != "__keras_tensor__":
                assert set(config) <= known[kind], kind
                seen.add(kind)
    assert {"Dense", "Conv2D", "BatchNormalization", "L1L2", "RandomUniform"} <= seen


@pytest.mark.parametrize("synchronized", [True, False])
def test_a_synchronized_normalisation_is_so_in_keras(synchronized: bool) -> None:
    graph = LayerGraph("normalised")
    layer = BatchNormalization(synchronized=synchronized)
    graph.outputs = (graph.add(layer, graph.add(Input((3,)))),)
    document = model_to_json(keras_from_graph(graph), "keras3")
    (config,) = (own for kind, own in objects(document) if kind == "BatchNormalization")
    assert config.get("synchronized", False) is synchronized


OPTIMIZERS = {
    "sgd": J("SGD", momentum=0.9, nesterov=True, weight_decay=0.1, clipvalue=1.0),
    "rmsprop": J("RMSprop", centered=True, momentum=0.1, rho=0.8),
    "adam": J("Adam", amsgrad=True, clipnorm=1.0),
    "adamw": J("AdamW", global_clipnorm=2.0),
    "adagrad": J("Adagrad", initial_accumulator_value=0.0),
    "adadelta": J("Adadelta"),
    "adamax": J("Adamax", beta_1=0.8),
}
SCHEDULES = {
    "exponential": J("ExponentialDecay", initial_learning_rate=0.1, decay_steps=5, decay_rate=0.5),
    "inverse": J("InverseTimeDecay", initial_learning_rate=0.1, decay_steps=5, decay_rate=0.5),
    "polynomial": J("PolynomialDecay", initial_learning_rate=0.1, decay_steps=5, cycle=True),
    "cosine": J("CosineDecay", initial_learning_rate=0.01, decay_steps=5, warmup_target=0.1,
                warmup_steps=3),
    "restarts": J("CosineDecayRestarts", initial_learning_rate=0.1, first_decay_steps=5),
    "piecewise": J("PiecewiseConstantDecay", boundaries=[2, 4], values=[0.1, 0.01, 0.001]),
    "steps": J("StepDecay", initial_learning_rate=0.1, decay_steps=3),
    "constant": J("Constant", learning_rate=0.3),
    "warm_up": J("WarmUp", after=0.1, warmup_steps=4),
    "warm_up_of_cosine": J("WarmUp", warmup_steps=4, start=0.01, after=J(
        "CosineDecay", initial_learning_rate=0.1, decay_steps=5)),
}  # fmt: skip
METRICS = [
    "accuracy", "categorical_accuracy", J("BinaryAccuracy", threshold=0.4), "mse", "mae",
    J("AUC", num_thresholds=50, multi_label=True), J("MeanIoU"), J("Precision", class_id=1),
    J("Recall", thresholds=0.3), J("F1Score", average="macro"), J("R2Score"),
    J("BinaryIoU", target_class_ids=[1], threshold=0.3),
]  # fmt: skip


def training_form(
    optimizer: object, loss: object = "mse", metrics: list[Any] | None = None,
    dialect: Dialect = "keras3",
) -> TrainingForm:  # fmt: skip
    model = keras_from_graph(graph_from_json(LAYERS["dense"]))
    objective = objective_of(["layer0"], loss, tuple(metrics or ()))
    return TrainingForm(model, Optimizer.resolve(optimizer), objective, dialect)


@pytest.mark.parametrize("dialect", ["keras3", "keras2"])
def test_training_has_no_option_that_keras_3_0_lacks(dialect: Dialect) -> None:
    recorded = json.loads(OPTIONS.read_text(encoding="utf-8"))["options"]
    known = {name: set(own) for family in recorded.values() for name, own in family.items()}
    loss = J("CategoricalCrossentropy", from_logits=True, label_smoothing=0.1)
    made = [training_form(each, loss, METRICS, dialect) for each in OPTIMIZERS.values()]
    made += [training_form(J("Adam", learning_rate=s), dialect=dialect) for s in SCHEDULES.values()]
    for form in made:
        for kind, config in objects(form.to_json()):
            assert set(config) <= known[kind], kind
    assert made[0].metrics[6]["config"] == {  # type: ignore[index, call-overload]
        "num_classes": 4, "sparse_y_pred": False, "sparse_y_true": False,
    }  # fmt: skip


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_schedules_become_ones_of_keras_with_the_same_rates(schedule: dict[str, Any]) -> None:
    own = Schedule.from_json(schedule)
    made = keras_schedule(own)
    assert not isinstance(made, Schedule) or type(made).__name__ in json.loads(
        OPTIONS.read_text(encoding="utf-8")
    )["options"]["optimizers.schedules"]  # fmt: skip
    expected = [own.rate(step) for step in range(20)]
    np.testing.assert_allclose([rate_at(made, step) for step in range(20)], expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("optimizer", "loss", "said"),
    [
        (J("SGD", momentum=0.9, form="average"), "mse", "SGD has no option form, here 'average'"),
        (J("Adam", epsilon_at="hat"), "mse", "Adam has no option epsilon_at"),
        (J("Adam", shrink=0.1), "mse", r"has no option shrink, here 0\.1"),
        ("adam", J("MeanSquaredError", sum_halves=True), "has no option sum_halves"),
        (J("Adam", learning_rate=J("WarmUp", warmup_steps=2, after=SCHEDULES["inverse"])), "mse",
         "no warm-up before InverseTimeDecay"),
    ],
)  # fmt: skip
def test_training_that_keras_lacks_is_refused_but_not_for_weights(
    optimizer: object, loss: object, said: str, tmp_path: Path
) -> None:
    objective = objective_of(["layer0"], loss)
    training = ExportedTraining(Optimizer.resolve(optimizer), objective)
    model = replace(exported("dense", LAYERS["dense"]), training=training)
    for form in ("keras", "hdf5"):
        with pytest.raises(FormatError, match=said):
            written(model, form, tmp_path)
        assert "keras-weights" in getattr(format_named(form).why_not(model), "hint", "")
    with h5py.File(written(model, "keras-weights", tmp_path)) as file:
        assert "optimizer" not in file
        assert "layers/dense/vars/1" in file


def test_a_form_of_momentum_that_is_not_used_is_no_reason() -> None:
    made: Any = training_form(J("SGD", form="average")).optimizer
    assert made["config"] == {"learning_rate": 0.01}


# -- the state of optimisers ----------------------------------------------------------------------


def state_case(optimizer: object) -> tuple[Optimizer, Any, Any]:
    export = KerasExport(exported("case", DEEP, optimizer), "keras3")
    return Optimizer.resolve(optimizer), trained_variables(export.variables), export.graph


def slot_order(optimizer: object) -> list[str]:
    chosen, trained, _ = state_case(optimizer)
    return [f"{each.weight.parameter} {each.name}" for each in state_order(chosen, trained[:2])]


def test_slots_stand_in_the_order_of_keras() -> None:
    kernel, bias = "conv/kernel", "conv/bias"
    assert slot_order("sgd") == []
    assert slot_order("adam") == [
        f"{kernel} momentum", f"{kernel} velocity", f"{bias} momentum", f"{bias} velocity",
    ]  # fmt: skip
    assert slot_order(OPTIMIZERS["adam"])[4:] == [
        f"{kernel} velocity_hat", f"{bias} velocity_hat",
    ]  # fmt: skip
    assert slot_order(OPTIMIZERS["rmsprop"]) == [
        f"{kernel} velocity", f"{bias} velocity", f"{kernel} momentum", f"{bias} momentum",
        f"{kernel} average_gradient", f"{bias} average_gradient",
    ]  # fmt: skip
    assert slot_order("adamax")[:2] == [f"{kernel} momentum", f"{kernel} norm"]


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_the_state_comes_back_from_its_list(optimizer: dict[str, Any]) -> None:
    chosen, trained, graph = state_case(optimizer)
    fresh = list(state_to_keras(chosen, trained, graph, OptimizerState()))
    rng = np.random.default_rng(3)
    arrays = [np.array(7), np.array(0.5), *(rng.random(a.shape).astype("f4") for a in fresh[2:])]
    found = state_from_keras(chosen, trained, graph, arrays, "file")
    again = list(state_to_keras(chosen, trained, graph, found))
    assert found.steps == int(again[0]) == 7
    for one, other in zip(arrays[2:], again[2:], strict=True):
        np.testing.assert_array_equal(one, other)
    # Keras 2 keeps no learning rate in the list.
    without = state_from_keras(chosen, trained, graph, [arrays[0], *arrays[2:]], "file")
    assert without.slots.keys() == found.slots.keys()
    start = 0.1 if optimizer["type"] == "Adagrad" and not optimizer["config"] else 0.0
    assert all((each == start).all() for each in fresh[2:])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda a: a[:-2], "expected 13 or 14 variables of the optimiser Adam, got 12"),
        (lambda a: [np.array(-1), *a[1:]], "0 to 2147483647 updates, got -1"),
        (lambda a: [np.array(0.5), *a[1:]], "expected a whole count of updates, got float64"),
        (lambda a: [np.zeros(3, int), *a[1:]], r"one number as the count of updates, got \[3\]"),
        (lambda a: [*a[:3], np.full_like(a[3], np.nan), *a[4:]], "velocity of conv/kernel"),
        (lambda a: [*a[:3], a[3].astype(int), *a[4:]], "expected finite numbers"),
        (lambda a: [*a[:3], a[3][:1], *a[4:]], r"kernel: expected \[3,3,2,3\], got \[1,3,2,3\]"),
    ],
)
def test_a_wrong_state_is_refused(change: Callable[[Any], Any], said: str) -> None:
    chosen, trained, graph = state_case("adam")
    arrays = list(state_to_keras(chosen, trained, graph, OptimizerState()))
    with pytest.raises((CheckpointError, ShapeError), match=said):
        state_from_keras(chosen, trained, graph, change(arrays), "file")


def test_a_rate_is_in_the_state_unless_keras_has_a_schedule_for_it() -> None:
    for name, count in (("constant", 2), ("cosine", 1)):
        optimizer = J("Adam", learning_rate=SCHEDULES[name])
        chosen, _, graph = state_case(optimizer)
        assert len(list(state_to_keras(chosen, [], graph, OptimizerState()))) == count


def test_what_a_checkpoint_knows_is_written(tmp_path: Path) -> None:
    model = exported("dense", LAYERS["dense"])
    slot = np.arange(20, dtype=np.float32).reshape(4, 5)
    kept = Checkpoint({"layer0/kernel/v": slot}, Position(total_step=9), 0, 1)
    model = replace(model, checkpoint=kept)
    with h5py.File(written(model, "keras-weights", tmp_path)) as file:
        assert int(file["optimizer/vars/0"][()]) == 9
        # Stored as [outputs, inputs], in Keras' layout the other way round.
        np.testing.assert_array_equal(file["optimizer/vars/3"], slot.T)
        assert not file["optimizer/vars/2"][()].any()


# -- and back -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("form", ["keras", "hdf5"])
def test_every_layer_comes_back_as_it_was(form: str, tmp_path: Path) -> None:
    """All cases that the form can say, through a file and our own reader."""
    count = 0
    for name, document in {**LAYERS, **CASES}.items():
        model = exported(name, document)
        if format_named(form).why_not(model) is not None:
            continue
        found = format_named(form).read_model(written(model, form, tmp_path))
        assert found.facts == FACTS
        assert set(found.weights) <= set(model.stored)
        for key, values in found.weights.items():
            np.testing.assert_array_equal(values, model.stored[key])
        again = model_to_json(keras_from_graph(found.graph), "keras3")
        own = model_to_json(keras_from_graph(model.graph), "keras3")
        if form == "keras" and "celu" not in json.dumps(document):
            assert {**again, "name": ""} == {**own, "name": ""}, name
        count += 1
    assert count > 50


def test_a_network_without_a_layer_of_keras_is_refused_by_all_forms() -> None:
    tied = network(
        ["back"],
        ("x", "Input", {"shape": [4]}, []),
        ("code", "Dense", {"units": 2}, ["x"]),
        ("back", "TiedDense", {"units": 4, "tied_to": "code"}, ["code"]),
    )
    model = exported("tied", tied)
    for form in FORMS:
        refused = format_named(form).why_not(model)
        assert refused is not None
        assert "TiedDense" in refused.message
