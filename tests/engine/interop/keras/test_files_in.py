"""Files that five versions of Keras saved, with what these answered; and damaged ones."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.errors import CheckpointError, FormatError, StudioError
from studio.engine.interop.imported import ImportedModel
from studio.engine.interop.keras.files_in import (
    MAX_FACT_CHARS,
    read_keras_archive,
    read_keras_hdf5,
)
from studio.engine.layers.named_parameters import named_parameters
from tests.engine.interop.keras.answers import answers
from tests.recorded.keras.record_keras import unpacked

VERSIONS = ("2.21.0", "3.0.5", "3.6.0", "3.10.0", "3.15.1")
READ: dict[str, Callable[..., ImportedModel]] = {
    ".keras": read_keras_archive, ".h5": read_keras_hdf5,
}  # fmt: skip


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return unpacked()


def saved(files: dict[str, bytes], version: str, name: str, folder: Path) -> Path:
    path = folder / name
    path.write_bytes(files[f"{version}/{name}"])
    return path


def read(path: Path) -> ImportedModel:
    return READ[path.suffix](path, "Keras model")


@pytest.mark.slow
@pytest.mark.parametrize("ending", READ)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["net", "line"])
def test_a_model_answers_as_it_did_in_keras(
    files: dict[str, bytes], name: str, version: str, ending: str, tmp_path: Path
) -> None:
    model = read(saved(files, version, f"{name}{ending}", tmp_path))
    recorded = np.load(io.BytesIO(files[f"{version}/{name}.npz"]))
    inputs = [recorded[key] for key in recorded.files if key.startswith("input")]
    found = answers(model.graph, model.weights, inputs)
    wanted = [recorded[key] for key in recorded.files if key.startswith("output")]
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    assert set(model.weights) == {each.name for each in named_parameters(model.graph)}
    assert model.report.form == f"Keras model, written by Keras {version}"
    assert model.name == name


@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_model_became(files: dict[str, bytes], version: str, tmp_path: Path) -> None:
    model = read(saved(files, version, "net.keras", tmp_path))
    assert list(model.graph.nested) == ["stem", "stem_1", "halves", "halves_1"]
    shared = [node.id for node in model.graph.nodes.values() if node.layer.name == "shared"]
    assert len(shared) == 2
    notes = {each.name: each.note for each in model.report.layers if each.note}
    flatten = next(name for name, note in notes.items() if "mask" in note)
    assert notes.pop(flatten) == "the mask of its input ends here"
    inner = next(name for name in notes if name.startswith("stem/"))
    assert notes.pop(inner) == "an input of the block stem"
    assert notes == {
        "stem": "a model, now a block",
        "halves": "a model, now a block",
        "halves/seen": "an input of the block halves",
        "last": "its activation is a layer of its own",
    }
    training = model.training
    assert training is not None
    assert training.optimizer is not None
    assert training.optimizer.to_json() == {"type": "Adam", "config": {"learning_rate": 0.01}}
    shares, gate = model.graph.output_names()
    assert training.loss == {shares: {"type": "MeanSquaredError", "config": {}}, gate: None}
    assert training.metrics == {shares: ({"type": "MeanAbsoluteError", "config": {}},)}


@pytest.mark.slow
@pytest.mark.parametrize("ending", READ)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_state_of_the_optimiser(
    files: dict[str, bytes], version: str, ending: str, tmp_path: Path
) -> None:
    model = read(saved(files, version, f"net{ending}", tmp_path))
    assert model.training is not None
    assert model.training.steps == 2
    trained = {each.name for each in named_parameters(model.graph) if not each.parameter.state}
    slots = model.training.slots
    assert set(slots) == {f"{name}/{slot}" for name in trained for slot in "mv"}
    for name in trained:
        assert slots[f"{name}/m"].shape == model.weights[name].shape
        # The second mean is one of squares.
        assert slots[f"{name}/v"].min() >= 0
    assert np.count_nonzero(slots["last/kernel/m"]) > 50
    assert not any("optimiser" in each for each in model.report.left_out)


@pytest.mark.parametrize("ending", READ)
def test_a_schedule_and_options_of_a_loss(
    files: dict[str, bytes], ending: str, tmp_path: Path
) -> None:
    model = read(saved(files, "3.15.1", f"line{ending}", tmp_path))
    assert model.training is not None
    # It was saved before its first step.
    assert (model.training.steps, model.report.left_out) == (0, ())
    optimizer = model.training.optimizer
    assert optimizer is not None
    rates = {"initial_learning_rate": 0.125, "decay_steps": 100, "decay_rate": 0.5}
    assert optimizer.config() == {
        "learning_rate": {"type": "ExponentialDecay", "config": rates}, "momentum": 0.5,
    }  # fmt: skip
    (output,) = model.graph.output_names()
    loss = {"type": "CategoricalCrossentropy", "config": {"label_smoothing": 0.25}}
    assert model.training.loss == {output: loss}
    accuracy, auc = model.training.metrics[output]
    assert (accuracy, auc) == ({"type": "Accuracy", "config": {}}, {"type": "AUC", "config": {}})


def test_progress_is_told_and_can_stop_the_reading(files: dict[str, bytes], tmp_path: Path) -> None:
    path = saved(files, "3.15.1", "line.keras", tmp_path)
    shares: list[float] = []

    def hear(share: float | None, text: str) -> None:
        assert text
        shares.extend(() if share is None else (share,))

    READ[".keras"](path, "Keras model", hear)
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)

    class StoppedError(Exception):
        pass

    def stop(share: float | None, text: str) -> None:
        raise StoppedError

    for ending in READ:
        path = saved(files, "3.15.1", f"line{ending}", tmp_path)
        with pytest.raises(StoppedError):
            READ[ending](path, "Keras model", stop)


def repacked(content: bytes, change: Callable[[dict[str, bytes]], object]) -> bytes:
    """An archive with other members."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return made.getvalue()


def edited(members: dict[str, bytes], name: str, old: str, new: str) -> None:
    text = members[name].decode()
    assert old in text
    members[name] = text.replace(old, new).encode()


DAMAGED: dict[str, tuple[Callable[[dict[str, bytes]], object], type[StudioError], str]] = {
    "no network": (lambda m: m.pop("config.json"), FormatError, "config.json is not there"),
    "no weights": (lambda m: m.pop("model.weights.h5"), FormatError, "weights.h5 is not there"),
    "weights of another format": (
        lambda m: m.update({"model.weights.h5": b"PK"}), FormatError, "not an HDF5 file"),
    "a network that is no JSON": (
        lambda m: m.update({"config.json": b"{"}), FormatError, "broken JSON"),
    "UTF-16": (
        lambda m: m.update({"config.json": "{}".encode("utf-16")}), FormatError, "must be UTF-8"),
    "NaN": (
        lambda m: edited(m, "config.json", '"negative_slope": 0.1', '"negative_slope": NaN'),
        FormatError, "JSON has no number NaN"),
    "a key twice": (
        lambda m: edited(m, "config.json", '"units": 4', '"units": 4, "units": 4'),
        FormatError, "'units' occurs twice"),
    "a layer from elsewhere": (
        lambda m: edited(m, "config.json", '"class_name": "LeakyReLU"', '"class_name": "Lambda"'),
        FormatError, "of a kind that is not here yet: Lambda"),
    "another count of units": (
        lambda m: edited(m, "config.json", '"units": 4', '"units": 3'),
        CheckpointError, "'dense_1/kernel': expected [5,3], got [5,4]"),
    "a weight that is missing": (
        lambda m: edited(m, "config.json", '"use_bias": false', '"use_bias": true'),
        CheckpointError, "there is nothing for 'dense_1/bias'"),
    "a weight too many": (
        lambda m: edited(m, "config.json", '"use_bias": true', '"use_bias": false'),
        CheckpointError, "'layers/dense_1/vars/1' fits no layer"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_refused(files: dict[str, bytes], name: str, tmp_path: Path) -> None:
    change, kind, message = DAMAGED[name]
    path = tmp_path / "line.keras"
    path.write_bytes(repacked(files["3.15.1/line.keras"], change))
    with pytest.raises(kind) as caught:
        read(path)
    assert message in str(caught.value)
    assert "line.keras" in str(caught.value)


def test_what_else_is_in_the_archive_is_said(files: dict[str, bytes], tmp_path: Path) -> None:
    path = tmp_path / "line.keras"
    path.write_bytes(
        repacked(files["3.15.1/line.keras"], lambda m: m.update({"assets/words.txt": b"a"}))
    )
    assert "'assets/words.txt', which is no part of the network" in read(path).report.left_out


def test_facts_that_were_written_here_come_back(files: dict[str, bytes], tmp_path: Path) -> None:
    facts = {"classes": '["cat", "dog"]', "number": 3, "long": "x" * (MAX_FACT_CHARS + 1)}

    def change(members: dict[str, bytes]) -> None:
        about = json.loads(members["metadata.json"])
        members["metadata.json"] = json.dumps({**about, "glassbox": facts}).encode()

    path = tmp_path / "line.keras"
    path.write_bytes(repacked(files["3.15.1/line.keras"], change))
    assert read(path).facts == {"classes": '["cat", "dog"]'}


def test_a_compilation_that_is_not_here_is_left_out_and_said(
    files: dict[str, bytes], tmp_path: Path
) -> None:
    path = tmp_path / "line.keras"

    def change(members: dict[str, bytes]) -> None:
        edited(members, "config.json", '"class_name": "SGD"', '"class_name": "Muon"')
        edited(members, "config.json", '"class_name": "AUC"', '"class_name": "Hinge"')
        edited(members, "config.json", '"class_name": "CategoricalCrossentropy"',
               '"class_name": "Dice"')  # fmt: skip

    path.write_bytes(repacked(files["3.15.1/line.keras"], change))
    model = read(path)
    assert model.training is not None
    assert model.training.optimizer is None
    assert not model.training.loss
    said = model.report.left_out
    (output,) = model.graph.output_names()
    assert "the optimiser: Muon is not here" in said
    assert f"the loss of the output '{output}': Dice is not here" in said
    assert f"a metric of the output '{output}': Hinge is not here" in said


@pytest.mark.parametrize("ending", READ)
@pytest.mark.parametrize("content", [b"", b"PK", b"\x89HDF\r\n\x1a\n", b"{}", b"\x00" * 100])
def test_what_is_no_such_file_is_refused(ending: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"bad{ending}"
    path.write_bytes(content)
    with pytest.raises(FormatError):
        read(path)


@pytest.mark.parametrize("ending", READ)
def test_a_file_that_is_not_there_is_refused(ending: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="there is no such file"):
        read(tmp_path / f"none{ending}")
    with pytest.raises(FormatError, match="must be a regular file"):
        READ[ending](tmp_path, "Keras model")
