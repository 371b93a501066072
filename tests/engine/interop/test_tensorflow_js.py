"""TensorFlow.js layers models: what goes out comes back, and what cannot go is refused by name."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studio.engine.core.errors import CheckpointError, DataError, FormatError, StudioError
from studio.engine.interop.keras.dialect_out import model_to_json
from studio.engine.interop.keras.graph_out import keras_from_graph
from studio.engine.interop.keras.tensorflow_js_out import tensorflow_js_model
from studio.engine.interop.reading import format_of, model_format
from studio.engine.interop.small_weights import narrowed
from studio.engine.interop.tensorflow_js import TensorFlowJs
from tests import hostile
from tests.engine.formats.test_loader_fuzz import mutant
from tests.engine.interop.keras.answers import answers
from tests.engine.interop.tfjs_cases import (
    CASES,
    bound,
    exportable,
    largest_gap,
    one,
    samples_of,
)
from tests.recorded.keras_files.cases import network

FORM = TensorFlowJs()
NET = network(
    ["out"],
    ("x", "Input", {"shape": [6, 6, 2]}, []),
    ("c", "Conv2D", {"filters": 3, "kernel_size": 3, "activation": "hard_silu"}, ["x"]),
    ("d", "DepthwiseConv2D", {"kernel_size": 2}, ["c"]),
    ("n", "BatchNormalization", {}, ["d"]),
    ("f", "Flatten", {}, ["n"]),
    ("out", "Dense", {"units": 3, "activation": "softmax"}, ["f"]),
)


def written(folder: Path, document: Any = NET, **facts: str) -> Path:
    place = folder / "m.tfjs"
    FORM.write(exportable(document, **facts), place)
    return place


def changed(place: Path, change: Any) -> Path:
    """The same model with its ``model.json`` changed by a function."""
    path = place / "model.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    return place


@pytest.mark.slow
def test_every_layer_comes_back_with_the_same_answers(tmp_path: Path) -> None:
    for number, (name, document) in enumerate(CASES.items()):
        model = exportable(document)
        place = tmp_path / f"{number}.tfjs"
        FORM.write(model, place)
        back = FORM.read_model(place)
        samples = samples_of(model.graph)
        expected = answers(bound(document), model.stored, samples)
        graph = back.graph if "open" not in name else bound(document)
        found = answers(graph, back.weights, samples)
        for one_answer, other in zip(found, expected, strict=True):
            assert largest_gap(one_answer, other) < 1e-6, name


def test_a_model_comes_back_with_its_weights_and_facts(tmp_path: Path) -> None:
    facts = {"class_names": '["a", "b", "c"]', "normalization": "none"}
    place = written(tmp_path, **facts)
    assert sorted(f.name for f in place.iterdir()) == [
        "group1-shard1of1.bin", "index.html", "model.json",
    ]  # fmt: skip
    model = exportable(NET)
    for path in (place, place / "model.json"):
        assert model_format(path) is format_of(path)
        assert format_of(path).name == "tfjs"
        back = FORM.read_model(path)
        assert back.facts == facts
        assert back.name == "a_small_case"
        assert set(back.weights) == set(model.stored)
        for name, values in model.stored.items():
            np.testing.assert_array_equal(back.weights[name], values)
        assert back.report.source == path.name
        assert re.match(r"TensorFlow\.js model, written by Glassbox \d", back.report.form)
        assert back.report.left_out == back.report.remarks == ()
    names = json.loads((place / "model.json").read_text())["weightsManifest"][0]["weights"]
    assert "d/depthwise_kernel" in [each["name"] for each in names]


def test_the_page_has_the_name_of_the_model_as_text(tmp_path: Path) -> None:
    model = exportable(NET)
    model.name = "<b>a & b</b> {{integrity}}"
    FORM.write(model, tmp_path / "m.tfjs")
    page = (tmp_path / "m.tfjs" / "index.html").read_text(encoding="utf-8")
    assert "<h1>&lt;b&gt;a &amp; b&lt;/b&gt; {{integrity}}</h1>" in page
    assert "<b>" not in page
    assert re.search(r'integrity: "sha384-[\w+/]{64}"', page)


REFUSED = {
    "no activation 'exponential'": one("Dense", [5], units=2, activation="exponential"),
    "no ReLU with a threshold: expected threshold=0, got 0.5": one("ReLU", [5], threshold=0.5),
    "ignores the dilation of this layer":
        one("DepthwiseConv2D", [6, 6, 4], kernel_size=2, dilation_rate=2),
    "normalises at most 4 axes with that of the batch, got 5":
        one("BatchNormalization", [2, 2, 2, 3]),
}  # fmt: skip


@pytest.mark.parametrize("words", REFUSED)
def test_what_tensorflow_js_lacks_is_refused_by_name(words: str, tmp_path: Path) -> None:
    model = exportable(REFUSED[words])
    refused = FORM.why_not(model)
    assert isinstance(refused, FormatError)
    assert "TensorFlow.js" in refused.message
    assert words in refused.message
    assert refused.who == "layer"
    assert "keras" in refused.hint
    with pytest.raises(FormatError, match=re.escape(words)):
        FORM.write(model, tmp_path / "m.tfjs")
    assert list(tmp_path.iterdir()) == []


def test_layers_and_options_it_would_pass_over_are_refused() -> None:
    model = keras_from_graph(exportable(NET).graph)
    by_name = {layer.name: layer for layer in model.layers}
    for made, words in (
        (replace(by_name["c"], class_name="Conv3D"), "TensorFlow.js has no layer Conv3D"),
        (replace(by_name["c"], config={**by_name["c"].config, "groups": 2}),
         "Conv2D of TensorFlow.js has no option groups, here 2"),
    ):  # fmt: skip
        layers = tuple(made if layer.name == "c" else layer for layer in model.layers)
        with pytest.raises(FormatError, match=words) as refused:
            tensorflow_js_model(replace(model, layers=layers))
        assert refused.value.who == "c"


@pytest.mark.parametrize(
    ("form", "bound_of_error"), [("float16", 2e-3), ("uint8", 2e-2), ("uint16", 1e-4)]
)
def test_small_weights_are_those_that_were_measured(
    tmp_path: Path, form: Any, bound_of_error: float
) -> None:
    model = exportable(NET)
    small = narrowed(model.graph, model.stored, form, FORM.narrow)
    exact = dict(model.stored)
    model.stored = exact | {name: each.widened() for name, each in small.items()}
    model.weights, model.small = form, small
    FORM.write(model, tmp_path / "m.tfjs")
    back = FORM.read_model(tmp_path / "m.tfjs")
    assert back.report.remarks == ("3 weights were stored in fewer bits",)
    for name, values in model.stored.items():
        np.testing.assert_array_equal(back.weights[name], values)
        assert np.abs(values - exact[name]).max() < bound_of_error
    manifest = json.loads((tmp_path / "m.tfjs" / "model.json").read_text())["weightsManifest"]
    kinds = {w["name"]: w.get("quantization", {}).get("dtype") for w in manifest[0]["weights"]}
    assert kinds["c/kernel"] == kinds["d/depthwise_kernel"] == kinds["out/kernel"] == form
    assert kinds["c/bias"] is kinds["n/moving_variance"] is None


def test_kernels_that_are_no_numbers_are_not_made_small() -> None:
    values = np.full((2, 2), np.nan, np.float32)
    for form in ("float16", "uint8", "uint16"):
        with pytest.raises(DataError, match=f"NaN or infinity, so they cannot be {form}"):
            FORM.narrow("dense/kernel", values, (0,), form)


def entry(document: Any, name: str) -> Any:
    layers = document["modelTopology"]["model_config"]["config"]["layers"]
    return next(each for each in layers if each["name"] == name)["config"]


def test_functions_of_other_names_are_read(tmp_path: Path) -> None:
    """What TensorFlow.js itself writes: its hard sigmoid, its names of functions and classes."""
    net = network(
        ["s"],
        ("x", "Input", {"shape": [4]}, []),
        ("a", "Dense", {"units": 4, "kernel_initializer": "lecun_normal"}, ["x"]),
        ("b", "Activation", {"activation": "linear"}, ["a"]),
        ("s", "Dense", {"units": 4, "activation": "relu6"}, ["b"]),
    )

    def change(document: Any) -> None:
        assert entry(document, "a")["kernel_initializer"]["class_name"] == "LeCunNormal"
        assert entry(document, "s")["activation"] == "relu6"
        entry(document, "a")["activation"] = "hard_sigmoid"
        entry(document, "b")["activation"] = "gelu_new"
        topology = document["modelTopology"]
        document["modelTopology"] = {**topology.pop("model_config"), **topology}

    place = changed(written(tmp_path, net), change)
    back = FORM.read_model(place)
    model = exportable(net)
    (x,) = samples_of(model.graph)
    w = {name: values.astype(np.float64) for name, values in model.stored.items()}
    h = np.clip((x @ w["a/kernel"].T + w["a/bias"]) * 0.2 + 0.5, 0, 1)
    g = 0.5 * h * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3)))
    expected = np.clip(g @ w["s/kernel"].T + w["s/bias"], 0, 6)
    (found,) = answers(back.graph, back.weights, [x])
    assert largest_gap(found, expected) < 1e-6
    assert any(each.name == "a_scaled" for each in back.report.layers)


def test_names_with_a_cell_in_them_are_found(tmp_path: Path) -> None:
    def change(document: Any) -> None:
        for weight in document["weightsManifest"][0]["weights"]:
            layer, _, role = weight["name"].partition("/")
            weight["name"] = f"{layer}/{layer}_cell/{role}"

    back = FORM.read_model(changed(written(tmp_path), change))
    np.testing.assert_array_equal(back.weights["c/bias"], exportable(NET).stored["c/bias"])


def rename(name: str, to: str) -> Any:
    def change(document: Any) -> None:
        for weight in document["weightsManifest"][0]["weights"]:
            if weight["name"] == name:
                weight["name"] = to

    return change


def reshape(document: Any) -> None:
    document["weightsManifest"][0]["weights"][0]["shape"] = [3, 3, 3, 2]


def retype(document: Any) -> None:
    document["weightsManifest"][0]["weights"][0]["dtype"] = "int32"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (rename("c/bias", "c/bais"), "there is no weight 'c/bias', [3]"),
        (rename("c/bias", "lost/bias"), "there is no weight 'c/bias'"),
        (reshape, "expected [3,3,2,3], got [3,3,3,2]"),
        (retype, "'c/kernel' must be float32, got int32"),
        (lambda d: entry(d, "c").update(use_bias=False), "the weight 'c/bias' fits no layer"),
        (lambda d: entry(d, "c").update(surprise=1), "surprise"),
        (lambda d: entry(d, "c").update(filters="3"), "filters"),
        (lambda d: d["modelTopology"].update(keras_version=3), "keras_version must be text"),
        (lambda d: d["modelTopology"].pop("model_config"), "class_name"),
        (lambda d: d["modelTopology"]["model_config"].update(class_name="Lambda"), "'Lambda'"),
    ],
)
def test_models_that_do_not_fit_are_refused_in_a_sentence(
    tmp_path: Path, change: Any, words: str
) -> None:
    place = changed(written(tmp_path), change)
    with pytest.raises(StudioError) as caught:
        FORM.read_model(place)
    assert words in str(caught.value)


def test_weights_that_are_no_numbers_are_said(tmp_path: Path) -> None:
    model = exportable(NET)
    model.stored = {**model.stored, "c/bias": np.full(3, np.inf, np.float32)}
    FORM.write(model, tmp_path / "m.tfjs")
    assert FORM.read_model(tmp_path / "m.tfjs").report.remarks == ("NaN or infinity in c/bias",)


def test_two_layers_of_one_name_have_no_weights_of_their_own(tmp_path: Path) -> None:
    """Models in models may hold layers of one name, whose weights nobody can tell apart then."""

    def inner(name: str) -> Any:
        dense = {"class_name": "Dense", "config": {"name": "dense", "units": 4,
                                                   "batch_input_shape": [None, 4]}}  # fmt: skip
        return {"class_name": "Sequential", "config": {"name": name, "layers": [dense]}}

    def change(document: Any) -> None:
        document["modelTopology"]["model_config"] = {
            "class_name": "Sequential",
            "config": {"name": "outer", "layers": [inner("one"), inner("two")]},
        }

    place = changed(written(tmp_path, one("Dense", [4], name="dense", units=4)), change)
    with pytest.raises(CheckpointError, match="would be the weight of two layers"):
        FORM.read_model(place)


def test_progress_is_heard_and_can_stop(tmp_path: Path) -> None:
    heard: list[float | None] = []

    def stop(share: float | None, _text: str) -> None:
        heard.append(share)
        if share and share >= 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        FORM.read_model(written(tmp_path), stop)
    assert heard == [0.0, 0.5]


RECORDED = Path(__file__).parents[2] / "recorded" / "tfjs"


def test_a_model_that_tensorflow_js_trained_answers_as_it_did() -> None:
    """Its own dialect: the network directly under modelTopology, and its names of functions."""
    back = FORM.read_model(RECORDED / "model.json")
    recorded = json.loads((RECORDED / "answers.json").read_text(encoding="utf-8"))
    x = np.array(recorded["x"], np.float32).reshape(8, 6, 6, 2)
    (found,) = answers(back.graph, back.weights, [x])
    assert largest_gap(found, np.array(recorded["y"]).reshape(8, 3)) < 1e-5
    assert back.name == "trained"
    assert back.report.form.endswith("written by TensorFlow.js tfjs-layers v4.22.0")
    assert format_of(RECORDED / "model.json").name == "tfjs"


def test_the_dialect_of_keras_3_is_read(tmp_path: Path) -> None:
    """Converters of today put Keras 3's own JSON into model.json, which TensorFlow.js refuses."""
    model = exportable(NET)

    def change(document: Any) -> None:
        document["modelTopology"] = {
            "keras_version": "3.10.0",
            "model_config": model_to_json(keras_from_graph(model.graph), "keras3"),
        }

    back = FORM.read_model(changed(written(tmp_path), change))
    (x,) = samples_of(model.graph)
    expected = answers(model.graph, model.stored, [x])
    assert largest_gap(answers(back.graph, back.weights, [x])[0], expected[0]) < 1e-6


def test_shards_that_cut_weights_apart_are_read(tmp_path: Path) -> None:
    place = written(tmp_path)
    data = (place / "group1-shard1of1.bin").read_bytes()
    cuts = [0, 1, 50, 51, 333, len(data)]
    names = [f"part{number}" for number in range(5)]
    for name, start, end in zip(names, cuts, cuts[1:], strict=False):
        (place / name).write_bytes(data[start:end])
    changed(place, lambda document: document["weightsManifest"][0].update(paths=names))
    back = FORM.read_model(place)
    for name, values in exportable(NET).stored.items():
        np.testing.assert_array_equal(back.weights[name], values)


@pytest.mark.slow
def test_hostile_values_are_refused_in_a_sentence(tmp_path: Path) -> None:
    net = network(
        ["f"], ("x", "Input", {"shape": [4]}, []), ("f", "Dense", {"units": 2}, ["x"])
    )  # fmt: skip
    path = written(tmp_path, net) / "model.json"
    document = json.loads(path.read_text(encoding="utf-8"))

    def load(text: bytes) -> object:
        path.write_bytes(text)
        return FORM.read_model(path)

    # Others than those of test_tfjs.py, which has them all for the manifest.
    assert hostile.refusals(load, islice(hostile.texts(document), 0, None, 14)) > 100


@pytest.mark.parametrize(
    "count",
    [
        pytest.param(300, marks=pytest.mark.slow),
        pytest.param(20_000, marks=pytest.mark.full),
    ],
)
def test_mutants_become_models_or_are_refused(tmp_path: Path, count: int) -> None:
    """Bytes of ``model.json`` are changed; weights and network must fit one another after it."""
    path = written(tmp_path) / "model.json"
    whole = path.read_bytes()
    rng = np.random.default_rng(count)
    refused = 0
    for number in range(count):
        path.write_bytes(mutant(whole, rng))
        try:
            FORM.read_model(path)
        except StudioError as error:
            refused += 1
            said = str(error)
        else:
            said = "a model, whole"
        assert 10 < len(said) < 1000, f"mutant {number}: {said}"
    assert refused > count // 3
