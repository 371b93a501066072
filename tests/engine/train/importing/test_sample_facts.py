"""What a file says of samples becomes part of its project, and goes on with what is exported."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import FormatError, StudioError
from studio.engine.interop.file_format import format_named
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.runtime.backend import Backend
from studio.engine.train.export.exporting import export_file, exportable
from studio.engine.train.importing.project import import_project
from studio.engine.train.model.import_model import import_model
from studio.engine.train.model.model import Model
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.project import Project
from studio.engine.train.project.sample_facts import (
    SampleFacts,
    StatedInput,
    facts_of_file,
    sample_facts_from_json,
)
from studio.engine.train.project.task import Task
from studio.engine.train.weights import initial_weights
from tests.engine.train.importing.model_format import write_seeded
from tests.engine.train.small_tasks import mlp

STATED = {
    "class_names": '["left", "right"]',
    "input_kind": "table",
    "feature_names": '["x", "y"]',
    "normalization": "standard",
    "input_normalization": '{"input": {"scale": [0.5, 2.0], "shift": [1.0, -1.0]}}',
    "attribution": "somebody, 1998",
}
RAW = np.array([[1.0, 3.0], [-2.0, 0.5]], np.float32)


def two_ends() -> LayerGraph:
    graph = LayerGraph("net")
    first, second = (graph.add(Input((2,), name=name)) for name in ("a", "b"))
    one = graph.add(Dense(3, "softmax", name="one"), first)
    graph.outputs = (one, graph.add(Dense(1, "sigmoid", name="two"), second))
    return graph


def named_input(graph: LayerGraph) -> str:
    return graph.inputs[0].layer.name


def stated(graph: LayerGraph) -> dict[str, str]:
    return {k: v.replace('"input"', f'"{named_input(graph)}"') for k, v in STATED.items()}


def test_facts_become_part_of_a_project_and_come_back_in_the_same_words() -> None:
    graph = mlp()
    facts, left_out = facts_of_file({**stated(graph), "data_sha256": "f00"}, graph)
    assert left_out == ()
    opened = Project.from_json(Project("net", graph, samples=facts).to_json())
    assert (opened.samples, opened.version) == (facts, 3)
    task = Task.of_project(opened)
    model = stated(graph)
    del model["input_normalization"]
    assert task.facts == model
    assert task.class_names == ("left", "right")
    assert task.all_outputs[0].class_names == ("left", "right")
    assert task.all_inputs[0].feature_names == ("x", "y")
    (source,) = task.spec.inputs
    assert (source.scale, source.shift, source.dtype) == ((0.5, 2.0), (1.0, -1.0), DType.float32)


def test_nothing_is_added_where_nothing_is_said() -> None:
    before = Project("net", mlp())
    document = before.to_json()
    assert "samples" not in document
    assert document["version"] == 1
    assert Project.from_json(document).text() == before.text()
    assert Task.of_project(before).facts == {}


def test_several_outputs_and_inputs_are_told_apart_by_name() -> None:
    graph = two_ends()
    texts = {
        "output_class_names": '{"one": ["p", "q", "r"], "two": []}',
        "normalization": '{"a": "none", "b": "unit"}',
        "input_normalization": '{"b": {"scale": [0.5], "shift": [0.0]}}',
    }
    facts, left_out = facts_of_file(texts, graph)
    assert left_out == ()
    task = Task.of_project(Project("net", graph, samples=facts))
    assert [each.class_names for each in task.all_outputs] == [("p", "q", "r"), ()]
    assert [source.scale for source in task.spec.inputs] == [(), (0.5,)]
    assert task.class_names == ()
    assert json.loads(task.facts["output_class_names"]) == {"one": ["p", "q", "r"], "two": []}
    assert json.loads(task.facts["normalization"]) == {"a": "none", "b": "unit"}


@pytest.mark.parametrize(
    ("key", "text", "said"),
    [
        ("class_names", "[1, 2]", "expected one line"),
        ("class_names", '["a", "b", "c"]', "do not fit the output"),
        ("class_names", '["a\\u0000", "b"]', "expected one line"),
        ("class_names", "nonsense", "class names"),
        ("normalization", "by hand", "expected one of none, unit"),
        ("input_normalization", '{"other": {}}', "no input 'other'"),
        ("input_normalization", '{"NAME": {"scale": [1, 2, 3], "shift": [0, 0, 0]}}', "do not fit"),
        ("input_normalization", '{"NAME": {"scale": [1], "shift": []}}', "as many factors"),
        ("input_normalization", '{"NAME": {"scale": [1e39], "shift": [0]}}', "finite number"),
        ("input_kind", "sounds", "expected one of images"),
        ("value_range", "[1, 1]", "lowest and a highest"),
        ("resize", "nearest", "expected one of bilinear"),
        ("feature_names", "{}", "expected a list"),
    ],
)
def test_what_is_damaged_or_fits_nothing_is_left_out_and_said(
    key: str, text: str, said: str
) -> None:
    graph = mlp()
    facts, left_out = facts_of_file({key: text.replace("NAME", named_input(graph))}, graph)
    assert len(left_out) == 1
    assert said in left_out[0]
    assert Task.of_project(Project("net", graph, samples=facts)).spec.inputs[0].scale == ()


@pytest.mark.parametrize(
    "wrong",
    [
        [], {"others": {}}, {"classes": []}, {"classes": {"a": "b"}}, {"classes": {"a": [1]}},
        {"inputs": {"a": {"scale": [1.0]}}}, {"inputs": {"a": {"kind": "sounds"}}},
        {"inputs": {"a": {"scale": [True], "shift": [0]}}}, {"attribution": "a\nb"},
    ],
)  # fmt: skip
def test_a_damaged_section_is_refused(wrong: object) -> None:
    with pytest.raises(FormatError):
        sample_facts_from_json(wrong)
    with pytest.raises(StudioError, match="samples"):
        Project.from_json({**Project("net", mlp()).to_json(), "samples": wrong})


def test_names_that_fit_no_more_are_passed_over_until_they_fit_again() -> None:
    facts = SampleFacts({}, {"dense_1": ("left", "right")})
    assert facts.class_names(mlp()) == (("left", "right"),)
    assert facts.class_names(mlp(outputs=5)) == ((),)
    assert facts.texts(mlp(outputs=5)) == {}


def test_a_renamed_layer_keeps_them_where_there_is_one_only() -> None:
    facts = SampleFacts({"before": StatedInput("table")}, {"before": ("left", "right")})
    assert facts.class_names(mlp()) == (("left", "right"),)
    assert facts.input_facts(mlp())[0].kind == "table"
    assert SampleFacts({}, {"gone": ("a", "b", "c")}).class_names(two_ends()) == ((), ())


@pytest.mark.slow
def test_an_imported_project_normalises_and_exports_as_its_file_said(
    seeded: None, tmp_path: Path, cpu: Backend
) -> None:
    graph = mlp()
    source = write_seeded(tmp_path / "net.seeded", graph, facts=stated(graph))
    made = import_project(source, tmp_path / "net.glassbox")
    with Trained.of_run(made.run, cpu) as trained:
        answers = trained.predict(RAW)
        weights = initial_weights(graph, 5)
        rows = RAW.astype(float) * [0.5, 2.0] + [1.0, -1.0]
        hidden = np.tanh(rows @ weights["dense/kernel"].astype(float).T + weights["dense/bias"])
        logits = hidden @ weights["dense_1/kernel"].astype(float).T + weights["dense_1/bias"]
        shares = np.exp(logits - logits.max(1, keepdims=True))
        np.testing.assert_allclose(answers, shares / shares.sum(1, keepdims=True), atol=1e-6)
        facts = exportable(trained).facts
        assert json.loads(facts["class_names"]) == ["left", "right"]
        assert json.loads(facts["input_normalization"]) == json.loads(
            stated(graph)["input_normalization"]
        )
    with Model.load(tmp_path / "net.glassbox", backend="cpu") as model:
        assert model.class_names == {"dense_1": ("left", "right")}
        np.testing.assert_allclose(model.predict(RAW), answers, atol=1e-6)
    with import_model(source, backend="cpu") as model:
        assert model.class_names == {"dense_1": ("left", "right")}
        np.testing.assert_allclose(model.predict(RAW.astype(np.float64)), answers, atol=1e-6)
        saved = Project.load(model.save(tmp_path / "kept"))
    assert saved.samples == made.project.samples


@pytest.mark.slow
@pytest.mark.parametrize("form", ["keras", "hdf5", "tfjs", "onnx", "gbi", "safetensors"])
def test_an_export_of_an_import_is_checked_and_says_the_same(
    seeded: None, tmp_path: Path, cpu: Backend, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLASSBOX_FOREIGN_READERS", "off")
    graph = mlp()
    source = write_seeded(tmp_path / "net.seeded", graph, facts=stated(graph))
    made = import_project(source, tmp_path / "net.glassbox")
    path = tmp_path / f"out{format_named(form).ending}"
    with Trained.of_run(made.run, cpu) as trained:
        done = export_file(trained, form, path, made.project)
    assert done.is_placed
    if format_named(form).can_open:
        again = import_project(path, tmp_path / "again.glassbox").project
        assert again.samples == made.project.samples
        with import_model(path, backend="cpu") as model:
            assert model.export(tmp_path / f"more{path.suffix}", form).is_placed
