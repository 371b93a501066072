"""An exported file is proven by another process, and whatever is wrong with it is found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.errors import FormatError
from studio.engine.formats import safetensors
from studio.engine.formats.gbasm import load_gbasm, save_gbasm
from studio.engine.formats.gbi import load_gbi, save_gbi
from studio.engine.formats.npz import load_npz, save_npz
from studio.engine.isa.ops.data import Normalize
from studio.engine.isa.program import Program
from studio.engine.train.data_settings import DataSettings
from studio.engine.train.devices import open_backend
from studio.engine.train.exporting import EXPORT_FORMATS, export_file
from studio.engine.train.project import Project
from studio.engine.train.task import Task
from studio.engine.train.trained import Trained
from studio.engine.train.weights import initial_weights
from studio.ui.models.certificate import Certificate, certify
from studio.ui.models.certificate_answers import compare
from tests.ui.models.trained_projects import DIGITS, classifier, train

ENDINGS = {"checkpoint": "safetensors"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Trained, Project]]:
    _, run = train(tmp_path_factory.mktemp("trained"))
    with open_backend("cpu") as opened, Trained.of_run(run, opened.backend) as trained:
        yield trained, run.project()


def export(trained: Trained, form: str, folder: Path) -> Path:
    path = folder / f"model.{ENDINGS.get(form, form)}"
    export_file(trained, form, path)
    return path


def changed(path: Path, rewrite: Program) -> None:
    """Write another program into an instruction file, its weights as they were."""
    save_gbi(path, rewrite, load_gbi(path).weights)


@pytest.mark.parametrize("form", EXPORT_FORMATS)
def test_a_good_file_is_the_same_model(
    made: tuple[Trained, Project], form: str, tmp_path: Path
) -> None:
    trained, project = made
    said: list[str] = []
    found = certify(
        trained, project, form, export(trained, form, tmp_path), lambda _, text: said.append(text)
    )
    assert found.reasons == ()
    assert found.is_same
    assert (found.samples, found.same_top, found.same_bytes) == (64, 64, True)
    assert found.max_abs < 1e-5
    assert found.sentence.startswith("same model: max difference ")
    assert found.sentence.endswith(" on 64 samples")
    assert "loading the file in another process" in said


@pytest.mark.parametrize("form", ["gbi", "safetensors", "npz", "checkpoint"])
def test_one_wrong_byte_among_the_weights_is_caught(
    made: tuple[Trained, Project], form: str, tmp_path: Path
) -> None:
    trained, project = made
    path = export(trained, form, tmp_path)
    content = bytearray(path.read_bytes())
    # The lowest byte of a number moves answers by less than any tolerance.
    kernel = np.ascontiguousarray(trained.weights()["hidden/kernel"])
    public = kernel.T if form in ("safetensors", "npz") else kernel
    at = content.find(np.ascontiguousarray(public).tobytes()[:64])
    assert at > 0
    content[at] ^= 1
    path.write_bytes(bytes(content))
    found = certify(trained, project, form, path)
    assert found.is_checked
    assert not found.is_same
    assert not found.same_bytes
    assert "exporting once more gives another file" in found.reasons


def test_a_weight_that_moves_answers_names_the_first_sample(
    made: tuple[Trained, Project], tmp_path: Path
) -> None:
    trained, project = made
    path = export(trained, "npz", tmp_path)
    weights = load_npz(path)
    weights["answer/bias"] = weights["answer/bias"] + np.float32(3.0) * (np.arange(10) == 4)
    save_npz(path, {name: np.asarray(a, np.float32) for name, a in weights.items()})
    found = certify(trained, project, "npz", path)
    assert not found.is_same
    assert found.first is not None
    assert found.first.found.startswith("4 (")
    assert found.max_abs > 0.01
    assert "samples are answered differently" in found.sentence


def test_another_order_of_classes_in_the_file_is_caught(
    made: tuple[Trained, Project], tmp_path: Path
) -> None:
    trained, project = made
    path = export(trained, "gbi", tmp_path)
    program = load_gbi(path).program
    meta = {**program.meta, "class_names": '["1","0","2","3","4","5","6","7","8","9"]'}
    changed(path, replace(program, meta=meta))
    found = certify(trained, project, "gbi", path)
    assert not found.is_same
    assert any("class 0 is called '1', expected '0'" in reason for reason in found.reasons)


def test_another_order_of_classes_in_the_project_is_caught(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    table = tmp_path / "t.csv"
    lines = [f"{a:.3f},{b:.3f},{'ab'[int(a > b)]}" for a, b in rng.normal(size=(200, 2))]
    table.write_text("x,y,kind\n" + "\n".join(lines) + "\n")
    data = {"source": "csv", "path": "t.csv", "class_names": ["a", "b"]}
    _, run = train(tmp_path, data, classifier((2,), 2))
    with open_backend("cpu") as opened, Trained.of_run(run, opened.backend) as trained:
        path = export(trained, "safetensors", tmp_path)
        good = certify(trained, run.project(), "safetensors", path)
        other = run.project()
        other.data = DataSettings.from_json({**data, "class_names": ["b", "a"]})
        found = certify(trained, other, "safetensors", path)
    assert good.is_same
    assert not found.is_same
    assert any("class 0 is called 'b', expected 'a'" in reason for reason in found.reasons)


def test_another_normalisation_in_the_file_is_caught(
    made: tuple[Trained, Project], tmp_path: Path
) -> None:
    trained, project = made
    path = export(trained, "gbi", tmp_path)
    program = load_gbi(path).program
    scale = next(ins.scale.id for ins in program if isinstance(ins, Normalize))
    other = program.tensors.update([program.tensors[scale].replace(value=(1.0,))])
    changed(path, program.with_tensors(other))
    found = certify(trained, project, "gbi", path)
    assert not found.is_same
    assert found.first is not None
    assert "its program is another one" in found.reasons


@pytest.mark.parametrize("form", ["safetensors", "npz", "checkpoint"])
def test_another_normalisation_in_the_project_is_caught(
    made: tuple[Trained, Project], form: str, tmp_path: Path
) -> None:
    trained, project = made
    other = Project.from_json(project.to_json())
    other.data = DataSettings.from_json({**DIGITS, "normalization": "standard"})
    found = certify(trained, other, form, export(trained, form, tmp_path))
    assert not found.is_same
    assert found.max_abs > 1e-4
    assert found.first is not None


def test_another_listing_is_caught(made: tuple[Trained, Project], tmp_path: Path) -> None:
    trained, project = made
    path = export(trained, "gbasm", tmp_path)
    text = path.read_text()
    assert "RELU" in text
    save_gbasm(path, replace(load_gbasm(path), name="another"))
    found = certify(trained, project, "gbasm", path)
    assert not found.is_same
    assert "its program is another one" in found.reasons
    path.write_text(text.replace("RELU", "TANH"))
    found = certify(trained, project, "gbasm", path)
    assert not found.is_same
    assert found.first is not None


def test_a_file_cut_short_is_said_to_be_damaged(
    made: tuple[Trained, Project], tmp_path: Path
) -> None:
    trained, project = made
    path = export(trained, "safetensors", tmp_path)
    path.write_bytes(path.read_bytes()[:-10])
    found = certify(trained, project, "safetensors", path)
    assert not found.is_same
    assert any("does not load" in reason for reason in found.reasons)


def test_weights_of_another_training_are_caught(tmp_path: Path) -> None:
    _, run = train(tmp_path, epochs=1)
    with open_backend("cpu") as opened, Trained.of_run(run, opened.backend) as trained:
        path = export(trained, "safetensors", tmp_path)
        arrays, metadata = safetensors.load(path)
        safetensors.save(path, arrays, {**metadata, "data_sha256": "0" * 64})
        found = certify(trained, run.project(), "safetensors", path)
    assert "it was trained on other data" in found.reasons


def test_without_samples_nothing_is_claimed(tmp_path: Path) -> None:
    project = Project.new("bare", classifier())
    with (
        open_backend("cpu") as opened,
        Trained.of_weights(Task.of_project(project), opened.backend, initial(project)) as trained,
    ):
        found = certify(trained, project, "gbi", export(trained, "gbi", tmp_path))
    assert not found.is_checked
    assert not found.is_same
    assert found.sentence.startswith("not compared: the project has no test samples")


def initial(project: Project) -> dict[str, np.ndarray]:
    return initial_weights(project.graph, 0)


def test_a_stopped_check_leaves_no_process_behind(
    made: tuple[Trained, Project], tmp_path: Path
) -> None:
    trained, project = made
    path = export(trained, "gbi", tmp_path)

    class StoppedError(Exception):
        pass

    def stop(share: float | None, text: str) -> None:
        if share == 0.5:
            raise StoppedError

    with pytest.raises(StoppedError):
        certify(trained, project, "gbi", path, stop)


def test_a_process_that_dies_is_said(
    made: tuple[Trained, Project], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained, project = made
    path = export(trained, "gbi", tmp_path)
    monkeypatch.setenv("PYTHONHOME", str(tmp_path / "nowhere"))
    with pytest.raises(FormatError, match="gave no answer"):
        certify(trained, project, "gbi", path)


def test_answers_are_compared_as_the_tolerance_says() -> None:
    expected = np.array([[0.2, 0.8], [0.6, 0.4], [0.5, 0.5]], np.float32)
    same = compare([expected], [expected + np.float32(4e-7)], ("a", "b"))
    assert same.reason == ""
    assert same.same_top == 3
    assert same.max_abs == pytest.approx(4e-7, rel=0.2)
    far = compare([expected], [expected[:, ::-1]], ("a", "b"))
    assert far.reason == "2 of 3 samples are answered differently, the first is sample 0"
    assert far.first is not None
    assert (far.first.expected, far.first.found) == ("b (0.8)", "a (0.8)")
    assert far.same_top == 1
    lost = compare([expected], [np.full_like(expected, np.nan)], ())
    assert lost.reason.startswith("3 of 3")
    assert np.isnan(lost.max_abs)
    narrow = compare([expected], [expected[:, :1]], ())
    assert narrow.reason == "its answers have another shape"
    sides = compare([np.array([[0.4]])], [np.array([[0.6]])], ("a", "b"))
    assert sides.same_top == 0


def test_differences_are_said_with_one_digit() -> None:
    assert Certificate("gbi", 64, 3.2e-7, same_bytes=True).sentence == (
        "same model: max difference 3e-7 on 64 samples"
    )
    assert Certificate("gbi", 64).sentence == "same model: max difference 0 on 64 samples"
