"""Files are judged by another reader where one is installed, and by Glassbox where it fails."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.errors import FormatError
from studio.engine.formats import safetensors
from studio.engine.formats.onnx_wire import load_model, save_model
from studio.engine.interop.file_format import FileFormat, format_named
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.graph_json import graph_from_json, graph_to_json
from studio.engine.layers.inputs import Input
from studio.engine.train.devices import open_backend
from studio.engine.train.export.check.check import ExportCheck, Written, check_files
from studio.engine.train.export.check.foreign_readers import READERS, VARIABLE, readers_of
from studio.engine.train.export.check.process import file_hash
from studio.engine.train.export.check.report import write_report
from studio.engine.train.export.exporting import export_all, exportable
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.weights import initial_weights
from tests.engine.interop.formats_from_elsewhere import format_from_elsewhere
from tests.engine.train.trained_projects import DIGITS, classifier

MODEL = '''
import json

from studio.engine.formats import safetensors
from studio.engine.interop.file_format import FileFormat
from studio.engine.interop.imported import ImportedModel, ImportReport
from studio.engine.layers.graph_json import graph_from_json, graph_to_json


class Parcel(FileFormat):
    """A network, its weights and what is known of its data, that takes normalised input."""

    name = "parcel"
    title = "Parcel"
    ending = ".parcel"
    about = "A network with its weights."
    holds = "model"

    def write(self, model, path):
        graph = json.dumps(graph_to_json(model.graph))
        safetensors.save(path, dict(model.stored), {"graph": graph, **model.facts})

    def read_model(self, path, progress=None):
        weights, facts = safetensors.load(path)
        graph = graph_from_json(json.loads(facts.pop("graph")))
        return ImportedModel("parcel", graph, weights, ImportReport(path.name, "Parcel"), facts)
'''


@pytest.fixture(scope="module")
def digits() -> Iterator[tuple[Trained, Project]]:
    project = Project.new("digits", classifier(), DIGITS)
    weights = initial_weights(project.graph, 0)
    with (
        open_backend("cpu") as opened,
        Trained.of_weights(Task.of_project(project), opened.backend, weights) as trained,
    ):
        yield trained, project


@pytest.fixture
def parcel(tmp_path: Path) -> Iterator[FileFormat]:
    with format_from_elsewhere(tmp_path / "modules", MODEL):
        yield format_named("parcel")


def export(trained: Trained, form: str, folder: Path) -> Path:
    path = folder / f"model{format_named(form).ending}"
    format_named(form).write(exportable(trained), path)
    return path


def check(made: tuple[Trained, Project], form: str, path: Path) -> ExportCheck:
    file = Written(format_named(form), path, file_hash(path))
    (found,) = check_files(made[0], [file], exportable(made[0]), made[1])
    assert not isinstance(found, FormatError), found
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("form", "title"), [("npz", "NumPy "), ("safetensors", "safetensors ")])
def test_arrays_are_read_by_the_library_of_the_format(
    digits: tuple[Trained, Project], foreign_readers: None, form: str, title: str, tmp_path: Path
) -> None:
    path = export(digits[0], form, tmp_path)
    found = check(digits, form, path)
    assert found.is_same, found.reasons
    assert found.reader.startswith(title)
    assert found.notes == ()
    said = json.loads(write_report(path, form, found, None).read_text())
    assert said["read_by"] == found.reader
    assert said["preprocessing"]["normalization"] == "unit"
    assert len(said["samples_sha256"]) == 64


@pytest.mark.slow
@pytest.mark.parametrize(
    ("library", "said"),
    [
        ("raise ImportError('no such symbol')",
         "is installed but does not start: ImportError: no such symbol"),
        ("import os; os.kill(os.getpid(), 9)",
         "is installed but gave no answer: it was ended by signal 9 (SIGKILL)"),
    ],
    ids=["raises", "dies"],
)  # fmt: skip
def test_a_library_that_fails_to_start_is_said_and_glassbox_reads(
    digits: tuple[Trained, Project],
    foreign_readers: None,
    library: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put(tmp_path / "packages", library, monkeypatch)
    found = check(digits, "safetensors", export(digits[0], "safetensors", tmp_path))
    assert found.is_same, found.reasons
    assert (found.reader, found.read_by) == ("", "Glassbox")
    assert found.notes == (f"safetensors {said}",)


def put(folder: Path, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library of that name which the other process finds first."""
    (folder / "safetensors").mkdir(parents=True)
    (folder / "safetensors" / "__init__.py").write_text("")
    (folder / "safetensors" / "numpy.py").write_text(library)
    monkeypatch.setenv("PYTHONPATH", str(folder))


@pytest.mark.slow
def test_what_the_library_reads_is_what_counts(
    digits: tuple[Trained, Project],
    foreign_readers: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = export(digits[0], "safetensors", tmp_path)
    arrays, _ = safetensors.load(path)
    arrays["answer/bias"] = arrays["answer/bias"] + np.arange(10, dtype=np.float32)
    np.savez(tmp_path / "others.npz", **arrays)
    other = (
        f"import numpy\ndef load_file(path): return numpy.load({str(tmp_path / 'others.npz')!r})"
    )
    put(tmp_path / "packages", other, monkeypatch)
    found = check(digits, "safetensors", path)
    assert not found.is_alike
    assert "samples give different outputs" in found.sentence
    put(tmp_path / "more", "def load_file(path): raise ValueError('bad header')", monkeypatch)
    found = check(digits, "safetensors", path)
    assert "says: ValueError: bad header" in found.sentence
    assert found.sentence.startswith("not the same model: the file does not load: safetensors ")


def test_readers_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "off")
    assert readers_of("npz") == ()
    monkeypatch.delenv(VARIABLE)
    assert [each.title for each in readers_of("npz")] == ["NumPy"]
    assert all(each.formats and each.packages for each in READERS)


@pytest.mark.slow
def test_a_model_that_takes_normalised_input_is_fed_as_its_file_says(
    digits: tuple[Trained, Project], parcel: FileFormat, tmp_path: Path
) -> None:
    path = export(digits[0], "parcel", tmp_path)
    found = check(digits, "parcel", path)
    assert found.is_same, found.reasons
    assert (found.samples, found.same_top) == (64, 64)
    arrays, facts = safetensors.load(path)
    norm = {"pixels": {"scale": [0.125], "shift": [0.0]}}
    told = changed(digits, path, arrays, {**facts, "input_normalization": json.dumps(norm)})
    assert "samples give different outputs" in told[0]
    assert any(each.startswith('it normalises by {"pixels": {"scale": [0.125]') for each in told)
    silent = {key: value for key, value in facts.items() if key != "input_normalization"}
    assert any("it normalises by nothing" in each for each in changed(digits, path, arrays, silent))
    names = json.dumps([*"1023456789"])
    told = changed(digits, path, arrays, {**facts, "class_names": names})
    assert told[0] == "its class 0 is called '1', expected '0'"
    told = changed(digits, path, arrays, {k: v for k, v in facts.items() if k != "class_names"})
    assert told[0] == "its class 0 is called 'nothing', expected '0'"
    told = changed(digits, path, arrays, {**facts, "resize": "nearest"})
    assert told[0] == "it resamples images by nearest, expected nothing"
    weights = {**arrays, "hidden/kernel": np.nextafter(arrays["hidden/kernel"], np.float32(9))}
    assert changed(digits, path, weights, facts) == ("exporting again gives a different file",)


def changed(
    made: tuple[Trained, Project],
    path: Path,
    arrays: dict[str, np.ndarray],
    facts: dict[str, str],
) -> tuple[str, ...]:
    """What is found of a file that says something else."""
    safetensors.save(path, arrays, facts)
    found = check(made, "parcel", path)
    assert not found.is_same
    return found.reasons


@pytest.mark.slow
def test_outputs_that_changed_places_are_caught(parcel: FileFormat, tmp_path: Path) -> None:
    graph = LayerGraph("two")
    x = graph.add(Input((3,), name="x"))
    graph.outputs = (graph.add(Dense(2, name="left"), x), graph.add(Dense(2, name="right"), x))
    project = Project.new("two", graph)
    weights = initial_weights(graph, 0)
    with (
        open_backend("cpu") as opened,
        Trained.of_weights(Task.of_project(project), opened.backend, weights) as trained,
    ):
        made = trained, project
        path = export(trained, "parcel", tmp_path)
        assert check(made, "parcel", path).is_same
        model = exportable(trained)
        turned = graph_from_json(graph_to_json(graph))
        turned.outputs = turned.outputs[::-1]
        files = []
        for form in (parcel, *map(format_named, ("keras", "hdf5", "tfjs"))):
            place = tmp_path / f"turned{form.ending}"
            form.write(replace(model, graph=turned), place)
            files.append(Written(form, place, file_hash(place)))
        several = check_files(trained, files, model, project)
    for found in several:
        assert isinstance(found, ExportCheck)
        assert not found.is_same
        assert "its outputs are called right, left, expected left, right" in found.reasons
        assert found.first is not None


@pytest.mark.peers
def test_onnx_runtime_reads_onnx_files(
    digits: tuple[Trained, Project], foreign_readers: None, tmp_path: Path
) -> None:
    path = export(digits[0], "onnx", tmp_path)
    found = check(digits, "onnx", path)
    assert found.is_same, found.reasons
    assert found.reader.startswith("ONNX Runtime ")
    assert (found.samples, found.same_top) == (64, 64)
    model = load_model(path.read_bytes())
    assert "input_normalization" not in model.metadata
    for key, other, said in (
        ("class_names", json.dumps([*"1023456789"]), "its class 0 is called '1', expected '0'"),
        ("normalization", "standard", "its normalisation is standard, expected unit"),
        ("resize", "nearest", "it resamples images by nearest, expected nothing"),
    ):
        save_model(path, replace(model, metadata={**model.metadata, key: other}))
        assert said in check(digits, "onnx", path).reasons
    initializers = {
        name: np.nextafter(values, np.float32(9)) if name.endswith("kernel") else values
        for name, values in model.graph.initializers.items()
    }
    save_model(path, replace(model, graph=replace(model.graph, initializers=initializers)))
    found = check(digits, "onnx", path)
    assert "exporting again gives a different file" in found.reasons


@pytest.mark.peers
def test_where_onnx_runtime_is_missing_the_reference_evaluator_reads(
    digits: tuple[Trained, Project],
    foreign_readers: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "onnxruntime.py").write_text("raise ImportError('no such library')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "packages"))
    found = check(digits, "onnx", export(digits[0], "onnx", tmp_path))
    assert found.is_same, found.reasons
    assert found.reader.endswith(" reference evaluator")
    assert found.notes == (
        "ONNX Runtime is installed but does not start: ImportError: no such library",
    )


@pytest.mark.slow
def test_a_format_that_only_others_read_is_not_verified_without_them(
    digits: tuple[Trained, Project], tmp_path: Path
) -> None:
    found = check(digits, "onnx", export(digits[0], "onnx", tmp_path))
    assert not found.is_checked
    assert found.sentence == "not verified: files of this format cannot be read back"


@pytest.mark.peers
def test_tensorflow_js_reads_its_models(
    digits: tuple[Trained, Project], foreign_readers: None, tmp_path: Path
) -> None:
    path = export(digits[0], "tfjs", tmp_path)
    found = check(digits, "tfjs", path)
    assert found.is_same, found.reasons
    assert found.reader.startswith("TensorFlow.js ")
    assert (found.samples, found.same_top) == (64, 64)
    model = path / "model.json"
    text = model.read_text()
    said = json.loads(text)
    facts = said["userDefinedMetadata"]["glassbox"]
    for key, other, reason in (
        ("class_names", json.dumps([*"1023456789"]), "its class 0 is called '1', expected '0'"),
        ("input_normalization", "{}", "it normalises by {}, expected "),
        ("resize", "nearest", "it resamples images by nearest, expected nothing"),
    ):
        changed = {**said, "userDefinedMetadata": {"glassbox": {**facts, key: other}}}
        model.write_text(json.dumps(changed))
        reasons = check(digits, "tfjs", path).reasons
        assert any(each.startswith(reason) for each in reasons), reasons
    model.write_text(text)
    (shard,) = path.glob("group1-shard*.bin")
    content = bytearray(shard.read_bytes())
    # Of a weight of a pixel in the middle: the first ones are always 0, and the state of the
    # optimiser is behind the weights.
    content[4 * 1280 + 3] ^= 0x40
    shard.write_bytes(content)
    found = check(digits, "tfjs", path)
    assert not found.is_alike
    shard.write_bytes(content[:-4])
    assert "the file does not load: " in check(digits, "tfjs", path).sentence


NAMES = json.dumps([*"1023456789"])
SCALED = json.dumps({"pixels": {"scale": [0.125], "shift": [0.0]}})


@pytest.mark.peers
@pytest.mark.parametrize("form", ["keras", "hdf5"])
def test_keras_reads_its_models(
    digits: tuple[Trained, Project], foreign_readers: None, form: str, tmp_path: Path
) -> None:
    good, named, scaled = checks(
        digits, form, tmp_path, {}, {"class_names": NAMES}, {"input_normalization": "{}"}
    )
    assert good.is_same, good.reasons
    assert good.reader.startswith("Keras ")
    assert " on JAX " in good.reader
    assert (good.samples, good.same_top) == (64, 64)
    assert named.reasons[0] == "its class 0 is called '1', expected '0'"
    assert scaled.reasons[0].endswith("the first is sample 0")
    assert any(each.startswith("it normalises by {}, expected ") for each in scaled.reasons)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["keras", "hdf5", "tfjs"])
def test_any_change_in_a_model_of_another_tool_is_caught(
    digits: tuple[Trained, Project], form: str, tmp_path: Path
) -> None:
    kernel = digits[0].weights()["hidden/kernel"]
    moved = {"hidden/kernel": np.nextafter(kernel, np.float32(9))}
    good, named, resized, scaled, weight = checks(
        digits, form, tmp_path, {}, {"class_names": NAMES}, {"resize": "nearest"},
        {"input_normalization": SCALED}, weights=moved,
    )  # fmt: skip
    assert good.is_same, good.reasons
    assert good.read_by == "Glassbox"
    assert named.reasons[0] == "its class 0 is called '1', expected '0'"
    assert resized.reasons[0] == "it resamples images by nearest, expected nothing"
    assert "samples give different outputs" in scaled.reasons[0]
    assert any(each.startswith(f"it normalises by {SCALED}") for each in scaled.reasons)
    assert weight.reasons == ("exporting again gives a different file",)


def checks(
    made: tuple[Trained, Project],
    form: str,
    folder: Path,
    *changes: dict[str, str],
    weights: dict[str, np.ndarray] | None = None,
) -> list[ExportCheck]:
    """What one process finds of files that state other facts, and of one with other weights."""
    model, chosen = exportable(made[0]), format_named(form)
    models = [replace(model, facts={**model.facts, **facts}) for facts in changes]
    if weights is not None:
        models.append(replace(model, stored={**model.stored, **weights}))
    files = []
    for index, each in enumerate(models):
        path = folder / f"{index}{chosen.ending}"
        chosen.write(each, path)
        files.append(Written(chosen, path, file_hash(path)))
    found = check_files(made[0], files, model, made[1])
    assert all(isinstance(each, ExportCheck) for each in found), found
    return [each for each in found if isinstance(each, ExportCheck)]


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "length"), [((None, 4), 7), ((3000,), None)])
def test_inputs_of_any_length_and_of_many_columns_are_fed_as_files_say(
    shape: tuple[int | None, ...], length: int | None, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    one = shape if length is None else (length, *shape[1:])
    x = rng.normal(3.0, 2.0, (24, *one)).astype(np.float32)
    np.savez(tmp_path / "d.npz", x=x, y=rng.normal(size=(24, *one[:-1], 1)).astype(np.float32))
    graph = LayerGraph("rows")
    graph.outputs = (graph.add(Dense(1, name="y"), graph.add(Input(shape, name="x"))),)
    data = {"source": "arrays", "path": "d.npz", "normalization": "standard",
            "inputs": {"x": "x"}, "targets": {"y": "y"}}  # fmt: skip
    project = Project.new("rows", graph, data)
    project.path = tmp_path / "rows.glassbox"
    task = Task.of_project(project)
    with (
        open_backend("cpu", compiled=False) as opened,
        Trained.of_weights(task, opened.backend, initial_weights(task.graph, 0)) as trained,
    ):
        made = export_all(trained, tmp_path / "out", project)
    found = {each.format: each.problem for each in made}
    assert {"keras", "hdf5", "tfjs"} <= found.keys()
    assert [problem for problem in found.values() if problem is not None] == []
