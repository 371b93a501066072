"""Project files: round trips, refusals, hostile content."""

from __future__ import annotations

import contextlib
import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from studio.engine.core.errors import FormatError, StudioError
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.layers.normalization import BatchNormalization
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.samples import sample_names, sample_root
from tests.engine.train.small_tasks import project

FULL = {
    "early_stopping": {"monitor": "val_accuracy", "patience": 4},
    "callbacks": [{"type": "ReduceLROnPlateau", "config": {"patience": 2}}],
    "class_weights": {"0": 2.0},
    "loss": {"type": "SparseCategoricalCrossentropy", "config": {}},
    "metrics": ["accuracy"],
    "optimizer": {
        "type": "SGD",
        "config": {
            "learning_rate": {
                "type": "CosineDecay",
                "config": {"initial_learning_rate": 0.1, "decay_steps": 50},
            }
        },
    },
}


def document() -> dict[str, object]:
    found = json.loads(project(**FULL).text())
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("name", sample_names())
def test_samples_come_back_from_saving_byte_for_byte(name: str, tmp_path: Path) -> None:
    path = sample_root() / name / f"{name}.glassbox"
    opened = Project.load(path)
    saved = opened.save(tmp_path / path.name)
    assert saved.read_bytes() == path.read_bytes()
    assert Project.load(saved).to_json() == opened.to_json()


def test_every_setting_comes_back() -> None:
    made = project(**FULL)
    made.layout = {"dense": (10.0, -3.5)}
    made.notes = "zwei\nZeilen ☺"
    again = Project.load(made.text().encode())
    assert again.to_json() == made.to_json()
    assert again.training == made.training
    assert again.notes == made.notes


def test_a_change_of_one_setting_changes_one_line() -> None:
    before = project(epochs=10).text().splitlines()
    after = project(epochs=11).text().splitlines()
    assert sum(a != b for a, b in zip(before, after, strict=True)) == 1


def test_a_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    path = project().save(tmp_path / "p.glassbox")
    old = path.read_bytes()
    with pytest.raises(FormatError, match="cannot write"):
        project(epochs=7).save(tmp_path / "none" / "p.glassbox")
    assert path.read_bytes() == old


def test_the_canvas_section_is_kept_as_it_is_and_only_where_there_is_one(tmp_path: Path) -> None:
    plain = project()
    assert "canvas" not in plain.to_json()
    drawing = {"version": 1, "nodes": [{"id": "dot", "x": 0.5}], "outputs": [], "other": None}
    drawn = replace(plain, canvas=drawing)
    again = Project.load(drawn.save(tmp_path / "p.glassbox"))
    assert again.canvas == drawing
    assert again.text() == drawn.text()
    assert list(json.loads(drawn.text()))[-2:] == ["canvas", "notes"]
    assert replace(again, canvas=None).text() == plain.text()


def test_a_newer_version_is_refused_in_one_sentence() -> None:
    with pytest.raises(FormatError, match="written by version 5") as caught:
        Project.from_json({**document(), "version": 5}, "p.glassbox")
    assert caught.value.hint == "update Glassbox"


BY_OUTPUT = {
    "loss": {"dense_1": {"type": "CategoricalCrossentropy", "config": {"from_logits": True}}},
    "metrics": {"dense_1": ["Accuracy"]},
    "loss_weights": {"dense_1": 0.5},
    "weighted_metrics": {"dense_1": ["Accuracy"]},
}


@pytest.mark.parametrize("name", BY_OUTPUT)
def test_settings_by_output_come_back_in_version_2(name: str) -> None:
    made = project(**{name: BY_OUTPUT[name]})
    written = json.loads(made.text())
    assert written["version"] == 2
    assert written["training"][name] == BY_OUTPUT[name]
    again = Project.load(made.text().encode())
    assert again.training == made.training
    assert again.text() == made.text()
    assert json.loads(project(**FULL).text())["version"] == 1


def test_an_output_without_a_loss_and_weighted_metrics_need_version_2() -> None:
    for training in ({"loss": {"dense_1": None}}, {"weighted_metrics": ["Accuracy"]}):
        text = project(**training).text()
        written = json.loads(text)
        assert written["version"] == 2
        assert written["training"].items() >= training.items()
        assert Project.load(text.encode()).text() == text


def test_a_layer_may_be_called_type_or_config() -> None:
    made = project(loss={"type": "mse", "config": "mae"})
    written = json.loads(made.text())["training"]["loss"]
    assert written == {"type": "MeanSquaredError", "config": "MeanAbsoluteError"}
    assert Project.load(made.text().encode()).training == made.training
    assert project(loss={"type": "mse"}).version == 1


@pytest.mark.parametrize(("synchronized", "version"), [(False, 1), (True, 4)])
def test_a_synchronized_normalisation_needs_the_newest_version(
    synchronized: bool, version: int
) -> None:
    graph = LayerGraph("normalised")
    x = graph.add(BatchNormalization(synchronized=synchronized), graph.add(Input((2,))))
    graph.outputs = (graph.add(Dense(2, "softmax"), x),)
    text = project(graph).text()
    assert json.loads(text)["version"] == version
    assert ("synchronized" in text) == synchronized
    assert Project.load(text.encode()).graph.synchronized_nodes == (
        {"batch_normalization"} if synchronized else set()
    )


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("loss", {}, "1 to 64 output names, got 0"),
        ("loss", {f"o{i}": "mse" for i in range(65)}, "1 to 64 output names, got 65"),
        ("loss", {"a": "magic"}, "[loss of the output 'a'] unknown loss 'magic'"),
        (
            "weighted_metrics",
            {"a": "mse"},
            "[weighted_metrics of the output 'a'] metrics: expected",
        ),
        ("metrics", {"a": "mse"}, "[metrics of the output 'a'] metrics: expected a list"),
        ("metrics", {"a": ["mse", "mse"]}, "is given twice"),
        ("loss_weights", [1.0], "loss_weights: expected an object"),
        ("loss_weights", {"a": True}, "[loss_weights of the output 'a'] expected a number"),
        ("loss_weights", {"a": float("nan")}, "expected a number from -1e+30 to 1e+30, got nan"),
        ("loss_weights", {"a": 10**400}, "expected a number"),
    ],
)
def test_wrong_settings_of_an_output_name_it(name: str, value: object, words: str) -> None:
    with pytest.raises(StudioError) as caught:
        project(**{name: value})
    assert words in str(caught.value)


@pytest.mark.parametrize("name", BY_OUTPUT)
def test_an_output_that_the_network_does_not_have_is_named(name: str) -> None:
    (value,) = BY_OUTPUT[name].values()
    with pytest.raises(StudioError, match=f"{name}: the network has no output 'dense_2'") as caught:
        Task.of_project(project(**{name: {"dense_2": value}}))
    assert "dense_1" in caught.value.hint


@pytest.mark.parametrize(
    ("section", "key", "value", "words"),
    [
        (None, "colour", 1, "unknown field 'colour'"),
        (None, "format", "zip", "not a Glassbox project"),
        (None, "name", "", "expected a name"),
        (None, "notes", 3, "notes"),
        (None, "layout", {"dense": [1]}, "two numbers for 'dense'"),
        (None, "canvas", [], "expected an object"),
        (None, "canvas", {"a": float("inf")}, "expected plain values"),
        (None, "canvas", {"a": ["x" * (5 << 20)]}, "4194304 characters"),
        (None, "canvas", {"a": [0] * 200_001}, "at most 200000 values"),
        ("training", "epochs", 0, "epochs: expected a whole number from 1"),
        ("training", "epochs", True, "epochs: expected a whole number"),
        ("training", "speed", 9, "unknown option 'speed'"),
        ("training", "optimizer", "Magic", "unknown optimizer 'Magic'"),
        ("training", "callbacks", [{"type": "CSVLogger"}], "unknown callback 'CSVLogger'"),
        ("training", "checkpoints", {"folder": "/etc"}, "unknown option 'folder'"),
        ("data", "source", "web", "source: expected one of"),
        ("data", "url", "http://x", "unknown field 'url'"),
        ("data", "test_fraction", 1.5, "between 0 and 1"),
        ("data", "normalization", "magic", "unknown normalisation"),
        ("data", "augment", [{"type": "Explode"}], "unknown augmentation"),
        ("graph", "nodes", [{"id": "a", "type": "Exec", "inputs": []}], "unknown layer"),
    ],
)
def test_wrong_values_are_named_with_file_and_section(
    section: str | None, key: str, value: object, words: str
) -> None:
    fields = document()
    target = fields if section is None else fields[section]
    assert isinstance(target, dict)
    target[key] = value
    with pytest.raises(StudioError) as caught:
        Project.from_json(fields, "p.glassbox")
    assert words in str(caught.value)
    assert "p.glassbox" in str(caught.value)
    if section is not None:
        assert f"p.glassbox: {section}" in caught.value.origin


def _mutant(rng: random.Random, text: bytes) -> bytes:
    data = bytearray(text)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data))
        kind = rng.randrange(4)
        if kind == 0:
            data[at] = rng.randrange(256)
        elif kind == 1:
            del data[at : at + rng.randint(1, 30)]
        elif kind == 2:
            data[at:at] = rng.choice([b"9999999999", b"null", b"-1", b"[[", b'"', b"1e999", b"{}"])
        else:
            data[at:at] = data[at : at + rng.randint(1, 60)]
        if not data:
            return b""
    return bytes(data)


def _survives(count: int) -> None:
    rng = random.Random(7)
    text = project(**FULL).text().encode()
    opened = 0
    for _ in range(count):
        with contextlib.suppress(StudioError):
            Project.load(_mutant(rng, text)).text()
            opened += 1
    assert 0 < opened < count


def test_mutated_files_load_or_are_refused() -> None:
    _survives(300)


@pytest.mark.full
def test_very_many_mutated_files_load_or_are_refused() -> None:
    _survives(20_000)


def test_other_values_anywhere_load_or_are_refused() -> None:
    """Every value of the document is replaced by values of other kinds, one at a time."""
    places: list[tuple[object, object]] = []

    def walk(value: object) -> None:
        for key in value if isinstance(value, dict) else range(len(value)):  # type: ignore[arg-type]
            places.append((value, key))
            inner = value[key]  # type: ignore[index]
            if isinstance(inner, dict | list):
                walk(inner)

    fields = document()
    walk(fields)
    for holder, key in places:
        old = holder[key]  # type: ignore[index]
        for other in (None, True, -1, 2.5, 10**15, "x" * 300, [], {}, [[1]], {"a": {"b": 1}}):
            holder[key] = other  # type: ignore[index]
            with contextlib.suppress(StudioError):
                Project.from_json(fields, "p").text()
        holder[key] = old  # type: ignore[index]
